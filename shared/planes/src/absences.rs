//! Optional kinds that project planes do not serve, until each is asked for again: of thousands of planes these are entries
//! of one queue, and no tasks.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use fedhub_core::object::Kind;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::Backoffs;
use crate::pump::pump;
use crate::{Plane, Planes};

/// What a watch ends with when its plane does not serve the kind.
pub(crate) struct Absence {
    /// How long the plane is not asked again.
    pub wait: Duration,
    /// The waits of the watch so far, with which it goes on.
    pub waits: Backoffs,
}

/// The absences of all planes.
#[derive(Default)]
pub(crate) struct Absences {
    /// By the time when each is over, and a number that makes it unique.
    due: Mutex<BTreeMap<(Instant, u64), Absent>>,
    bell: Notify,
}

struct Absent {
    /// Weak, so that a plane that leaves is given back at once.
    plane: Weak<Plane>,
    kind: Kind,
    waits: Backoffs,
}

impl Absences {
    /// Waits until the first may be over.
    async fn next(&self) {
        let first = self.due.lock().first_key_value().map(|((due, _), _)| *due);
        let over = async {
            match first {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.bell.notified() => {}
            () = over => {}
        }
    }

    /// Those that are over, in the order of their times.
    fn over(&self, now: Instant) -> impl Iterator<Item = Absent> {
        let mut due = self.due.lock();
        let later = due.split_off(&(now, u64::MAX));
        std::mem::replace(&mut *due, later).into_values()
    }
}

impl Planes {
    /// Has a kind that the plane does not serve watched again when the wait is over.
    pub(crate) fn await_serving(&self, plane: &Arc<Plane>, kind: Kind, absence: Absence) {
        let Absence { wait, waits } = absence;
        let key = (Instant::now() + wait, self.seed());
        let absent = Absent { plane: Arc::downgrade(plane), kind, waits };
        let mut due = self.absences.due.lock();
        due.insert(key, absent);
        let is_first = due.first_key_value().is_some_and(|(first, _)| *first == key);
        drop(due);
        if is_first {
            self.absences.bell.notify_one();
        }
    }

    /// Starts the watches whose waits are over, until the registry is stopped.
    pub(crate) async fn keep_asking(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.anchor.stop.cancelled() => return,
                () = self.absences.next() => {}
            }
            for Absent { plane, kind, waits } in self.absences.over(Instant::now()) {
                if let Some(plane) = plane.upgrade() {
                    self.tasks.spawn(pump(self.clone(), plane, kind, Some(waits)));
                }
            }
        }
    }
}
