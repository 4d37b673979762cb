//! `failover`: two replicas, and a leader that is asked to end, killed, or stopped for a minute.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::environment::{Environment, Space};
use super::figure::Figure;
use super::judge::Bar;
use super::objects::{Kind, api, api_all};
use super::process::Process;
use super::race::digits;
use super::report::Findings;
use super::stats::{percentile, rounded};
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;
use crate::topology::planes::projects;
use crate::topology::wait::{NotYet, until};

/// WDs in a second, all the time: the gap is how long the unluckiest waits.
const PACE: u32 = 20;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 10;
/// Seconds of the stream before something happens.
const BEFORE: Duration = Duration::from_secs(3);
/// How long a lease lasts, by default.
const LEASE: f64 = 15.0;
/// How long the leader is stopped.
const STOPPED: Duration = Duration::from_mins(1);
/// WDs that are edited while it is stopped, and as many that are deleted.
const CHANGED: usize = 50;

/// Ends a leader in three ways.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let mut asked = Vec::new();
    let mut killed = Vec::new();
    for at in 0..options.counts() {
        asked.push(Box::pin(gap(environment, &format!("f{at}term"), Signal::SIGTERM, 8)).await?);
        environment.progress.step(format!("SIGTERM: {:.3} s", asked[at]));
    }
    for at in 0..options.counts() {
        killed.push(Box::pin(gap(environment, &format!("f{at}kill"), Signal::SIGKILL, 30)).await?);
        environment.progress.step(format!("SIGKILL: {:.3} s", killed[at]));
    }
    let stopped = Box::pin(stop(environment, options)).await?;
    // These bars are promises about each failover, so the worst one is judged.
    let worst = |values: &[f64]| percentile(values, 100).unwrap_or(f64::NAN);
    let figures = vec![
        Figure::exact("SIGTERM", "s", worst(&asked)).exactly(Bar::at_most(1.0)),
        Figure::exact("SIGKILL", "s", worst(&killed)).exactly(Bar::at_most(LEASE + 1.0)),
        Figure::exact("SIGSTOP", "stale objects", stopped.stale).exactly(Bar::at_most(0.0)),
    ];
    let details = json!({
        "sigterm_s": digits(&asked, 3), "sigkill_s": digits(&killed, 3),
        "sigstop": {
            "gap_s": rounded(stopped.gap, 3), "stopped_s": self::stopped(options).as_secs(),
            "stale_objects": stopped.stale, "writes_since_just_before": stopped.writes,
        },
    });
    Ok(Findings { figures, details })
}

/// How long the leader is stopped: longer than its Lease lasts in any case.
fn stopped(options: &Options) -> Duration {
    options.or_quick(STOPPED, Duration::from_secs(20))
}

/// Seconds that the unluckiest WD waits when the leader gets a signal.
async fn gap(environment: &Environment, prefix: &str, signal: Signal, seconds: u32) -> Result<f64, Error> {
    // Namespaces of its own: of those that were cleared the policies are terminating for as long as Karmada
    // stands still.
    let spaces = &loader::spaces(&environment.project, prefix, NAMESPACES).await?;
    let mut pair = Pair::start(environment).await?;
    let leader = pair.leader().await?;
    let longest = flow(environment, spaces, prefix, seconds, async {
        tokio::time::sleep(BEFORE).await;
        pair.0[leader].signal(signal)?;
        pair.0[leader].ended().await
    })
    .await?;
    pair.0[1 - leader].settled().await?;
    pair.0.remove(1 - leader).stop().await?;
    environment.clear(spaces).await?;
    Ok(longest)
}

struct Stopped {
    gap: f64,
    stale: f64,
    writes: f64,
}

/// Stops the leader at work, lets the other one carry edits and deletions, and lets the first go on.
async fn stop(environment: &Environment, options: &Options) -> Result<Stopped, Error> {
    let spaces = &loader::spaces(&environment.project, "fstop", NAMESPACES).await?;
    let mut pair = Pair::start(environment).await?;
    let leader = pair.leader().await?;
    let mut before = super::metrics::Scrape::default();
    let began = Instant::now();
    let gap = flow(environment, spaces, "fstop", 30, async {
        tokio::time::sleep(BEFORE).await;
        before = pair.0[leader].scrape().await?;
        pair.0[leader].signal(Signal::SIGSTOP)
    })
    .await?;
    change(environment, spaces).await?;
    pair.0[1 - leader].settled().await?;
    // Not a condition but a part of what is measured: it sleeps for so long.
    tokio::time::sleep((stopped(options) + BEFORE).saturating_sub(began.elapsed())).await;
    environment.progress.step("the stopped leader resumes");
    pair.0[leader].signal(Signal::SIGCONT)?;
    let gave_up = pair.0[leader].port();
    until("the leader of before to notice that it is not", Duration::from_mins(1), || async {
        let leads = super::process::scrape(gave_up).await?.sum("fedhub_leader", &[]);
        if leads == 0.0 { Ok(()) } else { Err(NotYet::again("it leads")) }
    })
    .await?;
    // A watch of its own may have ended meanwhile; what it learns from the next one must not make it write
    // either.
    tokio::time::sleep(Duration::from_secs(5)).await;
    pair.0[1 - leader].settled().await?;
    let differ = differing(environment, spaces).await?;
    let writes = pair.0[leader].scrape().await?.since(&before);
    let writes = writes.sum(
        "fedhub_api_requests_total",
        &[
            ("verb", &["create", "update", "patch", "delete"]),
            ("resource", &["workloaddeployments", "workloaddeployments/status"]),
        ],
    );
    for process in pair.0 {
        process.stop().await?;
    }
    environment.clear(spaces).await?;
    Ok(Stopped { gap, stale: differ, writes })
}

