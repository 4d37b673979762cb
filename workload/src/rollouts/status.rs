//! What was decided of a rollout, in the status of its WorkloadRollout.

use std::collections::BTreeSet;
use std::time::Duration;

use fedhub_api::conditions::{find, put, stand, standing};
use fedhub_api::facts::workload::paused_message;
use fedhub_api::reason::{Reason, Responsible, attributed};
use fedhub_api::{
    LONGEST_USER, MOST_APPROVALS, MOST_DEPLOYMENTS, MOST_WAVES, RolloutApproval, RolloutApproved,
    RolloutAwaiting, RolloutCause, RolloutCity, RolloutCityState, RolloutDirection, RolloutGate,
    RolloutPlannedWave, RolloutStrategy,
};
use fedhub_core::clock::{parse_duration, stamp};
use fedhub_core::message::{Quoted, shortened};
use fedhub_core::object::{Object, ObjectView};
use fedhub_rollout::{
    Approval, Approved, Cause, CityState, CityStatus, Direction, Gate, Revision, Status, Strategy, Verdict,
    Wave,
};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::approvals::gate_of;
use super::spec::{approval, strategy_of};
use crate::admission::fault::Fault;

/// The longest message of a cause, in characters: there may be hundreds in one status.
const LONGEST_MESSAGE: usize = 256;
/// The longest reason of a cause, in characters.
const LONGEST_REASON: usize = 256;
/// The most faults that a condition names.
const MOST_FAULTS: usize = 3;

/// What was decided before, as the object keeps it. What cannot be read of it counts as not there.
pub fn read(rollout: &Object) -> Status {
    let status = rollout.status();
    Status {
        target: status["targetRevision"].as_u64().map(Revision),
        direction: match item(&status["direction"]) {
            Some(RolloutDirection::Back) => Direction::Back,
            Some(RolloutDirection::Abort) => Direction::Abort,
            Some(RolloutDirection::Forward) | None => Direction::Forward,
        },
        strategy: item(&status["strategy"]).map(strategy_of),
        plan: items(&status["plan"], MOST_WAVES).filter_map(planned).collect(),
        cities: items(&status["cities"], MOST_DEPLOYMENTS).filter_map(city).collect(),
        approvals: items(&status["approvals"], MOST_APPROVALS).filter_map(approved).collect(),
    }
}

/// The status of an object after that decision: what others wrote into it stays.
pub fn render(rollout: &Object, status: &Status, verdict: &Verdict, now: Timestamp) -> Value {
    let mut rendered = standing(rollout.status());
    if let Some(fields) = rendered.as_object_mut() {
        observed(fields, rollout);
        set(fields, "targetRevision", status.target.map(number));
        set(fields, "direction", status.target.map(|_| direction(status.direction)));
        set(fields, "strategy", status.strategy.map(strategy));
        set(fields, "plan", listed(status.plan.iter().take(MOST_WAVES).map(planned_as)));
        set(fields, "cities", listed(status.cities.iter().take(MOST_DEPLOYMENTS).map(city_as)));
        set(fields, "awaiting", awaited(verdict));
        set(fields, "approvals", listed(status.approvals.iter().take(MOST_APPROVALS).map(approved_as)));
    }
    say(&mut rendered, rollout, &Said::new(status, verdict), now);
    rendered
}

/// The status of an object that cannot be followed, by these faults: what was decided before stays.
pub fn invalid(rollout: &Object, faults: &[Fault], now: Timestamp) -> Value {
    let mut rendered = standing(rollout.status());
    if let Some(fields) = rendered.as_object_mut() {
        observed(fields, rollout);
        // Nothing begins by an approval.
        fields.remove("awaiting");
    }
    let mut lines: Vec<_> = faults.iter().take(MOST_FAULTS).map(Fault::to_string).collect();
    if let Some(more) = faults.len().checked_sub(MOST_FAULTS).filter(|more| *more > 0) {
        lines.push(format!("and {more} more faults"));
    }
    let message = format!("The rollout cannot be followed, and no city changes: {}", lines.join("; "));
    let said = Said { is_stalled: true, ..Said::still(Reason::InvalidRollout, message) };
    say(&mut rendered, rollout, &said, now);
    rendered
}

/// What the three conditions say.
struct Said {
    is_progressing: bool,
    is_stalled: bool,
    is_complete: bool,
    reason: Reason,
    message: String,
}

impl Said {
    fn still(reason: Reason, message: String) -> Self {
        Self { is_progressing: false, is_stalled: false, is_complete: false, reason, message }
    }

