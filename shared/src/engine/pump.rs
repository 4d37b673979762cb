//! The pump: one watch of one kind on one plane, into its store, for ever.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::{StreamExt, pin_mut};
use kube::Api;
use kube::runtime::watcher::{self, Event, watcher};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::change::Change;
use super::guard::Guarded;
use crate::api::crds;
use crate::errors;
use crate::object::{Kind, Object};
use crate::planes::{Place, Plane, Planes, Watched};

/// Objects on one page of a list.
const PAGE: u32 = 500;
/// How long a watch lasts before the server ends it, in seconds: the time a silently dead connection may go
/// unnoticed, and a few seconds more. Each lasts up to an eighth longer by its seed, so that watches that began
/// together do not end together for ever.
const WATCH_SECONDS: u32 = 240;

/// Silence after which a watch that failed before is held to work again, and a list that began is held to be stuck.
/// Longer than any time-out of one request.
const SETTLED: Duration = Duration::from_secs(30);

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
    let mut waits = backoff(planes.seed());
    let config = watcher::Config {
        label_selector: plane.watched(kind).and_then(Watched::selector),
        ..watcher::Config::default().page_size(PAGE).timeout(lasts(planes.seed()))
    };
    loop {
        let api: Api<Guarded> = Api::all_with(plane.client.clone(), kind.resource());
        let stream = watcher(api, config.clone());
        pin_mut!(stream);
        let mut listing = true;
        // Held from the beginning of a list to its end or its failure: never through a back-off, and not by a server
        // that begins its answer and does not go on.
        let mut turn = Turn::default();
        loop {
            let event = match tokio::time::timeout(SETTLED, stream.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) if listing => {
                    turn.end();
                    stuck(plane, kind);
                    continue;
                }
                // A watch that does not begin is an error in less time than this: it stands, and has no news.
                Err(_) => {
                    works(planes, plane, kind);
                    waits = backoff(planes.seed());
                    continue;
                }
            };
            match event {
                Ok(event) => {
                    listing = match event {
                        // Said before the list is asked for. In a box: thousands of watches must not hold room for it.
                        Event::Init => {
                            Box::pin(planes.recognise(plane, kind, &mut waits)).await;
                            turn.take(planes, plane).await;
                            true
                        }
                        Event::InitApply(_) => true,
                        Event::InitDone => {
                            turn.end();
                            false
                        }
                        Event::Apply(_) | Event::Delete(_) => {
                            works(planes, plane, kind);
                            waits = backoff(planes.seed());
                            false
                        }
                    };
                    take(planes, plane, kind, event);
                    // Of a flood much is there at once: everybody else has a turn after each event of it (I8).
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    turn.end();
                    let wait = waits.next().unwrap_or(Duration::from_secs(30));
                    trouble(planes, plane, kind, &error, wait);
                    tokio::time::sleep(wait).await;
                    // Whoever answers next may be another.
                    Box::pin(planes.recognise(plane, kind, &mut waits)).await;
                    if lost_its_place(&error) {
                        break;
                    }
                }
            }
        }
    }
}

/// A watch that works again is news to everything that failed while it did not: nothing waits out its back-off.
fn works(planes: &Planes, plane: &Plane, kind: Kind) {
    if plane.healthy(kind) {
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

/// Whether only a new list helps, and the watcher would not make one: the place to resume from is refused outright,
/// or what came is no watch at all, so that nobody knows what was missed.
fn lost_its_place(error: &watcher::Error) -> bool {
    use watcher::Error as E;
    match error {
        E::WatchStartFailed(kube::Error::Api(status)) => status.code == 410,
        E::WatchFailed(error) | E::WatchStartFailed(error) => matches!(error, kube::Error::SerdeError(_)),
        _ => false,
    }
}

/// How many seconds a watch lasts, by its seed.
fn lasts(seed: u64) -> u32 {
    SmallRng::seed_from_u64(seed).random_range(WATCH_SECONDS..=WATCH_SECONDS + WATCH_SECONDS / 8)
}

/// 0.5 s doubled to 30 s, jittered, for ever.
fn backoff(seed: u64) -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(30))
        .with_jitter()
        .with_jitter_seed(seed)
        .without_max_times()
        .build()
}

