//! An explanation: what is judged of a rollout, with the words of each condition.

use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::Colour;
use fedhub_terminal::plain;
use fedhub_terminal::table::{counted, painted};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::instances::state::State;
use crate::model::{Counts, Workload};
use crate::problem::Problem;
use crate::reading::missing;
use crate::rollout::awaiting;
use crate::rollout::judge::{Judgement, Phase, Row, Verdict, judge_with};
use crate::rollout::view::turn_report;
use crate::rollout::waves::Stop;
use crate::view::condition::{Finding, Standing, of_instance, of_workload, sentence};
use crate::view::object::{age_of, is_city};
use crate::view::text::{listed, wrapped};
use crate::view::{Look, number};

/// Why a Workload is as it is.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// The name of the Workload.
    pub name: &'a str,
    /// The finding of the Workload itself; `None` if all is well.
    pub own: Option<Finding>,
    /// Its cities, as far as they are known.
    pub cities: Vec<City<'a>>,
    /// Instances of cities that it has left.
    pub strays: Vec<&'a Object>,
    /// The judgement of its rollout.
    pub judgement: Judgement,
    has_deployments: bool,
    has_instances: bool,
}

/// Why a city of a placement is as it is.
#[derive(Debug)]
pub struct City<'a> {
    /// How far it is.
    pub row: Row,
    /// The obstacle in the city.
    pub obstacle: Option<Finding>,
    /// Its Instances.
    pub instances: Vec<&'a Object>,
}

/// The outcome of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is as it should be.
    Well,
    /// Everything is in progress.
    OnItsWay,
    /// The rollout is paused, which holds back changes.
    Paused,
    /// A wave of the rollout requires approval.
    AwaitingApproval,
    /// The user or the operator has to act.
    Blocked,
    /// Not everything is known, and no condition requires an action.
    Unknown,
}

impl<'a> Explanation<'a> {
    /// Explains a Workload and what belongs to it, and its WorkloadRollout where it has one.
    /// `has_deployments` and `has_instances` say whether those kinds could be read at all.
    pub fn new(
        seen: &Workload<'a>,
        rollout: Option<&Object>,
        has_deployments: bool,
        has_instances: bool,
        now: Timestamp,
    ) -> Self {
        let judgement = judge_with(seen, rollout, now);
        let rows = judgement.rows.iter().zip(&seen.sites).filter(|_| has_deployments);
        let city = |(row, site): (&Row, &crate::model::Site<'a>)| {
            let mut row = row.clone();
            // Without its Instances, a city is as its own numbers say.
            if !has_instances && row.obstacle.is_none() && row.counts.is_some_and(Counts::are_complete) {
                (row.phase, row.awaits) = (Phase::Done, None);
            }
            City {
                obstacle: row.obstacle.as_ref().map(Finding::of_obstacle),
                row,
                instances: site.instances.clone(),
            }
        };
        Self {
            name: seen.object.name(),
            own: of_workload(seen.object.status()),
            cities: rows.map(city).collect(),
            strays: if has_deployments { seen.strays.clone() } else { Vec::new() },
            has_deployments,
            has_instances,
            judgement,
        }
    }

    /// Leaves these cities alone.
    pub fn narrow(&mut self, cities: &[String]) {
        self.cities.retain(|city| cities.iter().any(|typed| is_city(&city.row.city, typed)));
        self.strays.clear();
    }

    /// Returns the outcome.
    pub fn outcome(&self) -> Outcome {
        // The Workload's own status may be of the time before the last change: that of its cities is newer.
        let own = self.own.as_ref().filter(|_| !self.has_deployments);
        let own = own.is_some_and(|it| it.standing() == Standing::Blocked);
        let whole = self.judgement.obstacle.is_some() && self.has_deployments;
        if own || whole || self.cities.iter().any(|it| it.row.phase == Phase::Blocked) {
            return Outcome::Blocked;
        }
        match self.judgement.verdict {
            Verdict::Paused => return Outcome::Paused,
            Verdict::AwaitingApproval => return Outcome::AwaitingApproval,
            Verdict::Done | Verdict::Progressing | Verdict::Blocked | Verdict::Deleted => {}
        }
        if !self.has_deployments || !self.has_instances {
            return Outcome::Unknown;
        }
        let done = self.cities.iter().all(|it| it.row.phase == Phase::Done) && self.strays.is_empty();
        if done && self.judgement.verdict != Verdict::Deleted { Outcome::Well } else { Outcome::OnItsWay }
    }