/// A stream of WDs while something happens; the longest time that one was on the project plane and not on the
/// hub.
async fn flow(
    environment: &Environment,
    spaces: &[Space],
    prefix: &str,
    seconds: u32,
    happens: impl Future<Output = Result<(), Error>>,
) -> Result<f64, Error> {
    let mut came = Arrivals::watch(&environment.project, Kind::Deployment, prefix, |_| true).await?;
    let mut arrived = Arrivals::watch(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    let count = usize::try_from(PACE * seconds).unwrap_or(usize::MAX);
    let every = Duration::from_secs(1) / PACE;
    let (..) = tokio::try_join!(
        loader::deployments_at(&environment.project, spaces, prefix, count, every),
        came.all(count),
        arrived.all(count),
        happens,
    )?;
    let arrivals = arrived.times();
    let waits = came
        .times()
        .into_iter()
        .filter_map(|(name, came)| Some(arrivals.get(&name)?.saturating_duration_since(came).as_secs_f64()));
    Ok(waits.fold(0.0, f64::max))
}

/// Edits some WDs and deletes some others.
async fn change(environment: &Environment, spaces: &[Space]) -> Result<(), Error> {
    let spec = json!({ "spec": { "scaleSettings": { "minReplicas": 7 } } });
    let edits = (0..CHANGED).map(|at| {
        let space = &spaces[at % spaces.len()];
        let spec = &spec;
        async move {
            let api = api(&environment.project, Kind::Deployment, &space.name);
            let name = format!("fstop-{at}");
            let edited = api.patch(&name, &PatchParams::default(), &Patch::Merge(spec)).await;
            edited.map(drop).map_err(Error::api(format!("edit {name}")))
        }
    });
    stream::iter(edits).buffer_unordered(8).try_collect::<()>().await?;
    let deletes = (CHANGED..2 * CHANGED).map(|at| {
        let space = &spaces[at % spaces.len()];
        async move {
            let api = api(&environment.project, Kind::Deployment, &space.name);
            let name = format!("fstop-{at}");
            let deleted = api.delete(&name, &DeleteParams::default()).await;
            deleted.map(drop).map_err(Error::api(format!("delete {name}")))
        }
    });
    stream::iter(deletes).buffer_unordered(8).try_collect::<()>().await
}

/// How many WDs differ between the planes, in being there or in their spec.
async fn differing(environment: &Environment, spaces: &[Space]) -> Result<f64, Error> {
    let homes: BTreeMap<_, _> = spaces.iter().map(|space| (space.hub_name(), space.name.clone())).collect();
    let project = specs(&environment.project, |space| Some(space.to_owned())).await?;
    let hub = specs(&environment.hub, |space| homes.get(space).cloned()).await?;
    let names = project.keys().chain(hub.keys()).collect::<std::collections::BTreeSet<_>>();
    let differ = names.into_iter().filter(|name| project.get(*name) != hub.get(*name)).count();
    Ok(super::stats::number(differ))
}

/// The specs of a plane's WDs by the project namespace and the name.
async fn specs(
    client: &Client,
    space: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<(String, String), Value>, Error> {
    let list = api_all(client, Kind::Deployment).list(&ListParams::default()).await;
    let list = list.map_err(Error::api("list WorkloadDeployments".to_owned()))?;
    Ok(list
        .items
        .into_iter()
        .filter_map(|wd| {
            let at = space(&wd.namespace().unwrap_or_default())?;
            Some(((at, wd.name_any()), wd.data["spec"].clone()))
        })
        .collect())
}

/// Two replicas.
struct Pair(Vec<Process>);

impl Pair {
    async fn start(environment: &Environment) -> Result<Self, Error> {
        let mut processes = Vec::new();
        for place in 0..2 {
            let mut process = environment.spawn(place, &["--leader-elect=true".to_owned()])?;
            process.ready(projects().count()).await?;
            processes.push(process);
        }
        Ok(Self(processes))
    }

    /// Waits until one of them leads.
    async fn leader(&self) -> Result<usize, Error> {
        until("one of two replicas to lead", Duration::from_mins(1), || async {
            for (at, process) in self.0.iter().enumerate() {
                if process.scrape().await?.sum("fedhub_leader", &[]) > 0.0 {
                    return Ok(at);
                }
            }
            Err(NotYet::again("none leads"))
        })
        .await
    }
}
