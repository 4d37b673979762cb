//! Why an Instance is not written back, or its finalizer not released, and how that is shown.

use std::fmt;

use fedhub_api::cells::{CellId, Source};
use fedhub_core::metrics::Metrics;
use fedhub_engine::verdicts::Counted;

/// Why an Instance is not written back before something about it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// These linking labels are missing, or empty.
    Unlinked(Vec<&'static str>),
    /// The labels of its hub namespace are missing or name no plane.
    Unidentifiable,
    /// The copy of that name on the hub is another cell's, as while a deployment moves; or none of this city's.
    NameTaken(Option<String>),
    /// It is that of another cluster under this cell's name (C10).
    CellNameTaken(Source),
    /// An older version marked it with this cell's name alone, for an Instance that this cell does not have (C10).
    Unproven(Source),
    /// The cell is declared lost (C11).
    DeclaredLost,
}

impl Refusal {
    /// Why a copy with that mark, which is not one of `cell`, is left alone.
    pub fn of_another(source: Source, cell: &CellId) -> Self {
        match &source.cell_uid {
            _ if *source.cell != *cell.name => Self::NameTaken(Some(source.cell)),
            Some(_) => Self::CellNameTaken(source),
            None => Self::Unproven(source),
        }
    }

    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Unlinked(_) => "unlinked",
            Self::Unidentifiable => "unidentifiable",
            Self::NameTaken(_) => "name_taken",
            Self::CellNameTaken(_) => "cell_name_taken",
            Self::Unproven(_) => "unproven_mark",
            Self::DeclaredLost => "declared_lost",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlinked(keys) => {
                write!(f, "not written back to the hub: it lacks the labels {}", keys.join(", "))
            }
            Self::Unidentifiable => f.write_str(
                "not written back to the hub: the labels of its hub namespace do not say whose it is",
            ),
            Self::NameTaken(Some(cell)) => {
                write!(f, "not written back to the hub: cell {cell} has an Instance of this name there")
            }
            Self::NameTaken(None) => {
                f.write_str("not written back to the hub: another city has an Instance of this name there")
            }
            Self::CellNameTaken(source) => write!(
                f,
                "not written back to the hub: another cluster (kube-system {}) uses the cell name {} and has an Instance of \
                 this name there; the platform operator has to give each cluster a name of its own, or to declare that one lost",
                source.cell_uid.as_deref().unwrap_or_default(),
                source.cell
            ),
            Self::Unproven(source) => write!(
                f,
                "not written back to the hub: the copy there is of an Instance {} that this cell does not have, marked with \
                 its name {} alone; the platform operator has to delete that copy if no other cluster made it",
                source.instance_uid, source.cell
            ),
            Self::DeclaredLost => f.write_str("not written back to the hub: this cell is declared lost"),
        }
    }
}

/// Why the finalizer of an Instance is held (I3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The hub does not answer, or refuses.
    HubUnreachable,
    /// Somebody's finalizer keeps the copy on the hub.
    CopyLeaving,
}

impl Held {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::HubUnreachable => "hub_unreachable",
            Self::CopyLeaving => "copy_leaving",
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HubUnreachable => "deletion waits: the federation hub cannot be reached",
            Self::CopyLeaving => "deletion waits: a finalizer keeps its copy on the federation hub",
        })
    }
}

/// What is remembered of an Instance that is not written back as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The hub has no living WD for it: that WD's event brings it back.
    Parked,
    /// It is refused, for the reason of this label.
    Refused(&'static str),
    /// Its finalizer is held.
    Held(Held),
}

impl Counted for Verdict {
    fn count(self, metrics: &Metrics, change: i64) {
        let objects = |state| metrics.objects.with_label_values(&["write_back", state]);
        match self {
            Self::Parked => objects("parked").add(change),
            Self::Refused(reason) => {
                objects("quarantined").add(change);
                metrics.quarantined.with_label_values(&[reason]).add(change);
            }
            Self::Held(why) => {
                metrics.finalizers_held.with_label_values(&[why.label()]).add(change);
            }
        }
    }
}
