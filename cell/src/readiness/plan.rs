//! What there is to do about an Instance, once its quota and its data are known. Pure.

use std::time::Duration;

use fedhub_api::conditions::{find, put, said};
use fedhub_cache::ServerNormalization;
use fedhub_cache::normalization::settled;
use fedhub_core::object::{Object, ObjectView, set_field};
use fedhub_planes::StatusWrite;
use fedhub_planes::writer::probe;
use jiff::Timestamp;
use serde_json::Value;

use crate::quota::verdict::look_again;
use crate::status::gates::{self, Opens, opening};
use crate::status::hush::{self, is_stage};
use crate::status::instance::{Seen, status};
use crate::status::{QUOTA_GRANTED, READY, REFERENCED_DATA_READY, termination};

/// What there is to do about an Instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The status to write, where it is news.
    pub status: Option<StatusWrite>,
    /// Whether there are gates to take off once that status stands, and what takes them off besides it.
    pub opens: Option<Opens>,
    /// When to look again.
    pub again: Option<Duration>,
}

/// What there is to do about the Instance. `echo` is what the server made of the last status that was written.
///
/// `Ready` speaks of the Instance as it is when the gates are off that this very status takes off: to say that they are
/// there would be overwritten by the next write. That the generation moved on by taking them off is no news either.
pub fn plan(seen: &Seen<'_>, echo: Option<ServerNormalization>) -> Plan {
    let instance = seen.instance;
    let opened = opened(seen);
    let status = status(&Seen { instance: opened.as_ref().unwrap_or(instance), ..*seen });
    let news = news(seen, &status, echo);
    let hushed = hushed(seen, &status).filter(|_| news && opened.is_none());
    let again = look_again(instance, seen.quota, seen.now);
    let old = instance.status();
    // All conditions stand as they are meant, and yet the whole does not: something was not kept.
    let written_before = !status["conditions"].is_null() && old.get("conditions") == status.get("conditions");
    Plan {
        status: (news && hushed.is_none())
            .then(|| StatusWrite { probe: probe(true, written_before, echo), status }),
        opens: opened.is_some().then(|| opens(seen)),
        again: [again, hushed].into_iter().flatten().min(),
    }
}

/// What there is to do about an Instance that is being deleted: to tell how far that is, once it lasts. `deadline` is how
/// long it may take (C12).
pub fn ending(
    instance: &Object,
    deadline: Duration,
    now: Timestamp,
    echo: Option<ServerNormalization>,
) -> Plan {
    let Some((status, left)) = termination::status(instance, deadline, now) else { return Plan::default() };
    if settled(&status, instance.status(), echo) {
        return Plan { again: left, ..Plan::default() };
    }
    let hushed = hush::hushed(instance, &status, now);
    let written_before = status.get("conditions") == instance.status().get("conditions");
    let write = || StatusWrite { probe: probe(true, written_before, echo), status };
    Plan {
        status: hushed.is_none().then(write),
        opens: None,
        again: [left, hushed].into_iter().flatten().min(),
    }
}

/// The verdicts that gates wait for, as they are to be, each with its type and its gate.
fn verdicts<'a>(seen: &Seen<'a>) -> impl Iterator<Item = (&'static str, &'static str, &'a Value)> {
    let data = seen.data.map(|data| (REFERENCED_DATA_READY, gates::REFERENCED_DATA, data));
    std::iter::once((QUOTA_GRANTED, gates::QUOTA, seen.quota)).chain(data)
}

/// The Instance without the gates that these verdicts, and what else stands, take off; `None` where they take none.
fn opened(seen: &Seen<'_>) -> Option<Object> {
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

/// What holds for the Instance's deployment. Its networking is judged by the deployment's controller.
fn opens(seen: &Seen<'_>) -> Opens {
    Opens { network: false, resumed: !seen.suspended }
}

/// Whether a status says anything that the one that stands does not.
fn news(seen: &Seen<'_>, status: &Value, echo: Option<ServerNormalization>) -> bool {
    const GENERATION: &str = "observedGeneration";
    let (old, mut same) = (seen.instance.status(), status.clone());
    if settled(status, old, echo) {
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
    !settled(&same, old, echo)
}

/// For how long nothing is said yet of an Instance that is coming up, see [`hush`]. What was said of it and is no stage,
/// or of its quota or its data, is taken back at once: a gate must not go by a verdict that is gone. So is a refusal of quota told.
fn hushed(seen: &Seen<'_>, status: &Value) -> Option<Duration> {
    let old = seen.instance.status();
    let taken_back = |(kind, _, verdict): (&str, &str, &Value)| {
        let was = find(old, kind).map_or("Unknown", |c| said(c).0);
        was != "Unknown" && was != said(verdict).0
    };
    let at_once = said(seen.quota).0 == "False"
        || verdicts(seen).any(taken_back)
        || find(old, READY).is_some_and(|ready| !is_stage(ready));
    hush::hushed(seen.instance, status, seen.now).filter(|_| !at_once)
}
