//! The engine: watch pump -> store -> fair queue -> workers.
//!
//! A pump feeds one store for each (plane, kind) and tells the listeners what changed. A listener puts keys on its
//! queue; workers take them in fair turns over planes and hand them to the [`Controller`]. No plane's stream is
//! merged into another's, and keys of a plane that fails wait for its [`circuit`], so one plane's trouble stays its
//! own (I8).

pub mod backoff;
pub mod circuit;
pub mod guard;
pub mod heard;
pub mod listwatch;
pub mod pump;
pub mod queue;
pub mod resume;
mod trouble;
pub mod worker;
pub mod writer;

pub use fedhub_cache::{Change, Echo, Known, Part, Room, Store, View, echo, room, store};
pub use heard::Heard;
pub use queue::{Job, Outcome, Queue, QueueConfig};
pub use worker::{Controller, run_workers};
pub use writer::{StatusWrite, Write, Writer};

use crate::names::PlaneName;
use crate::object::Kind;
use crate::planes::Plane;

/// Somebody who wants to know what the watches of planes say.
pub trait Listener: Send + Sync {
    /// An object was seen to change. Called in the order of one watch, after the store took the change; must
    /// not block.
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change);

    /// The list of `kind` on that plane is complete. Changes that only the list could tell were told before.
    fn synced(&self, plane: &Plane, kind: Kind);

    /// A project plane is not there any more.
    fn left(&self, plane: &Plane);

    /// For minutes by now the server of a project plane says that there is none.
    fn unserved(&self, _plane: &Plane) {}

    /// A project plane is gone for good: see [`crate::planes::Planes::declare_gone`].
    fn gone(&self, _plane: &PlaneName) {}
}
