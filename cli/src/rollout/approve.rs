//! `rollout approve`: lets a rollout pass the gate of a wave.
//!
//! An approval is requested by an annotation of the WorkloadRollout. The platform records the user and copies
//! the approval to the status, where it is irrevocable.

use fedhub_api::{RolloutApproval, RolloutApproved, RolloutGate};
use fedhub_core::message::Quoted;
use fedhub_core::names::APPROVED;
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::plain;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::ApproveArgs;
use super::governed;
use crate::problem::Problem;
use crate::session::Session;

/// Why nothing is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The rollout has no wave of that name; those that it has.
    NoSuchWave(Vec<String>),
    /// The wave requires no approval.
    NotRequired,
    /// The wave requires approval on its other side, which is this one.
    OtherGate(RolloutGate),
    /// It is approved already, by that user.
    Approved(String),
    /// It was asked for, and the platform has not taken it over yet.
    Asked,
}

/// An approval that is to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The side of the wave that requires approval.
    pub gate: RolloutGate,
    /// The annotation with this approval in it.
    pub annotation: String,
}

/// Decides what approving a wave writes; `gate` is the side that the user names. Pure.
pub fn plan(rollout: &Object, wave: &str, gate: Option<RolloutGate>) -> Result<Approval, Refusal> {
    let waves = waves(rollout);
    let Some(found) = waves.iter().find(|it| it["name"] == wave) else {
        let names = waves.iter().filter_map(|it| it["name"].as_str().map(str::to_owned));
        return Err(Refusal::NoSuchWave(names.collect()));
    };
    let required = gate_of(found).ok_or(Refusal::NotRequired)?;
    if gate.is_some_and(|gate| gate != required) {
        return Err(Refusal::OtherGate(required));
    }
    if let Some(approved) = approved(rollout, wave, required) {
        return Err(Refusal::Approved(approved.by));
    }
    let target = &rollout.status()["targetRevision"];
    // Those for another target are of no use any more, and would fill the annotation.
    let mut asked: Vec<Value> = asked(rollout);
    asked.retain(|it| it["revision"].is_null() || it["revision"] == *target);
    if asked.iter().any(|it| it["wave"] == wave && it["gate"] == json!(required)) {
        return Err(Refusal::Asked);
    }
    let mut approval = json!({"wave": wave, "gate": required});
    if target.is_number() {
        // What the user looked at is approved, and nothing newer.
        approval["revision"] = target.clone();
    }
    asked.push(approval);
    Ok(Approval { gate: required, annotation: Value::Array(asked).to_string() })
}

/// The waves of the rollout: as they were when it started, or as they are wanted where none has started.
fn waves(rollout: &Object) -> &[Value] {
    let planned = &rollout.status()["plan"];
    let waves = if planned.as_array().is_some_and(|waves| !waves.is_empty()) {
        planned
    } else {
        &rollout.spec()["waves"]
    };
    waves.as_array().map_or(&[], Vec::as_slice)
}

/// The side on which a wave requires approval.
pub fn gate_of(wave: &Value) -> Option<RolloutGate> {
    match RolloutApproval::deserialize(&wave["approval"]).unwrap_or_default() {
        RolloutApproval::None => None,
        RolloutApproval::Before => Some(RolloutGate::Before),
        RolloutApproval::After => Some(RolloutGate::After),
    }
}

/// The approval of a wave that the platform has taken over.
pub fn approved(rollout: &Object, wave: &str, gate: RolloutGate) -> Option<RolloutApproved> {
    let all = rollout.status()["approvals"].as_array().into_iter().flatten();
    all.filter_map(|it| RolloutApproved::deserialize(it).ok()).find(|it| it.wave == wave && it.gate == gate)
}

/// The approvals that the annotation asks for. One that is no list is no request, and is replaced.
fn asked(rollout: &Object) -> Vec<Value> {
    rollout.annotation(APPROVED).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// A side of a wave in a sentence: `before it starts`.
pub fn side(gate: RolloutGate) -> &'static str {
    match gate {
        RolloutGate::Before => "before it starts",
        RolloutGate::After => "after its last city",
    }
}

impl Refusal {
    /// Describes the refusal to the user.
    pub fn problem(&self, session: &Session, workload: &str, wave: &str) -> Problem {
        let name = Quoted(workload);
        let quoted = Quoted(wave);
        let status = session.command(&format!("rollout status {workload}"));
        let look = format!("`{status}` shows the waves.");
        match self {
            Self::NoSuchWave(names) if names.is_empty() => {
                Problem::failed(format!("The rollout of {name} has no waves, and requires no approval."))
            }
            Self::NoSuchWave(names) => {
                Problem::failed(format!("The rollout of {name} has no wave {quoted}."))
                    .remedy(format!("Its waves are {}.", plain(&names.join(", "))))
            }
            Self::NotRequired => {
                Problem::failed(format!("The wave {quoted} of {name} requires no approval.")).remedy(look)
            }
            Self::OtherGate(gate) => {
                let side = side(*gate);
                Problem::failed(format!("The wave {quoted} of {name} requires approval {side} alone."))
                    .remedy("Leave --before and --after out.")
            }
            Self::Approved(by) => {
                let by = if by.is_empty() { String::new() } else { format!(", by {}", Quoted(by)) };
                Problem::failed(format!("The wave {quoted} of {name} is approved already{by}.")).remedy(look)
            }
            Self::Asked => {
                let sentence = format!(
                    "The approval of the wave {quoted} of {name} is stored already, and the platform takes it over in a \
                     moment."
                );
                Problem::failed(sentence).remedy(look)
            }
        }
    }
}

/// Runs `rollout approve`.
pub async fn run(session: &Session, args: &ApproveArgs) -> Result<(), Problem> {
    let name = &*args.name;
    let wave = &*args.wave;
    let named = match (args.before, args.after) {
        (true, _) => Some(RolloutGate::Before),
        (_, true) => Some(RolloutGate::After),
        (false, false) => None,
    };
    let decide =
        |rollout: &Object| plan(rollout, wave, named).map_err(|refusal| refusal.problem(session, name, wave));
    let seen = governed::change(session, name, "approve", |rollout| {
        let approval = decide(rollout)?;
        Ok(Some(json!({"metadata": {"annotations": {APPROVED: approval.annotation}}})))
    });
    let approval = decide(&seen.await?)?;
    let side = side(approval.gate);
    let status = session.command(&format!("rollout status {name}"));
    session.tell(&format!(
        "Approved the wave {} of {} {side}: `{status}` watches it.",
        Quoted(wave),
        Quoted(name)
    ));
    if session.global.output.is_structured() {
        let report = json!({"workload": name, "wave": wave, "gate": approval.gate, "approved": true});
        session.print(|| report, String::new)?;
    }
    Ok(())
}
