//! What keeps an Instance or a deployment from being ready, and which of several reasons is the one to say (C9). Whose
//! job each is, [`fedhub_api::responsibility`] tells.

use fedhub_api::conditions::{explained, stand};
use fedhub_api::responsibility::{DEADLINE_EXCEEDED, INSTANCES_REFUSED};
use jiff::Timestamp;
use serde_json::Value;

/// Reason: a network is on its way.
pub(super) const NETWORK_PROVISIONING: &str = "NetworkProvisioning";
/// Reason: an interface asks for an address family that its network does not have.
pub(super) const FAMILY_NOT_CARRIED: &str = "AddressFamilyNotCarried";

/// What a condition says, most often about one thing that blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The condition's status: `True`, `False` or `Unknown`.
    pub status: String,
    /// One word in CamelCase, for programs.
    pub reason: String,
    /// What a user reads.
    pub message: String,
}

impl Words {
    /// Something that is not so.
    pub fn no(reason: &str, message: impl Into<String>) -> Self {
        Self { status: "False".to_owned(), reason: reason.to_owned(), message: message.into() }
    }

    /// Something that is so.
    pub fn yes(reason: &str, message: impl Into<String>) -> Self {
        Self { status: "True".to_owned(), reason: reason.to_owned(), message: message.into() }
    }

    /// What a condition that is not True says.
    pub fn of(status: &str, reason: &str, message: &str) -> Self {
        // A status that is neither: nobody can say more than that it is not known.
        let status = if status == "False" { "False" } else { "Unknown" };
        Self { status: status.to_owned(), reason: reason.to_owned(), message: message.to_owned() }
    }

    /// The condition of type `kind` that says this, in the place of `old`; where it is not True, whose job that is too
    /// (C9).
    pub fn stand(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
        explained(old, kind, &self.status, &self.reason, &self.message, now)
    }

    /// The same, in these very words: for what is said in somebody else's place.
    pub fn stand_as_it_is(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
        stand(old, kind, &self.status, &self.reason, &self.message, now)
    }
}

/// How much a reason matters beside others: the greatest is said. 0 for a reason that this version does not know.
pub fn priority(reason: &str) -> u8 {
    match reason {
        "InstancesProvisioning" | "Provisioning" => 1,
        NETWORK_PROVISIONING | "NoMatchingLocation" => 2,
        "QuotaNotGranted" | "PendingQuota" => 3,
        "ReferencedDataNotReady" | "AwaitingPropagation" | "Resolving" => 4,
        "SourceNotFound" | "SourceTooLarge" | "SourceUnauthorized" | "ImageUnavailable"
        | "InstanceCrashing" | "ConfigurationError" | "InstanceNameTaken" | INSTANCES_REFUSED
        | DEADLINE_EXCEEDED => 5,
        "NetworkNotFound" | FAMILY_NOT_CARRIED => 6,
        "NetworkFailedToCreate" => 7,
        "CityCodeMismatch" | "LocationMismatch" | "AmbiguousServingLocation" => 8,
        _ => 0,
    }
}

/// The one to say: the first of those with the greatest priority.
pub fn foremost(blockers: impl IntoIterator<Item = Words>) -> Option<Words> {
    blockers.into_iter().reduce(
        |best, next| {
            if priority(&next.reason) > priority(&best.reason) { next } else { best }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_of_equals_the_first_is_said_and_of_others_the_greatest() {
        let no = |reason: &str, message: &str| Words::no(reason, message);
        let all = [no("Odd", "a"), no("PendingQuota", "b"), no("QuotaNotGranted", "c"), no("Resolving", "d")];
        assert_eq!(foremost(all[..1].to_vec()).unwrap().message, "a");
        assert_eq!(foremost(all[..3].to_vec()).unwrap().message, "b");
        assert_eq!(foremost(all.to_vec()).unwrap().message, "d");
        assert_eq!(foremost([]), None);
    }
}
