//! From a claim's answer to an Instance's `QuotaGranted`.

use std::time::Duration;

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::domain::status::blocker::ConditionUpdate;
use crate::domain::status::{QUOTA_GRANTED, gates};

/// The time for which a claim without an evaluation counts as just made.
const JUST_MADE: Duration = Duration::from_secs(10);
/// The shortest and the longest time between a denied claim and the next one.
const PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_mins(5)];

/// The state of an Instance's quota, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub enum QuotaAnswer<'a> {
    /// This cell does not ask for quota.
    Off,
    /// The claim was just made, or is about to be.
    Asked,
    /// The Instance's own claim as it stands.
    Claim(&'a Object),
    /// An earlier claim of that name is still there.
    Occupied,
    /// The claim of that name requests something else than the Instance needs.
    Other,
    /// The claim of that name has no mark of this cell (C10).
    Taken(&'a Object),
    /// The cell does not know the size of the Instance's type, for this reason.
    NoSize(&'a str),
    /// A request failed, or could not be made.
    Failed(&'a QuotaFailure),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotaFailure {
    /// The labels of the Instance's namespace do not identify its project.
    ProjectUnresolvable,
    /// The project has no such namespace.
    NamespaceNotFound(String),
    /// The project does not exist.
    ProjectNotFound(String),
    /// The claim was refused: no right to make it, or no such resource registered.
    Misconfigured(String),
    /// Any other failure, which may be temporary.
    Unavailable(String),
}

impl QuotaFailure {
    /// Why a claim could not be made in `namespace` of `project`, by the status code of the answer.
    pub fn of_create(code: Option<u16>, project: &str, namespace: &str, words: &str) -> Self {
        match code {
            Some(404) if namespace.is_empty() => Self::ProjectNotFound(project.to_owned()),
            Some(404) => Self::NamespaceNotFound(format!("{project}/{namespace}")),
            Some(403 | 422) => Self::Misconfigured(words.to_owned()),
            _ => Self::Unavailable(words.to_owned()),
        }
    }

    /// Returns the reason of the condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::ProjectUnresolvable => Reason::QuotaProjectIDUnresolvable,
            Self::NamespaceNotFound(_) => Reason::QuotaNamespaceNotFound,
            Self::ProjectNotFound(_) => Reason::QuotaProjectNotFound,
            Self::Misconfigured(_) => Reason::QuotaMisconfigured,
            Self::Unavailable(_) => Reason::QuotaBackendUnavailable,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::ProjectUnresolvable => {
                "the labels of the instance's namespace do not identify its project".to_owned()
            }
            Self::NamespaceNotFound(name) => format!("namespace {name} does not exist in the project"),
            Self::ProjectNotFound(name) => format!("project {name} does not exist"),
            Self::Misconfigured(words) => {
                format!("the quota claim was refused: {words}")
            }
            Self::Unavailable(words) => {
                format!("the quota service cannot be reached, retrying: {words}")
            }
        }
    }
}

/// Whether an Instance's status shows a granted claim.
pub fn is_granted(instance: &Object) -> bool {
    find(instance.status(), QUOTA_GRANTED)
        .is_some_and(|c| c["status"] == "True" && said(c).1 == Reason::QuotaAvailable)
}

/// Whether a condition reports a request that failed, and not an answer.
pub fn reports_failure(quota: &Value) -> bool {
    match AnyReason::parse(said(quota).1) {
        AnyReason::Known(Reason::QuotaExceeded | Reason::QuotaNoBudget) => false,
        AnyReason::Known(reason) => reason.is_of_quota(),
        // Of a reason of another version only the text is known.
        AnyReason::Foreign(text) => text.starts_with("Quota"),
    }
}

/// Whether a condition reports that the quota service itself has refused the Instance.
fn is_refusal(quota: &Value) -> bool {
    said(quota).0 == "False" && !reports_failure(quota)
}

/// `QuotaGranted` for the Instance's present generation. A request that failed takes no grant back: that
/// stays, with the generation of its evaluation. Nor does it refuse an Instance that has passed its gate, as
/// while quota was off: the known status stays, and the failure is reported along with it. A denial says that
/// such an Instance keeps running (C6), and stands until the claim that was made anew is answered (I7).
pub fn quota_granted(instance: &Object, answer: QuotaAnswer<'_>, now: Timestamp) -> Value {
    let old = find(instance.status(), QUOTA_GRANTED);
    let mut words = words(answer, now);
    let passed = !gates::of(instance).contains(&gates::QUOTA);
    if passed && words.status == "False" {
        words.message = format!("{}; the instance keeps running", words.message.trim_end_matches('.'));
    }
    if let (QuotaAnswer::Claim(_), "Unknown", Some(refused)) = (answer, &*words.status, old)
        && is_refusal(refused)
    {
        return refused.clone();
    }
    if let QuotaAnswer::Failed(_) = answer {
        let (status, reason, _) = old.map(said).unwrap_or_default();
        match (status, old) {
            ("True", Some(granted)) if reason == Reason::QuotaAvailable => return granted.clone(),
            (_, Some(refused)) if passed && is_refusal(refused) => return refused.clone(),
            _ if passed => status_of_passed(status).clone_into(&mut words.status),
            _ => {}
        }
    }
    if let (QuotaAnswer::Failed(QuotaFailure::Unavailable(_)), Some((_, reason, message))) =
        (answer, old.map(said))
        && reason == words.reason.as_str()
    {
        // The message of a failure varies: the first one is kept while the failure lasts (I7).
        message.clone_into(&mut words.message);
    }
    // The schema's default needs no write.
    let mut condition = if words == self::words(QuotaAnswer::Asked, now) {
        words.condition_verbatim(old, QUOTA_GRANTED, now)
    } else {
        words.condition(old, QUOTA_GRANTED, now)
    };
    if let Some(generation) = instance.metadata.generation {
        condition["observedGeneration"] = json!(generation);
    }
    condition
}

/// The status that a failure leaves to an Instance that has passed its gate.
fn status_of_passed(status: &str) -> &'static str {
    if status == "True" { "True" } else { "Unknown" }
}

