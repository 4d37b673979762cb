//! What is seen on the planes, by watches, with the time at which it was seen.

use std::time::{Duration, Instant};

use futures::{StreamExt, pin_mut};
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::objects::Kind;

/// One object as one plane showed it at one moment.
#[derive(Debug)]
pub struct Sighting {
    /// When the event came.
    pub at: Instant,
    /// Where.
    pub plane: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The object as it was then.
    pub object: DynamicObject,
}

impl Sighting {
    /// Whether the object is the one of that place and name.
    pub fn is(&self, plane: &str, kind: Kind, namespace: &str, name: &str) -> bool {
        self.plane == plane
            && self.kind == kind
            && self.object.metadata.namespace.as_deref().unwrap_or_default() == namespace
            && self.object.metadata.name.as_deref() == Some(name)
    }
}

/// An expected observation.
pub struct Wanted<'a> {
    /// Where.
    pub plane: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What it has to be like.
    pub like: &'a dyn Fn(&DynamicObject) -> bool,
    /// How it is printed.
    pub words: String,
}

impl Wanted<'_> {
    fn is(&self, seen: &Sighting) -> bool {
        seen.is(self.plane, self.kind, self.namespace, self.name) && (self.like)(&seen.object)
    }
}

#[derive(Debug, Default)]
struct Log {
    sightings: Vec<Sighting>,
    /// Watches whose first list is complete.
    synced: usize,
    /// What a watch last complained of.
    trouble: Option<String>,
}

/// All watches of the demonstration and what they have seen so far. They end when this is dropped.
pub struct Timeline {
    log: watch::Sender<Log>,
    tasks: JoinSet<()>,
}

impl Timeline {
    /// Sees nothing yet.
    pub fn new() -> Self {
        Self { log: watch::Sender::default(), tasks: JoinSet::new() }
    }

    /// Watches all objects of a kind on a plane from now on.
    pub fn watch(&mut self, plane: &'static str, client: &Client, kind: Kind) {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource());
        let log = self.log.clone();
        self.tasks.spawn(async move {
            // Ended by the server before the client takes the silence for a fault, and begun where it ended.
            let config = watcher::Config::default().timeout(20);
            let stream = watcher::watcher(api, config).default_backoff();
            pin_mut!(stream);
            while let Some(event) = stream.next().await {
                let at = Instant::now();
                match event {
                    Ok(Event::Apply(object) | Event::InitApply(object)) => {
                        log.send_modify(|log| log.sightings.push(Sighting { at, plane, kind, object }));
                    }
                    Ok(Event::InitDone) => log.send_modify(|log| log.synced += 1),
                    Ok(Event::Init | Event::Delete(_)) => {}
                    Err(error) => {
                        let words = format!("watch of {kind} on {plane}: {error}");
                        log.send_modify(|log| log.trouble = Some(words));
                    }
                }
            }
        });
    }

    /// Waits until every watch has its first list. Says whether that came true in time.
    pub async fn synced(&self, limit: Duration) -> bool {
        let (all, mut log) = (self.tasks.len(), self.log.subscribe());
        let synced = log.wait_for(|log| log.synced >= all);
        matches!(tokio::time::timeout(limit, synced).await, Ok(Ok(_)))
    }

    /// The first sighting that `find` makes something of, once there is one.
    pub async fn first<T>(
        &self,
        limit: Duration,
        find: impl Fn(&Sighting) -> Option<T>,
    ) -> Option<(Instant, T)> {
        let mut found = None;
        let mut log = self.log.subscribe();
        let seen = log.wait_for(|log| {
            found = log.sightings.iter().find_map(|seen| find(seen).map(|value| (seen.at, value)));
            found.is_some()
        });
        // Whether it ended in time shows in what was found.
        let _ = tokio::time::timeout(limit, seen).await.is_ok();
        found
    }

