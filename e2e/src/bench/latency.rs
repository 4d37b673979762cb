//! `latency`: WDs at a steady pace, from the project's watch event to the hub's.

use std::time::Duration;

use serde_json::{Value, json};

use super::baseline::{Bare, CONCURRENCY};
use super::environment::{Environment, Space};
use super::figure::Figure;
use super::fixture::federated;
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

/// The results of a lap, in milliseconds.
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
        async |at| Box::pin(ours(environment, count, &format!("l{at}f"))).await,
        async |at| Box::pin(bare(environment, count, &format!("l{at}b"))).await,
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

/// Runs a lap of fedhub.
async fn ours(environment: &Environment, count: usize, prefix: &str) -> Result<Lap, Error> {
    let spaces = loader::spaces(&environment.project, prefix, NAMESPACES).await?;
    let mut fedhub = environment.fedhub().await?;
    federated(environment, &spaces, &format!("{FIRST}-{prefix}"), spaces.len()).await?;
    fedhub.settled().await?;
    let before = fedhub.scrape().await?;
    let mut lap = stream(environment, &spaces, prefix, count).await?;
    let hop = [("hop", &["project_to_hub"][..])];
    let mean = fedhub.scrape().await?.since(&before).mean("fedhub_propagation_seconds", &hop);
    lap.more["own_mean_ms"] = json!(rounded(mean * 1e3, 2));
    fedhub.stop().await?;
    environment.clear(&spaces).await?;
    lap.tell(environment, "fedhub");
    Ok(lap)
}

/// Runs a lap of the bare client.
async fn bare(environment: &Environment, count: usize, prefix: &str) -> Result<Lap, Error> {
    let spaces = loader::spaces(&environment.project, prefix, NAMESPACES).await?;
    let bare = Bare::federator(environment, &spaces).await?;
    let mut lap = stream(environment, &spaces, prefix, count).await?;
    let own: Vec<_> = bare.times().iter().map(|took| took.as_secs_f64() * 1e3).collect();
    for (key, percent) in [("own_p50_ms", 50), ("own_p99_ms", 99)] {
        lap.more[key] = json!(rounded(percentile(&own, percent).unwrap_or(f64::NAN), 2));
    }
    bare.end().await?;
    environment.clear(&spaces).await?;
    lap.tell(environment, "the bare client");
    Ok(lap)
}

/// WDs at the pace, from the event of each in the project to that on the hub.
async fn stream(
    environment: &Environment,
    spaces: &[Space],
    prefix: &str,
    count: usize,
) -> Result<Lap, Error> {
    let mut came = Arrivals::watch(&environment.project, Kind::Deployment, prefix, |_| true).await?;
    let mut arrived = Arrivals::watch(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    let every = Duration::from_secs(1) / u32::from(PACE);
    let (..) = tokio::try_join!(
        loader::deployments_at(&environment.project, spaces, prefix, count, every),
        came.all(count),
        arrived.all(count),
    )?;
    Ok(summary(&arrived.since(&came.times())))
}

impl Lap {
    fn tell(&self, environment: &Environment, who: &str) {
        environment.progress.step(format!("{who}: p50 {:.1} ms, p99 {:.1} ms", self.p50, self.p99));
    }
}

fn summary(milliseconds: &[f64]) -> Lap {
    let at = |percent| percentile(milliseconds, percent).unwrap_or(f64::NAN);
    let p50 = at(50);
    let p99 = at(99);
    let more = json!({ "p50_ms": rounded(p50, 2), "p99_ms": rounded(p99, 2), "max_ms": rounded(at(100), 2) });
    Lap { p50, p99, more }
}
