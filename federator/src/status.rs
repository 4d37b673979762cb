//! The status that a project WD is to have (F8).
//!
//! Decides F8.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions;
use fedhub_api::facts::deployment::{COUNTERS, FEDERATED, PROJECTS_OWN, put_counters, reported, unreported};
use fedhub_api::reason::{Reason, attributed};
use fedhub_cache::ServerNormalization;
use fedhub_cache::normalization::settled;
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::{StatusWrite, WriteMode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cleanup::CleanupBlocked;
use crate::moving::speaks_for_another_city;
use crate::progress::{Failure, Progress};
use crate::refusal::{Refusal, conflict};
use crate::snapshot::Snapshot;

const AVAILABLE: &str = "Available";
const REPLICAS_READY: &str = "ReplicasReady";
/// The counters that do not apply to a cell that is lost.
const RUNNING: [&str; 2] = ["readyReplicas", "currentReplicas"];
/// The message of a WD before its cell has reported on it (U1).
const PENDING: &str = "Waiting for the cell to report";

/// Whether the status may differ from what it should be, as far as facts show: where it does not, [`write()`]
/// is `None`, but for the order of conditions. A conflict and a move come as a `refusal`.
pub fn may_differ(seen: &Snapshot, refusal: Option<&Refusal>) -> bool {
    let project = &seen.project;
    let same = match seen.hub.as_ref().filter(|hub| hub.reported()) {
        None => project.status.is_none_or(|status| status == unreported()),
        Some(hub) => {
            let observed = hub.observed_generation();
            (observed.is_none() || observed == project.observed_generation()) && project.status == hub.status
        }
    };
    refusal.is_some() || seen.cell_down.is_some() || !same
}

/// The write of the status, where it is not as it should be.
pub fn write(
    seen: &Snapshot,
    refusal: Option<&Refusal>,
    project: &Object,
    hub: Option<&Object>,
) -> Option<StatusWrite> {
    let current = project.status();
    let normalization = seen.status_normalization;
    let differs = |status: &Value| !settled(status, current, normalization);
    let mut status = match desired(seen, refusal, project, hub).filter(differs) {
        None if seen.is_due => standing(current),
        changed => changed?,
    };
    // U2: published along with the rest.
    if !seen.project.terminating {
        let progress = Progress::from_snapshot(seen, refusal);
        let old = conditions::find(current, FEDERATED);
        conditions::put(&mut status, progress.condition(old, seen.project.generation, seen.now));
    }
    differs(&status).then(|| status_write(status, current, normalization))
}

/// A status that stays as it is.
fn standing(current: &Value) -> Value {
    let mut status = conditions::standing(current);
    put_counters(&mut status);
    status
}

/// The write of a status that differs from the one that stands.
pub fn status_write(
    status: Value,
    standing: &Value,
    normalization: Option<ServerNormalization>,
) -> StatusWrite {
    StatusWrite { status, mode: WriteMode::new(reported(standing), normalization) }
}

/// The status as it should stand; `None` where what stands may stay.
pub fn desired(
    seen: &Snapshot,
    refusal: Option<&Refusal>,
    project: &Object,
    hub: Option<&Object>,
) -> Option<Value> {
    let current = project.status();
    // I6: another's hub WD in this one's place does not count.
    let ours = hub.filter(|_| conflict(seen).is_none());
    let reports = ours.map(ObjectView::status).filter(|s| reported(s));
    let mut status = reports.map_or_else(|| standing(current), |hub| mirrored(hub, current));
    match refusal {
        // What the cell of another city says of availability is no answer (F6).
        Some(refusal)
            if refusal.always_stands()
                || reports.is_none()
                || !conditions::is_true(&status, AVAILABLE)
                || speaks_for_another_city(seen) =>
        {
            conditions::put(&mut status, held(current, refusal, seen.now));
            match refusal {
                Refusal::ServiceNotActive => stopped(&mut status, current, refusal, seen.now),
                Refusal::CleanupHeld(..) | Refusal::Terminating(_) => {
                    unknown(&mut status, current, refusal.reason(), &refusal.to_string(), seen.now);
                }
                _ => {}
            }
        }
        None if reports.is_none() => {
            // No cell has reported yet; a refusal of ours that no longer holds must not go on standing.
            let reason =
                conditions::find(&status, AVAILABLE).and_then(|c| Reason::parse(conditions::said(c).1));
            let is_over = reason.is_some_and(|reason| {
                reason.is_refusal() && (reason != Reason::CellUnreachable || seen.cell_down.is_none())
            });
            if is_over {
                let old = conditions::find(current, AVAILABLE);
                let words = attributed(None, PENDING);
                let pending =
                    conditions::explained(old, AVAILABLE, "Unknown", Reason::Pending, &words, seen.now);
                conditions::put(&mut status, pending);
            } else if seen.cell_down.is_none() {
                return None;
            }
        }
        Some(_) | None => {}
    }
    if let Some(down) = seen.cell_down.as_ref()
        && !speaks_for_another_city(seen)
    {
        doubt(&mut status, current, down, seen.now);
    }
    put_counters(&mut status);
    Some(status)
}

/// C11: that a WD is available, and its Instances ready, is not known while its cell is down, whatever was
/// reported last. Of one that is lost nothing runs.
fn doubt(status: &mut Value, standing: &Value, down: &CellDown, now: Timestamp) {
    for kind in [AVAILABLE, REPLICAS_READY] {
        if conditions::is_true(status, kind) {
            let old = conditions::find(standing, kind);
            let words = down.to_string();
            let doubtful =
                conditions::explained(old, kind, down.status(), Reason::CellUnreachable, &words, now);
            conditions::put(status, doubtful);
        }
    }
    if down.lost {
        for counter in RUNNING {
            status[counter] = json!(0);
        }
        if let Some(fields) = status.as_object_mut() {
            fields.remove("stoppedReplicas");
        }
    }
}

/// W9: nothing of the WD runs any more, whatever its cell reported last.
fn stopped(status: &mut Value, standing: &Value, refusal: &Refusal, now: Timestamp) {
    let old = conditions::find(standing, REPLICAS_READY);
    let reason = refusal.reason();
    let words = refusal.to_string();
    conditions::put(status, conditions::explained(old, REPLICAS_READY, "False", reason, &words, now));
    for counter in COUNTERS {
        status[counter] = json!(0);
    }
}

/// F9: what was true before the deletion is not known while that lasts.
fn unknown(status: &mut Value, standing: &Value, reason: Reason, message: &str, now: Timestamp) {
    for kind in [REPLICAS_READY, FEDERATED] {
        if conditions::is_true(status, kind) {
            let old = conditions::find(standing, kind);
            conditions::put(status, conditions::explained(old, kind, "Unknown", reason, message, now));
        }
    }
}

/// The condition that shows a refusal, in a status that stands.
pub fn held(standing: &Value, refusal: &Refusal, now: Timestamp) -> Value {
    let old = conditions::find(standing, AVAILABLE);
    conditions::explained(old, AVAILABLE, "False", refusal.reason(), &refusal.to_string(), now)
}

/// The status of a WD whose cleanup is blocked, where nothing is known of the hub but what a plane answered.
pub fn blocked(current: &Value, why: CleanupBlocked, answer: Option<&str>, now: Timestamp) -> Value {
    let mut status = standing(current);
    let message = why.message(answer);
    let old = conditions::find(current, AVAILABLE);
    let held = Reason::CleanupHeld;
    conditions::put(&mut status, conditions::explained(old, AVAILABLE, "False", held, &message, now));
    unknown(&mut status, current, held, &message, now);
    status
}

/// The status of a WD whose passes end with that failure.
pub fn failed(current: &Value, failure: Failure, generation: i64, now: Timestamp) -> Value {
    let mut status = standing(current);
    let old = conditions::find(current, FEDERATED);
    conditions::put(&mut status, Progress::Failed(failure).condition(old, generation, now));
    status
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
