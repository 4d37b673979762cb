//! The limit on concurrent lists: thousands of planes that are found in one instant, or lost and found with
//! their server, must not all be listed in it.
//!
//! A place is for an answer that comes. A server that begins the storage of a plane with the first request
//! for it may take seconds over that, of all planes at once, and says nothing meanwhile: who waits for that
//! stands aside.

use std::time::Duration;

use fedhub_core::object::PlaneId;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::registry::plane::Plane;
use crate::registry::plane::health_log::Health;

/// How long a place is kept without a word of the answer.
const PATIENCE: Duration = Duration::from_millis(250);
/// How many lists may stand aside for each place: 256 of a server by default, whose own default is 400
/// requests at once.
const ASIDE: usize = 16;

/// Silence after which a watch that failed before is held to work again, and a list that began is held to be
/// stuck. Longer than any time-out of one request.
pub(crate) const SETTLED: Duration = Duration::from_secs(30);

/// The limit on concurrent lists of project planes.
pub(crate) struct Lists {
    all: Semaphore,
    /// The places among them that failing planes may have.
    failing: Semaphore,
    aside: Semaphore,
}

/// A place for one list of a project plane.
struct Place<'a> {
    _failing: Option<SemaphorePermit<'a>>,
    _of_all: SemaphorePermit<'a>,
}

impl Lists {
    /// Allows `all` concurrent lists.
    pub(crate) fn new(all: usize) -> Self {
        let failing = (all - all.div_ceil(4)).max(1);
        let aside = Semaphore::new(all.saturating_mul(ASIDE));
        Self { all: Semaphore::new(all), failing: Semaphore::new(failing), aside }
    }

    /// Waits for a permit, in the order of requests. The anchor has no need of one: nothing works
    /// before its lists are complete, and there is one of it.
    pub(crate) async fn permit(&self, plane: &Plane) -> ListPermit<'_> {
        let at = match plane.id {
            PlaneId::Project(_) => self.next(plane).await.map(|taken| At::Place { _place: taken }),
            PlaneId::Hub | PlaneId::Management | PlaneId::Cell => None,
        };
        ListPermit(at.map(|at| Held { lists: self, at, since: Instant::now(), is_answered: false }))
    }

    /// The next place. Failing planes wait in a line of their own, and leave
    /// a quarter of the places: a healthy plane must not wait behind thousands that are tried again and
    /// again.
    async fn next(&self, plane: &Plane) -> Option<Place<'_>> {
        // The semaphores are never closed.
        let failing = match plane.health() {
            Health::Unreachable(_) => Some(self.failing.acquire().await.ok()?),
            Health::Engaging | Health::Engaged | Health::Suspended | Health::Paused => None,
        };
        Some(Place { _failing: failing, _of_all: self.all.acquire().await.ok()? })
    }
}

/// The permit of a watch to list, while its list is under way.
#[derive(Default)]
pub(crate) struct ListPermit<'a>(Option<Held<'a>>);

struct Held<'a> {
    lists: &'a Lists,
    at: At<'a>,
    since: Instant,
    is_answered: bool,
}

/// The state of a list's place.
enum At<'a> {
    Place { _place: Place<'a> },
    Aside { _aside: SemaphorePermit<'a> },
}

impl ListPermit<'_> {
    /// Gives the place to the next once the server has not begun to answer for a while and there is room
    /// aside. Otherwise it never returns.
    pub(crate) async fn step_aside(&mut self) {
        let Some(Held { lists, at: at @ At::Place { .. }, since, is_answered: false }) = &mut self.0 else {
            return std::future::pending().await;
        };
        let lists = *lists;
        let patience = *since + PATIENCE;
        // Boxed: the thousands of watches must not hold room for it.
        let aside = Box::pin(async move {
            tokio::time::sleep_until(patience).await;
            lists.aside.acquire().await
        });
        if let Ok(aside) = aside.await {
            *at = At::Aside { _aside: aside };
        }
    }

    /// Waits for what the permit is for.
    pub(crate) async fn hold<T>(mut self, mut answer: impl Future<Output = T> + Unpin) -> T {
        loop {
            tokio::select! {
                biased;
                outcome = &mut answer => return outcome,
                () = self.step_aside() => {}
            }
        }
    }

    /// The answer comes. Returns the permit of a list that takes long, though it goes on: a server may send
    /// an object now and then for ever.
    pub(crate) fn answered(&mut self) {
        self.0.take_if(|held| held.since.elapsed() >= SETTLED);
        if let Some(held) = &mut self.0 {
            held.is_answered = true;
        }
    }

    /// Returns the permit.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }
}
