//! The status of deployments and Instances: pure functions onto the status that stands.
//!
//! A status is computed on top of the one that is there, so that what others wrote into it stays (I1, I9);
//! computing it again changes nothing (I7). The provider owns an Instance's `Programmed`, `Available`,
//! `controller.observedTemplateHash` and `networkInterfaces`. They are only read, but for `Available` of a
//! suspended Instance and both conditions of one whose gate waits for denied quota, which are reset
//! afterwards, and for the hash where the same template got another one (C5): a provider that has nothing to
//! do does not write it again.
//!
//! No condition of a WD has an `observedGeneration`: the status travels to the project, whose generations are
//! others, and only the status' own one is translated on the way (F8). The same goes for an Instance's
//! `Ready`.

pub mod blocker;
pub mod debounce;
pub mod deployment;
pub mod facts;
pub mod gates;
pub mod instance;
pub mod network;
pub mod termination;

/// Condition: whether an Instance serves, or a deployment has an Instance that does.
pub const AVAILABLE: &str = "Available";
/// Condition of an Instance: whether the provider has made it.
pub const PROGRAMMED: &str = "Programmed";
/// Condition of an Instance: everything taken together.
pub const READY: &str = "Ready";
/// Condition of an Instance: whether its quota is granted.
pub const QUOTA_GRANTED: &str = "QuotaGranted";
pub use fedhub_api::facts::referenced::REFERENCED_DATA_READY;
/// Condition of a deployment that scales: whether its autoscaler does its work.
pub const SCALING_ACTIVE: &str = "ScalingActive";
/// Condition of a deployment: whether all Instances that are wanted are ready.
pub const REPLICAS_READY: &str = "ReplicasReady";
