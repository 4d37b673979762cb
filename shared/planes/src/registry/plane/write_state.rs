//! Whether fedhub may write for a project: one state, of what discovery and operators say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::object::PlaneId;

use crate::registry::pauses::Pauses;

/// Whether fedhub may write for a project: on its plane, and what stands for it on the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteState {
    /// Writes are allowed.
    #[default]
    Active,
    /// The project is suspended: its plane refuses writes but those to what is being deleted; the hub takes
    /// them.
    Suspended,
    /// An operator paused the plane (I12): no write whatsoever, neither there nor on the hub. Also of a
    /// project that is suspended.
    Paused,
}

impl WriteState {
    /// The state of that plane now.
    pub(crate) fn new(plane: &PlaneId, suspended: &AtomicBool, pauses: &Pauses) -> Self {
        match plane {
            PlaneId::Project(name) if pauses.is_paused(name) => Self::Paused,
            _ if suspended.load(Ordering::Acquire) => Self::Suspended,
            _ => Self::Active,
        }
    }
}

/// The inputs to the state of a plane: discovery and operators.
#[derive(Clone)]
pub(crate) struct WriteSwitch {
    pub plane: PlaneId,
    pub suspended: Arc<AtomicBool>,
    pub pauses: Arc<Pauses>,
}

impl WriteSwitch {
    /// The state now.
    pub fn state(&self) -> WriteState {
        WriteState::new(&self.plane, &self.suspended, &self.pauses)
    }
}