fn words(answer: QuotaAnswer<'_>, now: Timestamp) -> ConditionUpdate {
    let unknown = |reason: Reason, message: &str| ConditionUpdate::new("Unknown", reason, message);
    match answer {
        QuotaAnswer::Off => ConditionUpdate::yes(Reason::QuotaDisabled, "Quota is not enforced in this cell"),
        QuotaAnswer::Asked => unknown(Reason::PendingEvaluation, "Waiting for quota evaluation"),
        QuotaAnswer::Occupied => {
            unknown(Reason::PendingEvaluation, "Waiting for an earlier quota claim to be deleted")
        }
        QuotaAnswer::Other => unknown(
            Reason::PendingEvaluation,
            "The quota claim requests something else than the instance needs, and is made anew",
        ),
        QuotaAnswer::Taken(claim) => unknown(
            Reason::QuotaClaimTaken,
            &format!("ResourceClaim {}/{} was not made by this cell", claim.namespace(), claim.name()),
        ),
        QuotaAnswer::NoSize(why) => unknown(Reason::InstanceTypeUnavailable, why),
        QuotaAnswer::Failed(failure) => ConditionUpdate::no(failure.reason(), failure.words()),
        QuotaAnswer::Claim(claim) => granted(claim, now),
    }
}

/// The claim's own condition.
fn granted(claim: &Object, now: Timestamp) -> ConditionUpdate {
    let Some(condition) = find(claim.status(), "Granted") else { return words(QuotaAnswer::Asked, now) };
    let behind = condition["observedGeneration"].as_i64().zip(claim.metadata.generation);
    if behind.is_some_and(|(seen, present)| seen < present) {
        return words(QuotaAnswer::Asked, now);
    }
    let or =
        |message: &str, words: &str| if message.is_empty() { words.to_owned() } else { message.to_owned() };
    match said(condition) {
        ("True", _, message) => ConditionUpdate::yes(Reason::QuotaAvailable, or(message, "Quota is granted")),
        ("False", reason, _) if reason == Reason::PendingEvaluation && just_made(claim, now) => {
            words(QuotaAnswer::Asked, now)
        }
        ("False", reason, message) if reason == Reason::PendingEvaluation => ConditionUpdate::new(
            "Unknown",
            Reason::QuotaNoBudget,
            &format!(
                "Quota has not been evaluated; the project may have no budget for it yet: {}",
                or(message, "no answer")
            ),
        ),
        ("False", reason, message) if reason == Reason::ValidationFailed => ConditionUpdate::no(
            Reason::ValidationFailed,
            format!("The quota claim is not valid: {}", or(message, "no reason given")),
        ),
        ("False", _, message) => {
            ConditionUpdate::no(Reason::QuotaExceeded, or(message, "The quota is used up"))
        }
        _ => words(QuotaAnswer::Asked, now),
    }
}

fn just_made(claim: &Object, now: Timestamp) -> bool {
    claim.metadata.creation_timestamp.as_ref().is_none_or(|made| age(made.0, now) < JUST_MADE)
}

/// Returns how long ago `since` was; zero if it is in the future.
fn age(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or_default()
}

/// How long until a claim of an Instance is to be made anew that requests something `other` than the Instance
/// needs, or is denied, for a quota service may treat a denial as final: half the time that the Instance had
/// waited when the claim was made, and not before the denial is published. `None` for any other claim, and
/// where the Instance has passed its gate (C6).
pub fn remake_after(instance: &Object, claim: &Object, other: bool, now: Timestamp) -> Option<Duration> {
    let denied = granted(claim, now).status == "False";
    if !(denied || other) || !gates::of(instance).contains(&gates::QUOTA) {
        return None;
    }
    let created = |object: &Object| object.metadata.creation_timestamp.as_ref().map_or(now, |t| t.0);
    let made = created(claim);
    let [shortest, longest] = PAUSES;
    let pause = (age(created(instance), made) / 2).clamp(shortest, longest);
    let is_published = find(instance.status(), QUOTA_GRANTED).is_some_and(|c| said(c).0 == "False");
    Some(if other || is_published { pause.saturating_sub(age(made, now)) } else { pause })
}

/// When an Instance without quota is to be reconciled again; `None` where there is nothing to wait for.
pub fn requeue_after(instance: &Object, quota: &Value, now: Timestamp) -> Option<Duration> {
    let settled = said(quota).0 == "True" && !reports_failure(quota);
    (!settled).then(|| retry_after(instance, now))
}

/// When to ask again, by the Instance's age: soon while a user may be waiting.
pub fn retry_after(instance: &Object, now: Timestamp) -> Duration {
    let born = instance.metadata.creation_timestamp.as_ref().map_or(now, |t| t.0);
    Duration::from_secs(match age(born, now).as_secs() {
        0..60 => 1,
        60..300 => 15,
        300..600 => 60,
        _ => 300,
    })
}
