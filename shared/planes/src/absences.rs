//! Optional kinds that project planes do not serve, until each is asked for again: of thousands of planes these are entries
//! of one queue, and no tasks.
//!
//! What the questions cost is bounded: a few planes are asked as their waits say, all kinds of thousands in [`ROUND`].

use std::cmp::Reverse;
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

/// The time in which all are asked for once, where their waits alone would have it sooner: a plane is at rest, and what it
/// serves changes seldom.
const ROUND: Duration = Duration::from_hours(2);
/// The longest time from one question to the next. So few kinds are asked as their waits say.
const APART: Duration = Duration::from_secs(2);
/// So many questions need not wait for each other: a plane that is new, or a few of them.
const BURST: f64 = 100.0;

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
    /// Those whose waits are over: first what was asked for least often, and of that the last, which is what a new plane may
    /// serve in a moment.
    over: BTreeMap<(u8, Reverse<Instant>, u64), Absent>,
    asked: Option<Asked>,
}

/// What was asked for of late.
struct Asked {
    /// How many questions have not taken their time yet.
    questions: f64,
    /// When that was so.
    at: Instant,
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
        let Queue { waiting, over, .. } = &mut *self.queue.lock();
        let later = waiting.split_off(&(now, u64::MAX));
        let ended = std::mem::replace(waiting, later).into_iter();
        over.extend(ended.map(|((due, number), absent)| {
            let asked = absent.waits.absences();
            ((asked, Reverse(due), number), absent)
        }));
        over.pop_first().map(|(_, absent)| absent)
    }

    /// One is asked for. Returns how long the next is to wait.
    pub fn asked(&self, now: Instant) -> Duration {
        let queue = &mut *self.queue.lock();
        let all = queue.waiting.len() + queue.over.len() + 1;
        let apart = (ROUND / u32::try_from(all).unwrap_or(u32::MAX)).min(APART);
        let before = queue.asked.as_ref().map_or(0.0, |asked| {
            let taken = now.saturating_duration_since(asked.at).div_duration_f64(apart);
            (asked.questions - taken).max(0.0)
        });
        let questions = before + 1.0;
        queue.asked = Some(Asked { questions, at: now });
        apart.mul_f64((questions - BURST).max(0.0))
    }

    /// Kinds of a plane are served that were not: so others may be, and are asked for now.
    pub fn hurry(&self, plane: &Plane, now: Instant) {
        let is_of = |absent: &mut Absent| std::ptr::eq(absent.plane.as_ptr(), plane);
        let queue = &mut *self.queue.lock();
        let waiting = queue.waiting.extract_if(.., |_, absent| is_of(absent));
        let waiting = waiting.map(|((_, number), absent)| (number, absent));
        let over = queue.over.extract_if(.., |_, absent| is_of(absent));
        let over = over.map(|((_, _, number), absent)| (number, absent));
        let hurried: Vec<_> = waiting.chain(over).collect();
        for (number, mut absent) in hurried {
            absent.waits.absence_begins();
            queue.waiting.insert((now, number), absent);
        }
        self.bell.notify_one();
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
        assert_eq!(taken(3), Some(Kind::LocationBinding));
        absences.enter(at(3), 5, absent(Kind::ServiceEntitlement, 0));
        assert_eq!(
            std::array::from_fn(|_| taken(4)),
            [Some(Kind::ServiceEntitlement), Some(Kind::Workload), Some(Kind::Network), None]
        );
        // A plane that is new does not wait behind thousands that were found in one instant.
        absences.enter(at(5), 6, absent(Kind::Workload, 1));
        absences.enter(at(6), 7, absent(Kind::Network, 1));
        assert_eq!(taken(7), Some(Kind::Network));
    }

    #[tokio::test(start_paused = true)]
    async fn w7_few_kinds_are_asked_as_their_waits_say_and_thousands_in_a_round() {
        for (kinds, least, most) in [(1, 200, 260), (4_000, 2_050, 2_150), (40_000, 20_050, 20_150)] {
            let (absences, start) = (Absences::default(), Instant::now());
            (1..kinds).for_each(|n| absences.enter(start, n, absent(Kind::Workload, 1)));
            let mut asked = 0;
            let mut now = start;
            while now < start + ROUND / 2 && asked < 50_000 {
                now += absences.asked(now).max(Duration::from_secs(if kinds == 1 { 15 } else { 0 }));
                asked += 1;
            }
            assert!((least..=most).contains(&asked), "{kinds} kinds: {asked} in half a round");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn w7_what_was_asked_of_few_kinds_does_not_hold_up_those_of_thousands() {
        let (absences, now) = (Absences::default(), Instant::now());
        for _ in 0..150 {
            absences.asked(now);
        }
        (0..40_000).for_each(|n| absences.enter(now, n, absent(Kind::Workload, 1)));
        let wait = absences.asked(now);
        assert!(wait < Duration::from_secs(10), "{wait:?}, not the 102 s of few");
    }
}
