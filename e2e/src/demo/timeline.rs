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
use super::steps::{Sighting, Step};

#[derive(Debug, Default)]
struct Log {
    sightings: Vec<Sighting>,
    /// Watches whose first list is complete.
    synced: usize,
    /// The last error of a watch.
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
        let all = self.tasks.len();
        let mut log = self.log.subscribe();
        let synced = log.wait_for(|log| log.synced >= all);
        matches!(tokio::time::timeout(limit, synced).await, Ok(Ok(_)))
    }

    /// When each of these was seen first, in any order. Reports each once it is seen, with its index. Fails
    /// with the index of one that is not seen although nothing else was for as long as `limit`.
    pub async fn all(
        &self,
        limit: Duration,
        steps: &[Step],
        mut report: impl FnMut(usize, Instant),
    ) -> Result<Vec<Instant>, usize> {
        let mut log = self.log.subscribe();
        let mut times = vec![None; steps.len()];
        let mut end = tokio::time::Instant::now() + limit;
        loop {
            let seen = fresh(&log.borrow_and_update().sightings, steps, &mut times);
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

    /// Whether anything that was seen since that moment is so.
    pub fn any_since(&self, since: Instant, is: impl Fn(&Sighting) -> bool) -> bool {
        self.log.borrow().sightings.iter().any(|seen| seen.at >= since && is(seen))
    }

    /// Returns the last error of a watch, if there was one.
    pub fn trouble(&self) -> Option<String> {
        self.log.borrow().trouble.clone()
    }
}

/// Which of those that have no time yet are among the sightings, in the order of time; they have one then.
fn fresh(sightings: &[Sighting], steps: &[Step], times: &mut [Option<Instant>]) -> Vec<(usize, Instant)> {
    let mut found = Vec::new();
    let missing = steps.iter().zip(times).enumerate().filter(|(_, (_, time))| time.is_none());
    for (index, (step, time)) in missing {
        *time = sightings.iter().find(|seen| step.is(seen, sightings)).map(|seen| seen.at);
        found.extend(time.map(|at| (index, at)));
    }
    found.sort_by_key(|(_, at)| *at);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::demo::steps::{Like, Place};

    fn seen(at: Instant, plane: &'static str, name: &str, ready: &str) -> Sighting {
        let object = json!({
            "metadata": { "namespace": "here", "name": name },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        });
        Sighting { at, plane, kind: Kind::Instance, object: serde_json::from_value(object).unwrap() }
    }

    fn step(plane: &'static str, name: &str, like: &[Like]) -> Step {
        let namespace = "here".to_owned();
        let name = name.to_owned();
        Step::new(Place { plane, kind: Kind::Instance, namespace, name }, like, "")
    }

    #[test]
    fn each_is_found_once_and_in_the_order_of_time() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let ready = [Like::True("Ready")];
        let steps = [step("hub", "web-0", &[]), step("cell", "web-0", &ready), step("cell", "web-1", &ready)];
        let mut times = [None; 3];
        // The cell's event arrives later than the hub's, but was earlier.
        let mut log = vec![
            seen(at(1), "cell", "web-0", "False"),
            seen(at(3), "hub", "web-0", "False"),
            seen(at(2), "cell", "web-0", "True"),
            seen(at(4), "cell", "web-0", "True"),
        ];
        assert_eq!(fresh(&log, &steps, &mut times), [(1, at(2)), (0, at(3))]);
        log.extend([seen(at(5), "hub", "web-0", "True"), seen(at(6), "cell", "web-1", "True")]);
        assert_eq!(fresh(&log, &steps, &mut times), [(2, at(6))]);
        assert_eq!(times, [Some(at(3)), Some(at(2)), Some(at(6))]);
    }

    #[test]
    fn an_owner_is_the_one_that_was_seen_there() {
        let start = Instant::now();
        let place = step("cell", "web", &[]).place;
        let steps = [step("cell", "web-0", &[Like::OwnedBy(place)])];
        for (uid, found) in [("2", 0), ("1", 1)] {
            let reference = json!([{ "apiVersion": "v1", "kind": "A", "name": "web", "uid": uid }]);
            let mut dependent = seen(start, "cell", "web-0", "False");
            dependent.object.metadata.owner_references = serde_json::from_value(reference).unwrap();
            // Its owner may be seen after it.
            let mut owner = seen(start, "cell", "web", "True");
            owner.object.metadata.uid = Some("1".to_owned());
            assert_eq!(fresh(&[dependent, owner], &steps, &mut [None]).len(), found, "{uid}");
        }
    }

    #[tokio::test]
    async fn what_is_not_seen_is_named() {
        let timeline = Timeline::new();
        let now = Instant::now();
        timeline.log.send_modify(|log| log.sightings.push(seen(now, "cell", "web-0", "True")));
        let steps = [step("cell", "web-0", &[]), step("cell", "web-1", &[])];
        let mut reported = Vec::new();
        let all = timeline.all(Duration::ZERO, &steps, |index, _| reported.push(index)).await;
        assert_eq!((all, reported), (Err(1), vec![0]));
    }
}
