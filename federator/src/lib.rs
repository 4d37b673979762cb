//! Federator: `WorkloadDeployment`s (WDs) down to the hub, their status back up (specification, F1 to F11).
//!
//! # The way through
//!
//! 1. `triggers` maps an event to the keys of the WDs and policies that it concerns.
//! 2. `dispatch` takes a key; `reconcile` is one pass over a WD, for the engine's loop and its applier,
//!    `policies` over a policy.
//! 3. [`snapshot`] is what the caches say of a WD and its surroundings.
//! 4. [`mod@plan`] decides, as a pure function: what brings a WD to the hub, or takes it away.
//! 5. [`mod@render`] is what the plan's drafts are to be, [`status`] the status of the project WD. What we
//!    own in the metadata of a hub WD is the table [`fedhub_api::hub_metadata`].
//!
//! Rules with a file of their own: what keeps a WD from the hub ([`refusal`]), whose a hub WD is
//! ([`origin`]), moves between cities ([`moving`]), a hub that lost its state ([`loss`]), how a WD leaves
//! its cells first ([`teardown`]), finalizers that stay ([`cleanup`]), policies that no WD uses (`policy`),
//! orphans (`orphans`), what Karmada has not applied (`resync`), how long it all takes ([`convergence`]),
//! the condition `Federated` ([`progress`]) and Events (`announce`).

mod announce;
pub mod cleanup;
pub mod controller;
pub mod convergence;
mod dispatch;
pub mod hub_namespace;
pub mod loss;
mod measure;
pub mod moving;
mod namespaces;
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
pub mod render;
mod resync;
mod seen_deleted;
mod shrink;
pub mod snapshot;
pub mod status;
pub mod teardown;
mod triggers;

pub use controller::{Federator, FederatorConfig};
pub use orphan::is_orphaned;
pub use policy::uses as uses_policy;
