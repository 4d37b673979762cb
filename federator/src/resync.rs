//! WDs whose newest generation no cell has reported on: since when, and when Karmada is asked (F8, U2).
//!
//! Karmada 1.16 can hold for ever that it has not applied what it has applied. After a restart of its
//! controller manager it first fails and says so on its `Work`, then succeeds, and compares that with a cache
//! that does not know of the failure yet: nothing to write. From then on it leaves out whatever the cell
//! reports, until the object changes. A status that changes and changes back within moments, as when an
//! autoscaler scales, can meet the same cache: Karmada keeps the one in between. So where a `ResourceBinding`
//! says for a minute that its WD is not applied, or has an older status, the hub WD gets the annotation
//! [`fedhub_core::names::RESYNC`], and loses it when the cell has reported: either has Karmada apply it
//! again.

use std::time::Duration;

use fedhub_api::cells::{CellRefusal, Hold};
use fedhub_core::object::Key;
use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::shrink::shrink;

/// How long a report is waited for before Karmada is asked; it doubles, to the longest.
const FIRST: Duration = Duration::from_mins(1);
const LONGEST: Duration = Duration::from_mins(15);
/// The least time between two requests to Karmada: all WDs of a cell may wait.
const APART: Duration = Duration::from_millis(20);

struct Wait {
    generation: i64,
    /// Whether passes over it fail.
    fails: bool,
    since: Instant,
    /// When Karmada is asked.
    next: Instant,
    /// Whether that time has been kept free of other questions.
    booked: bool,
    /// How often it was asked.
    turns: u8,
    /// The answer of Karmada then.
    held: Option<Hold>,
}

/// How long a WD that has had that many turns waits for the next.
fn pause_after(turns: u8) -> Duration {
    FIRST.saturating_mul(2u32.saturating_pow(turns.into())).min(LONGEST)
}

#[derive(Default)]
struct All {
    waits: IndexMap<Key, Wait>,
    /// When the next question may be asked, if it is not now.
    free_at: Option<Instant>,
}

/// The WDs that wait: all of a cell's, while it is silent.
pub struct Waits {
    /// When Karmada is asked first.
    first: Duration,
    all: Mutex<All>,
}

impl Waits {
    /// Creates an empty list of waits. Karmada is first asked about a WD after `patience`, when the WD's
    /// progress has been written.
    pub fn new(patience: Duration) -> Self {
        Self { first: FIRST.max(patience), all: Mutex::default() }
    }

    /// Notes that a generation of a WD has waited since `since`, with passes that fail or not. The time
    /// begins again if either changes.
    pub fn begin(&self, key: &Key, generation: i64, fails: bool, since: Instant) {
        let mut all = self.all.lock();
        let known = all.waits.get(key);
        if known.is_none_or(|wait| (wait.generation, wait.fails) != (generation, fails)) {
            let next = since + self.first;
            let wait = Wait { generation, fails, since, next, booked: false, turns: 0, held: None };
            all.waits.insert(key.clone(), wait);
        }
    }

    /// Ends the wait of a WD.
    pub fn end(&self, key: &Key) {
        let mut all = self.all.lock();
        if all.waits.swap_remove(key).is_some() {
            shrink(&mut all.waits);
        }
    }

    /// Returns how long a generation of a WD has waited, with passes that fail or not.
    pub fn waited(&self, key: &Key, generation: i64, fails: bool, now: Instant) -> Duration {
        let all = self.all.lock();
        let wait = all.waits.get(key).filter(|wait| (wait.generation, wait.fails) == (generation, fails));
        wait.map_or(Duration::ZERO, |wait| now.saturating_duration_since(wait.since))
    }

    /// Whether a pass over that WD is to ask Karmada; the next one is not.
    pub fn take_turn(&self, key: &Key, now: Instant) -> bool {
        let mut all = self.all.lock();
        let All { waits, free_at } = &mut *all;
        let Some(wait) = waits.get_mut(key).filter(|wait| wait.next <= now) else { return false };
        if !wait.booked {
            wait.next = free_at.map_or(now, |free| free.max(now));
            *free_at = Some(wait.next + APART);
            wait.booked = wait.next > now;
            if wait.booked {
                return false;
            }
        }
        wait.turns = wait.turns.saturating_add(1);
        (wait.booked, wait.next) = (false, now + pause_after(wait.turns));
        true
    }