    /// When each of these was seen first, in any order. Reports each once it is seen, with its index. Fails with the
    /// index of one that is not seen although nothing else was for as long as `limit`.
    pub async fn all(
        &self,
        limit: Duration,
        wanted: &[Wanted<'_>],
        mut report: impl FnMut(usize, Instant),
    ) -> Result<Vec<Instant>, usize> {
        let mut log = self.log.subscribe();
        let mut times = vec![None; wanted.len()];
        let mut looked_at = 0;
        let mut end = tokio::time::Instant::now() + limit;
        loop {
            let seen = {
                let log = log.borrow_and_update();
                let seen = fresh(&log.sightings[looked_at..], wanted, &mut times);
                looked_at = log.sightings.len();
                seen
            };
            if !seen.is_empty() {
                end = tokio::time::Instant::now() + limit;
            }
            for (index, at) in seen {
                report(index, at);
            }
            let Some(missing) = times.iter().position(Option::is_none) else {
                return Ok(times.into_iter().flatten().collect());
            };
            if !matches!(tokio::time::timeout_at(end, log.changed()).await, Ok(Ok(()))) {
                return Err(missing);
            }
        }
    }

    /// What a watch last complained of, if any did.
    pub fn trouble(&self) -> Option<String> {
        self.log.borrow().trouble.clone()
    }
}

/// Which of those that have no time yet are among the sightings, in the order of time; they have one then.
fn fresh(
    sightings: &[Sighting],
    wanted: &[Wanted<'_>],
    times: &mut [Option<Instant>],
) -> Vec<(usize, Instant)> {
    let mut found = Vec::new();
    for (index, (wanted, time)) in
        wanted.iter().zip(times).enumerate().filter(|(_, (_, time))| time.is_none())
    {
        *time = sightings.iter().find(|seen| wanted.is(seen)).map(|seen| seen.at);
        found.extend(time.map(|at| (index, at)));
    }
    found.sort_by_key(|(_, at)| *at);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::demo::objects::is_true;

    fn seen(at: Instant, plane: &'static str, name: &str, ready: &str) -> Sighting {
        let object = json!({
            "metadata": { "namespace": "here", "name": name },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        });
        Sighting { at, plane, kind: Kind::Instance, object: serde_json::from_value(object).unwrap() }
    }

    fn wanted<'a>(
        plane: &'static str,
        name: &'a str,
        like: &'a dyn Fn(&DynamicObject) -> bool,
    ) -> Wanted<'a> {
        Wanted { plane, kind: Kind::Instance, namespace: "here", name, like, words: String::new() }
    }

    #[test]
    fn each_is_found_once_and_in_the_order_of_time() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let ready = |object: &DynamicObject| is_true(&object.data["status"], "Ready");
        let wanted = [
            wanted("hub", "web-0", &|_| true),
            wanted("cell", "web-0", &ready),
            wanted("cell", "web-1", &ready),
        ];
        let mut times = [None; 3];
        // The cell's event arrives later than the hub's, but was earlier.
        let log = [
            seen(at(1), "cell", "web-0", "False"),
            seen(at(3), "hub", "web-0", "False"),
            seen(at(2), "cell", "web-0", "True"),
            seen(at(4), "cell", "web-0", "True"),
        ];
        assert_eq!(fresh(&log, &wanted, &mut times), [(1, at(2)), (0, at(3))]);
        let log = [seen(at(5), "hub", "web-0", "True"), seen(at(6), "cell", "web-1", "True")];
        assert_eq!(fresh(&log, &wanted, &mut times), [(2, at(6))]);
        assert_eq!(times, [Some(at(3)), Some(at(2)), Some(at(6))]);
    }

    #[tokio::test]
    async fn what_is_not_seen_is_named() {
        let timeline = Timeline::new();
        let now = Instant::now();
        timeline.log.send_modify(|log| log.sightings.push(seen(now, "cell", "web-0", "True")));
        let wanted = [wanted("cell", "web-0", &|_| true), wanted("cell", "web-1", &|_| true)];
        let mut reported = Vec::new();
        let all = timeline.all(Duration::ZERO, &wanted, |index, _| reported.push(index)).await;
        assert_eq!((all, reported), (Err(1), vec![0]));
    }
}
