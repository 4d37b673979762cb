//! `restart`: from the start of the process to everything in order, what it writes, and how soon an
//! edit that was made meanwhile is carried.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use http::Request;
use jiff::Timestamp;
use kube::Client;
use kube::api::{DynamicObject, ListParams, ObjectList, Patch, PatchParams};
use serde_json::{Value, json};

use super::Options;
use super::environment::{Environment, PROJECT};
use super::fake_apiserver::{Fleet, project_path};
use super::figure::Figure;
use super::fixture::Fixture;
use super::judge::Bar;
use super::objects::{Kind, api, api_all};
use super::process::Process;
use super::race::{Race, digits};
use super::report::Findings;
use super::stats::{number, rounded};
use super::watch::Arrivals;
use crate::Error;
use crate::suites::writes;
use crate::topology::planes::{HUB, projects};

/// WDs, each on both planes.
const DEPLOYMENTS: usize = 5_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Instances of each WD, each on both planes: twenty thousand objects in all.
const EACH: usize = 1;
/// Objects that an answer of the bare list holds, as fedhub asks for.
const PAGE: u32 = 500;
/// Verbs that write.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// Planes in memory, with as many objects.
const FAKE_PLANES: usize = 1_000;
/// Lists that the bare client has under way at once: fedhub's default of `--max-concurrent-lists`.
const LISTS: usize = 16;

/// Planes in memory: starts, and the bare list of the same, in turn.
pub async fn fake(options: &Options) -> Result<Findings, Error> {
    let fleet = Fleet::up(options, options.scaled(FAKE_PLANES)).await?;
    let count = options.scaled(DEPLOYMENTS);
    fleet.populate(count, count * EACH, "in-order", "wd").await?;
    // The first start remembers the identities of the planes.
    let mut first = fleet.spawn(&["--leader-elect=false"])?;
    first.settled().await?;
    first.stop().await?;
    let (race, figures) = Race::run(
        options,
        async |_| Box::pin(fake_start(&fleet)).await,
        async |_| fake_list(&fleet).await,
        |race: &Race<Start, f64>, error| race.judged("in memory", error),
    )
    .await?;
    let details = json!({ "planes": fleet.planes, "objects": count * 2 * (1 + EACH), "race": race.json() });
    Ok(Findings { figures, details })
}

async fn fake_start(fleet: &Fleet) -> Result<Start, Error> {
    fleet.count_anew().await?;
    let began = Instant::now();
    let mut fedhub = fleet.spawn(&["--leader-elect=false"])?;
    let seconds = in_order(&mut fedhub, fleet.planes, began).await?;
    fedhub.stop().await?;
    let writes = f64::from(u32::try_from(fleet.counters().await?.writes).unwrap_or(u32::MAX));
    Ok(Start { seconds, writes, edit: f64::NAN, more: Value::Null })
}

/// A start of fedhub.
struct Start {
    seconds: f64,
    writes: f64,
    /// Seconds to an edit, of another start; else not a number.
    edit: f64,
    more: Value,
}

impl Race<Start, f64> {
    /// The bars that starts have in memory and on real planes alike.
    fn judged(&self, planes: &str, error: f64) -> Vec<Figure> {
        let ratios = self.ratios(|start| start.seconds, |list| *list);
        let writes = self.each(|start| start.writes).iter().sum();
        vec![
            Figure::ratio(planes, "times the bare list", &ratios).within(Bar::at_most(2.0), error),
            Figure::exact(planes, "writes", writes).exactly(Bar::at_most(0.0)),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "start_s": digits(&self.each(|start| start.seconds), 2), "bare_list_s": digits(&self.bare, 2),
            "starts": self.ours.iter().map(|start| &start.more).collect::<Vec<_>>(),
        })
    }
}

/// Seconds of a paged list of everything that fedhub watches there.
async fn fake_list(fleet: &Fleet) -> Result<f64, Error> {
    let hub = fleet.hub().await?;
    let all = fleet.management().await?;
    let on_hub = [Kind::Namespace, Kind::Policy, Kind::Deployment, Kind::Instance];
    let began = Instant::now();
    let hub = on_hub.iter().map(|kind| pages(&hub, *kind).boxed());
    let projects = (0..fleet.planes).flat_map(|plane| {
        let paths = ["workloaddeployments", "instances"].map(|plural| project_path(plane, None, plural));
        paths.map(|path| page(&all, path).boxed())
    });
    stream::iter(hub.chain(projects)).buffer_unordered(LISTS).try_collect::<Vec<_>>().await?;
    Ok(began.elapsed().as_secs_f64())
}

/// A list that has one page only.
pub(super) async fn page(client: &Client, path: String) -> Result<usize, Error> {
    let request = Request::get(format!("{path}?limit={PAGE}")).body(Vec::new());
    let request = request.map_err(|error| Error::Benchmark(format!("list {path}: {error}")))?;
    let list: ObjectList<DynamicObject> =
        client.request(request).await.map_err(Error::api(format!("list {path}")))?;
    Ok(list.items.len())
}

