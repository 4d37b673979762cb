//! The pump: one watch of one kind on one plane, into its store, for ever.

use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::Change;
use fedhub_core::object::{Kind, Object};
use futures::{StreamExt, pin_mut};
use kube::runtime::watcher::{self, Event};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use crate::backoff::{Attempt, Backoffs, Failure};
use crate::guard::Guarded;
use crate::lists::Place;
use crate::listwatch::{self, listwatch};
use crate::trouble;
use crate::{Plane, Planes, Watched};

/// How long a watch lasts before the server ends it, in seconds: the time a silently dead connection may go
/// unnoticed, and a few seconds more. Each lasts up to an eighth longer by its seed, so that watches that began
/// together do not end together for ever.
const WATCH_SECONDS: u32 = 240;

/// Silence after which a watch that failed before is held to work again, and a list that began is held to be stuck.
/// Longer than any time-out of one request.
const SETTLED: Duration = Duration::from_secs(30);
/// The same of a watch that the server has answered: it did not break off at once.
const HELD: Duration = Duration::from_secs(1);

impl Planes {
    /// Starts the watches of a plane.
    pub(crate) fn watch(self: &Arc<Self>, plane: Arc<Plane>) {
        for kind in plane.kinds() {
            self.tasks.spawn(pump(self.clone(), plane.clone(), kind));
        }
    }
}

/// Watches `kind` on `plane` until the plane is disengaged. Never fails: trouble is counted, logged once a turn and
/// shown as the plane's health, and the watch begins anew after a back-off of its own.
pub async fn pump(planes: Arc<Planes>, plane: Arc<Plane>, kind: Kind) {
    let stop = plane.stop.clone();
    // In this order: nothing is told of a plane that has left, and a test's seed decides everything.
    tokio::select! {
        biased;
        () = stop.cancelled() => (),
        () = watch(&planes, &plane, kind) => (),
    }
}

async fn watch(planes: &Arc<Planes>, plane: &Plane, kind: Kind) {
    let (mut waits, mut life) = (Backoffs::new(planes.seed()), plane.life());
    let config = listwatch::Config {
        plane: plane.id.clone(),
        kind,
        selector: plane.watched(kind).and_then(Watched::selector),
        timeout: lasts(planes.seed()),
    };
    loop {
        let stream = listwatch(plane.connection().clone(), config.clone(), planes.budget().clone());
        pin_mut!(stream);
        let mut listing = true;
        // Held from the beginning of a list to its end or its failure: never through a back-off, and not by a server
        // that begins its answer and does not go on.
        let mut turn = Turn::default();
        let mut attempt = plane.attempt();
        loop {
            let event = tokio::select! {
                biased;
                // The watch would go on from a version that the server has yet to reach.
                () = life.ends() => break,
                event = stream.next() => event,
                () = quiet(plane, kind, listing, attempt.began) => {
                    if listing {
                        turn.end();
                        trouble::stuck(planes, plane, kind, SETTLED);
                    } else {
                        // A watch that does not begin is an error in less time than this: it stands, and has no news.
                        mark_healthy(planes, plane, kind);
                        waits.succeeded(Attempt::Watch);
                    }
                    continue;
                }
            };
            let Some(event) = event else { break };
            // Told at once: thousands of watches must not hold room for an event while they wait.
            match event.map(|event| told(planes, plane, kind, event, &mut turn, &mut waits)) {
                Ok(told) => {
                    // Said before the list is asked for. In a box for the same reason.
                    if told == Told::ListBegins {
                        Box::pin(planes.recognise(plane, kind, &mut waits)).await;
                        Box::pin(planes.compare(plane)).await;
                        life.begins();
                        turn.take(planes, plane).await;
                        attempt = plane.attempt();
                        plane.store(kind).list_begins();
                    }
                    listing = told != Told::Watching;
                    // Of a flood much is there at once: everybody else has a turn after each event of it (I8).
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    turn.end();
                    let (tried, failure) = Failure::of_watch(&error);
                    let wait = waits.after(tried, failure, plane.is_starting());
                    if trouble::is_absence(&error) && plane.watched(kind).is_some_and(Watched::is_optional) {
                        absent(planes, plane, kind);
                    } else {
                        Box::pin(trouble::tell(planes, plane, kind, &error, failure, wait)).await;
                    }
                    Box::pin(plane.wait(wait, failure, &attempt, &mut waits)).await;
                    if is_listed_next(&error, failure) {
                        // Whoever answers next is asked who it is before that.
                        attempt = plane.attempt();
                    } else {
                        Box::pin(planes.recognise(plane, kind, &mut waits)).await;
                        // It may have been restored meanwhile, and soon be past the version that the watch goes on from.
                        Box::pin(planes.compare(plane)).await;
                        attempt = plane.attempt();
                    }
                    if failure == Failure::Expired {
                        break;
                    }
                }
            }
        }
    }
}

