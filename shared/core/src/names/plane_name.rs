//! The names of planes, and the label that carries them.

use std::fmt;
use std::sync::Arc;

use super::UPSTREAM_CLUSTER;
use super::syntax::is_label_value;

const CLUSTER_PREFIX: &str = "cluster-";

/// The registry's key for a project plane. Never empty: an empty name could fall back to the local cluster.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaneName(Arc<str>);

/// Why a name cannot be a plane's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPlaneName {
    /// Nothing was given.
    #[error("a plane name is empty")]
    Empty,
    /// `_` stands for `/` in the label, so a name that holds one could not be read back.
    #[error(
        "plane name {0:?} holds '_' or '/', which the label {UPSTREAM_CLUSTER} cannot carry unambiguously"
    )]
    Ambiguous(String),
    /// The coded path is no label value.
    #[error(
        "plane name {0:?} does not make a label value of at most 63 characters with the prefix \"cluster-\""
    )]
    NotALabel(String),
}

impl PlaneName {
    /// A plane's name, refused where the label of the hub namespace could not carry it (section 3).
    pub fn new(name: &str) -> Result<Self, InvalidPlaneName> {
        if name.is_empty() {
            return Err(InvalidPlaneName::Empty);
        }
        if name.contains(['_', '/']) {
            return Err(InvalidPlaneName::Ambiguous(name.to_owned()));
        }
        if !is_label_value(&format!("{CLUSTER_PREFIX}{name}")) {
            return Err(InvalidPlaneName::NotALabel(name.to_owned()));
        }
        Ok(Self(name.into()))
    }

    /// The bare name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlaneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PlaneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// The value of [`UPSTREAM_CLUSTER`] for a plane.
pub fn encode_plane(plane: &PlaneName) -> String {
    format!("{CLUSTER_PREFIX}{plane}")
}

/// The plane that a value of [`UPSTREAM_CLUSTER`] names: `_` read as `/`, the last path segment is the name.
/// `None` where it names none.
pub fn decode_plane(label: &str) -> Option<PlaneName> {
    let path = label.strip_prefix(CLUSTER_PREFIX)?;
    PlaneName::new(path.rsplit('_').next()?).ok()
}
