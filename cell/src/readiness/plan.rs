//! What there is to do about an Instance, once its quota is known. Pure.

use std::time::Duration;

use fedhub_shared::conditions::{find, put, said};
use fedhub_shared::engine::echo::settled;
use fedhub_shared::engine::writer::probe;
use fedhub_shared::engine::{Echo, StatusWrite};
use fedhub_shared::object::{Object, ObjectView, set_field};
use serde_json::Value;

use crate::quota::verdict::look_again;
use crate::status::gates::{self, opening};
use crate::status::hush::{self, is_stage};
use crate::status::instance::{Seen, status};
use crate::status::{QUOTA_GRANTED, READY};

/// What there is to do about an Instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The status to write, where it is news.
    pub status: Option<StatusWrite>,
    /// Whether there are gates to take off once that status stands.
    pub opens: bool,
    /// When to look again.
    pub again: Option<Duration>,
}

/// What there is to do about the Instance. `echo` is what the server made of the last status that was written.
///
/// `Ready` speaks of the Instance as it is when the gates are off that this very status takes off: to say that they are
/// there would be overwritten by the next write. That the generation moved on by taking them off is no news either.
pub fn plan(seen: &Seen<'_>, echo: Option<Echo>) -> Plan {
    let instance = seen.instance;
    let opened = opened(instance, seen.quota);
    let status = status(&Seen { instance: opened.as_ref().unwrap_or(instance), ..*seen });
    let news = news(instance, &status, echo);
    let hushed = hushed(seen, &status).filter(|_| news && opened.is_none());
    let again = look_again(instance, seen.quota, seen.now);
    let old = instance.status();
    // All conditions stand as they are meant, and yet the whole does not: something was not kept.
    let written_before = !status["conditions"].is_null() && old.get("conditions") == status.get("conditions");
    Plan {
        status: (news && hushed.is_none())
            .then(|| StatusWrite { probe: probe(true, written_before, echo), status }),
        opens: opened.is_some(),
        again: [again, hushed].into_iter().flatten().min(),
    }
}

/// The Instance without the gates that this verdict on its quota, and what else stands, takes off; `None` where they
/// take none.
fn opened(instance: &Object, quota: &Value) -> Option<Object> {
    let mut judged = instance.clone();
    let mut status = instance.status().clone();
    put(&mut status, quota.clone());
    set_field(&mut judged, "status", status);
    let patch = opening(&judged, false)?;
    let mut opened = instance.clone();
    let gates = opened.data.pointer_mut("/spec/controller/schedulingGates")?;
    *gates = patch.pointer("/spec/controller/schedulingGates").cloned().unwrap_or_default();
    Some(opened)
}

/// Whether a status says anything that the one that stands does not.
fn news(instance: &Object, status: &Value, echo: Option<Echo>) -> bool {
    const GENERATION: &str = "observedGeneration";
    let old = instance.status();
    if settled(status, old, echo) {
        return false;
    }
    // Which generation it was granted for matters as long as a gate waits for that (C6); else it is written along.
    let (Some(was), Some(is)) = (find(old, QUOTA_GRANTED), find(status, QUOTA_GRANTED)) else { return true };
    let awaited = is["status"] == "True" && gates::of(instance).contains(&gates::QUOTA);
    if awaited || was.get(GENERATION) == is.get(GENERATION) {
        return true;
    }
    let (mut same, mut verdict) = (status.clone(), is.clone());
    match (was.get(GENERATION), verdict.as_object_mut()) {
        (Some(generation), Some(verdict)) => verdict.insert(GENERATION.to_owned(), generation.clone()),
        (None, Some(verdict)) => verdict.remove(GENERATION),
        (_, None) => None,
    };
    put(&mut same, verdict);
    !settled(&same, old, echo)
}

/// For how long nothing is said yet of an Instance that is coming up, see [`hush`]. What was said of it and is no stage,
/// or of its quota, is taken back at once: a gate must not go by a verdict that is gone. So is a refusal of quota told.
fn hushed(seen: &Seen<'_>, status: &Value) -> Option<Duration> {
    let old = seen.instance.status();
    let (was, is) = (find(old, QUOTA_GRANTED).map_or("Unknown", |c| said(c).0), said(seen.quota).0);
    let at_once = is == "False"
        || (was != "Unknown" && was != is)
        || find(old, READY).is_some_and(|ready| !is_stage(ready));
    hush::hushed(seen.instance, status, seen.now).filter(|_| !at_once)
}
