//! The pump: one watch of one kind on one plane, into its store, for ever.

pub(crate) mod lists;
mod optional;
pub mod outages;
pub(crate) mod stripped;
mod watch_failures;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use fedhub_api::facts::Change;
use fedhub_core::errors::Excess;
use fedhub_core::object::{Kind, PlaneId};
use futures::StreamExt;
use kube::runtime::watcher::Event;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use crate::listwatch::guard::Guarded;
use crate::listwatch::{self, WatchError, listwatch};
use crate::registry::pump::lists::{ListPermit, SETTLED};
use crate::registry::pump::stripped::{decoded, stripped};
use crate::transport::backoff::{Attempt, AttemptFailure, Backoffs};
use crate::{Plane, Planes, Watched};

/// How long a watch lasts before the server ends it, in seconds: the time a silently dead connection may go
/// unnoticed, and a few seconds more. Each lasts up to an eighth longer by its seed, so that watches that
/// began together do not end together for ever.
const WATCH_SECONDS: u32 = 240;

/// The silence after which a watch that failed before is held to work again, where the server has answered
/// it: it did not break off at once.
const HELD: Duration = Duration::from_secs(1);

impl Planes {
    /// Starts the watches of a plane.
    pub(crate) fn watch(self: &Arc<Self>, plane: Arc<Plane>) {
        for kind in plane.kinds() {
            self.tasks.spawn(pump(self.clone(), plane.clone(), kind));
        }
    }

    /// Watches a kind that is watched on demand on this plane from now on, or no more, when `wanted` says so.
    /// The list is complete when listeners are told so.
    pub fn demand(self: &Arc<Self>, plane: &Plane, kind: Kind, wanted: bool) {
        let PlaneId::Project(name) = &plane.id else { return };
        // A plane of which nothing was requested needs nothing undone.
        let Some(demanded) = (if wanted { plane.demand(kind) } else { plane.demanded(kind) }) else { return };
        if !demanded.want(wanted) {
            return;
        }
        // A plane that was replaced meanwhile is asked again.
        let registered = self.project(name).filter(|registered| std::ptr::eq(Arc::as_ptr(registered), plane));
        if let Some(registered) = registered {
            self.tasks.spawn(pump_on_demand(self.clone(), registered, kind));
        }
    }
}

/// Watches `kind` on `plane` until the plane is disengaged, or turns out not to serve it. Never fails: errors
/// are counted, logged and shown as the plane's health, and the watch restarts after a back-off of its own.
pub async fn pump(planes: Arc<Planes>, plane: Arc<Plane>, kind: Kind) {
    // In this order: no event of a plane that has left is handled, and a test's seed decides everything.
    tokio::select! {
        biased;
        () = plane.stop.cancelled() => {}
        () = watch(&planes, &plane, kind) => {}
    }
}

/// Watches a kind on demand, until the watch is no longer requested or the plane is disengaged.
async fn pump_on_demand(planes: Arc<Planes>, plane: Arc<Plane>, kind: Kind) {
    let Some(demanded) = plane.demanded(kind) else { return };
    // It is not optional, so that the watch does not end by itself.
    demanded.follow(&plane.stop, || watch(&planes, &plane, kind)).await;
    planes.recovered(&plane, kind);
}

async fn watch(planes: &Arc<Planes>, plane: &Plane, kind: Kind) {
    let mut waits = Backoffs::new(planes.seed());
    let mut life = plane.life();
    let config = config(planes, plane, kind);
    let newest = AtomicU64::new(0);
    loop {
        // In a box, which is given back before a long wait.
        let connection = plane.connection().clone();
        let mut stream = Box::pin(listwatch(connection, config.clone(), planes.budget().clone(), &newest));
        let mut listing = true;
        // Held from the beginning of a list to its end or its failure: never through a back-off, and not by a
        // server that begins its answer and does not go on.
        let mut permit = ListPermit::default();
        let mut attempt = plane.attempt();
        let failed = loop {
            let handled = tokio::select! {
                biased;
                // The watch would go on from a version that the server has yet to reach.
                () = life.ends(&newest) => break None,
                // Handled at once: thousands of watches must not hold room for an event while they wait, nor
                // for an error.
                event = stream.next() => event.map(|event| {
                    event.map(|event| handle(planes, plane, kind, event, &mut permit, &mut waits)).map_err(Box::new)
                }),
                () = permit.step_aside() => continue,
                () = quiet(plane, kind, listing, attempt.began) => {
                    note_silence(planes, plane, kind, listing, &mut permit, &mut waits);
                    continue;
                }
            };
            let Some(handled) = handled else { break None };
            match bounded(plane, kind, config.objects, handled) {
                Ok(phase) => {
                    // Before the list is requested. In a box, which lasts no longer than that.
                    if phase == Phase::ListBegins {
                        Box::pin(planes.recognise(plane, kind, &mut waits)).await;
                        Box::pin(planes.compare(plane)).await;
                        life.begins();
                        permit = Box::pin(planes.list_permit(plane)).await;
                        attempt = plane.attempt();
                        plane.store(kind).list_begins();
                        plane.service.list_begins(kind);
                    }
                    listing = phase != Phase::Watching;
                    // Much of a flood is ready at once: all other tasks have a turn after each of its events
                    // (I8).
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    permit.end();
                    // Each in a box of its own: it lasts for as long as it takes, and no longer.
                    let failed = Box::pin(report(planes, plane, kind, &error, &mut waits)).await;
                    if failed.is_over {
                        return;
                    }
                    if is_listed_next(&error, failed.failure) {
                        break Some(failed);
                    }
                    Box::pin(plane.wait(failed.wait, failed.failure, &attempt, &mut waits)).await;
                    Box::pin(recognise(planes, plane, kind, &mut waits)).await;
                    attempt = plane.attempt();
                }
            }
        };
        drop(stream);
        if let Some(Failed { failure, wait, .. }) = failed {
            Box::pin(plane.wait(wait, failure, &attempt, &mut waits)).await;
        }
    }
}

