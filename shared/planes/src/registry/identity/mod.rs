//! The identity of a plane (specification, section 2): the UID of its namespace `kube-system`, else of
//! `default`.
//!
//! A name stands for one cluster, and a cluster has one name. What is seen is compared with what is
//! remembered on the management plane before anything of a plane is listed, and again whenever its watches
//! restart: another cluster behind the same address or in the same kubeconfig is not worked on (I4).

mod decision;
mod entry;
pub mod hub;
mod identities;
mod known_identities;
mod memory;
pub(crate) mod pruning;
mod recognise;
mod recognition;
pub mod withdrawal;

pub use decision::{IdentityRefusal, IdentityVerdict};
pub use entry::{IdentityEntry, ObservedUids};
pub use identities::Identities;
pub use known_identities::KnownIdentities;
pub(crate) use recognition::Recognition;
