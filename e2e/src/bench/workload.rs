//! `workload`: Workloads in two cities, created as fast as the project plane takes them, until the hub has both WDs of the
//! last one; what each of them costs in requests, and what nothing costs.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::baseline::{Bare, CONCURRENCY, NECESSARY_FOR_A_WORKLOAD};
use super::environment::{Environment, HANDS, Space, delete_all};
use super::figure::Figure;
use super::fixture::Fixture;
use super::judge::Bar;
use super::metrics::Scrape;
use super::objects::{CITIES, Kind, api};
use super::race::{Race, accounted, digits, rates};
use super::report::Findings;
use super::requests::{all, overdue, status_changes, writes};
use super::stats::number;
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// Workloads of a lap.
const WORKLOADS: usize = 1_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 10;
/// How long nothing happens, for the requests of that.
const REST: Duration = Duration::from_mins(1);
/// What federating a WD needs: its mark, and the hub's copy.
const NECESSARY_FOR_A_DEPLOYMENT: f64 = 2.0;

/// Laps of fedhub and of the bare clients in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let (count, namespaces) = (options.scaled(WORKLOADS), options.scaled(NAMESPACES));
    let necessary = NECESSARY_FOR_A_WORKLOAD + NECESSARY_FOR_A_DEPLOYMENT * number(CITIES.len());
    let most =
        |race: &Race<Lap, f64>, cost: fn(&Lap) -> f64| race.each(cost).into_iter().fold(f64::NAN, f64::max);
    let rest = options.or_quick(REST, Duration::from_secs(20));
    let (race, figures) = Race::run(
        options,
        async |lap| {
            let rest = (lap == 0).then_some(rest);
            Box::pin(fedhub_lap(environment, count, namespaces, &format!("w{lap}f"), rest)).await
        },
        async |lap| Box::pin(bare_lap(environment, count, namespaces, &format!("w{lap}b"))).await,
        |race: &Race<Lap, f64>, error| {
            let paces = race.ratios(|ours| 1.0 / ours.seconds, |bare| 1.0 / bare);
            let each = most(race, |lap| lap.each) / necessary;
            vec![
                Figure::ratio("pace", "of the bare clients", &paces).within(Bar::at_least(0.8), error),
                Figure::exact("requests", "times the necessary ones", each).exactly(Bar::at_most(1.25)),
                Figure::exact("requests at rest", "", most(race, |lap| lap.at_rest))
                    .exactly(Bar::at_most(0.0)),
                Figure::exact("writes of a restart", "", most(race, |lap| lap.restart))
                    .exactly(Bar::at_most(0.0)),
            ]
        },
    )
    .await?;
    let details = json!({
        "workloads": count, "namespaces": namespaces, "concurrency": CONCURRENCY, "rest_s": rest.as_secs(),
        "workloads_per_second": rates(count, &race.each(|ours| ours.seconds)),
        "bare_workloads_per_second": rates(count, &race.bare),
        "necessary_requests": necessary,
        "requests_each": digits(&race.each(|lap| lap.each), 3),
        "fedhub": race.ours.iter().map(|lap| &lap.anatomy).collect::<Vec<_>>(),
    });
    Ok(Findings { figures, details })
}

/// What a lap of fedhub took and cost.
struct Lap {
    seconds: f64,
    /// Requests for a Workload, without what informs users of each of its WDs.
    each: f64,
    /// Requests while nothing happened, where that was measured; else not a number.
    at_rest: f64,
    /// Writes of a restart, likewise.
    restart: f64,
    anatomy: serde_json::Value,
}

