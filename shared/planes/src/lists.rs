//! Whose turn it is to list: thousands of planes that are found in one instant, or lost and found with their server,
//! must not all be listed in it.

use fedhub_core::object::PlaneId;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::plane::{Health, Plane};

/// How many lists of project planes may be under way.
pub(crate) struct Lists {
    all: Semaphore,
    /// Those places among them that planes in trouble may have.
    in_trouble: Semaphore,
}

/// A place among the lists that are under way.
pub(crate) struct Place<'a> {
    _in_trouble: Option<SemaphorePermit<'a>>,
    _of_all: SemaphorePermit<'a>,
}

impl Lists {
    /// So many at once.
    pub(crate) fn at_once(all: usize) -> Self {
        let in_trouble = (all - all.div_ceil(4)).max(1);
        Self { all: Semaphore::new(all), in_trouble: Semaphore::new(in_trouble) }
    }

    /// A place among the lists that are under way, in the order of asking. The anchor has no need of one: nothing works
    /// before its lists are complete, and there is one of it. Planes in trouble wait in a line of their own, and leave
    /// a quarter of the places: a plane that is well must not wait behind thousands that are tried again and again.
    pub(crate) async fn turn(&self, plane: &Plane) -> Option<Place<'_>> {
        let PlaneId::Project(_) = plane.id else { return None };
        // The semaphores are never closed.
        let in_trouble = match plane.health() {
            Health::Unreachable(_) => Some(self.in_trouble.acquire().await.ok()?),
            Health::Engaging | Health::Engaged | Health::Suspended => None,
        };
        Some(Place { _in_trouble: in_trouble, _of_all: self.all.acquire().await.ok()? })
    }
}
