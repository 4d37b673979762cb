//! `rollout-requests`: what it costs to pass a new template on city by city, against the same change all at
//! once; and what a rollout costs that stands still, or is restarted in the middle (R10).
//!
//! The change is made once with each strategy, each beside a fedhub that has just started. Cells report on
//! the hub at once, and once for each change: that leaves the change all at once the fewest requests.

mod cells;

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use self::cells::Cells;
use super::environment::{Environment, HANDS, Space, delete_all};
use super::figure::Figure;
use super::judge::Bar;
use super::metrics::Scrape;
use super::objects::{self, Kind, api};
use super::process::Process;
use super::report::Findings;
use super::requests::{all, writes};
use super::stats::{number, rounded};
use super::workload::{identity, requests};
use super::{Options, loader};
use crate::Error;
use crate::turns::{Sighted, Turns};

/// Workloads, each in every city.
const WORKLOADS: usize = 200;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 10;
/// What their names begin with.
const PREFIX: &str = "t";
/// How often the requests of the change all at once may be made, beside the status writes.
const BAR: f64 = 1.05;
/// How long a rollout stands still, for the requests of that.
const REST: Duration = Duration::from_mins(1);

/// Changes in turn, and then one that stops in the middle.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let cities: Vec<_> = environment.planes().cells().iter().map(|(_, city)| city).collect();
    let spaces = loader::spaces(&environment.project, PREFIX, options.scaled(NAMESPACES)).await?;
    let bench = Bench { environment, cities, spaces, count: options.scaled(WORKLOADS) };
    let cells = Cells::report(&environment.hub, None).await?;
    bench.make("first").await?;
    let at_once = bench.change("all-at-once", ["first", "second"]).await?;
    let in_order = bench.change("in-order", ["second", "third"]).await?;
    bench.govern().await?;
    let governed = bench.change("in-order", ["third", "fourth"]).await?;
    cells.end().await?;
    for space in bench.spaces.iter().step_by(2) {
        delete_all(&environment.project, Kind::WorkloadRollout, space.name.clone()).await?;
    }
    let stopped = bench.stop(["fourth", "fifth"], options.or_quick(REST, Duration::from_secs(20))).await?;

    let beyond = |change: &Change| (change.requests() - number(change.turns.changes)) / at_once.requests();
    let unit = "times the requests of all at once";
    let orderly = [&in_order.turns, &governed.turns, &stopped.turns];
    let most = orderly.iter().map(|turns| turns.most).max().unwrap_or_default();
    let overtakes: usize = orderly.iter().map(|turns| turns.overtakes + turns.strays).sum();
    let counted = |what, value, bar| Figure::exact(what, "", value).exactly(Bar::at_most(bar));
    let figures = vec![
        Figure::exact("in order, less one for each change of a city's state", unit, beyond(&in_order))
            .exactly(Bar::at_most(BAR)),
        Figure::exact("by WorkloadRollouts, less one likewise", unit, beyond(&governed))
            .exactly(Bar::at_most(BAR)),
        counted("requests at rest, in the middle", stopped.at_rest, 0.0),
        counted("writes of a restart in the middle", stopped.restart, 0.0),
        counted("cities of a Workload under way at once", number(most), 1.0),
        counted("cities with a template out of their turn", number(overtakes), 0.0),
    ];
    let details = json!({
        "workloads": bench.count, "cities": bench.cities, "namespaces": bench.spaces.len(),
        "all_at_once": bench.details(&at_once), "in_order": bench.details(&in_order),
        "by_rollouts": bench.details(&governed), "at_rest": stopped.requests,
    });
    Ok(Findings { figures, details })
}

/// The Workloads and where they run.
struct Bench<'a> {
    environment: &'a Environment,
    /// In the order of the placement.
    cities: Vec<&'static str>,
    spaces: Vec<Space>,
    count: usize,
}

/// What a change of all templates took.
struct Change {
    grown: Scrape,
    turns: Turns,
}

impl Change {
    fn requests(&self) -> f64 {
        all(&self.grown) - identity(&self.grown)
    }
}

/// What was seen of a rollout that stopped in the middle.
struct Stopped {
    turns: Turns,
    /// Requests while nothing happened.
    at_rest: f64,
    /// Writes of a restart.
    restart: f64,
    /// The requests at rest by their kinds.
    requests: Value,
}

