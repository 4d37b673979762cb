//! What keeps an Instance or a deployment from being ready, and which of several reasons is reported (C9).
//! [`fedhub_api::reason`] names who has to act.

use fedhub_api::conditions::{awaited, stand};
use fedhub_api::reason::Reason;
use jiff::Timestamp;
use serde_json::Value;

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
    pub fn no(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: "False".to_owned(), reason: reason.into(), message: message.into() }
    }

    /// A condition at `True`.
    pub fn yes(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: "True".to_owned(), reason: reason.into(), message: message.into() }
    }

    /// A condition that is not True.
    pub fn of(status: &str, reason: impl Into<String>, message: &str) -> Self {
        // Any other status is unknown.
        let status = if status == "False" { "False" } else { "Unknown" };
        Self { status: status.to_owned(), reason: reason.into(), message: message.to_owned() }
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
    let Some(reason) = Reason::parse(reason) else {
        return 0;
    };
    match reason {
        Reason::InstancesProvisioning | Reason::Provisioning => 1,
        Reason::NetworkProvisioning | Reason::NoMatchingLocation => 2,
        Reason::QuotaNotGranted | Reason::PendingQuota => 3,
        Reason::ReferencedDataNotReady | Reason::AwaitingPropagation | Reason::Resolving => 4,
        Reason::SourceNotFound
        | Reason::SourceTooLarge
        | Reason::SourceUnauthorized
        | Reason::SourceNameTaken
        | Reason::SourceRefused
        | Reason::SourceUnsupported
        | Reason::ImageUnavailable
        | Reason::InstanceCrashing
        | Reason::ConfigurationError
        | Reason::InvalidScaleSettings
        | Reason::InstanceNameTaken
        | Reason::InstancesRefused
        | Reason::DeletionRefused
        | Reason::TerminationDeadlineExceeded => 5,
        Reason::NetworkNotFound | Reason::AddressFamilyNotCarried => 6,
        Reason::NetworkFailedToCreate => 7,
        Reason::CityCodeMismatch | Reason::LocationMismatch | Reason::AmbiguousServingLocation => 8,
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
