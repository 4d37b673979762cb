//! The server that the planes of projects are behind, gone for a while and started again.
//!
//! No client can connect while it is away, and existing connections are cut; what it stores stays. Then it
//! starts as API servers do: it rejects every request (403) before it has loaded RBAC, serves no custom
//! resources (404) before it has loaded their definitions, begins the storage of a plane with the first
//! request for it, which has to wait for that, and answers 429 when a resource is requested that it serves
//! and has not read from its storage yet. Listeners of their own ([`super::Fleet::service_apart`]) are not
//! affected.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ApiServer;
use crate::answer::Refusal;

/// How long it is away, and how it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Outage {
    /// How long no client can connect.
    pub millis: u64,
    /// How long it starts after that: it answers 403 for half of it, then 404.
    pub starting_millis: u64,
    /// How long requests for a plane have to wait, from the first of them on.
    pub first_millis: u64,
    /// How long it answers 429 to requests for a resource of a plane, from the first touch on; at least that
    /// one.
    pub initializing_millis: u64,
}

impl Outage {
    /// How long no client can connect.
    pub fn away(&self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

/// The outages of one server.
#[derive(Debug, Default)]
pub struct Outages {
    ordered: watch::Sender<Option<Outage>>,
    start: Mutex<Option<Start>>,
}

/// A start that began.
#[derive(Debug)]
struct Start {
    at: Instant,
    outage: Outage,
    /// The first request for each plane and resource.
    touched: HashMap<(String, String), Instant>,
}

impl Start {
    fn is_over(&self) -> bool {
        self.at.elapsed() >= Duration::from_millis(self.outage.starting_millis)
    }
}

impl Outages {
    /// Orders one. It begins at once.
    pub fn order(&self, outage: Outage) {
        *self.start() = None;
        self.ordered.send_replace(Some(outage));
    }

    /// Waits until one is ordered.
    pub async fn ordered(&self) -> Outage {
        let mut ordered = self.ordered.subscribe();
        loop {
            let mut taken = None;
            self.ordered.send_if_modified(|outage| {
                taken = outage.take();
                false
            });
            if let Some(outage) = taken {
                return outage;
            }
            // The sender lives as long as this.
            let _changed = ordered.changed().await;
        }
    }

    /// The server is there again, and starts.
    pub fn over(&self, outage: Outage) {
        *self.start() = Some(Start { at: Instant::now(), outage, touched: HashMap::new() });
    }

    fn start(&self) -> MutexGuard<'_, Option<Start>> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the control API: how long ago the last start was over, in milliseconds; nothing before that.
    pub(super) fn state(&self) -> Value {
        let start = self.start();
        let started = start.as_ref().and_then(|start| {
            let over = start.at + Duration::from_millis(start.outage.starting_millis);
            Instant::now().checked_duration_since(over)
        });
        json!({ "serves_for_millis": started.map(|started| started.as_millis()) })
    }

    /// Returns until when a request for that plane has to wait, if it is one that starts the plane's storage
    /// or comes meanwhile.
    pub(super) fn begins(&self, plane: &ApiServer) -> Option<Instant> {
        let mut start = self.start();
        let start = start.as_mut().filter(|start| start.is_over() && start.outage.first_millis > 0)?;
        let first = Duration::from_millis(start.outage.first_millis);
        let now = Instant::now();
        let begun = *start.touched.entry((plane.name().to_owned(), String::new())).or_insert(now);
        Some(begun + first).filter(|at| *at > now)
    }

    /// Returns the answer of a server that starts to a request for this path of a plane, unless it carries
    /// the request out.
    pub(super) fn refusal(&self, plane: &ApiServer, path: &str) -> Option<Refusal> {
        let mut start = self.start();
        let start = start.as_mut()?;
        let since = start.at.elapsed();
        let starting = Duration::from_millis(start.outage.starting_millis);
        if since < starting / 2 {
            return Some(Refusal::of_code(403));
        }
        let path = path.split('?').next().unwrap_or(path);
        if since < starting && !path.starts_with("/api/") {
            return Some(Refusal::no_such_path());
        }
        let (group, plural) = resource(path)?;
        if !plane.serves(group, plural) {
            return None;
        }
        let now = Instant::now();
        let key = (plane.name().to_owned(), plural.to_owned());
        let initialized = start
            .touched
            .get(&key)
            .map(|first| *first + Duration::from_millis(start.outage.initializing_millis));
        if initialized.is_some_and(|at| at <= now) {
            return None;
        }
        start.touched.entry(key).or_insert(now);
        Some(Refusal::initializing())
    }
}

/// The group and the plural of the resource that a path is about.
fn resource(path: &str) -> Option<(&str, &str)> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (group, rest) = match segments.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return None,
    };
    match rest {
        ["namespaces", _, resource, ..] | [resource, ..] => Some((group, resource)),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resource;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_starts_refuses_then_knows_nothing_and_then_asks_for_patience_once() {
        let outages = Outages::default();
        let [a, b] = ["a", "b"].map(|name| {
            let custom = |kind, plural| Resource::custom("g", "v1", kind, plural);
            let served = [
                Resource::builtin("", "v1", "Namespace", "namespaces").cluster_scoped(),
                custom("Widget", "widgets"),
                custom("Other", "others"),
            ];
            ApiServer::builder(name).resources(served).build()
        });
        let of = |plane: &ApiServer, path: &str| outages.refusal(plane, path).map(|refusal| refusal.code);
        let core = "/api/v1/namespaces/default";
        let custom = "/apis/g/v1/namespaces/n/widgets?watch=true";
        assert_eq!((of(&a, core), of(&a, custom)), (None, None), "it never was away");
        let outage =
            Outage { millis: 5, starting_millis: 2000, initializing_millis: 500, ..Outage::default() };
        outages.order(outage);
        assert_eq!(outages.ordered().await, outage);
        outages.over(outage);
        assert_eq!((of(&a, core), of(&a, custom)), (Some(403), Some(403)));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(of(&a, custom), Some(404));
        assert_eq!(outages.state(), json!({ "serves_for_millis": null }));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((of(&a, core), of(&a, custom), of(&b, custom)), (Some(429), Some(429), Some(429)));
        assert_eq!(of(&a, "/apis"), None, "which is nothing that is stored");
        assert_eq!(of(&a, "/apis/g/v1/unknown"), None, "which it does not serve");
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!((of(&a, core), of(&a, "/apis/g/v1/others")), (Some(429), Some(429)));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!((of(&a, core), of(&a, custom), of(&a, "/apis/g/v1/others")), (None, None, Some(429)));
        assert_eq!(outages.state(), json!({ "serves_for_millis": 500 }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_begins_storage_slowly_has_the_first_requests_of_each_plane_wait() {
        let outages = Outages::default();
        let [a, b] = ["a", "b"].map(|name| ApiServer::builder(name).build());
        assert_eq!(outages.begins(&a), None, "it never was away");
        outages.over(Outage { starting_millis: 1000, first_millis: 500, ..Outage::default() });
        assert_eq!(outages.begins(&a), None, "which is answered before that");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begun = Instant::now() + Duration::from_millis(500);
        assert_eq!(outages.begins(&a), Some(begun));
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(outages.begins(&a), Some(begun), "the same storage");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(outages.begins(&a), None);
        assert!(outages.begins(&b).is_some());
    }
}
