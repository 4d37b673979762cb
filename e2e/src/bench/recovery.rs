//! `recovery`: the server behind hundreds of planes is killed and starts again, and how soon all of them are
//! in sync.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Options;
use super::fake_apiserver::{Counters, Fleet, name, project_path};
use super::figure::Figure;
use super::judge::Bar;
use super::objects::{Kind, deployment};
use super::process::Process;
use super::report::Findings;
use super::restart::page;
use super::stats::{number, percentile, rounded};
use super::watch::Arrivals;
use crate::Error;
use crate::topology::wait::{NotYet, until};

/// Planes behind the server.
const PLANES: usize = 300;
/// WDs that stand in order, and as many Instances.
const DEPLOYMENTS: usize = 3_000;
/// How long the server is away, in seconds.
const AWAY: [u64; 2] = [10, 60];
/// How long it starts: half of it before it has loaded RBAC, half before it has loaded any custom resource.
/// API servers take about as long for either.
const STARTING: Duration = Duration::from_secs(3);
/// WDs that are made while it is away, each on a plane of its own.
const MEANWHILE: usize = 20;
/// Lists that the bare client has under way at once: fedhub's default of `--max-concurrent-lists`.
const LISTS: usize = 16;
/// How often is looked.
const LOOK: Duration = Duration::from_millis(100);
/// How long a lap may take after the server serves.
const PATIENCE: Duration = Duration::from_mins(5);

/// The results of a lap, in seconds.
struct Lap {
    away: u64,
    own_list: f64,
    most: f64,
    all: f64,
    /// How long a WD that was created meanwhile took from its plane's list or watch to the hub.
    created: f64,
    lines: usize,
}

/// Laps of each time away, in turn.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let fleet = Fleet::apart(options, options.scaled(PLANES)).await?;
    let count = options.scaled(DEPLOYMENTS);
    fleet.populate(count, count, "in-order", "wd").await?;
    let mut fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
    let away = if options.quick { &AWAY[..1] } else { &AWAY[..] };
    let mut turns = options.laps();
    let mut laps = Vec::new();
    while let Some(turn) = turns.begin() {
        for away in away {
            let prefix = format!("x{turn}-{away}");
            let lap = Box::pin(lap(&fleet, &mut fedhub, &prefix, *away, laps.len())).await?;
            let Lap { own_list, most, all, created, lines, .. } = lap;
            fleet.progress.step(format!(
                "{away} s away: 95 % after {most:.1} s, all after {all:.1} s (own list {own_list:.1} s), new WDs {created:.2} s after their planes, {lines} log lines"
            ));
            laps.push(lap);
        }
        turns.judge(|error| figures(&laps, away.len(), error));
    }
    fedhub.stop().await?;
    let details: Vec<_> = laps.iter().map(|lap| json!({
        "away_s": lap.away, "own_list_s": rounded(lap.own_list, 2), "in_sync_95_s": rounded(lap.most, 2),
        "in_sync_all_s": rounded(lap.all, 2), "created_meanwhile_s": rounded(lap.created, 2), "log_lines": lap.lines,
    })).collect();
    let details = json!({
        "planes": fleet.planes, "objects": count * 4, "starting_s": STARTING.as_secs_f64(), "laps": details,
    });
    Ok(Findings { figures: turns.figures(), details })
}

/// Returns the figures; of each turn the worst of its times away counts.
fn figures(laps: &[Lap], turn: usize, error: f64) -> Vec<Figure> {
    let worst = |of: fn(&Lap) -> f64| {
        laps.chunks(turn)
            .map(|turn| percentile(&turn.iter().map(of).collect::<Vec<_>>(), 100).unwrap_or(f64::NAN))
            .collect::<Vec<_>>()
    };
    let beyond = "s beyond the server's own list time";
    let lines = percentile(&worst(|lap| number(lap.lines)), 100).unwrap_or(f64::NAN);
    vec![
        Figure::mean("95 % of the planes in sync", beyond, &worst(|lap| lap.most - lap.own_list))
            .within(Bar::at_most(5.0), error),
        Figure::mean("all planes in sync", beyond, &worst(|lap| lap.all - lap.own_list))
            .within(Bar::at_most(15.0), error),
        Figure::mean("a WD made meanwhile", "s after its plane", &worst(|lap| lap.created))
            .within(Bar::at_most(2.0), error),
        Figure::exact("an outage", "log lines", lines).exactly(Bar::at_most(50.0)),
    ]
}

