//! Optional kinds that project planes do not serve: the discovery of each server is asked for them now and
//! then, through one of its planes, and all of its planes watch what it names.
//!
//! A kind is listed first, whatever discovery says: it may hide what is served, as a Milo does by the path of
//! the request. That a list fails is believed only where discovery does not name the kind either.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use fedhub_core::object::Kind;

use crate::registry::pump::pump;
use crate::{Plane, Planes, Watched};

/// A server is asked no more often than this.
const INTERVAL: Duration = Duration::from_secs(30);
/// The least time between the questions to two servers.
const APART: Duration = Duration::from_secs(4);
/// The time within which each of thousands of servers is asked.
const LONGEST: Duration = Duration::from_hours(1);

impl Plane {
    /// Whether discovery names the kind; nothing where it does not answer.
    pub(crate) async fn names(&self, kind: Kind) -> Option<bool> {
        self.connection().discovery().names(|| self.client(), kind).await
    }

    /// Whether discovery does not name the kind, though it is complete: it names all that has to be served
    /// here.
    pub(crate) async fn is_without(&self, kind: Kind) -> bool {
        if self.names(kind).await != Some(false) {
            return false;
        }
        for required in self.kinds().filter(|kind| !self.watched(*kind).is_some_and(Watched::is_optional)) {
            if self.names(required).await != Some(true) {
                return false;
            }
        }
        true
    }
}

impl Planes {
    /// Asks the servers of planes that lack a kind, one after the other, until the registry is stopped.
    pub(crate) async fn keep_asking(self: Arc<Self>) {
        let asks = async {
            for round in 0.. {
                let servers = self.lacking();
                let pause = pause(servers.len());
                if servers.is_empty() {
                    tokio::time::sleep(pause).await;
                }
                for planes in servers {
                    self.tasks.spawn(self.clone().ask_server(planes, round));
                    tokio::time::sleep(pause).await;
                }
            }
        };
        self.anchor.stop.run_until_cancelled(asks).await;
    }

    /// The planes that lack a kind, by server. Weak, so that a plane that leaves is given back at once.
    fn lacking(&self) -> Vec<Vec<Weak<Plane>>> {
        let mut servers: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for plane in self.projects().iter().filter(|plane| !plane.unwatched().is_empty()) {
            servers.entry(plane.connection().discovery().id()).or_default().push(Arc::downgrade(plane));
        }
        servers.into_values().collect()
    }

    /// Asks one of the planes of a server, another in each round, and starts the watches of the kinds that
    /// discovery names.
    async fn ask_server(self: Arc<Self>, planes: Vec<Weak<Plane>>, round: usize) {
        let planes: Vec<_> = planes.iter().filter_map(Weak::upgrade).collect();
        let Some(asked) = planes.get(round % planes.len().max(1)) else { return };
        let lacking: BTreeSet<Kind> = planes.iter().flat_map(|plane| plane.unwatched()).collect();
        for kind in lacking {
            if asked.stop.run_until_cancelled(asked.names(kind)).await.flatten() == Some(true) {
                for plane in planes.iter().filter(|plane| plane.watch_again(kind)) {
                    self.tasks.spawn(pump(self.clone(), plane.clone(), kind));
                }
            }
        }
    }
}

/// Returns the time from one of `servers` servers to the next.
fn pause(servers: usize) -> Duration {
    let servers = u32::try_from(servers.max(1)).unwrap_or(u32::MAX);
    (INTERVAL / servers).max(APART.min(LONGEST / servers))
}

#[cfg(test)]
mod tests {
    use fedhub_cache::MemoryBudget;
    use fedhub_core::metrics::Metrics;
    use fedhub_core::object::PlaneId;
    use kube::Config;

    use super::*;
    use crate::transport::{Server, Transport, TransportConfig};

    #[tokio::test]
    async fn w7_the_planes_of_one_server_share_its_discovery_and_no_others() {
        let config = TransportConfig::default();
        let transport = Transport::new(config, Metrics::new().unwrap(), MemoryBudget::from_bytes(1 << 20));
        let server = transport.server(&Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let other = transport.server(&Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let at = |server: &Server, path: &'static str| {
            server.connection_at(path.parse().unwrap(), &PlaneId::Management).discovery().clone()
        };
        let shared = at(&server, "/a");
        assert_eq!(shared.id(), at(&server, "/b").id());
        let root = server.connection(&PlaneId::Management);
        assert_ne!(shared.id(), root.discovery().id(), "what it names depends on where it is asked");
        assert_ne!(shared.id(), at(&other, "/a").id());
    }

    #[test]
    fn i8_a_server_is_asked_twice_a_minute_and_each_of_thousands_within_an_hour() {
        let pauses = [0, 1, 2, 6, 8, 900, 3_600, 36_000].map(|servers| pause(servers).as_millis());
        assert_eq!(pauses, [30_000, 30_000, 15_000, 5_000, 4_000, 4_000, 1_000, 100]);
    }
}
