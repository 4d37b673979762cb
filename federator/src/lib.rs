//! Federator: `WorkloadDeployment`s (WDs) down to the hub, their status back up (specification, F1 to F11).
//!
//! # The way through
//!
//! 1. `keys` maps an event to the keys of the WDs and policies that it concerns.
//! 2. [`controller`] is the reconcile of one key. [`glance`] ends it early where digests show that nothing is to do.
//! 3. [`observe`] gathers what the plan needs to know.
//! 4. [`plan`] decides, as a pure function: what is refused ([`refusal`], [`origin`]), the mark, the hub namespace, the
//!    policy, the hub WD, the status ([`status`]); of a WD that is being deleted, [`finalize`].
//! 5. [`apply`] performs the writes in their order.
//!
//! Rules with a file of their own: moves between cities ([`moving`]), policies that nobody uses ([`policy`]), a hub that
//! lost its state ([`loss`]), finalizers that are held ([`held`]), orphans ([`orphans`]), what Karmada has not applied
//! (`stall`, `resync`), and the condition `Federated`
//! ([`progress`] decides, [`condition`] writes where no status comes).

pub mod apply;
pub mod condition;
pub mod controller;
mod deleted;
pub mod finalize;
pub mod glance;
pub mod held;
mod keys;
mod late;
pub mod loss;
mod moves;
pub mod moving;
pub mod observe;
pub mod origin;
pub mod orphans;
pub mod plan;
pub mod policy;
pub mod progress;
pub mod refusal;
mod resync;
mod setup;
pub mod space;
mod stall;
pub mod status;

pub use condition::ConditionWriter;
pub use controller::Federator;
