//! Optional kinds that project planes do not serve, until each is asked for again: of thousands of planes these are entries
//! of one queue, and no tasks.
//!
//! What the questions cost is bounded: few kinds are asked for as their waits say, many one by one, see [`APART`] and
//! [`ROUND`].

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

/// Once the burst is spent, so long passes from one question to the next.
const APART: Duration = Duration::from_secs(2);
/// Less, where all would not have their turn within this time: those of thousands of planes.
const ROUND: Duration = Duration::from_hours(2);
/// So many questions need not wait for each other, after a time with as few to ask.
const BURST: f64 = 100.0;
/// A kind that was asked for so often in a row is settled: its waits are the longest.
const SETTLED: u8 = 11;

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
    /// Those whose waits are over and that are not settled: first what was asked for least often, and of that the last, which
    /// is what a new plane may serve in a moment.
    fresh: BTreeMap<(u8, Reverse<Instant>, u64), Absent>,
    /// The settled ones, by when their waits were over.
    settled: BTreeMap<(Instant, u64), Absent>,
    /// Whether the next is a settled one: either have every other turn, where there are both.
    settled_next: bool,
    bucket: Option<Bucket>,
}

/// The questions that time has not paid for yet.
struct Bucket {
    level: f64,
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

    /// The next of those that are over, which is no longer among them.
    pub fn take(&self, now: Instant) -> Option<Absent> {
        let Queue { waiting, fresh, settled, settled_next, .. } = &mut *self.queue.lock();
        let later = waiting.split_off(&(now, u64::MAX));
        for ((due, number), absent) in std::mem::replace(waiting, later) {
            let answers = absent.waits.absences();
            if answers < SETTLED {
                fresh.insert((answers, Reverse(due), number), absent);
            } else {
                settled.insert((due, number), absent);
            }
        }
        let is_settled = !settled.is_empty() && (*settled_next || fresh.is_empty());
        *settled_next = !is_settled;
        if is_settled {
            settled.pop_first().map(|(_, absent)| absent)
        } else {
            fresh.pop_first().map(|(_, absent)| absent)
        }
    }

    /// One is asked for. Returns how long the next has to wait.
    pub fn pace(&self, now: Instant) -> Duration {
        let Queue { waiting, fresh, settled, bucket, .. } = &mut *self.queue.lock();
        let all = waiting.len() + fresh.len() + settled.len() + 1;
        let apart = (ROUND / u32::try_from(all).unwrap_or(u32::MAX)).min(APART);
        let before = bucket.as_ref().map_or(0.0, |bucket| {
            let paid = now.saturating_duration_since(bucket.at).div_duration_f64(apart);
            (bucket.level - paid).max(0.0)
        });
        let level = before + 1.0;
        *bucket = Some(Bucket { level, at: now });
        apart.mul_f64((level - BURST).max(0.0))
    }

    /// A kind of a plane is served that was not: so others may be, and are asked for as those of a new plane.
    pub fn hurry(&self, plane: &Plane, now: Instant) {
        let is_of = |absent: &mut Absent| std::ptr::eq(absent.plane.as_ptr(), plane);
        let Queue { waiting, fresh, settled, .. } = &mut *self.queue.lock();
        let mut hurried: Vec<_> = waiting.extract_if(.., |_, absent| is_of(absent)).collect();
        hurried.extend(settled.extract_if(.., |_, absent| is_of(absent)));
        let fresh = fresh.extract_if(.., |_, absent| is_of(absent));
        hurried.extend(fresh.map(|((_, Reverse(due), number), absent)| ((due, number), absent)));
        for ((_, number), mut absent) in hurried {
            absent.waits.reset_absences();
            waiting.insert((now, number), absent);
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
        // Those that were asked for often take turns with the rest, in the order in which their waits were over.
        absences.enter(at(8), 8, absent(Kind::LocationBinding, u8::MAX));
        absences.enter(at(9), 9, absent(Kind::ServiceEntitlement, u8::MAX));
        assert_eq!(
            std::array::from_fn(|_| taken(10)),
            [Some(Kind::LocationBinding), Some(Kind::Workload), Some(Kind::ServiceEntitlement), None]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn w7_few_kinds_are_asked_as_their_waits_say_and_thousands_in_a_round() {
        for (kinds, least, most) in [(1, 200, 260), (4_000, 2_050, 2_150), (40_000, 20_050, 20_150)] {
            let (absences, start) = (Absences::default(), Instant::now());
            (1..kinds).for_each(|n| absences.enter(start, n, absent(Kind::Workload, 1)));
            let mut asked = 0;
            let mut now = start;
            while now < start + ROUND / 2 && asked < 50_000 {
                now += absences.pace(now).max(Duration::from_secs(if kinds == 1 { 15 } else { 0 }));
                asked += 1;
            }
            assert!((least..=most).contains(&asked), "{kinds} kinds: {asked} in half a round");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn w7_what_was_asked_of_few_kinds_does_not_hold_up_those_of_thousands() {
        let (absences, now) = (Absences::default(), Instant::now());
        for _ in 0..100 {
            absences.pace(now);
        }
        (0..40_000).for_each(|n| absences.enter(now, n, absent(Kind::Workload, 1)));
        let wait = absences.pace(now);
        assert!(wait < Duration::from_secs(1), "{wait:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn w7_i8_kinds_that_were_asked_for_often_have_their_turn_beside_ever_new_ones() {
        let (absences, start) = (Absences::default(), Instant::now());
        let (settled, new) = (Kind::Workload, Kind::Network);
        for n in 0..400 {
            absences.enter(start, n, absent(settled, u8::MAX));
            absences.enter(start, 1_000 + n, absent(new, 0));
        }
        let mut now = start;
        let mut asked = [0, 0];
        // As long as the settled ones take with every other turn, at two seconds each, and a burst of half an hour.
        while now < start + APART * 2 * 400 {
            let Some(next) = absences.take(now) else { break };
            asked[usize::from(next.kind == new)] += 1;
            // Those that are new stay so; a settled one waits for as long as it may.
            let wait = if next.kind == new { Duration::ZERO } else { Duration::from_mins(5) };
            absences.enter(now + wait, 10_000 + asked[0] + asked[1], next);
            now += absences.pace(now);
        }
        assert!(asked.iter().all(|asked| *asked >= 400), "{asked:?}");
        assert!(asked[0].abs_diff(asked[1]) <= 1, "{asked:?}");
    }
}
