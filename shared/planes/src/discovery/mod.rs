//! Where project planes come from (specification, section 2).
//!
//! Each way is a task that engages and disengages planes of the registry; none of them waits for a plane.

pub mod credentials;
pub mod kubeconfigs;
pub mod milo;
pub mod reload;
pub mod single;

use std::fmt;
use std::str::FromStr;

/// How project planes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// One plane, named `single`: the cluster of the management kubeconfig.
    Single,
    /// One plane for each labelled Secret in the process's own namespace.
    Kubeconfigs,
    /// One plane for each Project of a Milo API server.
    Milo,
}

impl FromStr for Discovery {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "single" => Ok(Self::Single),
            "kubeconfigs" => Ok(Self::Kubeconfigs),
            "milo" => Ok(Self::Milo),
            other => Err(format!("discovery {other:?}: expected single, kubeconfigs or milo")),
        }
    }
}

impl fmt::Display for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single",
            Self::Kubeconfigs => "kubeconfigs",
            Self::Milo => "milo",
        })
    }
}
