//! Whether the service runs in a project, as its `ServiceEntitlement`s say (W9): pure functions.
//!
//! What was granted is withdrawn where the entitlement that was seen is gone from a watch in sync, and from a CRD that stands
//! and is older than its absence, or is rejected. Nothing else is a withdrawal: neither a kind that the plane does not serve,
//! nor one whose CRD is being deleted, which takes its objects first, nor a list that fails, nor an entitlement that cannot be
//! read. What was known last is remembered with the plane's identity, for the process that comes next.
//!
//! Decides W9.

use fedhub_api::conditions::is_true;
use fedhub_api::entitlement::{self, is_unpublished, resolved, was_granted};
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;

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
    /// It was suspended, and the plane has not served the kind since: absence proves nothing.
    Unproven,
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
    /// It was withdrawn and whether it still is cannot be told, or nothing was read yet: nothing is made on the hub, and
    /// nothing deleted.
    Unknown,
}

/// What the entitlements of a project say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entitlement {
    /// They cannot be read, or not all of them.
    Unreadable,
    /// The plane does not serve the kind, or not to fedhub: what was there before may be gone with it.
    Unserved,
    /// There is none of the service.
    Absent,
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

/// A decision on the service in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it runs there.
    pub state: ServiceState,
    /// What is to be remembered; `None` for nothing.
    pub grant: Option<Grant>,
    /// Whether it is withdrawn unless the entitlement comes back in time.
    pub waits: bool,
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
        Entitlement::Unserved | Entitlement::Absent => 0,
    };
    entitlements.filter(|of| is_ours(of)).map(one).max_by_key(rank).unwrap_or(Entitlement::Absent)
}

/// Whether an entitlement is to this service. One of which too little was read to tell may be.
fn is_ours(entitlement: &Object) -> bool {
    let (spec, status) = (entitlement.spec(), entitlement.status());
    let unread = resolved(status).is_none() && entitlement.too_large().is_some();
    unread || entitlement::is_ours(spec, status)
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

/// What it means that entitlements are absent since then, where the plane has that CRD of them. Those of a CRD that is being
/// deleted, or was made anew, have gone with it.
pub fn absence(crd: Option<&Object>, since: Timestamp) -> Entitlement {
    let stands = crd.filter(|crd| !crd.is_terminating());
    let created = stands.and_then(|crd| crd.metadata.creation_timestamp.as_ref());
    if created.is_some_and(|created| created.0 <= since) {
        Entitlement::Absent
    } else {
        Entitlement::Unserved
    }
}

/// Decides by what was known last. `waited`: what is withdrawn has been so for the whole delay.
pub fn decide(last: Option<Grant>, now: Entitlement, waited: bool) -> Decision {
    let stays = Decision { state: state(last), grant: last, waits: false };
    let granted = |grant| Decision { state: state(Some(grant)), grant: Some(grant), waits: false };
    let withdrawn = match now {
        Entitlement::Active => return granted(Grant::Granted),
        Entitlement::Suspended => return granted(Grant::Suspended),
        Entitlement::Unreadable | Entitlement::Unserved if last == Some(Grant::Withdrawn) => {
            return Decision { state: ServiceState::Unknown, ..stays };
        }
        Entitlement::Unreadable | Entitlement::Undecided => return stays,
        // Its objects may have gone with the kind: one has to be seen before its absence means anything.
        Entitlement::Unserved => {
            let suspended = matches!(last, Some(Grant::Suspended | Grant::Unproven));
            return Decision { grant: suspended.then_some(Grant::Unproven), ..stays };
        }
        // What was never seen granted is not withdrawn.
        Entitlement::Absent | Entitlement::Denied => !matches!(last, None | Some(Grant::Unproven)),
        Entitlement::Revoked => true,
    };
    match (withdrawn, waited || last == Some(Grant::Withdrawn)) {
        (false, _) => stays,
        (true, true) => granted(Grant::Withdrawn),
        (true, false) => Decision { waits: true, ..stays },
    }
}

fn state(grant: Option<Grant>) -> ServiceState {
    match grant {
        None | Some(Grant::Granted) => ServiceState::Active,
        Some(Grant::Suspended | Grant::Unproven) => ServiceState::Suspended,
        Some(Grant::Withdrawn) => ServiceState::Withdrawn,
    }
}

#[cfg(test)]
mod tests;
