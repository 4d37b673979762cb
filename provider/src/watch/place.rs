//! The servers of one place that are watched, and when they are listed next.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::object::Key;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::contract::{Server, ServerId};
use crate::plan::Look;

/// How soon the servers of a place are listed after a change.
pub const SOONEST: Duration = Duration::from_secs(1);
/// How seldom they are listed while anything is under way.
const UNDER_WAY: Duration = Duration::from_secs(10);
/// How seldom they are listed at rest.
pub const LATEST: Duration = Duration::from_mins(1);

/// The servers of one place.
pub(super) struct Servers<S> {
    followed: HashMap<ServerId, Followed<S>>,
    /// How long after a list the next one is due.
    wait: Duration,
    due: Instant,
    /// Tells the task of the place that the next list is due earlier.
    hasten: Arc<Notify>,
    /// The Instances whose servers changed.
    woken: Vec<Key>,
}

struct Followed<S> {
    instance: Key,
    look: Option<Look<S>>,
    /// When the last order was accepted whose effect was not looked for yet.
    ordered: Option<Instant>,
}

impl<S: Clone + PartialEq> Servers<S> {
    pub fn new(hasten: Arc<Notify>) -> Self {
        let due = Instant::now();
        Self { followed: HashMap::new(), wait: SOONEST, due, hasten, woken: Vec::new() }
    }

    /// When the next list is due; none where no server is followed.
    pub fn due(&self) -> Option<Instant> {
        (!self.followed.is_empty()).then_some(self.due)
    }

    pub fn follow(&mut self, instance: &Key, server: &ServerId) {
        if !self.followed.contains_key(server) {
            let instance = instance.clone();
            self.followed.insert(server.clone(), Followed { instance, look: None, ordered: None });
            self.soon();
        }
    }

    pub fn look(&self, server: &ServerId) -> (Option<Look<S>>, bool) {
        let followed = self.followed.get(server);
        followed.map_or((None, false), |followed| (followed.look.clone(), followed.ordered.is_some()))
    }

    pub fn ordered(&mut self, server: &ServerId) {
        if let Some(followed) = self.followed.get_mut(server) {
            followed.look = None;
            followed.ordered = Some(Instant::now());
            self.soon();
        }
    }

    pub fn forget(&mut self, instance: &Key) {
        self.followed.retain(|_, followed| followed.instance != *instance);
    }

    pub fn forget_others(&mut self, instance: &Key, server: &ServerId) {
        self.followed.retain(|id, followed| followed.instance != *instance || id == server);
    }

    /// A server was seen, by a request that began at `began`: one that began before an order says nothing.
    pub fn saw(&mut self, server: &ServerId, look: Look<S>, began: Instant) {
        let Some(followed) = self.followed.get_mut(server) else { return };
        if followed.ordered.is_some_and(|ordered| ordered >= began) {
            return;
        }
        followed.ordered = None;
        let changed = followed.look.as_ref().is_none_or(|old| old.server != look.server);
        // A server that is gone is proven so by the latest look.
        followed.look = Some(look);
        if changed {
            self.woken.push(followed.instance.clone());
        }
    }

    /// A list was answered. Returns the servers that it does not show.
    pub fn listed(
        &mut self,
        mut listed: HashMap<ServerId, Server<S>>,
        at: Timestamp,
        began: Instant,
    ) -> Vec<ServerId> {
        let ids: Vec<_> = self.followed.keys().cloned().collect();
        let mut missing = Vec::new();
        for id in ids {
            match listed.remove(&id) {
                Some(server) => self.saw(&id, Look { server: Some(Box::new(server)), at }, began),
                None => missing.push(id),
            }
        }
        missing
    }

    /// The list failed; the provider asks not to be asked for so long.
    pub fn failed(&mut self, after: Option<Duration>) {
        self.wait = (self.wait * 2).min(LATEST).max(after.unwrap_or_default().min(LATEST * 5));
        self.due = Instant::now() + self.wait;
    }

    /// No list is made for now.
    pub fn hold(&mut self) {
        self.due = Instant::now() + UNDER_WAY;
    }

    /// The Instances whose servers changed since this was asked last; sets when the next list is due.
    pub fn woken(&mut self) -> Vec<Key> {
        let woken = std::mem::take(&mut self.woken);
        if self.due > Instant::now() {
            return woken;
        }
        let rests = self.followed.values().all(Followed::rests);
        let latest = if rests { LATEST } else { UNDER_WAY };
        self.wait = if woken.is_empty() { (self.wait * 2).min(latest) } else { SOONEST };
        self.due = Instant::now() + self.wait;
        woken
    }

    fn soon(&mut self) {
        self.wait = SOONEST;
        let soon = Instant::now() + SOONEST;
        if soon < self.due {
            self.due = soon;
            self.hasten.notify_one();
        }
    }
}

impl<S> Followed<S> {
    /// Whether nothing is under way.
    fn rests(&self) -> bool {
        let server = self.look.as_ref().and_then(|look| look.server.as_deref());
        self.ordered.is_none() && server.is_some_and(|server| server.settled && server.deleting.is_none())
    }
}
