//! The limit on concurrent lists: thousands of planes that are found in one instant, or lost and found with their
//! server, must not all be listed in it.

use std::time::Duration;

use fedhub_core::object::PlaneId;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::health_log::Health;
use crate::plane::Plane;

/// How often a plane gives a permit back because it is throttled when its turn has come. Then it keeps it: other requests of
/// the plane may be throttled again and again.
const GIVEN_BACK: usize = 3;

/// Silence after which a watch that failed before is held to work again, and a list that began is held to be stuck.
/// Longer than any time-out of one request.
pub(crate) const SETTLED: Duration = Duration::from_secs(30);

/// The limit on concurrent lists of project planes.
pub(crate) struct Lists {
    all: Semaphore,
    /// The permits among them that failing planes may have.
    failing: Semaphore,
}

/// A permit for one list of a project plane.
pub(crate) struct ListPermit<'a> {
    _failing: Option<SemaphorePermit<'a>>,
    _of_all: SemaphorePermit<'a>,
}

impl Lists {
    /// Allows `all` concurrent lists.
    pub(crate) fn new(all: usize) -> Self {
        let failing = (all - all.div_ceil(4)).max(1);
        Self { all: Semaphore::new(all), failing: Semaphore::new(failing) }
    }

    /// Waits for a permit, in the order of requests. The anchor has no need of one: nothing works
    /// before its lists are complete, and there is one of it. A plane that is throttled (429) waits first: its request
    /// must not wait that out with a permit.
    pub(crate) async fn permit(&self, plane: &Plane) -> Option<ListPermit<'_>> {
        let PlaneId::Project(_) = plane.id else { return None };
        let retry_after = plane.connection().retry_after();
        for _ in 0..GIVEN_BACK {
            retry_after.wait().await;
            let permit = self.next(plane).await;
            if !retry_after.is_throttled() {
                return permit;
            }
        }
        self.next(plane).await
    }

    /// The next permit. Failing planes wait in a line of their own, and leave
    /// a quarter of the permits: a healthy plane must not wait behind thousands that are tried again and again.
    async fn next(&self, plane: &Plane) -> Option<ListPermit<'_>> {
        // The semaphores are never closed.
        let failing = match plane.health() {
            Health::Unreachable(_) => Some(self.failing.acquire().await.ok()?),
            Health::Engaging | Health::Engaged | Health::Suspended | Health::Paused => None,
        };
        Some(ListPermit { _failing: failing, _of_all: self.all.acquire().await.ok()? })
    }
}

/// The permit of a watch to list, while its list is under way.
#[derive(Default)]
pub(crate) struct Permit<'a>(Option<(ListPermit<'a>, Instant)>);

impl<'a> Permit<'a> {
    /// Holds the permit of a list that begins.
    pub(crate) fn hold(&mut self, permit: Option<ListPermit<'a>>) {
        self.0 = permit.map(|permit| (permit, Instant::now() + SETTLED));
    }

    /// Returns the permit of a list that takes long, though it goes on: a server may send an object now and then for ever.
    pub(crate) fn expire(&mut self) {
        self.0.take_if(|(_, until)| Instant::now() >= *until);
    }

    /// Returns the permit.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }
}
