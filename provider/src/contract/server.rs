//! A server as its provider shows it.

use jiff::Timestamp;

use super::{Place, ServerId};

/// A server as its provider shows it now (V6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server<S> {
    /// Its ID.
    pub id: ServerId,
    /// The UID of the Instance that its tag names; none where it has no tag, or several.
    pub instance: Option<Box<str>>,
    /// Its name.
    pub name: Box<str>,
    /// Where it is.
    pub place: Place,
    /// What it is made of.
    pub spec: S,
    /// What it does.
    pub phase: Phase,
    /// Whether the provider has carried out the last change that it accepted.
    pub settled: bool,
    /// The provider's words for what is wrong or under way, where it has any. Not bounded, not escaped.
    pub detail: Option<Box<str>>,
    /// How it is.
    pub health: Health,
    /// Since when it is being deleted.
    pub deleting: Option<Timestamp>,
    /// Its interfaces, in the order of the Instance's.
    pub addresses: Vec<Address>,
}

/// The addresses of one interface, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// On the network, without a prefix.
    pub network_ip: Option<Box<str>>,
    /// From outside.
    pub external_ip: Option<Box<str>>,
    /// The hardware address.
    pub mac: Option<Box<str>>,
}

/// What a server does. A word that is not known is `Unknown`, and never taken for a failure (V6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
pub enum Phase {
    /// The provider has accepted it.
    Pending,
    /// It is being made.
    Building,
    /// It runs: the only one that is usable.
    Running,
    /// It is on its way to stop.
    Stopping,
    /// It is stopped.
    Stopped,
    /// Its root disk is being made anew.
    Rebuilding,
    /// The provider gave up on it.
    Error,
    /// Nothing is said, or a word that is not known.
    Unknown,
}

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
pub enum Health {
    /// Nothing is wrong.
    Healthy,
    /// It works, and something is wrong.
    Degraded,
    /// It does not work.
    Error,
    /// Nothing is said, or a word that is not known.
    Unknown,
}

/// An order about the power of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum Power {
    /// Start it.
    Start,
    /// Stop it in order.
    Stop,
    /// Restart it in order.
    Restart,
}
