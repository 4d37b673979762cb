//! `workload`: Workloads in two cities, created as fast as the project plane takes them, until the hub has
//! both WDs of the last one; what each of them costs in requests, and what nothing costs.

use std::cell::Cell;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::baseline::{Bare, NECESSARY_FOR_A_WORKLOAD};
use super::course::{Accounted, Course, Turn};
use super::environment::{Environment, HANDS, Space, delete_all};
use super::figure::Figure;
use super::fixture::{Fixture, placed};
use super::judge::Bar;
use super::metrics::Scrape;
use super::objects::{CITIES, Kind, api};
use super::process::Process;
use super::race::digits;
use super::report::Findings;
use super::requests::{all, overdue, status_changes, writes};
use super::stats::number;
use super::{Options, loader};
use crate::Error;

/// Workloads of a lap.
const WORKLOADS: usize = 1_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 10;
/// How long nothing happens, for the requests of that.
const REST: Duration = Duration::from_mins(1);
/// The requests that federating a WD needs: its mark, and the hub's copy.
const NECESSARY_FOR_A_DEPLOYMENT: f64 = 2.0;

/// Laps of fedhub and of the bare clients in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let count = options.scaled(WORKLOADS);
    let namespaces = options.scaled(NAMESPACES);
    let necessary = NECESSARY_FOR_A_WORKLOAD + NECESSARY_FOR_A_DEPLOYMENT * number(CITIES.len());
    let rest = options.or_quick(REST, Duration::from_secs(20));
    let nothing = Cell::new(Nothing { at_rest: f64::NAN, restart: f64::NAN });
    let each =
        |lap: &Accounted| (all(&lap.grown) - informing(&lap.grown) - overdue(&lap.grown)) / number(count);
    let course = Course {
        environment,
        objects: "workloads",
        count,
        conditions: CITIES.len() * count,
        place: async |prefix: &str| loader::spaces(&environment.project, prefix, namespaces).await,
        bare: async |spaces: &Vec<Space>| {
            let federator = Bare::federator(environment, spaces).await?;
            Ok(vec![Bare::workloads(environment, spaces).await?, federator])
        },
        arrive: async |spaces: &Vec<Space>, prefix: &str| {
            Ok(placed(environment, spaces, prefix, count).await?.arrived)
        },
        finish: async |turn: &Turn, spaces: &Vec<Space>, fedhub: Process, lap: &mut Accounted| {
            if turn.lap > 0 {
                return fedhub.stop().await;
            }
            let spaces = spaces.clone();
            nothing.set(idle(environment, &turn.prefix, spaces, rest, fedhub, &mut lap.anatomy).await?);
            Ok(())
        },
        clear: async |spaces: &Vec<Space>| clear(environment, spaces).await,
    };
    let (race, mut findings) = course
        .race(options, |race, error| {
            let most = race.each(each).into_iter().fold(f64::NAN, f64::max) / necessary;
            let Nothing { at_rest, restart } = nothing.get();
            vec![
                Figure::ratio("pace", "of the bare clients", &race.paces()).within(Bar::at_least(0.8), error),
                Figure::exact("requests", "times the necessary ones", most).exactly(Bar::at_most(1.25)),
                Figure::exact("requests at rest", "", at_rest).exactly(Bar::at_most(0.0)),
                Figure::exact("writes of a restart", "", restart).exactly(Bar::at_most(0.0)),
            ]
        })
        .await?;
    findings.details["namespaces"] = json!(namespaces);
    findings.details["rest_s"] = json!(rest.as_secs());
    findings.details["necessary_requests"] = json!(necessary);
    findings.details["requests_each"] = json!(digits(&race.each(each), 3));
    Ok(findings)
}

/// The requests of fedhub when there is nothing to do. Not a number until that is measured, after the first
/// lap.
#[derive(Clone, Copy)]
struct Nothing {
    /// Requests while nothing happened.
    at_rest: f64,
    /// Writes of a restart.
    restart: f64,
}

/// Lets fedhub have nothing to do for so long, and start again.
async fn idle(
    environment: &Environment,
    prefix: &str,
    spaces: Vec<Space>,
    rest: Duration,
    mut fedhub: Process,
    anatomy: &mut Value,
) -> Result<Nothing, Error> {
    // Without a cell's report fedhub would look after each WD again.
    let fixture = Fixture::find(environment, prefix, spaces).await?;
    status_changes(environment, prefix, &fixture, &mut fedhub).await?;
    let done = fedhub.scrape().await?;
    tokio::time::sleep(rest).await;
    let grown = fedhub.scrape().await?.since(&done);
    let at_rest = all(&grown) - identity(&grown);
    anatomy["at_rest"] = requests(&grown);
    fedhub.stop().await?;
    fedhub = environment.fedhub().await?;
    let restart = writes(&fedhub.scrape().await?);
    fedhub.stop().await?;
    Ok(Nothing { at_rest, restart })
}

/// Counts the requests that check from time to time that a plane's identity is unchanged.
pub(super) fn identity(grown: &Scrape) -> f64 {
    let labels = [("plane_kind", &["project"][..]), ("verb", &["get"]), ("resource", &["namespaces"])];
    grown.sum("fedhub_api_requests_total", &labels)
}

pub(super) fn requests(grown: &Scrape) -> Value {
    json!(grown.by("fedhub_api_requests_total", &["plane_kind", "verb", "resource", "code"]))
}

/// Counts the requests that report the progress of WDs to users: an Event and, as no status arrives, a
/// condition, for which the WD is read.
fn informing(grown: &Scrape) -> f64 {
    let count = |verb: &str, resource: &str| {
        let labels = [("plane_kind", &["project"][..]), ("verb", &[verb]), ("resource", &[resource])];
        grown.sum("fedhub_api_requests_total", &labels)
    };
    count("create", "events") + 2.0 * count("update", "workloaddeployments/status")
}

/// Removes the Workloads of these namespaces and all that was made of them, which goes first: what loses its
/// owner the garbage collector asks for one by one, far into the next lap. No fedhub may run.
async fn clear(environment: &Environment, spaces: &[Space]) -> Result<(), Error> {
    environment.clear(spaces).await?;
    for space in spaces {
        delete_all(&environment.project, Kind::ConfigMap, space.name.clone()).await?;
        let workloads = &api(&environment.project, Kind::Workload, &space.name);
        let list = workloads.list_metadata(&ListParams::default()).await;
        let list = list.map_err(Error::api(format!("list Workloads of {}", space.name)))?;
        let release = list.items.into_iter().map(|workload| async move {
            let name = workload.name_any();
            let none = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            let released = workloads.patch_metadata(&name, &PatchParams::default(), &none).await;
            released.map(drop).map_err(Error::api(format!("take the finalizer off {name}")))
        });
        stream::iter(release).buffer_unordered(HANDS).try_collect::<()>().await?;
        delete_all(&environment.project, Kind::Workload, space.name.clone()).await?;
    }
    environment.gone(&environment.project, Kind::Workload).await
}