    /// The whole in a sentence.
    pub fn headline(&self) -> String {
        let name = self.name;
        let mut blocked: Vec<&str> = self
            .cities
            .iter()
            .filter(|it| it.row.phase == Phase::Blocked)
            .map(|it| it.row.city.as_str())
            .collect();
        blocked.dedup();
        match self.outcome() {
            _ if self.judgement.verdict == Verdict::Deleted => format!("{name:?} is being deleted."),
            Outcome::Well => format!("{name:?} is as it should be."),
            Outcome::OnItsWay if !self.judgement.taken_up => {
                format!("{name:?} waits: the platform has not taken it up yet.")
            }
            Outcome::OnItsWay => format!("{name:?} is on its way: no action is required."),
            Outcome::Paused => format!("The rollout of {name:?} is paused, which holds back changes."),
            Outcome::AwaitingApproval => awaiting::sentence(name, &self.judgement).unwrap_or_default(),
            Outcome::Blocked if blocked.is_empty() => format!("{name:?} is blocked."),
            Outcome::Blocked => format!("{name:?} is blocked in {}.", plain(&listed(&blocked))),
            Outcome::Unknown => format!("Nothing that is known blocks {name:?}."),
        }
    }

    fn colour(&self) -> Colour {
        match self.outcome() {
            Outcome::Well => Colour::Green,
            Outcome::OnItsWay | Outcome::Paused | Outcome::AwaitingApproval | Outcome::Unknown => {
                Colour::Yellow
            }
            Outcome::Blocked => Colour::Red,
        }
    }
}

/// The explanation for people. `command` makes a command of the user's of the rest of its line.
pub fn text(
    explanation: &Explanation<'_>,
    command: impl Fn(&str) -> String,
    look: &Look,
    now: Timestamp,
) -> String {
    let width = look.terminal.width;
    let headline = explanation.colour().paint(&explanation.headline(), look.terminal.colours);
    let mut parts = vec![headline];
    let whole = explanation
        .judgement
        .obstacle
        .as_ref()
        .filter(|_| explanation.has_deployments)
        .map(Finding::of_obstacle);
    let own = || explanation.own.clone().filter(|_| explanation.cities.is_empty());
    if let Some(finding) = whole.or_else(own) {
        parts.push(finding.lines(0, width));
    }
    if let Some(paused) = &explanation.judgement.paused {
        let resume = command(&format!("rollout resume {}", explanation.name));
        let action = format!("What you can do: let it go on with `{resume}`");
        let lines = [paused.sentence(explanation.name), action];
        parts.push(lines.map(|line| wrapped(&line, 0, width)).join("\n"));
    }
    if let Some(Stop::Approval { wave, .. }) = explanation.judgement.stop() {
        let sentence = awaiting::sentence(explanation.name, &explanation.judgement).unwrap_or_default();
        let approve = command(&format!("rollout approve {} --wave {wave}", explanation.name));
        let action = format!("What you can do: approve it with `{approve}`");
        parts.push([sentence, action].map(|line| wrapped(&line, 0, width)).join("\n"));
    }
    for (at, it) in explanation.cities.iter().enumerate() {
        let before = explanation.cities.iter().take(at);
        let same = before.filter(|_| it.obstacle.is_some()).find(|other| other.obstacle == it.obstacle);
        parts.push(city(it, same, explanation.has_instances, look, now));
    }
    if !explanation.strays.is_empty() {
        let strays = instances(&explanation.strays, None, look, now);
        let title = counted(explanation.strays.len(), "instance");
        parts.push(format!("{title} of cities that it has left\n{strays}"));
    }
    parts.join("\n\n")
}