/// Starts without changes, and the bare list of the same, in turn; after each start another one with an edit.
pub async fn real(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let fixture =
        Fixture::build(environment, "s", options.scaled(NAMESPACES), options.scaled(DEPLOYMENTS)).await?;
    fixture.populate(environment, EACH).await?;
    let (race, figures) = Race::run(
        options,
        async |lap| {
            let mut start = Box::pin(start(environment)).await?;
            start.edit = Box::pin(edit(environment, &fixture, lap)).await?;
            Ok(start)
        },
        async |_| Box::pin(list(environment)).await,
        |race: &Race<Start, f64>, error| {
            let edit = Figure::mean("an edit after leadership", "s", &race.each(|start| start.edit));
            let mut figures = race.judged("real planes", error);
            figures.push(edit.within(Bar::at_most(2.0), error));
            figures
        },
    )
    .await?;
    let details = json!({
        "objects": fixture.on_hub.len() * 2 * (1 + EACH), "race": race.json(),
        "edit_s": digits(&race.each(|start| start.edit), 2),
    });
    Ok(Findings { figures, details })
}

/// A start, with what was written by the planes' own record.
async fn start(environment: &Environment) -> Result<Start, Error> {
    let since = Timestamp::now();
    let began = Instant::now();
    let mut fedhub = environment.spawn(0, &["--leader-elect=false".to_owned()])?;
    let seconds = in_order(&mut fedhub, projects().count(), began).await?;
    fedhub.settled().await?;
    let scrape = fedhub.scrape().await?;
    let asked = scrape.sum("fedhub_api_requests_total", &[("verb", &WRITES)]);
    let mut more = json!({
        "cpu_s": rounded(fedhub.cpu()?.as_secs_f64(), 2),
        "passes": scrape.by("fedhub_reconciles_total", &["controller", "outcome"]),
        "requests": scrape.by("fedhub_api_requests_total", &["plane_kind", "verb", "resource"]),
        "peak_mb": rounded(fedhub.peak()? / 1e6, 1),
        "resident_mb": rounded(fedhub.resident()? / 1e6, 1),
    });
    fedhub.stop().await?;
    let layout = environment.planes().layout();
    let mut writes = 0.0;
    for plane in [HUB, PROJECT] {
        writes += number(writes::since(layout, plane, since, &[])?.len());
    }
    more["dry_runs"] = json!(asked - writes);
    Ok(Start { seconds, writes, edit: f64::NAN, more })
}

/// Looks until the process has looked at everything and has nothing left to do. The looks are close: what
/// they cost is the process's own.
async fn in_order(fedhub: &mut Process, planes: usize, began: Instant) -> Result<f64, Error> {
    loop {
        if fedhub.rests(planes).await.is_ok() {
            return Ok(began.elapsed().as_secs_f64());
        }
        fedhub.alive()?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Seconds of a paged list of the same: all kinds at once, as fedhub does.
async fn list(environment: &Environment) -> Result<f64, Error> {
    let mut planes = vec![(environment.as_fedhub(HUB).await?, vec![Kind::Namespace, Kind::Policy])];
    for plane in projects() {
        planes.push((environment.as_fedhub(plane.name).await?, Vec::new()));
    }
    let began = Instant::now();
    let lists = planes.iter().flat_map(|(client, more)| {
        more.iter().copied().chain([Kind::Deployment, Kind::Instance]).map(|kind| pages(client, kind))
    });
    try_join_all(lists).await?;
    Ok(began.elapsed().as_secs_f64())
}

async fn pages(client: &Client, kind: Kind) -> Result<usize, Error> {
    let api = api_all(client, kind);
    let mut params = ListParams::default().limit(PAGE);
    let mut count = 0;
    loop {
        let page = api.list(&params).await.map_err(Error::api(format!("list {kind}")))?;
        count += page.items.len();
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(count),
        }
    }
}

/// Seconds from leadership to the hub's copy of an edit that was made as the process started.
async fn edit(environment: &Environment, fixture: &Fixture, at: usize) -> Result<f64, Error> {
    let (space, wd) =
        fixture.on_project.get(at).ok_or_else(|| Error::Benchmark("no WD to edit".to_owned()))?;
    let mut seen = Arrivals::watch(&environment.hub, Kind::Deployment, &wd.name, |_| true).await?;
    let mut fedhub = environment.spawn(0, &["--leader-elect=true".to_owned()])?;
    let replicas = json!({ "spec": { "scaleSettings": { "minReplicas": at + 2 } } });
    let edited = api(&environment.project, Kind::Deployment, space)
        .patch(&wd.name, &PatchParams::default(), &Patch::Merge(replicas))
        .await;
    edited.map_err(Error::api(format!("edit {}", wd.name)))?;
    let leads = loop {
        if fedhub.scrape().await.is_ok_and(|scrape| scrape.sum("fedhub_leader", &[]) > 0.0) {
            break Instant::now();
        }
        fedhub.alive()?;
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let seen = seen.all(1).await?;
    fedhub.settled().await?;
    fedhub.stop().await?;
    Ok(seen.saturating_duration_since(leads).as_secs_f64())
}
