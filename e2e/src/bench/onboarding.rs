//! `onboarding`: hundreds of projects become Ready together behind a server that begins the storage of each
//! with the first request for it, and that server is killed and starts slowly: how soon all planes are in
//! sync.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use http::{Method, header};
use serde_json::{Value, json};

use super::Options;
use super::fake_apiserver::{Fleet, PROJECTS, name, project_path};
use super::figure::Figure;
use super::judge::Bar;
use super::process::Process;
use super::recovery::serves;
use super::report::Findings;
use super::restart::page;
use super::stats::{number, rounded};
use crate::Error;
use crate::topology::wait::{NotYet, until};

/// Planes behind the server.
const PLANES: usize = 300;
/// How long the server is away when it is killed, in seconds.
const AWAY: u64 = 10;
/// How long it starts then, in milliseconds: it refuses everything for longer than a server that came back is
/// asked often.
const STARTING: u64 = 40_000;
/// How long the storage of a plane takes to begin, in milliseconds.
const FIRST: u64 = 4_000;
/// How long the storage of a resource says 429, in milliseconds.
const INITIALIZING: u64 = 1_000;
/// How long the bare client waits after a refusal: as long as these say.
const RETRY: Duration = Duration::from_secs(1);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(100);
/// Projects that are written at once.
const WRITES: usize = 32;
/// How long all planes may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// The results of a lap, in seconds.
struct Lap {
    own_list: f64,
    ready: f64,
    killed: f64,
}

/// Laps of both.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let fleet = Fleet::apart(options, options.scaled(PLANES)).await?;
    let fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
    let mut turns = options.laps();
    let mut laps = Vec::new();
    while turns.begin().is_some() {
        let lap = Box::pin(lap(&fleet, &fedhub)).await?;
        let Lap { own_list, ready, killed } = lap;
        fleet.progress.step(format!(
            "all in sync {ready:.1} s after they are Ready and {killed:.1} s after a kill (own list {own_list:.1} s)"
        ));
        laps.push(lap);
        turns.judge(|error| figures(&laps, error));
    }
    fedhub.stop().await?;
    let each: Vec<_> = laps
        .iter()
        .map(|lap| {
            json!({
                "own_list_s": rounded(lap.own_list, 2), "ready_s": rounded(lap.ready, 2),
                "killed_s": rounded(lap.killed, 2),
            })
        })
        .collect();
    let details = json!({
        "planes": fleet.planes, "starting_ms": STARTING, "first_ms": FIRST, "initializing_ms": INITIALIZING, "laps": each,
    });
    Ok(Findings { figures: turns.figures(), details })
}

fn figures(laps: &[Lap], error: f64) -> Vec<Figure> {
    let beyond = |of: fn(&Lap) -> f64| laps.iter().map(|lap| of(lap) - lap.own_list).collect::<Vec<_>>();
    let unit = "s beyond the server's own list time";
    vec![
        Figure::mean("all planes that become Ready together in sync", unit, &beyond(|lap| lap.ready))
            .within(Bar::at_most(15.0), error),
        Figure::mean("all planes of a server that was killed in sync", unit, &beyond(|lap| lap.killed))
            .within(Bar::at_most(15.0), error),
    ]
}

async fn lap(fleet: &Fleet, fedhub: &Process) -> Result<Lap, Error> {
    all_ready(fleet, false).await?;
    until("fedhub to leave the planes", PATIENCE, || async {
        let left = engaged(fedhub).await.map_err(NotYet::Never)?;
        if left > 0.0 { Err(NotYet::again(format!("{left} are engaged"))) } else { Ok(()) }
    })
    .await?;
    storage_anew(fleet, 0, 0).await?;
    let own_list = list(fleet).await?;
    storage_anew(fleet, 0, 0).await?;
    let began = Instant::now();
    all_ready(fleet, true).await?;
    let ready = in_sync(fleet, fedhub, began).await?;
    for plane in 0..fleet.planes {
        fleet.ask(Method::POST, &format!("/planes/{}/compact", name(plane)), Value::Null).await?;
    }
    let served = storage_anew(fleet, AWAY, STARTING).await?;
    let killed = in_sync(fleet, fedhub, served).await?;
    Ok(Lap { own_list, ready, killed })
}

/// Makes the server unavailable for `away` seconds, after which it takes `starting` milliseconds to start and
/// initializes all storage anew. Returns when it began to serve.
async fn storage_anew(fleet: &Fleet, away: u64, starting: u64) -> Result<Instant, Error> {
    let outage = json!({
        "millis": away * 1000, "starting_millis": starting, "first_millis": FIRST, "initializing_millis": INITIALIZING,
    });
    fleet.ask(Method::POST, "/outage", outage).await?;
    serves(fleet, away).await
}

/// Turns every Project Ready, or not.
async fn all_ready(fleet: &Fleet, ready: bool) -> Result<(), Error> {
    let management = fleet.management().await?;
    let status = json!({ "status": { "conditions": [{
        "type": "Ready", "status": if ready { "True" } else { "False" }, "reason": "Benchmark", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } });
    let turned = (0..fleet.planes).map(|plane| {
        let management = &management;
        let body = status.to_string().into_bytes();
        let path = format!("{PROJECTS}/{}/status", name(plane));
        async move {
            let request = Request::patch(&path)
                .header(header::CONTENT_TYPE, "application/merge-patch+json")
                .body(body)
                .map_err(|error| Error::Benchmark(format!("patch {path}: {error}")))?;
            management.request::<Value>(request).await.map(drop).map_err(Error::api(format!("patch {path}")))
        }
    });
    stream::iter(turned).buffer_unordered(WRITES).try_collect().await
}

async fn engaged(fedhub: &Process) -> Result<f64, Error> {
    Ok(fedhub.scrape().await?.sum("fedhub_planes", &[("state", &["engaged"])]))
}

/// Seconds from then until every plane is in sync.
async fn in_sync(fleet: &Fleet, fedhub: &Process, since: Instant) -> Result<f64, Error> {
    loop {
        let engaged = engaged(fedhub).await?;
        if engaged >= number(fleet.planes) {
            return Ok(since.elapsed().as_secs_f64());
        }
        if since.elapsed() > PATIENCE {
            return Err(Error::Benchmark(format!("{engaged} of {} planes after {PATIENCE:?}", fleet.planes)));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Seconds that a client takes to a list of everything that fedhub watches on the planes, which asks for all
/// of it at once and again where it is refused.
async fn list(fleet: &Fleet) -> Result<f64, Error> {
    let all = fleet.projects().await?;
    let began = Instant::now();
    let pages = (0..fleet.planes).flat_map(|plane| {
        let all = &all;
        ["workloaddeployments", "instances"].map(|plural| async move {
            while page(all, project_path(plane, None, plural)).await.is_err() {
                if began.elapsed() > PATIENCE {
                    return Err(Error::Benchmark(format!("no list of {plural} after {PATIENCE:?}")));
                }
                tokio::time::sleep(RETRY).await;
            }
            Ok(())
        })
    });
    stream::iter(pages).buffer_unordered(fleet.planes * 2).try_collect::<Vec<_>>().await?;
    Ok(began.elapsed().as_secs_f64())
}
