//! The status that a project WD is to have (F8).
//!
//! Decides F8.

use fedhub_api::cells::{CELL_UNREACHABLE, CellDown};
use fedhub_api::conditions;
use fedhub_cache::digest::deployment::{COUNTERS, PROJECTS_OWN, reported};
use fedhub_core::object::ObjectView;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::moving::speaks_for_another_city;
use crate::observe::Observed;
use crate::origin::conflict;
use crate::refusal::Refusal;

const AVAILABLE: &str = "Available";
const REPLICAS_READY: &str = "ReplicasReady";
/// What of a cell that is lost is no more.
const RUNNING: [&str; 2] = ["readyReplicas", "currentReplicas"];
/// What is known of a WD before its cell has reported on it (U1).
const PENDING: &str = "Waiting for the cell to report";

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
        // What the cell of another city says of availability is no answer (F6).
        Some(refusal)
            if refusal.always_stands()
                || told.is_none()
                || !conditions::is_true(&status, AVAILABLE)
                || speaks_for_another_city(seen) =>
        {
            conditions::put(&mut status, held(current, refusal, seen.now));
        }
        None if told.is_none() => {
            // Nobody has reported yet; a refusal of ours that no longer holds must not go on standing.
            let ours = conditions::find(&status, AVAILABLE)
                .is_some_and(|c| c["reason"].as_str().is_some_and(|r| Refusal::REASONS.contains(&r)));
            if !ours {
                return None;
            }
            let old = conditions::find(current, AVAILABLE);
            let pending = conditions::explained(old, AVAILABLE, "Unknown", "Pending", PENDING, seen.now);
            conditions::put(&mut status, pending);
        }
        Some(_) | None => {}
    }
    if let Some(down) = seen.cell_down.as_ref().filter(|_| !speaks_for_another_city(seen)) {
        doubt(&mut status, current, down, seen.now);
    }
    put_counters(&mut status);
    Some(status)
}

/// C11: that a WD is available, and its Instances ready, is not known while its cell is down, whatever was said last. Of
/// one that is lost nothing runs.
pub fn doubt(status: &mut Value, standing: &Value, down: &CellDown, now: Timestamp) {
    for kind in [AVAILABLE, REPLICAS_READY] {
        if conditions::is_true(status, kind) {
            let old = conditions::find(standing, kind);
            let words = down.to_string();
            let doubtful = conditions::explained(old, kind, down.status(), CELL_UNREACHABLE, &words, now);
            conditions::put(status, doubtful);
        }
    }
    if down.lost {
        for counter in RUNNING {
            status[counter] = json!(0);
        }
    }
}

/// All counters, zero where nobody counted: the schema requires them.
pub fn put_counters(status: &mut Value) {
    for counter in COUNTERS {
        if status.get(counter).is_none() {
            status[counter] = json!(0);
        }
    }
}

/// The condition by which a refusal is told, in a status that stands.
pub fn held(standing: &Value, refusal: &Refusal, now: Timestamp) -> Value {
    let old = conditions::find(standing, AVAILABLE);
    conditions::explained(old, AVAILABLE, "False", refusal.reason(), &refusal.to_string(), now)
}

/// The hub's status with what belongs to the project plane put in its place.
fn mirrored(hub: &Value, project: &Value) -> Value {
    let mut status = hub.clone();
    // In one order, whatever the plane makes of it.
    for own in PROJECTS_OWN {
        conditions::remove(&mut status, own);
        if let Some(standing) = conditions::find(project, own) {
            conditions::put(&mut status, standing.clone());
        }
    }
    if hub.get("observedGeneration").is_none() {
        // The cell has not seen the newest generation yet: what it saw last stays true.
        if let Some(last) = project.get("observedGeneration") {
            status["observedGeneration"] = last.clone();
        }
    }
    status
}
