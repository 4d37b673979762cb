//! The identity of a plane (specification, section 2): the UID of its namespace `kube-system`, else of `default`.
//!
//! A name stands for one cluster, and a cluster has one name. What is seen is compared with what is remembered on the
//! management plane before anything of a plane is listed, and again whenever its watches start anew: another cluster
//! behind the same address or in the same kubeconfig is not worked on (I4).

mod entry;
pub mod hub;
mod identities;
mod known;
mod memory;
mod recognise;
mod recognition;
mod verdict;

pub use entry::{Entry, Seen};
pub use identities::Identities;
pub use known::Known;
pub(crate) use recognition::Recognition;
pub use verdict::{Refusal, Verdict};
