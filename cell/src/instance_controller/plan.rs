//! The decision about an Instance, once its quota and its data are known. Pure.

use std::time::Duration;

use fedhub_api::conditions::{find, next_deadline, put, said};
use fedhub_cache::ServerNormalization;
use fedhub_cache::normalization::settled;
use fedhub_core::object::{Object, ObjectView, set_field};
use fedhub_planes::{StatusWrite, WriteMode};
use jiff::Timestamp;
use serde_json::Value;

use crate::domain::quota::verdict::requeue_after;
use crate::domain::status::debounce::{self, is_stage};
use crate::domain::status::gates::{self, Opens, opening};
use crate::domain::status::instance::{InstanceFacts, status};
use crate::domain::status::{QUOTA_GRANTED, READY, REFERENCED_DATA_READY, termination};

/// The decision about an Instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstancePlan {
    /// The status to write, where it is news.
    pub status: Option<StatusWrite>,
    /// Whether there are gates to take off once that status stands, and what takes them off besides it.
    pub opens: Option<Opens>,
    /// When to look again.
    pub requeue_after: Option<Duration>,
}

/// Decides for an Instance. `normalization` is what the server made of the last status that was written.
///
/// `Ready` describes the Instance without the gates that this very status takes off: else the next write
/// would overwrite it. That the generation changes with that is not news either.
pub fn plan(seen: &InstanceFacts<'_>, normalization: Option<ServerNormalization>) -> InstancePlan {
    let instance = seen.instance;
    let opened = opened(seen);
    let status = status(&InstanceFacts { instance: opened.as_ref().unwrap_or(instance), ..*seen });
    let news = news(seen, &status, normalization);
    let wait = debounced(seen, &status).filter(|_| news && opened.is_none());
    let again = requeue_after(instance, seen.quota, seen.now);
    let deadline = next_deadline(&status, None, seen.now);
    let old = instance.status();
    // All conditions are as they should be, and yet the status is not: the server did not keep a part of it.
    let written_before = !status["conditions"].is_null() && old.get("conditions") == status.get("conditions");
    InstancePlan {
        status: (news && wait.is_none())
            .then(|| StatusWrite { mode: WriteMode::new(written_before, normalization), status }),
        opens: opened.is_some().then(|| opens(seen)),
        requeue_after: [again, wait, deadline].into_iter().flatten().min(),
    }
}

/// Decides for a terminating Instance: its progress is published once it lasts. `deadline` is how long it may
/// take (C12).
pub fn plan_terminating(
    instance: &Object,
    deadline: Duration,
    now: Timestamp,
    normalization: Option<ServerNormalization>,
) -> InstancePlan {
    let Some((status, left)) = termination::status(instance, deadline, now) else {
        return InstancePlan::default();
    };
    if settled(&status, instance.status(), normalization) {
        return InstancePlan { requeue_after: left, ..InstancePlan::default() };
    }
    let wait = debounce::debounce(instance, &status, now);
    let written_before = status.get("conditions") == instance.status().get("conditions");
    InstancePlan {
        status: wait
            .is_none()
            .then(|| StatusWrite { mode: WriteMode::new(written_before, normalization), status }),
        opens: None,
        requeue_after: [left, wait].into_iter().flatten().min(),
    }
}

/// The verdicts that gates wait for, as they are to be, each with its type and its gate.
fn verdicts<'a>(seen: &InstanceFacts<'a>) -> impl Iterator<Item = (&'static str, &'static str, &'a Value)> {
    let data = seen.data.map(|data| (REFERENCED_DATA_READY, gates::REFERENCED_DATA, data));
    std::iter::once((QUOTA_GRANTED, gates::QUOTA, seen.quota)).chain(data)
}

/// The Instance without the gates that these verdicts, and what else stands, take off; `None` where they take
/// none.
fn opened(seen: &InstanceFacts<'_>) -> Option<Object> {
    let instance = seen.instance;
    let mut judged = instance.clone();
    let mut status = instance.status().clone();
    for (_, _, verdict) in verdicts(seen) {
        put(&mut status, verdict.clone());
    }
    set_field(&mut judged, "status", status);
    let patch = opening(&judged, opens(seen))?;
    let mut opened = instance.clone();
    let gates = opened.data.pointer_mut("/spec/controller/schedulingGates")?;
    *gates = patch.pointer("/spec/controller/schedulingGates").cloned().unwrap_or_default();
    Some(opened)
}

/// Returns what the Instance's deployment opens. Its networking is the deployment controller's.
fn opens(seen: &InstanceFacts<'_>) -> Opens {
    Opens { network: false, resumed: !seen.suspended }
}

/// Whether a status has any news.
fn news(seen: &InstanceFacts<'_>, status: &Value, normalization: Option<ServerNormalization>) -> bool {
    const GENERATION: &str = "observedGeneration";
    let old = seen.instance.status();
    let mut same = status.clone();
    if settled(status, old, normalization) {
        return false;
    }
    // Which generation it holds for matters as long as a gate waits for that (C6); else it is written along.
    for (kind, gate, is) in verdicts(seen) {
        let Some(was) = find(old, kind) else { return true };
        let awaited = is["status"] == "True" && gates::of(seen.instance).contains(&gate);
        if awaited || was.get(GENERATION) == is.get(GENERATION) {
            continue;
        }
        let mut verdict = is.clone();
        match (was.get(GENERATION), verdict.as_object_mut()) {
            (Some(generation), Some(verdict)) => verdict.insert(GENERATION.to_owned(), generation.clone()),
            (None, Some(verdict)) => verdict.remove(GENERATION),
            (_, None) => None,
        };
        put(&mut same, verdict);
    }
    !settled(&same, old, normalization)
}

/// How long the status of an Instance that is coming up is debounced. What is not a stage, or was reported of
/// its quota or its data, is taken back at once: a gate must not open by a stale condition. So is a refusal
/// of quota published.
fn debounced(seen: &InstanceFacts<'_>, status: &Value) -> Option<Duration> {
    let old = seen.instance.status();
    let at_once = said(seen.quota).0 == "False"
        || verdicts(seen).any(|(kind, _, verdict)| {
            let was = find(old, kind).map_or("Unknown", |c| said(c).0);
            was != "Unknown" && was != said(verdict).0
        })
        || find(old, READY).is_some_and(|ready| !is_stage(ready));
    debounce::debounce(seen.instance, status, seen.now).filter(|_| !at_once)
}
