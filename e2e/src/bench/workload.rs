//! `workload`: Workloads in two cities, created as fast as the project plane takes them, until the hub has both WDs of the
//! last one; what each of them costs in requests, and what nothing costs.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::baseline::{Bare, CONCURRENCY, NECESSARY_FOR_A_WORKLOAD};
use super::environment::{Environment, HANDS, Space, delete_all};
use super::fixture::Fixture;
use super::metrics::Scrape;
use super::objects::{CITIES, Kind, api};
use super::report::{Claim, Report};
use super::requests::{all, overdue, status_changes, writes};
use super::stats::{median, number, rounded};
use super::throughput::anatomy;
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
pub async fn run(environment: &Environment, options: &Options) -> Result<Report, Error> {
    let (count, namespaces) = (options.scaled(WORKLOADS), options.scaled(NAMESPACES));
    let (mut ours, mut bare, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for lap in 0..options.repetitions {
        let spaces = loader::spaces(&environment.project, &format!("w{lap}f"), namespaces).await?;
        let (rate, cost) =
            Box::pin(fedhub_lap(environment, &spaces, count, &format!("w{lap}f"), lap == 0)).await?;
        environment.progress.step(format!("lap {lap}: fedhub places {rate:.1} Workloads a second"));
        ours.push(rate);
        costs.push(cost);
        let rate = Box::pin(bare_lap(environment, count, namespaces, &format!("w{lap}b"))).await?;
        environment.progress.step(format!("lap {lap}: the bare clients place {rate:.1} Workloads a second"));
        bare.push(rate);
    }
    let ratios: Vec<_> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    let ratio = median(&ratios).unwrap_or(f64::NAN);
    let necessary = NECESSARY_FOR_A_WORKLOAD + NECESSARY_FOR_A_DEPLOYMENT * number(CITIES.len());
    let most = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::NAN, f64::max);
    let claims = [
        Claim::at_least("", ratio, 0.8),
        Claim::at_most("times the necessary requests", most(|cost| cost.each) / necessary, 1.25),
        Claim::at_most("requests at rest", most(|cost| cost.at_rest), 0.0),
        Claim::at_most("writes of a restart", most(|cost| cost.restart), 0.0),
    ];
    let each = |values: &[f64]| values.iter().map(|value| rounded(*value, 3)).collect::<Vec<_>>();
    let details = json!({
        "workloads": count, "namespaces": namespaces, "concurrency": CONCURRENCY, "laps": each(&ratios),
        "workloads_per_second": each(&ours), "bare_workloads_per_second": each(&bare),
        "necessary_requests": necessary,
        "requests_each": each(&costs.iter().map(|cost| cost.each).collect::<Vec<_>>()),
        "requests_at_rest": most(|cost| cost.at_rest), "writes_of_a_restart": most(|cost| cost.restart),
        "fedhub": costs.iter().map(|cost| cost.anatomy.clone()).collect::<Vec<_>>(),
    });
    Ok(Report::on("workload", ratio, "of the bare client", &claims, details))
}

/// What a lap cost.
struct Cost {
    /// Requests for a Workload, without what informs users of each of its WDs.
    each: f64,
    /// Requests while nothing happened, where that was measured; else not a number.
    at_rest: f64,
    /// Writes of a restart, likewise.
    restart: f64,
    anatomy: serde_json::Value,
}

async fn fedhub_lap(
    environment: &Environment,
    spaces: &[Space],
    count: usize,
    prefix: &str,
    with_rest: bool,
) -> Result<(f64, Cost), Error> {
    let mut fedhub = environment.fedhub().await?;
    let (before, cpu) = (fedhub.scrape().await?, fedhub.cpu()?);
    let took = lap(environment, spaces, prefix, count).await?;
    let cpu = fedhub.cpu()?.saturating_sub(cpu);
    fedhub.settled().await?;
    fedhub.conditions_written(CITIES.len() * count).await?;
    fedhub.settled().await?;
    let grown = fedhub.scrape().await?.since(&before);
    let mut cost = Cost {
        each: (all(&grown) - informing(&grown) - overdue(&grown)) / number(count),
        at_rest: f64::NAN,
        restart: f64::NAN,
        anatomy: anatomy(&grown, number(count)),
    };
    cost.anatomy["cpu_ms_each"] = json!(rounded(cpu.as_secs_f64() * 1e3 / number(count), 3));
    if with_rest {
        // Without a cell's report fedhub would look after each WD again.
        let fixture = Fixture::find(environment, prefix, spaces.to_vec()).await?;
        status_changes(environment, prefix, &fixture, &mut fedhub).await?;
        let done = fedhub.scrape().await?;
        tokio::time::sleep(REST).await;
        let grown = fedhub.scrape().await?.since(&done);
        cost.at_rest = all(&grown) - identity(&grown);
        cost.anatomy["at_rest"] = requests(&grown);
        fedhub.stop().await?;
        fedhub = environment.fedhub().await?;
        cost.restart = writes(&fedhub.scrape().await?);
    }
    fedhub.stop().await?;
    Box::pin(clear(environment, spaces)).await?;
    Ok((number(count) / took, cost))
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
    Ok(number(count) / took?)
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
