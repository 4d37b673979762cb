//! The planes: which there are, how they are reached, what their watches say, and how they are written to.
//!
//! The registry ([`Planes`]) holds a [`Plane`] for each API server, with the stores of what is known of its
//! objects. Planes come and go by [`discovery`]; [`identity`] makes sure that a name stands for one cluster.
//! Each watch is a task of its own that feeds a store and tells every [`Listener`]; requests and answers go
//! through [`transport`], and writes through the methods of a plane ([`writes`]), which know what was read,
//! by whom, and whether this process leads.
//!
//! # The way through
//!
//! 1. [`discovery`] finds planes and engages them in the registry ([`Planes`]); [`identity`] and [`history`]
//!    tell whether a plane is who it was, and not restored from a backup.
//! 2. A pump for each plane and kind lists and watches ([`listwatch`]), guards what it decodes ([`guard`]),
//!    feeds the store and tells the [`Listener`]s.
//! 3. [`transport`] is the HTTP stack below each plane's client.
//! 4. [`writer`] writes only what differs; [`writes`] are the methods of a plane that do it. [`events`]
//!    records Events.
//!
//! Engaging one plane never waits for another, and disengaging one ends exactly its own tasks (section 2).

pub mod backoff;
pub mod confidential;
mod declared;
pub mod demand;
pub mod discovery;
mod due;
pub mod entitlement;
pub mod events;
pub mod guard;
mod health_log;
pub mod history;
pub mod identity;
mod listener;
mod lists;
pub mod listwatch;
mod managers;
pub mod marks;
mod notices;
mod optional;
pub mod origin;
pub mod outages;
mod pass;
mod pause_gate;
mod pause_watch;
pub mod pauses;
pub mod plane;
mod pump;
mod reader;
mod registry;
mod restores;
pub mod resume;
mod revision;
mod served;
mod service;
mod service_watch;
mod settings;
mod stripped;
mod tenancy;
pub mod transport;
mod watch_failures;
pub mod watched;
pub mod weight;
mod write_state;
pub mod writer;
pub mod writes;

pub use confidential::{Confidential, Read};
pub use entitlement::ServiceState;
pub use health_log::{Health, LastFailure};
pub use identity::Identities;
pub use listener::Listener;
pub use origin::Origin;
pub use pass::{Pass, PlaneResponses};
pub use pauses::Pauses;
pub use plane::Plane;
pub use registry::Planes;
pub use revision::Distrust;
pub use settings::{DATA_KINDS, HUB_KINDS, PROJECT_KINDS, Settings};
pub use tenancy::{ProjectNamespace, TenantIndex};
pub use watched::Watched;
pub use write_state::WriteState;
pub use writer::{PlaneWriter, StatusWrite, Write, WriteMode};
pub use writes::{DryRun, Precondition, Written};
