//! What a WorkloadRollout asks for, and what of it cannot be done.

use std::collections::BTreeSet;
use std::time::Duration;

use fedhub_api::{
    MOST_DEPLOYMENTS, MOST_PLACEMENTS, MOST_REVISIONS, MOST_WAVES, RolloutApproval, RolloutFailurePolicy,
    RolloutStrategy, RolloutUnreachablePolicy, RolloutWave, WorkloadRolloutSpec,
};
use fedhub_core::clock::parse_duration;
use fedhub_core::errors;
use fedhub_core::names::{DNS_LABEL_RULE, LABEL_VALUE_RULE, is_dns_label, is_label_value};
use fedhub_core::object::{Object, ObjectView};
use fedhub_rollout::{Approval, OnFailure, Policy, Revision, Status, Strategy, Unreachable, Wave};
use serde::Deserialize;

use super::selection;
pub use super::selection::Deployment;
use crate::admission::fault::{Fault, Faults};
use crate::admission::path::Path;

/// The longest duration that a rollout has: 30 days.
const LONGEST: Duration = Duration::from_hours(720);
const DURATION_RULE: &str = "it must be hours, minutes and seconds, such as 5m or 1h30m, at most 720h";
const COUNT_RULE: &str = "it must be a whole number from 1 to 5000";

