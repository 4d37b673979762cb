//! The status that a project WD is to have (F8).

use fedhub_shared::conditions;
use fedhub_shared::digest::deployment::{COUNTERS, PROJECTS_OWN, reported};
use fedhub_shared::object::ObjectView;
use serde_json::{Value, json};

use crate::observe::Observed;
use crate::origin::conflict;
use crate::refusal::Refusal;

const AVAILABLE: &str = "Available";

/// The status as it should stand; `None` where there is nothing to say, so that what stands may stay.
pub fn desired(seen: &Observed, refusal: Option<&Refusal>) -> Option<Value> {
    let current = seen.project.status();
    // I6: a stranger in the hub WD's place does not speak for this WD.
    let ours = seen.hub.as_ref().filter(|_| conflict(seen).is_none());
    let told = ours.map(|hub| hub.status()).filter(|s| reported(s));
    let mut status = match (told, current) {
        (Some(hub), _) => mirrored(hub, current),
        (None, Value::Object(_)) => current.clone(),
        (None, _) => json!({}),
    };
    match refusal {
        Some(refusal)
            if refusal.always_stands() || !conditions::is_true(&status, AVAILABLE) || told.is_none() =>
        {
            let old = conditions::find(current, AVAILABLE);
            let words = refusal.to_string();
            let stand = conditions::stand(old, AVAILABLE, "False", refusal.reason(), &words, seen.now);
            conditions::put(&mut status, stand);
        }
        None if told.is_none() => {
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
