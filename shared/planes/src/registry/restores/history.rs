//! Whether the hub's state goes on from where it was, or was put back from a backup (I4): pure functions.
//!
//! A server's resourceVersions only grow. One that is asked for its newest and names a lesser one than was
//! seen of it before was restored: what it lacks may never have been deleted. Until every cell in use has
//! written back since, or an operator says so, no deletion is inferred from what it lacks.

use std::collections::BTreeSet;

use jiff::Timestamp;

/// What the management plane remembers of the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The highest resourceVersion ever seen on an object there, in its present life.
    pub highest: u64,
    /// The resourceVersion that it went back to, as long as deletions are not inferred for that.
    pub restored_at: Option<u64>,
    /// When it was last noticed to have been restored, also after it is trusted again.
    pub last_restore: Option<Timestamp>,
    /// The last restore that an operator accepted, by the same time.
    pub accepted: Option<Timestamp>,
}

impl Remembered {
    /// Whether an operator has accepted all restores.
    pub fn is_accepted(&self) -> bool {
        self.accepted >= self.last_restore && (self.restored_at.is_none() || self.last_restore.is_some())
    }

    /// Whether what an operator declared on the hub at that time counts (C11): where the hub was restored
    /// since, the declaration may be one that was taken back after the backup, unless the operator accepts
    /// that.
    pub fn believes(&self, declared: Timestamp) -> bool {
        self.is_accepted() || self.last_restore.is_some_and(|restore| declared > restore)
    }
}

/// The cities that projections and WDs stand for, and those whose cells have written back since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CityCoverage {
    /// Whether the city is in use: a WD, a copy of an Instance on the hub, a projection.
    pub used: BTreeSet<String>,
    /// The cities in use that have Instances. That their WDs were reported on says nothing about copies.
    pub copied: BTreeSet<String>,
    /// The cities with a copy that was written since.
    pub written: BTreeSet<String>,
}

/// The hub's history, as far as this process and the management plane remember it.
#[derive(Debug, Default)]
pub struct History {
    stored: Option<Remembered>,
    ours: Remembered,
    /// Whether this process concluded something that is not stored yet and precedes what is.
    concluded: bool,
    /// Cities of WDs whose status was seen to change since the hub was restored.
    reported: BTreeSet<String>,
}

impl History {
    /// The highest resourceVersion ever seen.
    pub fn highest(&self) -> u64 {
        self.ours.highest
    }

    /// The resourceVersion that the hub went back to, as long as no deletion is inferred for that.
    pub fn restored_at(&self) -> Option<u64> {
        self.ours.restored_at
    }

    /// Returns everything that has to be remembered.
    pub fn remembered(&self) -> Remembered {
        self.ours
    }

    /// An object was seen at that version. Returns whether it is the first that is higher than what is
    /// stored.
    pub fn seen(&mut self, version: u64) -> bool {
        let before = self.unwritten().is_some();
        self.ours.highest = self.ours.highest.max(version);
        !before && self.unwritten().is_some()
    }

    /// When the hub was last noticed to have been restored. What was federated before may have been lost
    /// then.
    pub fn last_restore(&self) -> Option<Timestamp> {
        self.ours.last_restore
    }

    /// The hub was asked for its newest version when `highest` was the highest that was seen. Returns whether
    /// it went back.
    pub fn compare(&mut self, highest: u64, newest: u64, now: Timestamp) -> bool {
        if newest >= highest {
            return false;
        }
        self.ours = Remembered {
            highest: newest,
            restored_at: Some(newest),
            last_restore: Some(now),
            accepted: None,
        };
        self.concluded = true;
        self.reported.clear();
        true
    }

    /// A cell's report on a WD of that city came at that version.
    pub fn reported(&mut self, city: &str, version: u64) {
        if self.ours.restored_at.is_some_and(|at| version > at) && !self.reported.contains(city) {
            self.reported.insert(city.to_owned());
        }
    }

    /// The cities whose cells have not written back since the hub was restored.
    pub fn awaited(&self, cities: &CityCoverage) -> BTreeSet<String> {
        let reported = |city: &String| self.reported.contains(city) && !cities.copied.contains(city);
        let back = |city: &String| cities.written.contains(city) || reported(city);
        cities.used.iter().filter(|city| !back(city)).cloned().collect()
    }

