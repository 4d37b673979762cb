//! What keeps an Instance or a deployment from being ready, and which of several reasons is reported (C9).
//! [`fedhub_api::responsibility`] names who has to act.

use fedhub_api::conditions::{awaited, stand};
use fedhub_api::responsibility::{DEADLINE_EXCEEDED, DELETION_REFUSED, INSTANCES_REFUSED};
use jiff::Timestamp;
use serde_json::Value;

/// Reason: a network is on its way.
pub(super) const NETWORK_PROVISIONING: &str = "NetworkProvisioning";
/// Reason: an interface asks for an address family that its network does not have.
pub(super) const FAMILY_NOT_CARRIED: &str = "AddressFamilyNotCarried";

/// The content of a condition, most often about one thing that blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionUpdate {
    /// The condition's status: `True`, `False` or `Unknown`.
    pub status: String,
    /// One word in CamelCase, for programs.
    pub reason: String,
    /// What a user reads.
    pub message: String,
}

impl ConditionUpdate {
    /// A condition at `False`.
    pub fn no(reason: &str, message: impl Into<String>) -> Self {
        Self { status: "False".to_owned(), reason: reason.to_owned(), message: message.into() }
    }

    /// A condition at `True`.
    pub fn yes(reason: &str, message: impl Into<String>) -> Self {
        Self { status: "True".to_owned(), reason: reason.to_owned(), message: message.into() }
    }

    /// A condition that is not True.
    pub fn of(status: &str, reason: &str, message: &str) -> Self {
        // Any other status is unknown.
        let status = if status == "False" { "False" } else { "Unknown" };
        Self { status: status.to_owned(), reason: reason.to_owned(), message: message.to_owned() }
    }

    /// The condition of type `kind` that replaces `old`; where it is not True, with who has to act (C9).
    pub fn condition(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
        self.condition_since(old, kind, None, now)
    }

    /// The same where something may have `moved` since that condition turned.
    pub fn condition_since(
        &self,
        old: Option<&Value>,
        kind: &str,
        moved: Option<Timestamp>,
        now: Timestamp,
    ) -> Value {
        awaited(old, kind, (&self.status, &self.reason, &self.message), moved, now)
    }

    /// The same with the message as it is: for conditions that others own.
    pub fn condition_verbatim(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
        stand(old, kind, &self.status, &self.reason, &self.message, now)
    }
}

/// The weight of a reason beside others: the greatest is reported. 0 for one that this version does not know.
pub fn priority(reason: &str) -> u8 {
    match reason {
        "InstancesProvisioning" | "Provisioning" => 1,
        NETWORK_PROVISIONING | "NoMatchingLocation" => 2,
        "QuotaNotGranted" | "PendingQuota" => 3,
        "ReferencedDataNotReady" | "AwaitingPropagation" | "Resolving" => 4,
        "SourceNotFound"
        | "SourceTooLarge"
        | "SourceUnauthorized"
        | "SourceNameTaken"
        | "SourceRefused"
        | "SourceUnsupported"
        | "ImageUnavailable"
        | "InstanceCrashing"
        | "ConfigurationError"
        | "InvalidScaleSettings"
        | "InstanceNameTaken"
        | INSTANCES_REFUSED
        | DELETION_REFUSED
        | DEADLINE_EXCEEDED => 5,
        "NetworkNotFound" | FAMILY_NOT_CARRIED => 6,
        "NetworkFailedToCreate" => 7,
        "CityCodeMismatch" | "LocationMismatch" | "AmbiguousServingLocation" => 8,
        _ => 0,
    }
}

/// The one to report: the first of those with the greatest priority.
pub fn foremost(blockers: impl IntoIterator<Item = ConditionUpdate>) -> Option<ConditionUpdate> {
    blockers.into_iter().reduce(
        |best, next| {
            if priority(&next.reason) > priority(&best.reason) { next } else { best }
        },
    )
}