    fn new(status: &Status, verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Progressing => {
                Self { is_progressing: true, ..Self::still(Reason::WaveInProgress, progress(status)) }
            }
            Verdict::Complete => Self::complete(status.direction),
            Verdict::AwaitingApproval { wave, gate } => {
                Self::still(Reason::RolloutAwaitingApproval, requires_approval(wave, *gate))
            }
            Verdict::Paused => {
                let message = paused_message(&format!(". {}", progress(status)));
                Self::still(Reason::RolloutPaused, message)
            }
            Verdict::RolledBack { deployment, cause } => {
                let failed = failed(deployment, cause);
                let message = format!("{failed}. Each city is on its last good revision again");
                Self::still(Reason::RolloutRolledBack, message)
            }
            Verdict::Stalled { deployment, cause } => {
                let message = failed(deployment, cause);
                Self { is_stalled: true, ..Self::still(Reason::CityFailed, message) }
            }
        }
    }

    fn complete(direction: Direction) -> Self {
        match direction {
            Direction::Forward | Direction::Back => {
                let message = "Every city that can be reached is on the target revision".to_owned();
                Self { is_complete: true, ..Self::still(Reason::RolloutComplete, message) }
            }
            Direction::Abort => {
                let message = "The rollout was aborted: every city that can be reached is on one revision";
                Self::still(Reason::RolloutAborted, message.to_owned())
            }
        }
    }
}

/// Says which approval a rollout waits for.
pub fn requires_approval(wave: &str, gate: Gate) -> String {
    let side = match gate {
        Gate::Before => "before its first city",
        Gate::After => "after its last city",
    };
    format!("The wave {} requires approval {side}", Quoted(wave))
}

fn awaited(verdict: &Verdict) -> Option<RolloutAwaiting> {
    match verdict {
        Verdict::AwaitingApproval { wave, gate } => {
            Some(RolloutAwaiting { gate: gate_as(*gate), wave: wave.to_string() })
        }
        _ => None,
    }
}

fn failed(deployment: &str, cause: &Cause) -> String {
    let why = plain(&cause.message, LONGEST_MESSAGE);
    format!("The city of {} failed by {}: {why}", Quoted(deployment), reason(&cause.reason))
}

/// How far a rollout is: its first wave that is not complete, and how many of that wave's cities are.
fn progress(status: &Status) -> String {
    let complete: BTreeSet<_> =
        status.cities.iter().filter(|it| it.state == CityState::Complete).map(|it| &it.deployment).collect();
    let counted = |wave: &Wave| wave.deployments.iter().filter(|name| complete.contains(name)).count();
    let open = status.plan.iter().enumerate().find(|(_, wave)| counted(wave) < wave.deployments.len());
    match open {
        None => "No wave is open".to_owned(),
        Some((i, wave)) => format!(
            "Wave {}, {} of {}: {} of {} cities complete",
            Quoted(&wave.name),
            i + 1,
            status.plan.len(),
            counted(wave),
            wave.deployments.len(),
        ),
    }
}

fn say(rendered: &mut Value, rollout: &Object, said: &Said, now: Timestamp) {
    let message = match said.reason.responsible() {
        Responsible::Nobody => said.message.as_str().into(),
        Responsible::User | Responsible::Operator => attributed(said.reason, &said.message),
    };
    let all =
        [("Progressing", said.is_progressing), ("Stalled", said.is_stalled), ("Complete", said.is_complete)];
    for (kind, holds) in all {
        let status = if holds { "True" } else { "False" };
        let mut condition = stand(find(rendered, kind), kind, status, said.reason, &message, now);
        if let (Some(fields), Some(generation)) = (condition.as_object_mut(), rollout.metadata.generation) {
            fields.insert("observedGeneration".to_owned(), json!(generation));
        }
        put(rendered, condition);
    }
}

fn observed(fields: &mut Map<String, Value>, rollout: &Object) {
    set(fields, "observedGeneration", rollout.metadata.generation);
}

/// Sets a field, or removes it where it is not there.
fn set(fields: &mut Map<String, Value>, name: &str, value: Option<impl Serialize>) {
    match value.and_then(|value| serde_json::to_value(value).ok()) {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
}

/// A list, which is not there where it is empty.
fn listed<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    Some(items.collect()).filter(|items: &Vec<T>| !items.is_empty())
}

fn items<T: DeserializeOwned>(list: &Value, most: usize) -> impl Iterator<Item = T> {
    list.as_array().into_iter().flatten().take(most).filter_map(item)
}

fn item<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// A text of others without control characters, cut.
fn plain(text: &str, longest: usize) -> String {
    let plain: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    shortened(&plain, longest).into_owned()
}

/// The reason of a cause, which the schema wants to be there.
fn reason(reason: &str) -> String {
    if reason.is_empty() { "Unknown".to_owned() } else { plain(reason, LONGEST_REASON) }
}

