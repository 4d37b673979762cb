//! The status of an Instance: whether it is ready, and what its user reads if not.

use fedhub_api::conditions::{find, put, said, standing};
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::blocker::{ConditionUpdate, foremost, weight};
use super::gates::{self, NETWORK, QUOTA};
use super::network::Network;
use super::{AVAILABLE, PROGRAMMED, QUOTA_GRANTED, READY, REFERENCED_DATA_READY};

/// The input of an Instance's status.
#[derive(Clone, Copy, Debug)]
pub struct InstanceFacts<'a> {
    /// The Instance, with the status that stands.
    pub instance: &'a Object,
    /// `QuotaGranted` as it is to be, see [`crate::domain::quota::verdict`].
    pub quota: &'a Value,
    /// `ReferencedDataReady` as it is to be, where the Instance waits for data, see
    /// [`crate::domain::referenced_data`].
    pub data: Option<&'a Value>,
    /// How far the networking of its deployment is.
    pub network: &'a Network,
    /// The network contexts that its interfaces are attached to, where any is known, see
    /// [`crate::domain::network::contexts`].
    pub contexts: Option<&'a Value>,
    /// Whether its deployment is suspended.
    pub suspended: bool,
    /// Whether its user stopped it (V9).
    pub stopped: bool,
    /// The time now.
    pub now: Timestamp,
}

/// The message of `Ready` of an Instance that its user stopped.
const STOPPED: &str = "The instance is stopped, as its user asked: it is kept, but does not run";

/// The message of `Available` and `Ready` of a suspended Instance.
const SUSPENDED: &str = "The instance is suspended: it is kept, but does not run";

/// The whole status as it should stand: `Ready`, `QuotaGranted`, `ReferencedDataReady`, `suspended`,
/// `location` and `networkContexts` are ours, and so are `Programmed` and `Available` while the Instance is
/// suspended or its gate waits for quota that is denied. All else stays, but for the name of what its
/// provider has observed, where the same template got another one. What was known of location and networks is
/// not taken back (C15).
pub fn status(seen: &InstanceFacts<'_>) -> Value {
    let old = seen.instance.status();
    let mut status = standing(old);
    if seen.suspended || status.get("suspended").is_some() {
        status["suspended"] = json!(seen.suspended);
    }
    if let Some(location) = seen.instance.spec().get("location").filter(|location| location.is_object()) {
        status["location"] = location.clone();
    }
    if let Some(former) = seen.instance.annotation(FORMER_TEMPLATE_HASH)
        && status["controller"]["observedTemplateHash"] == former
        && let Some(hash) = seen.instance.spec()["controller"]["templateHash"].as_str()
    {
        status["controller"]["observedTemplateHash"] = json!(hash);
    }
    if let Some(contexts) = seen.contexts {
        status["networkContexts"] = contexts.clone();
    }
    put(&mut status, seen.quota.clone());
    if let Some(data) = seen.data {
        put(&mut status, data.clone());
    }
    for kind in [PROGRAMMED, AVAILABLE] {
        if let Some(words) = in_place_of_provider(seen, kind) {
            put(&mut status, words.condition_verbatim(find(old, kind), kind, seen.now));
        }
    }
    let ready = ready(seen, &status).condition(find(old, READY), READY, seen.now);
    put(&mut status, ready);
    status
}

fn ready(seen: &InstanceFacts<'_>, status: &Value) -> ConditionUpdate {
    if seen.suspended {
        return ConditionUpdate::no(Reason::Suspended, SUSPENDED);
    }
    let gates = gates::of(seen.instance);
    if !gates.is_empty() {
        return waiting(seen, status, &gates);
    }
    let unprogrammed = unprogrammed(status);
    if seen.stopped
        && let Some(words) = stopped(status, unprogrammed.as_ref())
    {
        return words;
    }
    if let Some(words) = unprogrammed {
        return words;
    }
    match find(status, AVAILABLE).map(said) {
        Some(("True", _, _)) => ConditionUpdate::yes(Reason::Available, "Instance is ready"),
        // Its user did not stop it, or wants it to run again: that is what the reason says of a readiness.
        Some(("False", reason, message)) if reason == Reason::Stopped => {
            ConditionUpdate::no(Reason::Starting, format!("The provider is to start the instance: {message}"))
        }
        Some((state, reason, message)) if !reason.is_empty() => {
            ConditionUpdate::new(state, AnyReason::parse(reason), message)
        }
        _ => ConditionUpdate::no(Reason::Pending, "Instance is not available"),
    }
}