/// Returns when silence of the watch means something: a list stands still, or the watch has begun and holds.
async fn quiet(plane: &Plane, kind: Kind, listing: bool, since: Instant) {
    let begun = async {
        if listing || !plane.is_in_trouble(kind) {
            return std::future::pending().await;
        }
        // In a box: most watches are in no trouble.
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

/// The plane does not serve a kind that it need not serve: there are no objects of it.
fn absent(planes: &Planes, plane: &Plane, kind: Kind) {
    let (store, resource) = (plane.store(kind), kind.resource());
    let news = !store.synced();
    for change in store.list_ends() {
        planes.tell(plane, kind, Some(change));
    }
    planes.recovered(plane, kind);
    if news {
        tracing::info!(plane = %plane.id, kind = %resource.kind, "not served or not readable: taken for none");
        planes.synced(plane, kind);
    }
}

/// Whether the watcher goes on with a list, and not with a watch from where it was.
fn is_listed_next(error: &watcher::Error, failure: Failure) -> bool {
    use watcher::Error as E;
    failure == Failure::Expired || matches!(error, E::InitialListFailed(_) | E::NoResourceVersion)
}

/// A watch that works again is news to everything that failed while it did not: nothing waits out its back-off.
fn mark_healthy(planes: &Planes, plane: &Plane, kind: Kind) {
    if planes.recovered(plane, kind) {
        planes.synced(plane, kind);
    }
}

/// A place among the lists of all project planes, for as long as one is under way.
#[derive(Default)]
struct Turn<'a>(Option<Place<'a>>);

impl<'a> Turn<'a> {
    /// Waits for it.
    async fn take(&mut self, planes: &'a Planes, plane: &Plane) {
        self.0 = None;
        self.0 = planes.turn_to_list(plane).await;
    }

    /// Gives it to the next.
    fn end(&mut self) {
        self.0 = None;
    }
}

/// How many seconds a watch lasts, by its seed.
fn lasts(seed: u64) -> u32 {
    SmallRng::seed_from_u64(seed).random_range(WATCH_SECONDS..=WATCH_SECONDS + WATCH_SECONDS / 8)
}

/// Where a watch is after an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// A list is to be asked for.
    ListBegins,
    Listing,
    Watching,
}

fn told(
    planes: &Planes,
    plane: &Plane,
    kind: Kind,
    event: Event<Guarded>,
    turn: &mut Turn<'_>,
    waits: &mut Backoffs,
) -> Told {
    let told = match event {
        Event::Init => return Told::ListBegins,
        Event::InitApply(_) => Told::Listing,
        Event::InitDone => {
            turn.end();
            waits.succeeded(Attempt::List);
            Told::Watching
        }
        Event::Apply(_) | Event::Delete(_) => {
            mark_healthy(planes, plane, kind);
            waits.succeeded(Attempt::Watch);
            Told::Watching
        }
    };
    take(planes, plane, kind, event);
    told
}

fn take(planes: &Planes, plane: &Plane, kind: Kind, event: Event<Guarded>) {
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
                    let (space, name) = (invalid.metadata.namespace, invalid.metadata.name);
                    store.deleted_unread(&space.unwrap_or_default(), &name.unwrap_or_default())
                }
            };
            // An object that left the selection is told of in the same words.
            let certain = plane.watched(kind).is_some_and(Watched::is_all);
            planes.tell(plane, kind, if certain { change } else { change.map(Change::inferred) });
        }
    }
}

/// The object, less its managedFields; `None`, said and counted, for one that cannot be read (section 6). One that
/// was known before keeps standing as it was known.
fn decoded(planes: &Planes, plane: &Plane, kind: Kind, object: Guarded) -> Option<Object> {
    match object.0 {
        Ok(object) => Some(stripped(kind, object)),
        Err(invalid) => {
            planes.metrics().events_dropped.with_label_values(&["undecodable"]).inc();
            let news = plane.unreadable(kind, &invalid.metadata, &invalid.error);
            let namespace = invalid.metadata.namespace.unwrap_or_default();
            let name = invalid.metadata.name.unwrap_or_default();
            plane.store(kind).keep(&namespace, &name);
            if news {
                tracing::warn!(plane = %plane.id, kind = %kind.resource().kind, namespace, name, error = invalid.error,
                    "an object cannot be read; it is left out, the watch goes on");
            }
            None
        }
    }
}

/// The object, less what nobody asks for: its managedFields and, of companions, what is in them.
fn stripped(kind: Kind, mut object: Object) -> Object {
    object.metadata.managed_fields = None;
    if matches!(kind, Kind::ConfigMap | Kind::Secret) {
        object.data = serde_json::Value::Null;
    }
    object
}
