//! Where project planes come from (specification, section 2).
//!
//! Each way is a task that engages and disengages planes of the registry; none of them waits for a plane. The
//! highest layer: it may use all other folders, and none of them uses it.

pub mod credentials;
pub mod expiry;
pub mod kubeconfigs;
pub mod milo;
pub mod reload;
pub mod single;

/// How project planes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Discovery {
    /// One plane, named `single`: the cluster of the management kubeconfig.
    Single,
    /// One plane for each labelled Secret in the process's own namespace.
    Kubeconfigs,
    /// One plane for each Project of a Milo API server.
    Milo,
}
