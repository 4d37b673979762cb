//! Federator: `WorkloadDeployment`s (WDs) down to the hub, their status back up (specification, F1 to F11).
//!
//! # The way through
//!
//! 1. `triggers` maps an event to the keys of the WDs and policies that it concerns.
//! 2. `dispatch` takes a key; `reconcile` is one pass over a WD, for the engine's loop, `policies` over a
//!    policy.
//! 3. [`snapshot`] is what the caches say of a WD and its surroundings.
//! 4. [`plan`] decides, as a pure function: what is refused ([`refusal`], [`origin`]), what brings a WD to
//!    the hub ([`federate`]) or takes it away ([`finalize`]).
//! 5. [`apply`] fetches what is to be written, renders it ([`desired`], [`status`]) and writes where that
//!    differs, in order. What we own in the metadata of a hub WD is the table [`fedhub_api::hub_metadata`].
//!
//! Rules with a file of their own: moves between cities ([`moving`]), policies that no WD uses (`policy`), a
//! hub that lost its state ([`loss`]), how a WD leaves its cells first ([`leaving`]), what keeps a WD from
//! the hub ([`obstacles`]), finalizers that stay ([`cleanup`]), orphans (`orphans`), what Karmada has not
//! applied (`resync`), how long it all takes ([`convergence`]), the condition `Federated` ([`progress`]) and
//! Events (`announce`).

mod announce;
pub mod apply;
pub mod cleanup;
pub mod controller;
pub mod convergence;
mod deletion;
pub mod desired;
mod dispatch;
pub mod federate;
pub mod finalize;
pub mod hub_namespace;
pub mod leaving;
pub mod loss;
mod measure;
pub mod moving;
mod namespaces;
pub mod obstacles;
pub mod origin;
mod orphan;
mod orphans;
pub mod plan;
mod policies;
mod policy;
pub mod progress;
mod recall;
mod reconcile;
pub mod refusal;
mod resync;
mod seen_deleted;
mod setup;
mod shrink;
pub mod snapshot;
pub mod status;
pub mod teardown;
mod triggers;

pub use controller::{Federator, FederatorConfig};
pub use orphan::is_orphaned;
pub use policy::uses as uses_policy;