    /// Deletions are inferred again.
    pub fn accept(&mut self) {
        self.concluded |= self.ours.restored_at.take().is_some();
        self.reported.clear();
    }

    /// Replaces what is stored. The conclusion of another leader or an operator counts more than what this
    /// process concluded before. Returns whether it changed whether deletions are inferred.
    pub fn learn(&mut self, stored: Option<Remembered>) -> bool {
        let before = std::mem::replace(&mut self.stored, stored);
        let Some(stored) = stored else {
            // Taken away by hand: nothing is held against the hub any more.
            let accepted = before.is_some_and(|before| before.restored_at.is_some());
            if accepted {
                self.ours.accepted = self.ours.last_restore;
            }
            return accepted && self.ours.restored_at.take().is_some();
        };
        let anothers = before.map_or(stored.restored_at.is_some(), |b| b.restored_at != stored.restored_at);
        if stored == self.ours {
            self.concluded = false;
        } else if !self.concluded || anothers {
            let went_back = before.is_some_and(|before| stored.highest < before.highest);
            let highest = if went_back { stored.highest } else { self.ours.highest.max(stored.highest) };
            let was = std::mem::replace(&mut self.ours, Remembered { highest, ..stored });
            self.concluded = false;
            return was.restored_at.is_some() != stored.restored_at.is_some();
        }
        false
    }

