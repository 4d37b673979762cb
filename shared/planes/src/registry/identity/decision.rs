//! The decision on a plane that showed its identity.

use fedhub_api::reason::Reason;
use fedhub_core::hash;
use fedhub_core::names::{PlaneName, UID_RULE};

/// The decision on a plane that showed its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityVerdict {
    /// The plane is the one that the name stands for, from now on if not before.
    Accept,
    /// The plane showed no UID to identify it by.
    Nameless,
    /// The plane is refused.
    Refuse(IdentityRefusal),
}

/// The reason why a plane is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityRefusal {
    /// The name stands for another cluster.
    AnotherIdentity {
        /// The UID that is remembered.
        known: String,
        /// The UID that the plane showed.
        seen: String,
    },
    /// The cluster has another name already.
    IdentityTaken {
        /// Which.
        by: PlaneName,
        /// The identity of both.
        identity: String,
    },
    /// The plane showed something that is not a UID.
    InvalidUid {
        /// The beginning of it.
        shown: String,
    },
}

impl IdentityRefusal {
    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::AnotherIdentity { .. } => "another_identity",
            Self::IdentityTaken { .. } => "identity_taken",
            Self::InvalidUid { .. } => "invalid_uid",
        }
    }

    /// The reason of the Event.
    pub fn event(&self) -> Reason {
        match self {
            Self::AnotherIdentity { .. } => Reason::AnotherIdentity,
            Self::IdentityTaken { .. } => Reason::IdentityTaken,
            Self::InvalidUid { .. } => Reason::InvalidUid,
        }
    }

    /// Says what is wrong and what an operator can do; the identities are remembered in `namespace`.
    pub fn message(&self, name: &PlaneName, namespace: &str) -> String {
        let entry = |name: &PlaneName| format!("the key {name} of ConfigMap {namespace}/{}", shard(name));
        match self {
            Self::AnotherIdentity { known, seen } => format!(
                "this is another cluster: its identity is {seen}, and {known} is remembered for plane {name}; \
                 if it is to replace that one, remove {}",
                entry(name)
            ),
            Self::IdentityTaken { by, identity } => format!(
                "this is the cluster of plane {by} (identity {identity}), which must not have two names; \
                 if {name} is the right one, remove plane {by} and {}",
                entry(by)
            ),
            Self::InvalidUid { shown } => format!(
                "this is no Kubernetes API server: it identifies itself by {shown:?}, and {UID_RULE}; find out what answers \
                 there"
            ),
        }
    }
}

/// The `ConfigMap` that remembers a plane: one of sixteen, so that ten thousand planes stay far below the
/// limit on an object's size.
pub(super) fn shard(plane: &PlaneName) -> String {
    format!("fedhub-plane-identities-{:x}", hash::text(plane.as_str()) & 0xf)
}
