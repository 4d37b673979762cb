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
    queue: Mutex<Queue>,
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

/// Absences by when they are asked for again, each with a number that makes it unique.
#[derive(Default)]
struct Queue {
    /// By the time when each wait is over.
    waiting: BTreeMap<(Instant, u64), Absent>,
    /// Those whose waits are over: first what was asked for least often, which is what a new plane may serve in a moment.
    over: BTreeMap<(u8, Instant, u64), Absent>,
}

impl Absences {
    /// Enters one that ends at `due`; `number` makes it unique.
    pub fn enter(&self, due: Instant, number: u64, absent: Absent) {
        let mut queue = self.queue.lock();
        queue.waiting.insert((due, number), absent);
        let is_first = queue.waiting.first_key_value().is_some_and(|(first, _)| *first == (due, number));
        drop(queue);
        if is_first {
            self.bell.notify_one();
        }
    }

    /// Waits until the first may be over.
    pub async fn next(&self) {
        let first = self.queue.lock().waiting.first_key_value().map(|((due, _), _)| *due);
        until_due(first, &self.bell).await;
    }

    /// The first of those that are over, which is no longer among them.
    pub fn take(&self, now: Instant) -> Option<Absent> {
        let Queue { waiting, over } = &mut *self.queue.lock();
        let later = waiting.split_off(&(now, u64::MAX));
        let ended = std::mem::replace(waiting, later).into_iter();
        over.extend(ended.map(|((due, number), absent)| ((absent.waits.absences(), due, number), absent)));
        over.pop_first().map(|(_, absent)| absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(kind: Kind, answers: u8) -> Absent {
        let mut waits = Backoffs::new(7);
        for _ in 0..answers {
            waits.after_absence();
        }
        Absent { plane: Weak::new(), kind, waits }
    }

    #[test]
    fn w7_of_those_that_are_over_the_one_that_was_asked_for_least_often_is_first() {
        let absences = Absences::default();
        let at = |seconds| Instant::now() + Duration::from_secs(seconds);
        absences.enter(at(1), 1, absent(Kind::Network, 9));
        absences.enter(at(2), 2, absent(Kind::Workload, 1));
        absences.enter(at(2), 3, absent(Kind::LocationBinding, 1));
        absences.enter(at(60), 4, absent(Kind::ServiceEntitlement, 0));
        let taken = |seconds| absences.take(at(seconds)).map(|absent| absent.kind);
        assert_eq!(taken(0), None);
        assert_eq!(taken(3), Some(Kind::Workload));
        absences.enter(at(3), 5, absent(Kind::ServiceEntitlement, 0));
        assert_eq!(
            std::array::from_fn(|_| taken(4)),
            [Some(Kind::ServiceEntitlement), Some(Kind::LocationBinding), Some(Kind::Network), None]
        );
    }
}
