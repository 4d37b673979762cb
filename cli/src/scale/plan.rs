//! The changes of `scale`. Pure.

use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::args::ScaleArgs;
use super::settings::{Contradiction, edit};
use crate::changes::{Change, between};
use crate::problem::Problem;
use crate::rollout::version_test;

/// A change of the scale settings of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// The scale settings by the position of their placement: those that change.
    settings: Vec<(usize, Value)>,
    /// The changes, by the paths of fields.
    pub changes: Vec<Change>,
}

/// Why nothing is scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The workload has no placement of that name; those that it has.
    NoPlacement(String, Vec<String>),
    /// The numbers contradict each other.
    Contradiction(Contradiction),
}

impl Refusal {
    /// Describes the refusal to the user.
    pub fn problem(&self, workload: &str) -> Problem {
        match self {
            Self::NoPlacement(name, there) => {
                let sentence = format!("{} has no placement {}.", Quoted(workload), Quoted(name));
                Problem::usage(sentence).remedy(format!("It has {}.", there.join(", ")))
            }
            Self::Contradiction(wrong) => Problem::usage(format!("{}: {}.", wrong.flag, wrong.rule)),
        }
    }
}

/// Decides what the flags change. What they do not name stands.
pub fn plan(workload: &Object, args: &ScaleArgs) -> Result<Scale, Refusal> {
    let placements = workload.spec()["placements"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |placement: &Value| placement["name"].as_str().unwrap_or_default().to_owned();
    let there: Vec<String> = placements.iter().map(name).collect();
    if let Some(missing) = args.placement.iter().find(|wanted| !there.contains(wanted)) {
        return Err(Refusal::NoPlacement(missing.clone(), there));
    }
    let mut scale = Scale { settings: Vec::new(), changes: Vec::new() };
    for (at, (placement, name)) in placements.iter().zip(&there).enumerate() {
        if !args.placement.is_empty() && !args.placement.contains(name) {
            continue;
        }
        let before = &placement["scaleSettings"];
        let after = settings(before, args).map_err(Refusal::Contradiction)?;
        let changes = between(before, &after, &format!("spec.placements[{name}].scaleSettings"));
        if !changes.is_empty() {
            scale.changes.extend(changes);
            scale.settings.push((at, after));
        }
    }
    Ok(scale)
}

fn settings(before: &Value, args: &ScaleArgs) -> Result<Value, Contradiction> {
    let mut after = if before.is_object() { before.clone() } else { json!({}) };
    edit(&mut after, args.numbers())?;
    Ok(after)
}

impl Scale {
    /// The patch, with the version of the workload that it was decided by as a precondition.
    pub fn patch(&self, workload: &Object) -> Value {
        let settings = self.settings.iter().map(|(at, settings)| {
            json!({"op": "add", "path": format!("/spec/placements/{at}/scaleSettings"), "value": settings})
        });
        std::iter::once(version_test(workload)).chain(settings).collect()
    }
}