/// The readiness of an Instance that its user stopped; `None` where something else is to be said: what keeps
/// it from being created and needs action, or that its provider does not know whether it runs (V6).
fn stopped(status: &Value, unprogrammed: Option<&ConditionUpdate>) -> Option<ConditionUpdate> {
    if unprogrammed.is_some_and(|words| words.reason.known().is_some_and(Reason::needs_action)) {
        return None;
    }
    let available = find(status, AVAILABLE).map_or("Unknown", |condition| said(condition).0);
    match (available, unprogrammed) {
        ("True", _) => Some(ConditionUpdate::no(
            Reason::Stopping,
            "The instance still runs, and its provider is to stop it, as its user asked",
        )),
        ("False", _) | (_, Some(_)) => Some(ConditionUpdate::no(Reason::Stopped, STOPPED)),
        _ => None,
    }
}

/// Returns the replacement of a provider's condition while the Instance may not run; when it may again, the
/// schema's default, to reset it. `None` if the provider's condition is kept.
fn in_place_of_provider(seen: &InstanceFacts<'_>, kind: &str) -> Option<ConditionUpdate> {
    if seen.suspended {
        return (kind == AVAILABLE).then(|| ConditionUpdate::no(Reason::Suspended, SUSPENDED));
    }
    if let Some(denied) = denied(seen) {
        return Some(denied);
    }
    let (_, reason, message) = said(find(seen.instance.status(), kind)?);
    let ours = reason == Reason::PendingQuota || (reason == Reason::Suspended && message == SUSPENDED);
    ours.then(|| ConditionUpdate::new("Unknown", Reason::Pending, "Waiting for controller"))
}

/// The refusal of quota to an Instance whose gate still stands: one that has passed it runs on (C6). An
/// unknown answer refuses nothing.
fn denied(seen: &InstanceFacts<'_>) -> Option<ConditionUpdate> {
    let (status, _, message) = said(seen.quota);
    let waits = gates::of(seen.instance).contains(&QUOTA);
    (waits && status == "False").then(|| ConditionUpdate::no(Reason::PendingQuota, message))
}

/// Gates are left: the most important of what they wait for.
fn waiting(seen: &InstanceFacts<'_>, status: &Value, gates: &[&str]) -> ConditionUpdate {
    let mut message = format!("Scheduling gates present: {}", gates.join(", "));
    let (state, _, quota) = said(seen.quota);
    if gates.contains(&QUOTA) && state == "Unknown" && !quota.is_empty() {
        message = format!("{message}. Quota: {quota}");
    }
    let mut all = vec![ConditionUpdate::no(Reason::SchedulingGatesPresent, message)];
    all.extend(denied(seen));
    if let Some((state, reason, message)) = find(status, REFERENCED_DATA_READY).map(said)
        && state != "True"
    {
        all.push(ConditionUpdate::new(state, AnyReason::parse(reason), message));
    }
    if gates.contains(&NETWORK) {
        all.extend(seen.network.blocker());
    }
    foremost(all).unwrap_or_else(not_programmed)
}

/// Returns what is known of why the provider has not created an Instance that nothing of ours holds back;
/// `None` if it has.
fn unprogrammed(status: &Value) -> Option<ConditionUpdate> {
    let programmed = find(status, PROGRAMMED).map(said);
    if programmed.is_some_and(|(state, _, _)| state == "True") {
        return None;
    }
    let known = status.get("conditions").and_then(Value::as_array).into_iter().flatten().filter_map(|c| {
        let (state, reason, message) = said(c);
        let ours = [READY, QUOTA_GRANTED].iter().any(|kind| c["type"] == *kind);
        // A reason that we do not know may be of a condition that is at its best at False.
        (!ours && state != "True" && weight(reason) > 0)
            .then(|| ConditionUpdate::new(state, AnyReason::parse(reason), message))
    });
    let own = programmed
        .filter(|(_, reason, _)| {
            !reason.is_empty()
                && !matches!(Reason::parse(reason), Some(Reason::Pending | Reason::PendingProgramming))
        })
        .map(|(state, reason, message)| ConditionUpdate::new(state, AnyReason::parse(reason), message));
    Some(foremost(known).or(own).unwrap_or_else(not_programmed))
}

fn not_programmed() -> ConditionUpdate {
    ConditionUpdate::no(Reason::PendingProgramming, "Instance has not been programmed")
}
