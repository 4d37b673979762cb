//! WDs whose cell can be reached and does not report on their newest generation (F8).
//!
//! Karmada 1.16 can hold for ever that it has not applied what it has applied. After a restart of its controller manager
//! it first fails and says so on its `Work`, then succeeds, and compares that with a cache that does not know of the
//! failure yet: nothing to write. From then on it leaves out whatever the cell reports, until the object changes. A status
//! that changes and changes back within moments, as when an autoscaler scales, can meet the same cache: Karmada keeps the
//! one in between. So where a `ResourceBinding` says for a minute that its WD is not applied, or has an older status, the
//! hub WD gets the annotation [`fedhub_core::names::RESYNC`], and loses it when the cell has reported: either has Karmada
//! apply it again.

use std::time::Duration;

use fedhub_api::cells::{CellRefusal, Hold};
use fedhub_core::object::Key;
use indexmap::IndexMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::shrink::shrink;

/// How long a report is waited for before Karmada is asked; it doubles, to the longest.
const FIRST: Duration = Duration::from_mins(1);
const LONGEST: Duration = Duration::from_mins(15);
/// Of how many Karmada is asked at once at most: all WDs of a cell may wait.
const AT_ONCE: usize = 50;

struct Stall {
    generation: i64,
    since: Instant,
    next: Instant,
    /// How often it has had its turn.
    turns: u8,
    /// Whether the next pass is to ask.
    turn: bool,
    /// What Karmada said then.
    held: Option<Hold>,
}

/// How long a WD that has had that many turns waits for the next.
fn pause_after(turns: u8) -> Duration {
    FIRST.saturating_mul(2u32.saturating_pow(turns.into())).min(LONGEST)
}

/// The WDs that wait for a report: all of a cell's, while it is down.
#[derive(Default)]
pub struct Stalls(Mutex<IndexMap<Key, Stall>>);

impl Stalls {
    /// That generation of a WD waits for a report; `None`: it does not. The time begins again with each generation.
    pub fn judge(&self, key: &Key, waits: Option<i64>, now: Instant) {
        let mut all = self.all();
        let Some(generation) = waits else {
            if all.swap_remove(key).is_some() {
                shrink(&mut all);
            }
            return;
        };
        if all.get(key).is_none_or(|stall| stall.generation != generation) {
            let stall =
                Stall { generation, since: now, next: now + FIRST, turns: 0, turn: false, held: None };
            all.insert(key.clone(), stall);
        }
    }

    /// Those that have waited long enough, to be checked by a pass.
    pub fn due(&self, now: Instant) -> Vec<Key> {
        let mut all = self.all();
        let due = all.iter_mut().filter(|(_, stall)| stall.next <= now).take(AT_ONCE);
        let turn = |(key, stall): (&Key, &mut Stall)| {
            stall.turns = stall.turns.saturating_add(1);
            (stall.turn, stall.next) = (true, now + pause_after(stall.turns));
            key.clone()
        };
        due.map(turn).collect()
    }

    /// Whether a pass over that WD is to ask Karmada; the next one is not.
    pub fn take_turn(&self, key: &Key) -> bool {
        self.all().get_mut(key).is_some_and(|stall| std::mem::take(&mut stall.turn))
    }

    /// Remembers what Karmada said of a WD when it was asked.
    pub fn answered(&self, key: &Key, refusal: Option<CellRefusal>, now: Instant) {
        if let Some(stall) = self.all().get_mut(key) {
            stall.held = Hold::of(refusal, now.saturating_duration_since(stall.since));
        }
    }

    /// What holds that generation of a WD, as far as Karmada was asked.
    pub fn held(&self, key: &Key, generation: i64) -> Option<Hold> {
        self.all().get(key).filter(|stall| stall.generation == generation)?.held.clone()
    }

    /// Forgets what is not kept.
    pub fn retain(&self, keep: impl Fn(&Key) -> bool) {
        let mut all = self.all();
        all.retain(|key, _| keep(key));
        shrink(&mut all);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> MutexGuard<'_, IndexMap<Key, Stall>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, PlaneId};

    use super::*;

    fn key(n: usize) -> Key {
        let (namespace, name) = ("shop".into(), format!("wd-{n:04}").into());
        Key { plane: PlaneId::Hub, kind: Kind::WorkloadDeployment, namespace, name }
    }

    #[tokio::test(start_paused = true)]
    async fn f8_what_waits_has_its_turn_after_a_minute_then_ever_more_seldom() {
        let (stalls, begin) = (Stalls::default(), Instant::now());
        stalls.judge(&key(0), Some(1), begin);
        let mut transitions = Vec::new();
        for minute in 0..=60 {
            let now = begin + Duration::from_mins(minute);
            // Looked at in between: no news.
            stalls.judge(&key(0), Some(1), now);
            if !stalls.due(now).is_empty() {
                transitions.push(minute);
                assert!(stalls.take_turn(&key(0)));
            }
            assert!(!stalls.take_turn(&key(0)), "a turn is taken once");
        }
        assert_eq!(transitions, [1, 3, 7, 15, 30, 45, 60]);
        let now = begin + Duration::from_mins(61);
        stalls.judge(&key(0), Some(2), now);
        assert_eq!(stalls.due(now + FIRST), [key(0)], "a new generation begins anew");
        stalls.judge(&key(0), None, now);
        assert!(stalls.len() == 0 && !stalls.take_turn(&key(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn f8_bounded_a_cell_that_reports_on_nothing_is_asked_of_a_few_at_a_time() {
        let (stalls, begin) = (Stalls::default(), Instant::now());
        (0..3 * AT_ONCE).for_each(|n| stalls.judge(&key(n), Some(1), begin));
        let mut asked: Vec<Key> = Vec::new();
        for second in 0..3 {
            let due = stalls.due(begin + FIRST + Duration::from_secs(second));
            assert_eq!(due.len(), AT_ONCE);
            asked.extend(due);
        }
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), 3 * AT_ONCE, "all have their turn");
    }

    #[tokio::test(start_paused = true)]
    async fn f8_bounded_what_a_burst_took_is_given_back() {
        let (stalls, now) = (Stalls::default(), Instant::now());
        (0..10_000).for_each(|n| stalls.judge(&key(n), Some(1), now));
        (100..10_000).for_each(|n| stalls.judge(&key(n), None, now));
        assert!(stalls.len() == 100 && stalls.all().capacity() < 1000, "{}", stalls.all().capacity());
    }
}
