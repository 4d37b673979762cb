//! What servers look like now: one list for each place, soon after a change and seldom at rest (V8).
//!
//! The servers of a place are listed one second after an order or a change, then after two, four and so on.
//! At rest that goes up to a minute, while anything is under way up to ten seconds. A server that is missing
//! in a list is looked at by its ID, for absence in a list proves nothing (V3). An Instance is woken only
//! where its server changed.
//!
//! Decides V8.

mod place;

use std::collections::HashMap;
use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::object::Key;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::contract::{Failure, FailureKind, Place, Provider, ServerId};
use crate::plan::Look;
use place::Servers;
pub use place::{LATEST, SOONEST};

/// What the watch of servers needs of the process.
pub trait Surroundings: Send + Sync + 'static {
    /// Enqueues an Instance: its server changed.
    fn wake(&self, instance: &Key);
    /// Whether this process may ask the provider: it leads.
    fn leads(&self) -> bool;
}

/// Watches the servers of Instances, place by place.
pub struct Watch<P: Provider> {
    provider: Arc<P>,
    clock: Clock,
    surroundings: Arc<dyn Surroundings>,
    places: Mutex<HashMap<Place, Servers<P::Spec>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl<P: Provider> Watch<P> {
    /// A watch that asks `provider` until `stop` is cancelled; its tasks are among `tasks`.
    pub fn new(
        provider: Arc<P>,
        clock: Clock,
        surroundings: Arc<dyn Surroundings>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self { provider, clock, surroundings, places: Mutex::default(), tasks, stop })
    }

    /// Watches the server of an Instance from now on, if it is not watched already.
    pub fn follow(self: &Arc<Self>, instance: &Key, place: &Place, server: &ServerId) {
        let mut places = self.places.lock();
        let servers = places.entry(place.clone()).or_insert_with(|| {
            let wake = Arc::default();
            self.tasks.spawn(self.clone().keep_looking(place.clone(), Arc::clone(&wake)));
            Servers::new(wake)
        });
        servers.follow(instance, server);
    }

    /// What a server looks like, as far as that was seen since the last order to it, and whether an order to
    /// it has not been seen to be carried out yet.
    pub fn look(&self, place: &Place, server: &ServerId) -> (Option<Look<P::Spec>>, bool) {
        let places = self.places.lock();
        places.get(place).map_or((None, false), |servers| servers.look(server))
    }

    /// An order to a server was accepted: what was seen of it before counts no more.
    pub fn ordered(&self, place: &Place, server: &ServerId) {
        if let Some(servers) = self.places.lock().get_mut(place) {
            servers.ordered(server);
        }
    }

    /// A server was seen to look like that.
    pub fn saw(&self, place: &Place, server: &ServerId, look: Look<P::Spec>) {
        if let Some(servers) = self.places.lock().get_mut(place) {
            servers.saw(server, look, Instant::now());
        }
    }

    /// Ends the watch of the servers of an Instance.
    pub fn forget(&self, instance: &Key) {
        for servers in self.places.lock().values_mut() {
            servers.forget(instance);
        }
    }

    /// Ends the watch of what an Instance has beside this server.
    pub fn forget_others(&self, instance: &Key, server: &ServerId) {
        for servers in self.places.lock().values_mut() {
            servers.forget_others(instance, server);
        }
    }

    /// Lists the servers of a place when they are due, until none of them is followed.
    async fn keep_looking(self: Arc<Self>, place: Place, wake: Arc<tokio::sync::Notify>) {
        loop {
            let due = {
                let mut places = self.places.lock();
                let Some(due) = places.get(&place).and_then(Servers::due) else {
                    places.remove(&place);
                    return;
                };
                due
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = wake.notified() => {}
                () = tokio::time::sleep_until(due) => self.poll(&place).await,
            }
        }
    }

    /// Looks at all servers of a place once.
    pub async fn poll(&self, place: &Place) {
        if !self.surroundings.leads() {
            self.with(place, Servers::hold);
            return;
        }
        let began = Instant::now();
        let at = self.clock.now();
        let answer = tokio::time::timeout(LATEST, self.provider.list(place)).await;
        match answer.unwrap_or_else(|_| Err(unanswered())) {
            Ok(listed) => {
                let listed = listed.into_iter().map(|server| (server.id.clone(), server)).collect();
                let missing =
                    self.with(place, |servers| servers.listed(listed, at, began)).unwrap_or_default();
                self.look_for(place, missing).await;
            }
            Err(failure) => {
                tracing::debug!(region = %place.region, project = %place.project, error = %failure, "list of servers failed");
                self.with(place, |servers| servers.failed(failure.after));
            }
        }
        for instance in self.with(place, Servers::woken).unwrap_or_default() {
            self.surroundings.wake(&instance);
        }
    }

    /// Looks at servers by their IDs, which a list did not show.
    async fn look_for(&self, place: &Place, missing: Vec<ServerId>) {
        for id in missing {
            let began = Instant::now();
            let at = self.clock.now();
            let answer = tokio::time::timeout(LATEST, self.provider.get(place, &id)).await;
            let Ok(Ok(server)) = answer else { continue };
            let look = Look { server: server.map(Box::new), at };
            self.with(place, |servers| servers.saw(&id, look, began));
        }
    }

    fn with<T>(&self, place: &Place, act: impl FnOnce(&mut Servers<P::Spec>) -> T) -> Option<T> {
        self.places.lock().get_mut(place).map(act)
    }
}

/// The failure of a list that took too long.
fn unanswered() -> Failure {
    Failure {
        kind: FailureKind::Unavailable,
        message: format!("no answer within {} s", LATEST.as_secs()),
        after: None,
        may_have_acted: false,
    }
}