impl Bench<'_> {
    /// Creates the Workloads and waits until they run.
    async fn make(&self, image: &str) -> Result<(), Error> {
        let mut fedhub = self.fedhub("all-at-once").await?;
        let project = &self.environment.project;
        let mut seen = Sighted::watch(project, Turns::new(PREFIX, &self.cities, 1, ["", image])).await?;
        loader::in_turn(project, Kind::Workload, &self.spaces, self.count, |index, space| {
            let mut workload = objects::workload(&space.name, &name(index), &self.cities);
            workload["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"] = containers(image);
            workload
        })
        .await?;
        seen.until(|turns| turns.complete() == self.deployments()).await?;
        fedhub.settled().await?;
        self.environment.progress.step(format!(
            "{} Workloads run in {} cities",
            self.count,
            self.cities.len()
        ));
        fedhub.stop().await
    }

    /// Gives all Workloads the second image, beside a fedhub with this default; what that takes to its end.
    async fn change(&self, default: &str, images: [&str; 2]) -> Result<Change, Error> {
        let mut fedhub = self.fedhub(default).await?;
        let before = fedhub.scrape().await?;
        let mut seen = self.patch(images).await?;
        let turns = seen.until(|turns| turns.complete() == self.deployments()).await?;
        fedhub.settled().await?;
        let grown = fedhub.scrape().await?.since(&before);
        fedhub.stop().await?;
        let change = Change { grown, turns };
        let each = rounded(change.requests() / number(self.count), 2);
        self.environment.progress.step(format!("{}, {default}: {each} requests for a Workload", images[1]));
        Ok(change)
    }

    /// Gives each Workload a WorkloadRollout of two waves.
    async fn govern(&self) -> Result<(), Error> {
        let project = &self.environment.project;
        loader::in_turn(project, Kind::WorkloadRollout, &self.spaces, self.count, |index, space| {
            json!({
                "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadRollout",
                "metadata": { "namespace": space.name, "name": name(index) },
                "spec": {
                    "workloadRef": { "name": name(index) },
                    "waves": [{ "name": "canary", "cities": [self.cities[0]] }, { "name": "rest" }],
                },
            })
        })
        .await
    }

    /// Gives all Workloads the second image, by which the city in the middle fails, lets that stand, and
    /// restarts fedhub; once the city is well, the rollout goes on to its end.
    async fn stop(&self, images: [&str; 2], rest: Duration) -> Result<Stopped, Error> {
        let middle = self.cities.len() / 2;
        let cells = Cells::report(&self.environment.hub, Some(self.cities[middle])).await?;
        let mut fedhub = self.fedhub("in-order").await?;
        let mut seen = self.patch(images).await?;
        let [before, here] = [middle * self.count, self.count];
        seen.until(|turns| turns.complete() == before && turns.updating() == here).await?;
        fedhub.settled().await?;
        let done = fedhub.scrape().await?;
        tokio::time::sleep(rest).await;
        let grown = fedhub.scrape().await?.since(&done);
        fedhub.stop().await?;
        fedhub = self.fedhub("in-order").await?;
        let restart = writes(&fedhub.scrape().await?);
        self.environment.progress.step(format!("{} Workloads stood still in the middle", self.count));
        cells.end().await?;
        let cells = Cells::report(&self.environment.hub, None).await?;
        let turns = seen.until(|turns| turns.complete() == self.deployments()).await?;
        fedhub.settled().await?;
        fedhub.stop().await?;
        cells.end().await?;
        let at_rest = all(&grown) - identity(&grown);
        Ok(Stopped { turns, at_rest, restart, requests: requests(&grown) })
    }

    async fn fedhub(&self, default: &str) -> Result<Process, Error> {
        self.environment.fedhub_with(&[format!("--default-rollout={default}")]).await
    }

    /// Gives all Workloads the second image; the watch of that began before.
    async fn patch(&self, images: [&str; 2]) -> Result<Sighted, Error> {
        let turns = Turns::new(PREFIX, &self.cities, 1, images);
        let seen = Sighted::watch(&self.environment.project, turns).await?;
        let image = images[1];
        let template = json!({ "spec": { "runtime": { "sandbox": { "containers": containers(image) } } } });
        let patch = Patch::Merge(json!({ "spec": { "template": template } }));
        let patches = (0..self.count).zip(self.spaces.iter().cycle()).map(|(index, space)| {
            let workloads = api(&self.environment.project, Kind::Workload, &space.name);
            let patch = &patch;
            async move {
                let patched = workloads.patch(&name(index), &PatchParams::default(), patch).await;
                patched.map(drop).map_err(Error::api(format!("patch {}", name(index))))
            }
        });
        stream::iter(patches).buffer_unordered(HANDS).try_collect::<()>().await?;
        Ok(seen)
    }

    fn deployments(&self) -> usize {
        self.count * self.cities.len()
    }

    fn details(&self, change: &Change) -> Value {
        let each = |count: f64| rounded(count / number(self.count), 3);
        let by = change.grown.by("fedhub_api_requests_total", &["plane_kind", "verb", "resource", "code"]);
        let by: serde_json::Map<_, _> =
            by.into_iter().map(|(series, count)| (series, json!(each(count)))).collect();
        json!({
            "requests_each": each(change.requests()), "changes_each": each(number(change.turns.changes)),
            "most_under_way": change.turns.most, "overtakes": change.turns.overtakes, "each": by,
        })
    }
}

fn name(index: usize) -> String {
    format!("{PREFIX}-{index}")
}

fn containers(image: &str) -> Value {
    json!([{ "name": "app", "image": image }])
}