fn take(planes: &Planes, plane: &Plane, kind: Kind, event: Event<Guarded>) {
    let store = plane.store(kind);
    match event {
        Event::Init => store.list_begins(),
        Event::InitApply(object) => {
            if let Some(object) = decoded(planes, plane, kind, object) {
                planes.tell(plane, kind, store.listed(object));
            }
        }
        Event::InitDone => {
            for change in store.list_ends() {
                planes.tell(plane, kind, Some(change));
            }
            plane.healthy(kind);
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
            let namespace = invalid.metadata.namespace.unwrap_or_default();
            let name = invalid.metadata.name.unwrap_or_default();
            plane.store(kind).keep(&namespace, &name);
            tracing::warn!(plane = %plane.id, kind = %kind.resource().kind, namespace, name, error = %invalid.error,
                "an object cannot be read; it is left out, the watch goes on");
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

/// A list does not come. It may yet, so nothing is given up but its turn.
fn stuck(plane: &Plane, kind: Kind) {
    let plural = &kind.resource().plural;
    let words = format!("cannot list {plural}: no news of the list for {SETTLED:?}");
    if plane.unhealthy(kind, words.clone()) {
        tracing::warn!(plane = %plane.id, kind = %kind.resource().kind, cause = words, "list stands still");
    }
}

fn trouble(planes: &Planes, plane: &Plane, kind: Kind, error: &watcher::Error, wait: Duration) {
    let reason = reason(error);
    planes.metrics().watch_restarts.with_label_values(&[plane.id.kind(), reason]).inc();
    let resource = kind.resource();
    let words = if reason == "not_found" {
        let remedy = if crds::ours(&resource.group, &resource.plural) {
            "`fedhub crds | kubectl apply -f -` installs it".to_owned()
        } else {
            format!("it comes with what serves {}", resource.group)
        };
        format!("{}.{} is not served there: its CRD is missing ({remedy})", resource.plural, resource.group)
    } else {
        format!("cannot {} {}: {}", verb(error), resource.plural, cause(error))
    };
    if plane.unhealthy(kind, words.clone()) {
        tracing::warn!(plane = %plane.id, kind = %resource.kind, reason, cause = words, retry_in = ?wait, "watch failed");
    } else {
        tracing::debug!(plane = %plane.id, kind = %resource.kind, reason, cause = words, retry_in = ?wait, "watch failed again");
    }
}

/// What was asked when it failed.
fn verb(error: &watcher::Error) -> &'static str {
    if matches!(error, watcher::Error::InitialListFailed(_)) { "list" } else { "watch" }
}

/// What the server said, or why it said nothing.
fn cause(error: &watcher::Error) -> String {
    use watcher::Error as E;
    match error {
        E::InitialListFailed(kube::Error::Api(status)) | E::WatchStartFailed(kube::Error::Api(status)) => {
            format!("{} ({})", status.message, status.code)
        }
        E::InitialListFailed(e) | E::WatchStartFailed(e) | E::WatchFailed(e) => errors::chain(e),
        E::WatchError(status) => format!("{} ({})", status.message, status.code),
        E::NoResourceVersion => errors::chain(error),
    }
}

fn reason(error: &watcher::Error) -> &'static str {
    use watcher::Error as E;
    let inner = match error {
        E::InitialListFailed(e) | E::WatchStartFailed(e) | E::WatchFailed(e) => e,
        E::WatchError(status) => {
            return if status.code == 410 { "gone" } else { "server" };
        }
        E::NoResourceVersion => return "no_resource_version",
    };
    match inner {
        kube::Error::Api(status) if status.code == 404 => "not_found",
        kube::Error::Api(status) if status.code == 410 => "gone",
        error => errors::category(error).label(),
    }
}
