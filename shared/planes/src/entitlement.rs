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

/// What is remembered of the service in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Grant {
    /// It was granted.
    Granted,
    /// It was granted, and is suspended.
    Suspended,
    /// It was granted and is no more: what ran of it is removed.
    Withdrawn,
}

/// Whether the service runs in a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceState {
    /// It does, or nothing is known that says otherwise.
    #[default]
    Active,
    /// It is suspended: what is on the hub is, too. The project's plane takes writes.
    Suspended,
    /// It was withdrawn: nothing of the project stays on the hub.
    Withdrawn,
    /// It was withdrawn and whether it still is cannot be told, or nothing was read yet: nothing is made on
    /// the hub, and nothing deleted.
    Unknown,
}

/// What the entitlements of a project say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entitlement {
    /// It cannot be told: the plane does not serve them, or they cannot be read, or not all of them.
    Unreadable,
    /// There is none of the service, and none was seen to go.
    Absent,
    /// There is none of the service any more: the watch showed its deletion, and has been unbroken since.
    Deleted,
    /// One is active.
    Active,
    /// One is active, and suspended.
    Suspended,
    /// It waits for approval, is not processed yet, or says what this version does not know.
    Undecided,
    /// It was denied: it may never have been granted.
    Denied,
    /// It was granted, and then rejected.
    Revoked,
}

/// What is to come of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outlook {
    /// It stays as it is.
    #[default]
    Settled,
    /// It is withdrawn, unless the entitlement comes back in time.
    Withdrawing,
    /// Its entitlement is missing, and was not seen to go: an operator decides.
    Held,
}

/// A decision on the service in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it runs there.
    pub state: ServiceState,
    /// What is to be remembered; `None` for nothing.
    pub grant: Option<Grant>,
    /// What is to come of it.
    pub outlook: Outlook,
}

/// What entitlements say: of several, the one that grants most counts.
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

/// Decides by what was known last. `permitted`: what is seen to be withdrawn has been so for the whole delay, and may be.
pub fn decide(last: Option<Grant>, now: Entitlement, permitted: bool) -> Decision {
    let settled = |grant| Decision { state: state(grant), grant, outlook: Outlook::Settled };
    let stays = settled(last);
    match (now, last) {
        (Entitlement::Active, _) => settled(Some(Grant::Granted)),
        (Entitlement::Suspended, _) => settled(Some(Grant::Suspended)),
        (Entitlement::Unreadable, Some(Grant::Withdrawn)) => {
            Decision { state: ServiceState::Unknown, ..stays }
        }
        // Nothing is withdrawn twice, nor what was never seen granted.
        (Entitlement::Unreadable | Entitlement::Undecided, _)
        | (_, Some(Grant::Withdrawn))
        | (Entitlement::Absent | Entitlement::Deleted | Entitlement::Denied, None) => stays,
        (Entitlement::Absent, Some(Grant::Granted | Grant::Suspended)) => {
            Decision { outlook: Outlook::Held, ..stays }
        }
        (Entitlement::Deleted | Entitlement::Denied | Entitlement::Revoked, _) if permitted => {
            settled(Some(Grant::Withdrawn))
        }
        (Entitlement::Deleted | Entitlement::Denied | Entitlement::Revoked, _) => {
            Decision { outlook: Outlook::Withdrawing, ..stays }
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
