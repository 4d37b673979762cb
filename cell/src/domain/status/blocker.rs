//! Why an Instance or a deployment is not ready, and which of several reasons is reported (C9).
//! [`fedhub_api::reason`] names who has to act.

use fedhub_api::conditions::{awaited, stand};
use fedhub_api::reason::{AnyReason, Reason};
use jiff::Timestamp;
use serde_json::Value;

/// The content of a condition, most often about one thing that blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionUpdate {
    /// The condition's status: `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason, for programs.
    pub reason: AnyReason,
    /// The message, for users.
    pub message: String,
}

impl ConditionUpdate {
    /// A condition at `False`.
    pub fn no(reason: impl Into<AnyReason>, message: impl Into<String>) -> Self {
        Self { status: "False".to_owned(), reason: reason.into(), message: message.into() }
    }

    /// A condition at `True`.
    pub fn yes(reason: impl Into<AnyReason>, message: impl Into<String>) -> Self {
        Self { status: "True".to_owned(), reason: reason.into(), message: message.into() }
    }

    /// A condition that is not True.
    pub fn new(status: &str, reason: impl Into<AnyReason>, message: &str) -> Self {
        // Any other status is unknown.
        let status = if status == "False" { "False" } else { "Unknown" };
        Self { status: status.to_owned(), reason: reason.into(), message: message.to_owned() }
    }

    /// The condition of type `kind` that replaces `old`; where it is not True, with who has to act (C9).
    pub fn condition(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
        self.condition_since(old, kind, None, now)
    }

    /// Like [`Self::condition`], but takes into account when something last `moved` on the way to that
    /// condition.
    pub fn condition_since(
        &self,
        old: Option<&Value>,
        kind: &str,
        moved: Option<Timestamp>,
        now: Timestamp,
    ) -> Value {
        awaited(old, kind, (&self.status, &self.reason, &self.message), moved, now)
    }

    /// Its weight beside what else blocks.
    pub fn weight(&self) -> u8 {
        self.reason.known().map_or(0, Reason::weight_in_cell)
    }

    /// Like [`Self::condition`], but with the message unchanged: for conditions that other controllers own.
    pub fn condition_verbatim(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
        stand(old, kind, &self.status, &self.reason, &self.message, now)
    }
}

/// [`Reason::weight_in_cell`] of a condition's reason; 0 for one that this version does not know.
pub fn weight(reason: &str) -> u8 {
    Reason::parse(reason).map_or(0, Reason::weight_in_cell)
}

/// The one to report: the first of those with the greatest weight.
pub fn foremost(blockers: impl IntoIterator<Item = ConditionUpdate>) -> Option<ConditionUpdate> {
    blockers.into_iter().reduce(|best, next| if next.weight() > best.weight() { next } else { best })
}
