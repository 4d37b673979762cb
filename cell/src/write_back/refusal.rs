//! Why an Instance is not written back.

use std::fmt;

use fedhub_api::cells::{CellId, CellSource};
use fedhub_core::metrics::Metrics;
use fedhub_engine::object_states::ObjectState;

/// The reason why an Instance is not written back until something changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteBackRefusal {
    /// The labels that link it are missing, or empty.
    Unlinked(Vec<&'static str>),
    /// The labels of its hub namespace are missing or name no plane.
    Unidentifiable,
    /// The copy of that name on the hub is another cell's, as while a deployment moves; or, unmarked, another
    /// city's.
    NameTaken(Option<String>),
    /// The copy is that of another cluster under this cell's name (C10).
    CellNameTaken(CellSource),
    /// An older version marked the copy with this cell's name alone, for an Instance that this cell does not
    /// have (C10).
    UnprovenMark(CellSource),
    /// The cell is declared lost (C11).
    DeclaredLost,
    /// The hub does not allow it, in these words: credentials, rights, or its policies, which know each cell.
    Forbidden(String),
}

impl WriteBackRefusal {
    /// Why a copy with that mark, which is not one of `cell`, is left alone.
    pub fn of_another(source: CellSource, cell: &CellId) -> Self {
        match &source.cell_uid {
            _ if *source.cell != *cell.name => Self::NameTaken(Some(source.cell)),
            Some(_) => Self::CellNameTaken(source),
            None => Self::UnprovenMark(source),
        }
    }

    /// Whether the copy that stands on the hub is the reason.
    pub(super) fn is_by_copy(&self) -> bool {
        matches!(self, Self::NameTaken(_) | Self::CellNameTaken(_) | Self::UnprovenMark(_))
    }

    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Unlinked(_) => "unlinked",
            Self::Unidentifiable => "unidentifiable",
            Self::NameTaken(_) => "name_taken",
            Self::CellNameTaken(_) => "cell_name_taken",
            Self::UnprovenMark(_) => "unproven_mark",
            Self::DeclaredLost => "declared_lost",
            Self::Forbidden(_) => "forbidden",
        }
    }
}

impl fmt::Display for WriteBackRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not written back to the hub: ")?;
        match self {
            Self::Unlinked(keys) => write!(f, "the labels {} are missing or empty", keys.join(", ")),
            Self::Unidentifiable => {
                f.write_str("the labels of its hub namespace do not identify its project")
            }
            Self::NameTaken(Some(cell)) => write!(f, "cell {cell} has an Instance of this name there"),
            Self::NameTaken(None) => f.write_str("another city has an Instance of this name there"),
            Self::CellNameTaken(source) => write!(
                f,
                "another cluster (kube-system {}) uses the cell name {} and has an Instance of this name there. \
                 Action required by the platform operator: give each cluster a cell name of its own, or declare the \
                 other one lost",
                source.cell_uid.as_deref().unwrap_or_default(),
                source.cell
            ),
            Self::UnprovenMark(source) => write!(
                f,
                "the copy there belongs to Instance {}, which this cell does not have, and is marked only with the cell \
                 name {}. Action required by the platform operator: delete that copy if no other cluster made it",
                source.instance_uid, source.cell
            ),
            Self::DeclaredLost => f.write_str("this cell is declared lost"),
            Self::Forbidden(error) => write!(
                f,
                "{error}. Action required by the platform operator: check the cell's credentials, rights and entry on the \
                 federation hub"
            ),
        }
    }
}

/// Why an Instance is not written back, as a plan says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteBackVerdict {
    /// The hub has no living WD, or no namespace, for the Instance, or its former copy is terminating: their
    /// events requeue it.
    Parked,
    /// The Instance cannot be written back as it is.
    Refused(WriteBackRefusal),
}

/// The state of an Instance that is not written back as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBackState {
    /// The hub has no living WD for the Instance, or its former copy is terminating: their events requeue it.
    Parked,
    /// Writing back is refused, for the reason of this label.
    Refused(&'static str),
}

impl ObjectState for WriteBackState {
    fn count(self, metrics: &Metrics, change: i64) {
        let objects = |state| metrics.objects.with_label_values(&["write_back", state]);
        match self {
            Self::Parked => objects("parked").add(change),
            Self::Refused(reason) => {
                objects("quarantined").add(change);
                metrics.quarantined.with_label_values(&[reason]).add(change);
            }
        }
    }
}
