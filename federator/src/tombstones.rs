//! What is remembered of WDs that went.
//!
//! A [`Tombstone`] serves to undo creates that land late. A create has no precondition. One that its sender has given up
//! (a leader that was stopped, a time-out) may land when its WD is gone and its finalizer released, and then nothing would
//! ever delete what it made. So it is remembered for a while which WDs went with their hub WD proven gone: a hub WD with
//! the origin of such a WD was made by a create that landed late, and goes again. It is deleted because its own project WD was (I4), and nothing else is: not what
//! stood on the hub before, when the finalizer had been stripped by hand (F11).
//!
//! A [`Deletion`] distinguishes what was deleted from what was lost (F9). What a restored hub lacks may have been lost, and run on
//! in its cell. Not so what was seen deleted on a watch, unless the hub went back to an earlier state since: Karmada may
//! not have deleted it in the cell by then, and has forgotten it. Where this memory is lost, the WD is federated once more.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use fedhub_cache::digest::Uid;
use fedhub_core::object::Key;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a WD that has gone is remembered: longer than servers (a minute) and proxies let a request live.
const KEPT: Duration = Duration::from_mins(10);
/// How many are remembered at most, the newest. A few hundred bytes each.
const MAX_TOMBSTONES: usize = 10_000;

/// A WD that has gone, with nothing of it left on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its UID.
    pub uid: String,
    /// The hub namespace that it was federated to.
    pub hub_namespace: String,
}

#[derive(Default)]
struct Inner {
    /// The last of each name.
    by_key: BTreeMap<Key, (Tombstone, Instant)>,
    /// In the order of their going.
    order: VecDeque<(Instant, Key)>,
}

/// The WDs that have gone lately.
#[derive(Default)]
pub struct Tombstones(Mutex<Inner>);

impl Tombstones {
    /// That WD goes, or went, and the hub has nothing of it.
    pub fn note(&self, key: &Key, gone: Tombstone, now: Instant) {
        let mut inner = self.0.lock();
        inner.order.push_back((now, key.clone()));
        inner.by_key.insert(key.clone(), (gone, now));
        inner.prune(now);
    }

    /// What is remembered of that name.
    pub fn get(&self, key: &Key, now: Instant) -> Option<Tombstone> {
        let mut inner = self.0.lock();
        inner.prune(now);
        inner.by_key.get(key).map(|(gone, _)| gone.clone())
    }

    /// The names that are remembered.
    pub fn keys(&self) -> Vec<Key> {
        self.0.lock().by_key.keys().cloned().collect()
    }
}

impl Inner {
    fn prune(&mut self, now: Instant) {
        let old = |at: Instant| now.saturating_duration_since(at) >= KEPT;
        while self.order.front().is_some_and(|(at, _)| old(*at)) || self.order.len() > MAX_TOMBSTONES {
            let Some((at, key)) = self.order.pop_front() else { return };
            if self.by_key.get(&key).is_some_and(|(_, newest)| *newest <= at) {
                self.by_key.remove(&key);
            }
        }
    }
}

/// A hub WD that was seen deleted, of a WD that is being deleted.
#[derive(PartialEq, Eq)]
pub(crate) struct Deletion {
    /// The UID of its project WD.
    pub uid: Uid,
    /// Where it was.
    pub hub_namespace: String,
    /// How often the hub had gone back to an earlier state.
    pub life: u64,
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, PlaneId};

    use super::*;

    fn key(n: usize) -> Key {
        Key {
            plane: PlaneId::Hub,
            kind: Kind::WorkloadDeployment,
            namespace: "shop".into(),
            name: format!("wd-{n}").into(),
        }
    }

    fn gone(uid: &str) -> Tombstone {
        Tombstone { uid: uid.to_owned(), hub_namespace: "ns-1".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn bounded_what_has_gone_is_remembered_for_a_while_and_never_too_many() {
        let tombstones = Tombstones::default();
        tombstones.note(&key(0), gone("first"), Instant::now());
        tokio::time::advance(KEPT / 2).await;
        tombstones.note(&key(0), gone("second"), Instant::now());
        tokio::time::advance(KEPT / 2).await;
        assert_eq!(
            tombstones.get(&key(0), Instant::now()),
            Some(gone("second")),
            "the newest counts from its own time"
        );
        tokio::time::advance(KEPT / 2).await;
        assert_eq!(tombstones.get(&key(0), Instant::now()), None);
        for n in 0..2 * MAX_TOMBSTONES {
            tombstones.note(&key(n), gone("u"), Instant::now());
        }
        assert_eq!(tombstones.keys().len(), MAX_TOMBSTONES);
        assert!(tombstones.get(&key(2 * MAX_TOMBSTONES - 1), Instant::now()).is_some());
        tokio::time::advance(KEPT).await;
        tombstones.note(&key(0), gone("last"), Instant::now());
        assert_eq!(tombstones.keys().len(), 1);
    }
}