/// Runs an outage, from the moment in which the server is killed until everything is idle again, and the
/// users of the WDs that were created meanwhile are informed.
async fn lap(
    fleet: &Fleet,
    fedhub: &mut Process,
    prefix: &str,
    away: u64,
    before: usize,
) -> Result<Lap, Error> {
    let own_list = list(fleet).await?;
    let logged = fedhub.log_lines()?;
    let mut arrived = Arrivals::watch(&fleet.hub().await?, Kind::Deployment, prefix, |_| true).await?;
    // Every resource of every plane has lost its history, as with a cache of watches that is new.
    for plane in 0..fleet.planes {
        fleet.ask(Method::POST, &format!("/planes/{}/compact", name(plane)), Value::Null).await?;
    }
    let outage = json!({ "millis": away * 1000, "starting_millis": STARTING.as_millis() });
    fleet.ask(Method::POST, "/outage", outage).await?;
    fleet.count_anew().await?;
    let meanwhile = MEANWHILE.min(fleet.planes);
    for plane in 0..meanwhile {
        let object = deployment("default", &format!("{prefix}-{plane}"));
        fleet.ask(Method::POST, &format!("/planes/{}/put", name(plane)), object).await?;
    }
    let serves = serves(fleet, away).await?;
    let mut reached: HashMap<usize, Instant> = HashMap::new();
    let mut most = None;
    let mut all = None;
    while all.is_none() || arrived.count() < meanwhile {
        if serves.elapsed() > PATIENCE {
            let words = format!("{:?} of the planes, {} of the WDs", most.map(|_| "95 %"), arrived.count());
            return Err(Error::Benchmark(format!("{words} after {PATIENCE:?}")));
        }
        let engaged = fedhub.scrape().await?.sum("fedhub_planes", &[("state", &["engaged"])]);
        let now = serves.elapsed().as_secs_f64();
        if engaged >= number(fleet.planes) * 0.95 {
            most = most.or(Some(now));
        }
        if engaged >= number(fleet.planes) {
            all = all.or(Some(now));
        }
        for plane in 0..meanwhile {
            if !reached.contains_key(&plane) && is_reached(fleet, plane).await? {
                reached.insert(plane, Instant::now());
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    arrived.all(meanwhile).await?;
    let times = arrived.times();
    let created = (0..meanwhile).filter_map(|plane| {
        let at = times.get(&format!("{prefix}-{plane}"))?;
        Some(at.saturating_duration_since(*reached.get(&plane)?).as_secs_f64())
    });
    let created = percentile(&created.collect::<Vec<_>>(), 100).unwrap_or(f64::NAN);
    fedhub.conditions_written(meanwhile * (before + 1)).await?;
    fedhub.settled().await?;
    let lines = fedhub.log_lines()?.saturating_sub(logged);
    let most = most.unwrap_or(f64::NAN);
    let all = all.unwrap_or(f64::NAN);
    Ok(Lap { away, own_list, most, all, created, lines })
}

/// Waits until the server is there again and has started.
pub(super) async fn serves(fleet: &Fleet, away: u64) -> Result<Instant, Error> {
    #[derive(Deserialize)]
    struct State {
        serves_for_millis: Option<u64>,
    }
    until("the server to serve again", Duration::from_secs(away) + PATIENCE, || async {
        let state = fleet.ask(Method::GET, "/outage", Value::Null).await?;
        let state: State =
            serde_json::from_value(state).map_err(|error| Error::Benchmark(format!("outage: {error}")))?;
        let now = Instant::now();
        let since = state.serves_for_millis.and_then(|millis| now.checked_sub(Duration::from_millis(millis)));
        since.ok_or_else(|| NotYet::again("it starts"))
    })
    .await
}

/// Whether the plane has answered a list or a watch of WDs since the server was killed.
async fn is_reached(fleet: &Fleet, plane: usize) -> Result<bool, Error> {
    let counters = fleet.ask(Method::GET, &format!("/counters?plane={}", name(plane)), Value::Null).await?;
    let counters: Counters =
        serde_json::from_value(counters).map_err(|error| Error::Benchmark(format!("counters: {error}")))?;
    let answered = counters.sum(|count| {
        count.code == 200
            && count.resource == "workloaddeployments"
            && matches!(count.verb.as_str(), "list" | "watch")
    });
    Ok(answered > 0)
}

/// Seconds that the server takes to a list of everything that fedhub watches on its planes.
async fn list(fleet: &Fleet) -> Result<f64, Error> {
    let all = fleet.management().await?;
    let began = Instant::now();
    let pages = (0..fleet.planes).flat_map(|plane| {
        ["workloaddeployments", "instances"].map(|plural| page(&all, project_path(plane, None, plural)))
    });
    stream::iter(pages).buffer_unordered(LISTS).try_collect::<Vec<_>>().await?;
    Ok(began.elapsed().as_secs_f64())
}