/// A lap; with `rest`, fedhub then has nothing to do for so long, and starts again.
async fn fedhub_lap(
    environment: &Environment,
    count: usize,
    namespaces: usize,
    prefix: &str,
    rest: Option<Duration>,
) -> Result<Lap, Error> {
    let spaces = &loader::spaces(&environment.project, prefix, namespaces).await?;
    let mut fedhub = environment.fedhub().await?;
    let conditions = CITIES.len() * count;
    let placed = lap(environment, spaces, prefix, count);
    let placed = Box::pin(accounted(&mut fedhub, count, conditions, placed)).await?;
    let grown = &placed.grown;
    let mut lap = Lap {
        seconds: placed.seconds,
        each: (all(grown) - informing(grown) - overdue(grown)) / number(count),
        at_rest: f64::NAN,
        restart: f64::NAN,
        anatomy: placed.anatomy,
    };
    if let Some(rest) = rest {
        // Without a cell's report fedhub would look after each WD again.
        let fixture = Fixture::find(environment, prefix, spaces.clone()).await?;
        status_changes(environment, prefix, &fixture, &mut fedhub).await?;
        let done = fedhub.scrape().await?;
        tokio::time::sleep(rest).await;
        let grown = fedhub.scrape().await?.since(&done);
        lap.at_rest = all(&grown) - identity(&grown);
        lap.anatomy["at_rest"] = requests(&grown);
        fedhub.stop().await?;
        fedhub = environment.fedhub().await?;
        lap.restart = writes(&fedhub.scrape().await?);
    }
    fedhub.stop().await?;
    Box::pin(clear(environment, spaces)).await?;
    Ok(lap)
}

async fn bare_lap(
    environment: &Environment,
    count: usize,
    namespaces: usize,
    prefix: &str,
) -> Result<f64, Error> {
    let spaces = loader::spaces(&environment.project, prefix, namespaces).await?;
    let federator = Bare::federator(environment, &spaces).await?;
    let workloads = Bare::workloads(environment, &spaces).await?;
    let took = lap(environment, &spaces, prefix, count).await;
    workloads.end().await?;
    federator.end().await?;
    Box::pin(clear(environment, &spaces)).await?;
    took
}

/// From the first create to the last WD that the hub's watch shows, in seconds.
async fn lap(environment: &Environment, spaces: &[Space], prefix: &str, count: usize) -> Result<f64, Error> {
    let mut seen = Arrivals::of(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    let created = loader::workloads(&environment.project, spaces, prefix, count);
    let (began, ended): (Instant, Instant) = tokio::try_join!(created, seen.all(CITIES.len() * count))?;
    Ok(ended.duration_since(began).as_secs_f64())
}

/// Of the requests, those that make sure from time to time that a plane is still the one that it was.
fn identity(grown: &Scrape) -> f64 {
    let labels = [("plane_kind", &["project"][..]), ("verb", &["get"]), ("resource", &["namespaces"])];
    grown.sum("fedhub_api_requests_total", &labels)
}

fn requests(grown: &Scrape) -> serde_json::Value {
    json!(grown.by("fedhub_api_requests_total", &["plane_kind", "verb", "resource", "code"]))
}

/// Of the requests, those that report the progress of WDs to users: an Event and, as no status comes, a condition, for which
/// the WD is read.
fn informing(grown: &Scrape) -> f64 {
    let count = |verb: &str, resource: &str| {
        let labels = [("plane_kind", &["project"][..]), ("verb", &[verb]), ("resource", &[resource])];
        grown.sum("fedhub_api_requests_total", &labels)
    };
    count("create", "events") + 2.0 * count("update", "workloaddeployments/status")
}

/// Removes the Workloads of these namespaces and all that was made of them, which goes first: what loses its owner the
/// garbage collector asks for one by one, far into the next lap. No fedhub may run.
async fn clear(environment: &Environment, spaces: &[Space]) -> Result<(), Error> {
    environment.clear(spaces).await?;
    for space in spaces {
        delete_all(&environment.project, Kind::ConfigMap, space.name.clone()).await?;
        let workloads = &api(&environment.project, Kind::Workload, &space.name);
        let list = workloads.list_metadata(&ListParams::default()).await;
        let list = list.map_err(Error::api(format!("list Workloads of {}", space.name)))?;
        let release = list.items.into_iter().map(|workload| async move {
            let (name, none) =
                (workload.name_any(), Patch::Merge(json!({ "metadata": { "finalizers": null } })));
            let released = workloads.patch_metadata(&name, &PatchParams::default(), &none).await;
            released.map(drop).map_err(Error::api(format!("take the finalizer off {name}")))
        });
        stream::iter(release).buffer_unordered(HANDS).try_collect::<()>().await?;
        delete_all(&environment.project, Kind::Workload, space.name.clone()).await?;
    }
    environment.gone(&environment.project, Kind::Workload).await
}