/// The policy of a rollout over these deployments, in the order of the Workload's placements, or all that is
/// wrong with it: nothing moves by a part of what somebody wrote. Where the plan of the present rollout is
/// frozen, a deployment that has come or gone since is no fault (R8).
pub fn policy(
    rollout: &Object,
    deployments: &[Deployment<'_>],
    is_frozen: bool,
) -> Result<Policy, Vec<Fault>> {
    let mut faults = Faults::default();
    let spec = read(rollout, &mut faults);
    let policy = spec.map(|spec| {
        let waves = spec.waves.as_deref().unwrap_or_default();
        let names = deployments.iter().map(|it| it.name.into());
        let deadline = parse_duration(&spec.progress_deadline).unwrap_or_default();
        let mut policy = Policy::one_by_one(names, deadline);
        if !waves.is_empty() {
            // A plan that is frozen is followed whatever the Workload has become (R8).
            let mut ignored = Faults::default();
            let found = if is_frozen { &mut ignored } else { &mut faults };
            let members = selection::members(waves, deployments, &waves_path(), found);
            policy.waves = waves.iter().zip(members).map(|(wave, members)| frozen(wave, members)).collect();
        }
        Policy {
            strategy: strategy_of(spec.strategy),
            unreachable: match spec.unreachable {
                RolloutUnreachablePolicy::Skip => Unreachable::Skip,
                RolloutUnreachablePolicy::Hold => Unreachable::Hold,
            },
            on_failure: match spec.on_failure {
                RolloutFailurePolicy::Pause => OnFailure::Pause,
                RolloutFailurePolicy::RollBack => OnFailure::RollBack,
            },
            paused: spec.paused.unwrap_or_default(),
            abort: spec.abort.unwrap_or_default(),
            ..policy
        }
    });
    let faults = faults.into_vec();
    match policy {
        Some(policy) if faults.is_empty() => Ok(policy),
        _ => Err(faults),
    }
}

/// Whether the plan of a rollout is followed as it was frozen, whatever the Workload and the waves have
/// become since (R8): `standing` is what was decided before, and `newest` the revision that the Workload has
/// now.
pub fn is_frozen(rollout: &Object, standing: &Status, newest: Revision) -> bool {
    let spec = rollout.spec();
    let strategy = RolloutStrategy::deserialize(&spec["strategy"]).map_or(Strategy::InOrder, strategy_of);
    let is_of_this = standing.target == Some(newest) && standing.strategy.is_none_or(|it| it == strategy);
    !standing.plan.is_empty() && (spec["abort"] == true || is_of_this)
}

/// The faults of a rollout that show without its Workload.
pub fn check(rollout: &Object, faults: &mut Faults) {
    read(rollout, faults);
}

/// How many revisions of its Workload's template are kept by that rollout, from 2 to 20: while it is under
/// way, cities carry two.
pub fn revision_history_limit(rollout: &Object) -> usize {
    let limit = rollout.spec()["revisionHistoryLimit"].as_u64().unwrap_or(MOST_REVISIONS.into());
    usize::try_from(limit.clamp(2, MOST_REVISIONS.into())).unwrap_or(2)
}

fn waves_path() -> Path {
    Path::from_field("spec").field("waves")
}

fn frozen(wave: &RolloutWave, deployments: Vec<Box<str>>) -> Wave {
    Wave {
        name: wave.name.as_str().into(),
        deployments,
        approval: approval(wave.approval),
        soak: wave.soak.as_deref().and_then(|soak| parse_duration(soak).ok()).unwrap_or_default(),
        max_concurrent: wave.max_concurrent as usize,
        max_failures: wave.max_failures as usize,
    }
}

/// The strategy of a rollout.
pub(super) fn strategy_of(strategy: RolloutStrategy) -> Strategy {
    match strategy {
        RolloutStrategy::InOrder => Strategy::InOrder,
        RolloutStrategy::AllAtOnce => Strategy::AllAtOnce,
        RolloutStrategy::External => Strategy::External,
    }
}

/// The approval that a wave requires.
pub(super) fn approval(approval: RolloutApproval) -> Approval {
    match approval {
        RolloutApproval::None => Approval::None,
        RolloutApproval::Before => Approval::Before,
        RolloutApproval::After => Approval::After,
    }
}

/// The spec, and what is wrong with it by itself; `None` where it cannot be read.
fn read(rollout: &Object, faults: &mut Faults) -> Option<WorkloadRolloutSpec> {
    let at = Path::from_field("spec");
    if let Some(too_large) = rollout.too_large() {
        faults.forbidden(at, None, &too_large.to_string());
        return None;
    }
    let spec = match WorkloadRolloutSpec::deserialize(rollout.spec()) {
        Ok(spec) => spec,
        Err(error) => {
            faults.forbidden(at, None, &format!("it cannot be read: {}", errors::json(&error)));
            return None;
        }
    };
    let workload = &spec.workload_ref.name;
    faults.name(at.field("workloadRef").field("name"), workload, is_dns_label, DNS_LABEL_RULE);
    faults.check(
        workload == rollout.name(),
        at.field("workloadRef").field("name"),
        workload,
        "a rollout has the name of its workload",
    );
    duration(&spec.progress_deadline, Duration::from_secs(1), at.field("progressDeadline"), faults);
    faults.check(
        (2..=MOST_REVISIONS).contains(&spec.revision_history_limit),
        at.field("revisionHistoryLimit"),
        spec.revision_history_limit,
        "it must be a whole number from 2 to 20",
    );
    check_waves(spec.waves.as_deref().unwrap_or_default(), faults);
    Some(spec)
}

fn check_waves(all: &[RolloutWave], faults: &mut Faults) {
    let at = waves_path();
    let waves = faults.within(all, MOST_WAVES, &at);
    let named = waves.iter().enumerate().map(|(i, wave)| (at.item(i, &wave.name).field("name"), &*wave.name));
    faults.names(named, is_dns_label, DNS_LABEL_RULE);
    for (i, wave) in waves.iter().enumerate() {
        check_wave(wave, &at.item(i, &wave.name), faults);
    }
    selection::check_apart(waves, &at, faults);
}

fn check_wave(wave: &RolloutWave, at: &Path, faults: &mut Faults) {
    let most = u32::try_from(MOST_DEPLOYMENTS).unwrap_or(u32::MAX);
    faults.check(
        (1..=most).contains(&wave.max_concurrent),
        at.field("maxConcurrent"),
        wave.max_concurrent,
        COUNT_RULE,
    );
    let failures = wave.max_failures;
    faults.check(
        failures <= most,
        at.field("maxFailures"),
        failures,
        "it must be a whole number from 0 to 5000",
    );
    if let Some(soak) = &wave.soak {
        duration(soak, Duration::ZERO, at.field("soak"), faults);
    }
    let cities = wave.cities.as_deref().unwrap_or_default();
    let list = at.field("cities");
    let mut seen = BTreeSet::new();
    for (i, city) in faults.within(cities, MOST_DEPLOYMENTS, &list).iter().enumerate() {
        let path = list.item(i, city);
        faults.name(path.clone(), city, is_label_value, LABEL_VALUE_RULE);
        if !seen.insert(city.to_lowercase()) {
            faults.duplicate(path, city, "");
        }
    }
    let list = at.field("placements");
    let placements =
        faults.within(wave.placements.as_deref().unwrap_or_default(), MOST_PLACEMENTS, &list).iter();
    let named = placements.enumerate().map(|(i, name)| (list.item(i, name), name.as_str()));
    faults.names(named, is_dns_label, DNS_LABEL_RULE);
}

fn duration(text: &str, least: Duration, path: Path, faults: &mut Faults) {
    let is_valid =
        parse_duration(text).is_ok_and(|it| (least..=LONGEST).contains(&it) && it.subsec_nanos() == 0);
    faults.check(is_valid, path, text, DURATION_RULE);
}
