//! What keeps an Instance or a deployment from being ready, and which of several reasons is the one to say (C9).

use fedhub_shared::conditions::stand;
use jiff::Timestamp;
use serde_json::Value;

use super::network::{FAMILY_NOT_CARRIED, NETWORK_PROVISIONING};
use super::termination::DEADLINE_EXCEEDED;

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

    /// The condition of type `kind` that says this, in the place of `old`.
    pub fn stand(&self, old: Option<&Value>, kind: &str, now: Timestamp) -> Value {
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
        | "InstanceCrashing" | "ConfigurationError" | "InstanceNameTaken" | DEADLINE_EXCEEDED => 5,
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

/// Whether a reason does not go away by waiting alone: somebody has to do something.
pub fn needs_somebody(reason: &str) -> bool {
    match reason {
        "PendingQuota" | "QuotaNotGranted" => true,
        _ => priority(reason) >= 5,
    }
}

/// Whose job a reason is and what there is to do: a user's, unless it names the operator or nobody (C9).
pub fn remedy(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "ImageUnavailable" => "check the image's name and tag, and the pull secrets",
        "InstanceCrashing" => "look at the instance's logs for why it ends",
        "ConfigurationError" => "correct the workload's template",
        "InstanceNameTaken" => "delete or rename it",
        "SourceNotFound" => "create the ConfigMap or Secret, or take the reference to it out of the template",
        "SourceTooLarge" => "make the ConfigMap or Secret smaller",
        "NetworkNotFound" => "create the network, or correct its name in the workload's template",
        FAMILY_NOT_CARRIED => "change ipFamilies in the workload's template, or use another network",
        NETWORK_PROVISIONING => {
            "no action needed; if it lasts, the platform's operator has to look at the network service"
        }
        "NetworkFailedToCreate" => "the platform's operator has to look at the network service",
        "NoMatchingLocation" => "the platform's operator has to create it",
        "AmbiguousServingLocation" => "the platform's operator has to delete the others",
        "CityCodeMismatch" => "the platform's operator has to correct its LocationBinding",
        _ => return None,
    })
}

/// A message with what can be done about it behind.
pub fn with_remedy(reason: &str, message: &str) -> String {
    match remedy(reason) {
        Some(remedy) if message.is_empty() => format!("{reason}: {remedy}"),
        Some(remedy) if !message.contains(remedy) => format!("{} ({remedy})", message.trim_end_matches('.')),
        _ => message.to_owned(),
    }
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

    #[test]
    fn a_remedy_is_said_once() {
        let once = with_remedy("ImageUnavailable", "no such image.");
        assert!(once.starts_with("no such image (check the image"), "{once}");
        assert_eq!(with_remedy("ImageUnavailable", &once), once);
        assert_eq!(with_remedy("Odd", "words"), "words");
    }
}