fn config(planes: &Planes, plane: &Plane, kind: Kind) -> listwatch::Config {
    listwatch::Config {
        plane: plane.id.clone(),
        kind,
        selector: plane.watched(kind).and_then(Watched::selector),
        timeout: lasts(planes.seed()),
        objects: planes.most_objects(&plane.id),
        asks: plane.asks_how_far(kind),
    }
}

/// Fails if the watch has brought more objects than a list may have.
fn bounded(
    plane: &Plane,
    kind: Kind,
    most: usize,
    handled: Result<Phase, Box<WatchError>>,
) -> Result<Phase, Box<WatchError>> {
    if handled.as_ref().is_ok_and(|phase| *phase == Phase::Watching) && plane.store(kind).len() > most {
        return Err(Box::new(WatchError::List(Excess::Objects(most).into())));
    }
    handled
}

/// A watch that failed.
struct Failed {
    /// Why.
    failure: AttemptFailure,
    /// How long to wait before the next attempt.
    wait: Duration,
    /// Whether a project plane does not serve an optional kind. There are thousands of them: no task of
    /// theirs waits for it.
    is_over: bool,
}

/// Reports a failed watch.
async fn report(
    planes: &Arc<Planes>,
    plane: &Plane,
    kind: Kind,
    error: &WatchError,
    waits: &mut Backoffs,
) -> Failed {
    if matches!(error, WatchError::WentBack { .. }) {
        planes.went_back(plane, error).await;
    }
    let (tried, failure) = error.failure();
    let is_optional = plane.watched(kind).is_some_and(Watched::is_optional);
    // The kind is no longer served, or not to us: the next list shows it.
    let ends = is_optional && watch_failures::is_end(error);
    let failure = if ends { AttemptFailure::Expired } else { failure };
    let is_absent = is_optional && watch_failures::is_absence(error) && is_proven(plane, kind, error).await;
    let is_over = is_absent && matches!(plane.id, PlaneId::Project(_));
    let wait = waits.after(tried, failure, plane.is_starting());
    if is_absent {
        absent(planes, plane, kind);
    } else if let Some(demanded) = plane.demanded(kind)
        && watch_failures::is_absence(error)
    {
        plane.forbidden("list", &kind.resource().plural);
        if demanded.refuse() {
            tracing::info!(plane = %plane.id, kind = %kind.resource().kind, "kind is not readable");
            planes.synced(plane, kind);
        }
    } else {
        watch_failures::report(planes, plane, kind, error, failure, wait).await;
    }
    Failed { failure, wait, is_over }
}

/// Whether the answer that a kind is not served, or not to us, can be believed (I4). A server that is
/// starting gives it of what it will serve, and a right may be missing for a while: discovery has to say so,
/// too, and of a kind that was listed before, a server that has started. A project plane that serves a kind
/// has to let it be read: nothing is decided there as if there were none (W7). Elsewhere what was never
/// readable need not be.
async fn is_proven(plane: &Plane, kind: Kind, error: &WatchError) -> bool {
    let was_listed = plane.serves(kind) && plane.store(kind).synced();
    let may_be_forbidden = !was_listed && !matches!(plane.id, PlaneId::Project(_));
    let is_too_early = was_listed && plane.is_starting();
    (may_be_forbidden && watch_failures::is_forbidden(error))
        || (!is_too_early && plane.is_without(kind).await)
}

/// Checks the identity of the plane before a watch goes on after a failure. Before a list, that is checked
/// anyway.
async fn recognise(planes: &Arc<Planes>, plane: &Plane, kind: Kind, waits: &mut Backoffs) {
    planes.recognise(plane, kind, waits).await;
    // The plane may have been restored meanwhile, and soon be past the version that the watch goes on from.
    planes.compare(plane).await;
}

