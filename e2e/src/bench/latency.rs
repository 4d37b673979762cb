//! `latency`: WDs at a steady pace, from the project's watch event to the hub's.

use std::time::Duration;

use serde_json::{Value, json};

use super::baseline::{Bare, CONCURRENCY};
use super::environment::Environment;
use super::figure::Figure;
use super::judge::Bar;
use super::objects::Kind;
use super::race::Race;
use super::report::Findings;
use super::stats::{percentile, rounded};
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// Seconds of a lap.
const SECONDS: usize = 60;
/// WDs in a second.
const PACE: u16 = 20;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 20;
/// WDs before the clock counts: they make the hub namespaces and policies, which the bare client finds made.
const FIRST: &str = "first";

/// What a lap saw, in milliseconds.
struct Lap {
    p50: f64,
    p99: f64,
    more: Value,
}

/// Laps of fedhub and of the bare client in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let count = options.scaled(SECONDS * usize::from(PACE));
    let (race, figures) = Race::run(
        options,
        async |at| Box::pin(lap(environment, count, &format!("l{at}f"), true)).await,
        async |at| Box::pin(lap(environment, count, &format!("l{at}b"), false)).await,
        |race: &Race<Lap, Lap>, error| {
            let judged = |what, percentile: fn(&Lap) -> f64, bar| {
                let ratios = race.ratios(percentile, percentile);
                Figure::ratio(what, "times the bare client's", &ratios).within(bar, error)
            };
            vec![
                judged("p50", |lap| lap.p50, Bar::at_most(2.0)),
                judged("p99", |lap| lap.p99, Bar::at_most(3.0)),
            ]
        },
    )
    .await?;
    let details = |laps: &[Lap]| laps.iter().map(|lap| lap.more.clone()).collect::<Vec<_>>();
    let details = json!({
        "deployments": count, "per_second": PACE, "concurrency": CONCURRENCY,
        "fedhub": details(&race.ours), "bare": details(&race.bare),
    });
    Ok(Findings { figures, details })
}

async fn lap(environment: &Environment, count: usize, prefix: &str, fedhub: bool) -> Result<Lap, Error> {
    let spaces = loader::spaces(&environment.project, prefix, NAMESPACES).await?;
    let (process, bare) = if fedhub {
        let mut process = environment.fedhub().await?;
        let first = format!("{FIRST}-{prefix}");
        let mut seen = Arrivals::of(&environment.hub, Kind::Deployment, &first, |_| true).await?;
        loader::deployments(&environment.project, &spaces, &first, spaces.len()).await?;
        seen.all(spaces.len()).await?;
        process.settled().await?;
        (Some(process), None)
    } else {
        (None, Some(Bare::federator(environment, &spaces).await?))
    };
    let before = match &process {
        Some(process) => process.scrape().await?,
        None => super::metrics::Scrape::default(),
    };
    let mut came = Arrivals::of(&environment.project, Kind::Deployment, prefix, |_| true).await?;
    let mut arrived = Arrivals::of(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    let every = Duration::from_secs(1) / u32::from(PACE);
    let (..) = tokio::try_join!(
        loader::deployments_at(&environment.project, &spaces, prefix, count, every),
        came.all(count),
        arrived.all(count),
    )?;
    let arrivals = arrived.times();
    let took: Vec<_> = came
        .times()
        .iter()
        .filter_map(|(name, came)| {
            Some(arrivals.get(name)?.saturating_duration_since(*came).as_secs_f64() * 1e3)
        })
        .collect();
    let mut lap = summary(&took);
    if let Some(process) = process {
        let hop = [("hop", &["project_to_hub"][..])];
        let mean = process.scrape().await?.since(&before).mean("fedhub_propagation_seconds", &hop);
        lap.more["own_mean_ms"] = json!(rounded(mean * 1e3, 2));
        process.stop().await?;
    }
    if let Some(bare) = bare {
        let own: Vec<_> = bare.times().iter().map(|took| took.as_secs_f64() * 1e3).collect();
        lap.more["own_p50_ms"] = json!(rounded(percentile(&own, 50).unwrap_or(f64::NAN), 2));
        lap.more["own_p99_ms"] = json!(rounded(percentile(&own, 99).unwrap_or(f64::NAN), 2));
        bare.end().await?;
    }
    environment.clear(&spaces).await?;
    let who = if fedhub { "fedhub" } else { "the bare client" };
    environment.progress.step(format!("{who}: p50 {:.1} ms, p99 {:.1} ms", lap.p50, lap.p99));
    Ok(lap)
}

fn summary(milliseconds: &[f64]) -> Lap {
    let at = |percent| percentile(milliseconds, percent).unwrap_or(f64::NAN);
    let (p50, p99) = (at(50), at(99));
    let more = json!({ "p50_ms": rounded(p50, 2), "p99_ms": rounded(p99, 2), "max_ms": rounded(at(100), 2) });
    Lap { p50, p99, more }
}
