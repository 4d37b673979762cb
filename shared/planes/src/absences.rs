//! Optional kinds that project planes do not serve, until each is asked for again: of thousands of planes these are entries
//! of one queue, and no tasks.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Duration;

use fedhub_core::object::Kind;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::Backoffs;
use crate::due::until_due;
use crate::plane::Plane;

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

/// A kind that a plane does not serve.
pub(crate) struct Absent {
    /// Weak, so that a plane that leaves is given back at once.
    pub plane: Weak<Plane>,
    /// The kind that it does not serve.
    pub kind: Kind,
    /// The waits of the watch so far.
    pub waits: Backoffs,
}

impl Absences {
    /// Enters one that ends at `due`; `number` makes it unique.
    pub fn enter(&self, due: Instant, number: u64, absent: Absent) {
        let mut all = self.due.lock();
        all.insert((due, number), absent);
        let is_first = all.first_key_value().is_some_and(|(first, _)| *first == (due, number));
        drop(all);
        if is_first {
            self.bell.notify_one();
        }
    }

    /// Waits until the first may be over.
    pub async fn next(&self) {
        let first = self.due.lock().first_key_value().map(|((due, _), _)| *due);
        until_due(first, &self.bell).await;
    }

    /// Those that are over, in the order of their times.
    pub fn over(&self, now: Instant) -> impl Iterator<Item = Absent> {
        let mut due = self.due.lock();
        let later = due.split_off(&(now, u64::MAX));
        std::mem::replace(&mut *due, later).into_values()
    }
}
