//! Whether the service runs in a project, as its `ServiceEntitlement`s say (W9): pure functions.
//!
//! What was granted is withdrawn only by what was seen (I4): its entitlement is rejected, or a watch that has
//! been unbroken since showed the deletion. That there is none after a gap of the watch holds everything,
//! until one is there again or an operator decides. Nothing is decided by a list that fails, by a kind that
//! the plane does not serve, by an entitlement that cannot be read, nor by a deletion of the whole kind,
//! which takes its objects first. What was known last is remembered with the plane's identity, for the
//! process that comes next.
//!
//! Decides W9.

use fedhub_api::conditions::is_true;
use fedhub_api::entitlement::{self, is_unpublished, resolved, was_granted};
use fedhub_core::object::{Object, ObjectView};

/// The CRD of entitlements.
pub const CRD: &str = "serviceentitlements.services.miloapis.com";

/// The remembered grant of the service to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Grant {
    /// The service was granted.
    Granted,
    /// The service was granted, and is suspended.
    Suspended,
    /// The service was granted and has been withdrawn: what ran of it is removed.
    Withdrawn,
}

/// Whether the service runs in a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceState {
    /// It does, or nothing is known that says otherwise.
    #[default]
    Active,
    /// The service is suspended: what is on the hub is, too. The project's plane takes writes.
    Suspended,
    /// The service was withdrawn: nothing of the project stays on the hub.
    Withdrawn,
    /// It is not known whether the service is withdrawn, or nothing was read yet: nothing is created on the
    /// hub, and nothing deleted.
    Unknown,
}

/// The state of a project's entitlements to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entitlement {
    /// It is not known: the plane does not serve entitlements, or not all of them can be read.
    Unreadable,
    /// No entitlement exists, and none was seen to be deleted.
    Absent,
    /// No entitlement exists any more: the watch showed its deletion, and has been unbroken since.
    Deleted,
    /// An entitlement is active.
    Active,
    /// An entitlement is active, and suspended.
    Suspended,
    /// The entitlement waits for approval, is not processed yet, or has a state that this version does not
    /// know.
    Undecided,
    /// The entitlement was denied: it may never have been granted.
    Denied,
    /// The entitlement was granted, and then rejected.
    Revoked,
}

/// The expected outcome of a service's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceOutlook {
    /// The service stays as it is.
    #[default]
    Settled,
    /// The service is withdrawn, unless the entitlement comes back in time.
    Withdrawing,
    /// Its entitlement is missing, and was not seen to go: an operator decides.
    Held,
}

/// A decision on the service in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it runs there.
    pub state: ServiceState,
    /// The grant to remember; `None` for nothing.
    pub grant: Option<Grant>,
    /// The expected outcome.
    pub outlook: ServiceOutlook,
}

/// Reads the state of several entitlements: the one that grants most counts.
pub fn read<'a>(entitlements: impl Iterator<Item = &'a Object>) -> Entitlement {
    let rank = |entitlement: &Entitlement| match entitlement {
        Entitlement::Active => 6,
        Entitlement::Suspended => 5,
        Entitlement::Unreadable => 4,
        Entitlement::Undecided => 3,
        Entitlement::Revoked => 2,
        Entitlement::Denied => 1,
        Entitlement::Absent | Entitlement::Deleted => 0,
    };
    let ours = entitlements.filter(|of| may_be_ours(of)).map(one);
    ours.max_by_key(rank).unwrap_or(Entitlement::Absent)
}

/// Whether an entitlement is to this service.
pub fn is_ours(entitlement: &Object) -> bool {
    entitlement::is_ours(entitlement.spec(), entitlement.status())
}

/// Whether an entitlement is to this service, or too little of it was read to tell.
fn may_be_ours(entitlement: &Object) -> bool {
    let unread = resolved(entitlement.status()).is_none() && entitlement.too_large().is_some();
    unread || is_ours(entitlement)
}

fn one(entitlement: &Object) -> Entitlement {
    if entitlement.too_large().is_some() {
        return Entitlement::Unreadable;
    }
    let status = entitlement.status();
    let suspended = is_true(status, "Suspended");
    match status["phase"].as_str() {
        Some("Active") if suspended => Entitlement::Suspended,
        Some("Active") => Entitlement::Active,
        // A service that is not published any more is its provider's affair: no project withdrew it.
        Some("Rejected") if is_unpublished(status) => Entitlement::Undecided,
        Some("Rejected") if was_granted(status) => Entitlement::Revoked,
        Some("Rejected") => Entitlement::Denied,
        _ => Entitlement::Undecided,
    }
}

/// Whether an entitlement that was deleted went with its kind, where the plane has that CRD now. The API
/// server of a CRD that is being deleted reports the deletion of every object of it, as if somebody had
/// deleted them: then the CRD is gone or going, or is another one, which is younger than what was deleted.
pub fn went_with_kind(deleted: &Object, crd: Option<&Object>) -> bool {
    let standing = crd.filter(|crd| !crd.is_terminating());
    let installed = standing.and_then(|crd| crd.metadata.creation_timestamp.as_ref());
    let made = deleted.metadata.creation_timestamp.as_ref();
    installed.zip(made).is_none_or(|(installed, made)| installed.0 > made.0)
}

/// Decides by what was known last. `permitted`: what is seen to be withdrawn has been so for the whole delay,
/// and may be.
pub fn decide(last: Option<Grant>, now: Entitlement, permitted: bool) -> Decision {
    let settled = |grant| Decision { state: state(grant), grant, outlook: ServiceOutlook::Settled };
    let stays = settled(last);
    match (now, last) {
        (Entitlement::Active, _) => settled(Some(Grant::Granted)),
        (Entitlement::Suspended, _) => settled(Some(Grant::Suspended)),
        (Entitlement::Unreadable, Some(Grant::Withdrawn)) => {
            Decision { state: ServiceState::Unknown, ..stays }
        }
        // A service is not withdrawn twice, nor if it was never seen granted.
        (Entitlement::Unreadable | Entitlement::Undecided, _)
        | (_, Some(Grant::Withdrawn))
        | (Entitlement::Absent | Entitlement::Deleted | Entitlement::Denied, None) => stays,
        (Entitlement::Absent, Some(Grant::Granted | Grant::Suspended)) => {
            Decision { outlook: ServiceOutlook::Held, ..stays }
        }
        (Entitlement::Deleted | Entitlement::Denied | Entitlement::Revoked, _) if permitted => {
            settled(Some(Grant::Withdrawn))
        }
        (Entitlement::Deleted | Entitlement::Denied | Entitlement::Revoked, _) => {
            Decision { outlook: ServiceOutlook::Withdrawing, ..stays }
        }
    }
}

fn state(grant: Option<Grant>) -> ServiceState {
    match grant {
        None | Some(Grant::Granted) => ServiceState::Active,
        Some(Grant::Suspended) => ServiceState::Suspended,
        Some(Grant::Withdrawn) => ServiceState::Withdrawn,
    }
}

#[cfg(test)]
mod tests;