/// Returns when silence of the watch means something: a list stands still, or the watch has begun and holds.
async fn quiet(plane: &Plane, kind: Kind, listing: bool, since: Instant) {
    let begun = async {
        if listing || !plane.is_failing(kind) {
            return std::future::pending().await;
        }
        // In a box: most watches do not fail.
        Box::pin(async {
            plane.watch_begins(kind, since).await;
            tokio::time::sleep(HELD).await;
        })
        .await;
    };
    tokio::select! {
        () = begun => {}
        () = tokio::time::sleep(SETTLED) => {}
    }
}

/// Judges a watch by its silence.
fn note_silence(
    planes: &Planes,
    plane: &Plane,
    kind: Kind,
    listing: bool,
    permit: &mut ListPermit<'_>,
    waits: &mut Backoffs,
) {
    if listing {
        permit.end();
        watch_failures::report_stalled_list(planes, plane, kind, SETTLED);
    } else {
        // A watch that cannot begin fails in less time than this: this one works, and has no news.
        mark_healthy(planes, plane, kind);
        waits.succeeded(Attempt::Watch);
    }
}

/// Treats an optional kind that the plane does not serve as empty.
fn absent(planes: &Planes, plane: &Plane, kind: Kind) {
    let store = plane.store(kind);
    let resource = kind.resource();
    let news = plane.note_unserved(kind) || !store.synced();
    for change in store.list_ends() {
        planes.tell(plane, kind, Some(change));
    }
    planes.recovered(plane, kind);
    if news {
        tracing::info!(plane = %plane.id, kind = %resource.kind, "kind is not served or not readable, treating it as empty");
        planes.synced(plane, kind);
    }
}

/// Whether the watcher goes on with a list, and not with a watch from where it was.
fn is_listed_next(error: &WatchError, failure: AttemptFailure) -> bool {
    failure == AttemptFailure::Expired || matches!(error, WatchError::List(_) | WatchError::NoVersion)
}

/// Marks a watch as healthy. Objects that failed meanwhile do not wait out their back-off.
fn mark_healthy(planes: &Planes, plane: &Plane, kind: Kind) {
    if planes.recovered(plane, kind) {
        planes.synced(plane, kind);
    }
}

/// How many seconds a watch lasts, by its seed.
fn lasts(seed: u64) -> u32 {
    SmallRng::seed_from_u64(seed).random_range(WATCH_SECONDS..=WATCH_SECONDS + WATCH_SECONDS / 8)
}

/// The phase of a watch after an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A list is to be requested.
    ListBegins,
    Listing,
    Watching,
}

/// Handles an event, and returns the phase of the watch after it.
fn handle(
    planes: &Planes,
    plane: &Plane,
    kind: Kind,
    event: Event<Guarded>,
    permit: &mut ListPermit<'_>,
    waits: &mut Backoffs,
) -> Phase {
    let phase = match event {
        Event::Init => return Phase::ListBegins,
        Event::InitApply(_) => {
            permit.answered();
            Phase::Listing
        }
        Event::InitDone => {
            permit.end();
            waits.succeeded(Attempt::List);
            Phase::Watching
        }
        Event::Apply(_) | Event::Delete(_) => {
            mark_healthy(planes, plane, kind);
            waits.succeeded(Attempt::Watch);
            Phase::Watching
        }
    };
    store(planes, plane, kind, event);
    phase
}

/// Applies an event to the store, and notifies the listeners.
fn store(planes: &Planes, plane: &Plane, kind: Kind, event: Event<Guarded>) {
    let store = plane.store(kind);
    match event {
        Event::Init => {}
        Event::InitApply(object) => {
            if let Some(object) = decoded(planes, plane, kind, object) {
                planes.tell(plane, kind, store.listed(object));
            }
        }
        Event::InitDone => {
            for change in store.list_ends() {
                planes.tell(plane, kind, Some(change));
            }
            plane.listed(kind);
            plane.note_served(kind);
            if let Some(demanded) = plane.demanded(kind) {
                demanded.accept();
            }
            planes.recovered(plane, kind);
            planes.synced(plane, kind);
        }
        Event::Apply(object) => {
            if let Some(object) = decoded(planes, plane, kind, object) {
                planes.tell(plane, kind, store.applied(object));
            }
        }
        Event::Delete(object) => {
            let change = match object.0 {
                Ok(object) => store.deleted(stripped(kind, object)),
                Err(invalid) => {
                    let namespace = invalid.metadata.namespace;
                    let name = invalid.metadata.name;
                    store.deleted_unread(&namespace.unwrap_or_default(), &name.unwrap_or_default())
                }
            };
            // An object that left the selection is reported in the same way.
            let certain = plane.watched(kind).is_some_and(Watched::is_all);
            planes.tell(plane, kind, if certain { change } else { change.map(Change::inferred) });
        }
    }
}
