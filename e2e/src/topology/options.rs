//! What a start of the planes is to do.

use std::path::PathBuf;

use super::planes::Cells;
use crate::progress::Progress;

/// What `up` is to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The instance's name.
    pub name: String,
    /// Which cells it has.
    pub cells: Cells,
    /// The kustomization with the compute CRDs.
    pub crds: PathBuf,
    /// Where it says what it does.
    pub progress: Progress,
}

impl Options {
    /// The usual: two cells, CRDs from `deploy/crds`, progress on standard error.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            cells: Cells::default(),
            crds: crate::repository().join("deploy/crds"),
            progress: Progress::stderr(),
        }
    }
}