    /// Returns what has to be stored, if it differs from what is, and whether that is urgent: more than a
    /// higher version.
    pub fn unwritten(&self) -> Option<(Remembered, bool)> {
        let new = self.stored.map_or(self.ours != Remembered::default(), |stored| stored != self.ours);
        new.then_some((self.ours, self.concluded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn remembered(highest: u64, restored_at: Option<u64>) -> Remembered {
        Remembered { highest, restored_at, last_restore: restored_at.map(|_| NOW), accepted: None }
    }

    fn accepted(highest: u64) -> Remembered {
        Remembered { restored_at: None, ..remembered(highest, Some(highest)) }
    }

    #[test]
    fn c11_what_was_declared_before_a_restore_counts_once_an_operator_accepts_that() {
        let before = NOW - std::time::Duration::from_secs(1);
        let after = NOW + std::time::Duration::from_secs(1);
        for (remembered, expected) in [
            (remembered(9, None), (true, true)),
            (remembered(9, Some(9)), (false, true)),
            (accepted(9), (false, true)),
            (Remembered { accepted: Some(before), ..accepted(9) }, (false, true)),
            (Remembered { accepted: Some(NOW), ..accepted(9) }, (true, true)),
            (Remembered { last_restore: None, ..remembered(9, Some(9)) }, (false, false)),
        ] {
            assert_eq!((remembered.believes(before), remembered.believes(after)), expected, "{remembered:?}");
        }
    }

    fn known(highest: u64) -> History {
        let mut history = History::default();
        history.learn(Some(remembered(highest, None)));
        history
    }

    #[test]
    fn i4_a_hub_that_names_a_lesser_version_than_was_ever_seen_was_restored() {
        for (stored, seen, newest, expected) in [
            (None, 0, 0, false),
            (None, 0, 7, false),
            (None, 9, 9, false),
            (None, 9, 8, true),
            (Some(100), 0, 99, true),
            (Some(100), 0, 100, false),
            (Some(100), 120, 110, true),
            (Some(100), 50, 110, false),
        ] {
            let mut history = History::default();
            history.learn(stored.map(|highest| remembered(highest, None)));
            history.seen(seen);
            let back = history.compare(history.highest(), newest, NOW);
            assert_eq!(back, expected, "{stored:?} {seen} {newest}");
            assert_eq!(history.restored_at(), expected.then_some(newest));
            let higher = history.unwritten().map(|(it, _)| it.highest);
            assert_eq!(
                higher,
                if back { Some(newest) } else { (seen > stored.unwrap_or_default()).then_some(seen) }
            );
        }
        // What an event brought while the answer was on its way is no sign.
        let mut history = known(100);
        let highest = history.highest();
        history.seen(130);
        assert!(!history.compare(highest, 120, NOW));
    }

    #[test]
    fn i7_nothing_is_to_be_written_where_nothing_was_seen_to_change() {
        let mut history = known(100);
        assert_eq!(history.unwritten(), None);
        assert!(!history.seen(100) && history.unwritten().is_none());
        assert!(!history.compare(100, 5_000, NOW), "leases, bookmarks: other people's versions");
        assert_eq!(history.unwritten(), None);
        assert!(history.seen(101) && !history.seen(102), "said once until it is stored");
        assert_eq!(history.unwritten(), Some((remembered(102, None), false)));
        history.learn(Some(remembered(102, None)));
        assert_eq!(history.unwritten(), None);
    }

    #[test]
    fn i4_what_was_concluded_is_remembered_past_a_restart_and_until_somebody_says_otherwise() {
        let mut history = known(100);
        assert!(history.compare(100, 60, NOW));
        assert_eq!(history.unwritten(), Some((remembered(60, Some(60)), true)));
        // What is stored is older than the conclusion.
        history.learn(Some(remembered(100, None)));
        history.learn(Some(remembered(105, None)));
        assert_eq!(history.restored_at(), Some(60));
        history.learn(Some(remembered(60, Some(60))));
        assert_eq!(history.unwritten(), None);
        let mut after = History::default();
        after.learn(Some(remembered(60, Some(60))));
        assert_eq!(after.restored_at(), Some(60), "after a restart");
        history.seen(70);
        assert!(!history.compare(70, 75, NOW));
        // Restored once more: cells have to write back since then.
        assert!(history.compare(70, 65, NOW));
        assert_eq!(history.restored_at(), Some(65));
        history.learn(Some(remembered(65, Some(65))));
        // An operator accepts.
        assert!(history.learn(Some(accepted(65))));
        assert_eq!((history.restored_at(), history.unwritten()), (None, None));
        assert_eq!(history.last_restore(), Some(NOW), "what was federated before may still be lacking");
    }

    #[test]
    fn i4_another_leaders_conclusion_is_taken_over() {
        let mut standby = known(100);
        standby.seen(110);
        assert!(standby.learn(Some(remembered(60, Some(60)))));
        assert_eq!((standby.restored_at(), standby.highest()), (Some(60), 60));
        assert!(!standby.compare(60, 61, NOW), "it is the restored life that counts now");
        assert!(standby.learn(Some(accepted(70))), "every cell has written back, says the leader");
        assert_eq!(standby.restored_at(), None);
        // Both saw it, at different moments.
        let mut standby = known(100);
        assert!(standby.compare(100, 62, NOW));
        standby.learn(Some(remembered(60, Some(60))));
        assert_eq!((standby.restored_at(), standby.unwritten()), (Some(60), None));
        // The entry is taken away by hand.
        assert!(standby.learn(None));
        assert_eq!(standby.restored_at(), None);
    }

    #[test]
    fn i4_every_cell_in_use_has_to_write_back() {
        let set = |cities: &[&str]| cities.iter().map(|city| (*city).to_owned()).collect::<BTreeSet<_>>();
        let mut history = known(100);
        history.compare(100, 60, NOW);
        history.reported("ORD", 60);
        let mut cities = CityCoverage {
            used: set(&["DFW", "LAX", "ORD"]),
            copied: set(&["DFW", "LAX"]),
            written: set(&["DFW"]),
        };
        assert_eq!(history.awaited(&cities), set(&["LAX", "ORD"]));
        history.reported("ORD", 61);
        history.reported("LAX", 61);
        assert_eq!(history.awaited(&cities), set(&["LAX"]), "of a WD's status no copy follows");
        cities.written = set(&["DFW", "LAX", "SEA"]);
        assert_eq!(history.awaited(&cities), set(&[]));
        history.learn(Some(remembered(60, Some(60))));
        history.accept();
        assert_eq!(history.unwritten(), Some((accepted(60), true)));
        history.learn(Some(remembered(60, Some(60))));
        assert_eq!(history.restored_at(), None, "an older word of its own");
        history.learn(Some(accepted(60)));
        assert_eq!(history.unwritten(), None);
    }
}
