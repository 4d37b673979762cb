//! The registry: the planes that there are, what is known of the objects of each, and how they are written
//! to.
//!
//! [`Planes`] holds a [`Plane`] for each API server. A plane is engaged ([`Planes::engage`]), recognised
//! ([`identity`]), watched ([`pump`]) and written to ([`writes`]). What operators paused ([`pauses`]), what a
//! project's entitlement grants ([`services`]) and whether the hub was restored ([`restores`]) decide what
//! may be done. Uses [`listwatch`](crate::listwatch) and [`transport`](crate::transport), and knows nothing
//! of how planes are found.

mod due;
pub mod events;
pub mod identity;
mod listener;
pub mod pauses;
pub mod plane;
mod planes;
pub mod pump;
pub mod restores;
pub mod services;
mod settings;
mod tenancy;
pub mod watched;
pub mod writes;

pub use identity::Identities;
pub use listener::Listener;
pub use pauses::Pauses;
pub use plane::Plane;
pub use plane::health_log::{Health, LastFailure};
pub use plane::origin::Origin;
pub use plane::write_state::WriteState;
pub use planes::Planes;
pub use restores::history;
pub use restores::revision::Distrust;
pub use services::entitlement;
pub use services::entitlement::ServiceState;
pub use settings::{DATA_KINDS, HUB_KINDS, PROJECT_KINDS, Settings};
pub use tenancy::{ProjectNamespace, TenantIndex};
pub use watched::Watched;
pub use writes::confidential::{Confidential, ConfidentialRead};
pub use writes::pass::{Pass, PlaneResponses};
pub use writes::writer::{PlaneWriter, StatusWrite, Write, WriteMode};
pub use writes::{DryRun, Precondition, Written};
