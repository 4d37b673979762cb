//! The hops of a WD from its project to its cell and back, and how long each may take.
//!
//! Within `usual` a hop is on its way; after that it is slow, and after its `deadline` stuck. The times are
//! those of a hub under load, with room: a single change takes a second or two from end to end.

use std::time::Duration;

/// A hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Hop {
    /// The WD in the project: found, valid, marked with the federator's finalizer.
    ProjectWd,
    /// The hub namespace that stands for the project's.
    HubNamespace,
    /// The PropagationPolicy of the city.
    Policy,
    /// The WD on the hub, and the status that comes back through it.
    HubWd,
    /// Karmada's `ResourceBinding`: which cell the WD goes to.
    Binding,
    /// Karmada's Work: the WD as it is sent to the cell.
    Work,
    /// The WD in the cell.
    CellWd,
    /// The Instances in the cell.
    Instances,
    /// The copies of the Instances on the hub.
    Copies,
    /// The Instances in the project.
    Projections,
}

/// How long a hop may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time after which the hop is slow.
    pub usual: Duration,
    /// The time after which the hop is stuck.
    pub deadline: Duration,
}

const fn limits(usual: u64, deadline: u64) -> Limits {
    Limits { usual: Duration::from_secs(usual), deadline: Duration::from_secs(deadline) }
}

impl Hop {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// What carries it, where to look when it takes too long.
    pub fn owner(self) -> &'static str {
        match self {
            Self::ProjectWd | Self::HubNamespace | Self::Policy | Self::HubWd => {
                "the federator, by fedhub's log"
            }
            Self::Binding | Self::Work => "Karmada: its controller manager, its scheduler, the cell's agent",
            Self::CellWd => "fedhub in the cell, by its log",
            Self::Instances => "the cell's providers of Instances, networks, quota and referenced data",
            Self::Copies => "the write-back of fedhub in the cell, by its log",
            Self::Projections => "the projector, by fedhub's log",
        }
    }

    /// How long it may take.
    pub fn limits(self) -> Limits {
        match self {
            // The federator's: reads and writes of milliseconds, behind a queue that is fair over planes.
            Self::ProjectWd | Self::HubNamespace | Self::Policy | Self::HubWd => limits(10, 60),
            // Karmada's: its queues back off, its agents poll.
            Self::Binding | Self::Work => limits(30, 180),
            // The cell's own reconcile; a new leader takes its lease's duration first.
            Self::CellWd => limits(30, 120),
            // Images are pulled and networks provisioned.
            Self::Instances => limits(120, 900),
            // The write-back and the projector.
            Self::Copies | Self::Projections => limits(15, 90),
        }
    }
}
