//! The status that a project WD is to have (F8).

use fedhub_shared::conditions;
use fedhub_shared::object::ObjectView;
use serde_json::{Value, json};

use crate::observe::Observed;
use crate::origin::conflict;
use crate::refusal::Refusal;

const AVAILABLE: &str = "Available";
/// The one condition that belongs to the project plane itself.
const PROJECTS_OWN: &str = "ReferencedDataReady";
/// Counters that the schema requires, zeros too.
const COUNTERS: [&str; 5] =
    ["replicas", "currentReplicas", "updatedReplicas", "desiredReplicas", "readyReplicas"];

/// The status as it should stand; `None` where there is nothing to say, so that what stands may stay.
pub fn desired(seen: &Observed, refusal: Option<&Refusal>) -> Option<Value> {
    let current = seen.project.status();
    // I6: a stranger in the hub WD's place does not speak for this WD.
    let ours = seen.hub.as_ref().filter(|_| conflict(seen).is_none());
    let reported = ours.map(|hub| hub.status()).filter(|s| reported(s));
    let mut status = match (reported, current) {
        (Some(hub), _) => mirrored(hub, current),
        (None, Value::Object(_)) => current.clone(),
        (None, _) => json!({}),
    };
    match refusal {
        Some(refusal)
            if refusal.always_stands() || !conditions::is_true(&status, AVAILABLE) || reported.is_none() =>
        {
            let old = conditions::find(current, AVAILABLE);
            let words = refusal.to_string();
            let stand = conditions::stand(old, AVAILABLE, "False", refusal.reason(), &words, seen.now);
            conditions::put(&mut status, stand);
        }
        None if reported.is_none() => {
            // Nobody has reported yet; a refusal of ours that no longer holds must not go on standing.
            let ours = conditions::find(&status, AVAILABLE)
                .is_some_and(|c| c["reason"].as_str().is_some_and(|r| Refusal::REASONS.contains(&r)));
            if !ours {
                return None;
            }
            conditions::remove(&mut status, AVAILABLE);
        }
        Some(_) | None => {}
    }
    for counter in COUNTERS {
        if status.get(counter).is_none() {
            status[counter] = json!(0);
        }
    }
    Some(status)
}

/// Whether a cell has reported: a WD that was just made on the hub has an empty status, which tells nothing.
fn reported(status: &Value) -> bool {
    status.as_object().is_some_and(|s| !s.is_empty())
}

/// The hub's status with what belongs to the project plane put in its place.
fn mirrored(hub: &Value, project: &Value) -> Value {
    let mut status = hub.clone();
    match conditions::find(project, PROJECTS_OWN) {
        Some(own) => conditions::put(&mut status, own.clone()),
        None => conditions::remove(&mut status, PROJECTS_OWN),
    }
    if hub.get("observedGeneration").is_none() {
        // The cell has not seen the newest generation yet: what it saw last stays true.
        if let Some(last) = project.get("observedGeneration") {
            status["observedGeneration"] = last.clone();
        }
    }
    status
}
