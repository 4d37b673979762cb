//! Calls of a provider, and how they fail.

use std::time::Duration;

use crate::contract::{AllocationId, Failure, Power, ServerId};

/// A call of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Searches for the server by its link.
    Find,
    /// Looks at the server of the recorded ID itself.
    Get(ServerId),
    /// Makes the server.
    Create,
    /// Makes the server be as it is wanted.
    Update(ServerId),
    /// Deletes the server.
    Delete(ServerId),
    /// Starts, stops or restarts the server.
    Power(ServerId, Power),
    /// Searches for quota that was taken.
    Reserved,
    /// Takes quota.
    Reserve,
    /// Gives quota back.
    Release(AllocationId),
}

/// A call of a provider without what it is about: what failures are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "they are those of the contract")]
pub enum Call {
    Find,
    Get,
    Create,
    Update,
    Delete,
    Power,
    Reserved,
    Reserve,
    Release,
}

impl From<&Ask> for Call {
    fn from(ask: &Ask) -> Self {
        match ask {
            Ask::Find => Self::Find,
            Ask::Get(_) => Self::Get,
            Ask::Create => Self::Create,
            Ask::Update(_) => Self::Update,
            Ask::Delete(_) => Self::Delete,
            Ask::Power(..) => Self::Power,
            Ask::Reserved => Self::Reserved,
            Ask::Reserve => Self::Reserve,
            Ask::Release(_) => Self::Release,
        }
    }
}

/// An order that was accepted, and that the server still does not look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The order.
    pub ask: Ask,
    /// How long not to repeat it.
    pub wait: Duration,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What was asked.
    pub call: Call,
    /// How it failed.
    pub failure: Failure,
    /// How often in a row.
    pub times: u32,
    /// How long no other call is made for this Instance.
    pub wait: Duration,
}
