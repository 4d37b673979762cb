//! What becomes of a plane that showed itself.

use fedhub_core::names::PlaneName;

/// What becomes of a plane that showed itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the one that the name stands for, from now on if not before.
    Accept,
    /// It showed nothing to know it by.
    Nameless,
    /// It is not worked on.
    Refuse(Refusal),
}

/// Why a plane is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name stands for another cluster.
    AnotherIdentity {
        /// What is remembered.
        known: String,
        /// What was seen.
        seen: String,
    },
    /// The cluster has another name already.
    IdentityTaken {
        /// Which.
        by: PlaneName,
        /// The identity of both.
        identity: String,
    },
}

impl Refusal {
    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::AnotherIdentity { .. } => "another_identity",
            Self::IdentityTaken { .. } => "identity_taken",
        }
    }

    /// The reason of the Event.
    pub fn event(&self) -> &'static str {
        match self {
            Self::AnotherIdentity { .. } => "AnotherIdentity",
            Self::IdentityTaken { .. } => "IdentityTaken",
        }
    }
}