/// Renders one city, with its Instances below it. An obstacle that several cities share is printed with the
/// first.
fn city(
    city: &City<'_>,
    same: Option<&City<'_>>,
    has_instances: bool,
    look: &Look,
    now: Timestamp,
) -> String {
    let width = look.terminal.width;
    let Row { placement, city: code, phase, counts, awaits, turn, .. } = &city.row;
    let desired = counts.map(|it| it.desired);
    let of = |part: Option<i64>| number::of(part, desired);
    let phase_in_colour = colour(*phase).paint(&phase.to_string(), look.terminal.colours);
    let ready = of(counts.map(|it| it.ready));
    let updated = of(counts.map(|it| it.updated));
    let wave = turn.as_ref().map_or_else(String::new, |turn| format!(", in wave {}", plain(&turn.wave)));
    let mut lines = vec![format!(
        "{} ({}): {phase_in_colour}, {ready} ready, {updated} up to date{wave}",
        plain(code),
        plain(placement)
    )];
    match (&city.obstacle, awaits) {
        (Some(_), _) if let Some(City { row, .. }) = same => {
            lines.push(format!("  The same as in {} ({})", plain(&row.city), plain(&row.placement)));
        }
        (Some(obstacle), _) => lines.push(obstacle.lines(2, width)),
        (None, Some(awaits)) => {
            let apart = Finding::from_condition(&json!({"status": "False", "reason": "", "message": awaits}));
            lines.push(wrapped(&sentence(&apart.what), 2, width));
        }
        (None, None) => {}
    }
    if !city.instances.is_empty() {
        lines.push(instances(&city.instances, city.obstacle.as_ref(), look, now));
    } else if !has_instances {
        lines.push("  Its instances are not known.".to_owned());
    }
    lines.join("\n")
}

/// Instances, a line each, and below it what is said of none before.
fn instances(all: &[&Object], above: Option<&Finding>, look: &Look, now: Timestamp) -> String {
    let states: Vec<State> = all.iter().map(|it| State::from_instance(it)).collect();
    let cells = all
        .iter()
        .zip(&states)
        .map(|(it, state)| vec![format!("  {}", plain(it.name())), age_of(it, now), state.to_string()]);
    let colour = |at: usize, column: usize| {
        (column == 2 && look.terminal.colours).then(|| states[at].standing(all[at]).colour())
    };
    let table = painted(&cells.collect::<Vec<_>>(), colour);
    let mut said: Vec<String> = above.map(|it| it.what.clone()).into_iter().collect();
    let mut lines = Vec::new();
    for (line, instance) in table.lines().zip(all) {
        lines.push(line.to_owned());
        let finding =
            of_instance(instance.status()).filter(|it| !said.iter().any(|other| other.contains(&it.what)));
        if let Some(finding) = finding {
            lines.push(finding.lines(6, look.terminal.width));
            said.push(finding.what);
        }
    }
    lines.join("\n")
}

fn colour(phase: Phase) -> Colour {
    match phase {
        Phase::Done => Colour::Green,
        Phase::Pending | Phase::Waiting | Phase::Updating | Phase::Draining | Phase::Paused => Colour::Yellow,
        Phase::Blocked => Colour::Red,
    }
}

/// Returns the explanation for `--output json` and `yaml`.
pub fn json(explanation: &Explanation<'_>, unknown: &[&Problem]) -> Value {
    let instances = |all: &[&Object]| {
        all.iter()
            .map(|it| {
                json!({
                    "name": it.name(),
                    "status": State::from_instance(it).to_string(),
                    "problem": of_instance(it.status()).map(|finding| finding.json()),
                })
            })
            .collect::<Value>()
    };
    let city = |it: &City<'_>| {
        let counts = it.row.counts;
        json!({
            "location": it.row.city,
            "placement": it.row.placement,
            "state": it.row.phase.to_string(),
            "desired": counts.map(|it| it.desired),
            "ready": counts.map(|it| it.ready),
            "upToDate": counts.map(|it| it.updated),
            "problem": it.obstacle.as_ref().map(Finding::json),
            "awaits": it.row.awaits,
            "rollout": it.row.turn.as_ref().map(turn_report),
            "instances": explanation.has_instances.then(|| instances(&it.instances)),
        })
    };
    let outcome = match explanation.outcome() {
        Outcome::Well => "well",
        Outcome::OnItsWay => "on-its-way",
        Outcome::Paused => "paused",
        Outcome::AwaitingApproval => "awaiting-approval",
        Outcome::Blocked => "blocked",
        Outcome::Unknown => "unknown",
    };
    json!({
        "workload": explanation.name,
        "outcome": outcome,
        "summary": explanation.headline(),
        "paused": explanation.judgement.paused.is_some(),
        "problem": explanation.own.as_ref().map(Finding::json),
        "cities": explanation.cities.iter().map(city).collect::<Vec<_>>(),
        "strays": instances(&explanation.strays),
        "unknown": unknown.iter().map(|problem| missing(problem)).collect::<Vec<_>>(),
    })
}