/// A revision as the schema has it.
fn number(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

fn revision(number: Option<i64>) -> Option<Revision> {
    number.and_then(|number| u64::try_from(number).ok()).map(Revision)
}

fn direction(direction: Direction) -> RolloutDirection {
    match direction {
        Direction::Forward => RolloutDirection::Forward,
        Direction::Back => RolloutDirection::Back,
        Direction::Abort => RolloutDirection::Abort,
    }
}

fn strategy(strategy: Strategy) -> RolloutStrategy {
    match strategy {
        Strategy::InOrder => RolloutStrategy::InOrder,
        Strategy::AllAtOnce => RolloutStrategy::AllAtOnce,
        Strategy::External => RolloutStrategy::External,
    }
}

/// A duration in whole seconds, as users write it; `None` for none.
fn duration(duration: Duration) -> Option<String> {
    let seconds = duration.as_secs();
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let written: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    Some(written.concat()).filter(|text| !text.is_empty())
}

fn planned_as(wave: &Wave) -> RolloutPlannedWave {
    RolloutPlannedWave {
        approval: match wave.approval {
            Approval::None => RolloutApproval::None,
            Approval::Before => RolloutApproval::Before,
            Approval::After => RolloutApproval::After,
        },
        deployments: wave.deployments.iter().take(MOST_DEPLOYMENTS).map(ToString::to_string).collect(),
        max_concurrent: count(wave.max_concurrent).max(1),
        max_failures: count(wave.max_failures),
        name: wave.name.to_string(),
        soak: duration(wave.soak),
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count.min(MOST_DEPLOYMENTS)).unwrap_or(u32::MAX)
}

fn planned(wave: RolloutPlannedWave) -> Option<Wave> {
    let soak = match &wave.soak {
        Some(text) => parse_duration(text).ok()?,
        None => Duration::ZERO,
    };
    Some(Wave {
        name: wave.name.into(),
        deployments: wave.deployments.into_iter().map(Into::into).collect(),
        approval: approval(wave.approval),
        soak,
        max_concurrent: (wave.max_concurrent as usize).max(1),
        max_failures: wave.max_failures as usize,
    })
}

fn city_as(city: &CityStatus) -> RolloutCity {
    RolloutCity {
        cause: city.cause.as_ref().map(|cause| RolloutCause {
            message: plain(&cause.message, LONGEST_MESSAGE),
            reason: reason(&cause.reason),
        }),
        city: city.city.to_string(),
        deployment: city.deployment.to_string(),
        last_good: city.last_good.map(number),
        revision: city.revision.map(number),
        since: stamp(rounded_up(city.since)),
        state: match city.state {
            CityState::Waiting => RolloutCityState::Waiting,
            CityState::Updating => RolloutCityState::Updating,
            CityState::Soaking => RolloutCityState::Soaking,
            CityState::Complete => RolloutCityState::Complete,
            CityState::Failed => RolloutCityState::Failed,
            CityState::Skipped => RolloutCityState::Skipped,
        },
        wave: city.wave.to_string(),
    }
}

/// The next whole second: rounded down, a soak would end up to a second early.
fn rounded_up(time: Timestamp) -> Timestamp {
    let whole = time.as_second() + i64::from(time.subsec_nanosecond() > 0);
    Timestamp::from_second(whole).unwrap_or(time)
}

fn city(city: RolloutCity) -> Option<CityStatus> {
    Some(CityStatus {
        deployment: city.deployment.into(),
        city: city.city.into(),
        wave: city.wave.into(),
        state: match city.state {
            RolloutCityState::Waiting => CityState::Waiting,
            RolloutCityState::Updating => CityState::Updating,
            RolloutCityState::Soaking => CityState::Soaking,
            RolloutCityState::Complete => CityState::Complete,
            RolloutCityState::Failed => CityState::Failed,
            RolloutCityState::Skipped => CityState::Skipped,
        },
        revision: revision(city.revision),
        last_good: revision(city.last_good),
        since: city.since.parse().ok()?,
        cause: city.cause.map(|it| Cause { reason: it.reason.into(), message: it.message.into() }),
    })
}

fn approved_as(approved: &Approved) -> RolloutApproved {
    RolloutApproved {
        at: stamp(approved.at),
        by: plain(&approved.by, LONGEST_USER),
        gate: gate_as(approved.gate),
        wave: approved.wave.to_string(),
    }
}

fn gate_as(gate: Gate) -> RolloutGate {
    match gate {
        Gate::Before => RolloutGate::Before,
        Gate::After => RolloutGate::After,
    }
}

fn approved(approved: RolloutApproved) -> Option<Approved> {
    Some(Approved {
        wave: approved.wave.into(),
        gate: gate_of(approved.gate),
        by: approved.by.into(),
        at: approved.at.parse().ok()?,
    })
}