    /// Returns in how much time Karmada is to be asked about a WD.
    pub fn turn_in(&self, key: &Key, now: Instant) -> Option<Duration> {
        self.all.lock().waits.get(key).map(|wait| wait.next.saturating_duration_since(now))
    }

    /// Remembers what Karmada said of a WD when it was asked.
    pub fn answered(&self, key: &Key, refusal: Option<CellRefusal>, now: Instant) {
        if let Some(wait) = self.all.lock().waits.get_mut(key) {
            wait.held = Hold::from_refusal(refusal, now.saturating_duration_since(wait.since));
        }
    }

    /// Returns what holds that generation of a WD, as far as Karmada was asked.
    pub fn held(&self, key: &Key, generation: i64) -> Option<Hold> {
        self.all.lock().waits.get(key).filter(|wait| wait.generation == generation)?.held.clone()
    }

    /// Forgets what is not kept.
    pub fn retain(&self, keep: impl Fn(&Key) -> bool) {
        let mut all = self.all.lock();
        all.waits.retain(|key, _| keep(key));
        shrink(&mut all.waits);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.lock().waits.len()
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, PlaneId};

    use super::*;

    fn key(n: usize) -> Key {
        let namespace = "shop".into();
        let name = format!("wd-{n:04}").into();
        Key { plane: PlaneId::Hub, kind: Kind::WorkloadDeployment, namespace, name }
    }

    #[tokio::test(start_paused = true)]
    async fn f8_what_waits_has_its_turn_after_a_minute_then_ever_more_seldom() {
        let waits = Waits::new(Duration::from_secs(5));
        let begin = Instant::now();
        waits.begin(&key(0), 1, false, begin);
        let mut turns = Vec::new();
        for minute in 0..=60 {
            let now = begin + Duration::from_mins(minute);
            // Looked at in between: no news.
            waits.begin(&key(0), 1, false, now);
            if waits.take_turn(&key(0), now) {
                turns.push(minute);
            }
            assert!(!waits.take_turn(&key(0), now), "a turn is taken once");
            assert!(waits.turn_in(&key(0), now).unwrap() <= LONGEST);
        }
        assert_eq!(turns, [1, 3, 7, 15, 30, 45, 60]);
        let now = begin + Duration::from_mins(61);
        waits.begin(&key(0), 2, false, now);
        assert!(!waits.take_turn(&key(0), now));
        assert!(waits.take_turn(&key(0), now + FIRST), "a new generation begins anew");
        waits.end(&key(0));
        assert!(waits.len() == 0 && !waits.take_turn(&key(0), now + LONGEST));
    }

    #[tokio::test(start_paused = true)]
    async fn u2_what_fails_and_what_waits_are_timed_each_for_itself() {
        let waits = Waits::new(Duration::from_secs(5));
        let begin = Instant::now();
        waits.begin(&key(0), 1, false, begin);
        let now = begin + FIRST;
        assert_eq!(waits.waited(&key(0), 1, false, now), FIRST);
        for (generation, fails) in [(1, true), (2, false)] {
            assert_eq!(waits.waited(&key(0), generation, fails, now), Duration::ZERO);
        }
        waits.begin(&key(0), 1, true, now);
        assert_eq!(waits.waited(&key(0), 1, true, now + FIRST), FIRST);
        assert_eq!(waits.waited(&key(0), 1, false, now + FIRST), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn f8_bounded_a_cell_that_reports_on_nothing_is_asked_of_a_few_at_a_time() {
        let waits = Waits::new(Duration::from_secs(5));
        let begin = Instant::now();
        (0..150).for_each(|n| waits.begin(&key(n), 1, false, begin));
        let mut asked = 0;
        for tick in 0..=31 {
            let now = begin + FIRST + Duration::from_millis(100 * tick);
            let turns = (0..150).filter(|n| waits.take_turn(&key(*n), now)).count();
            assert!(turns <= 6, "{turns} at once");
            asked += turns;
        }
        assert_eq!(asked, 150, "all have their turn");
    }

    #[tokio::test(start_paused = true)]
    async fn f8_bounded_what_a_burst_took_is_given_back() {
        let waits = Waits::new(Duration::from_secs(5));
        let now = Instant::now();
        (0..10_000).for_each(|n| waits.begin(&key(n), 1, false, now));
        (100..10_000).for_each(|n| waits.end(&key(n)));
        let room = waits.all.lock().waits.capacity();
        assert!(waits.len() == 100 && room < 1000, "{room}");
    }
}
