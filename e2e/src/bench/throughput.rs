//! `throughput`: WDs created as fast as the project plane takes them, until the hub has the last one.

use std::time::Instant;

use serde_json::json;

use super::baseline::{Bare, CONCURRENCY};
use super::environment::{Environment, Space};
use super::figure::Figure;
use super::judge::Bar;
use super::objects::Kind;
use super::race::{Accounted, Race, accounted, rates};
use super::report::Findings;
use super::stats::number;
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// WDs of a lap.
const DEPLOYMENTS: usize = 5_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// What each lap has to reach of the bare client's pace. All laps together have to reach more.
const EACH: f64 = 0.8;

/// Laps of fedhub and of the bare client in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let (count, namespaces) = (options.scaled(DEPLOYMENTS), options.scaled(NAMESPACES));
    let (race, figures) = Race::run(
        options,
        async |lap| Box::pin(fedhub_lap(environment, count, namespaces, &format!("t{lap}f"))).await,
        async |lap| Box::pin(bare_lap(environment, count, namespaces, &format!("t{lap}b"))).await,
        |race: &Race<Accounted, f64>, error| {
            let paces = race.ratios(|ours| 1.0 / ours.seconds, |bare| 1.0 / bare);
            let slow = paces.iter().filter(|pace| !Bar::at_least(EACH).is_met(**pace)).count();
            vec![
                Figure::ratio("pace", "of the bare client", &paces).within(Bar::at_least(0.9), error),
                Figure::exact("each lap", "laps below 0.8", number(slow)).exactly(Bar::at_most(0.0)),
            ]
        },
    )
    .await?;
    let details = json!({
        "deployments": count,
        "concurrency": CONCURRENCY,
        "deployments_per_second": rates(count, &race.each(|ours| ours.seconds)),
        "bare_deployments_per_second": rates(count, &race.bare),
        "fedhub": race.ours.iter().map(|ours| &ours.anatomy).collect::<Vec<_>>(),
    });
    Ok(Findings { figures, details })
}

async fn fedhub_lap(
    environment: &Environment,
    count: usize,
    namespaces: usize,
    prefix: &str,
) -> Result<Accounted, Error> {
    let spaces = loader::spaces(&environment.project, prefix, namespaces).await?;
    let mut fedhub = environment.fedhub().await?;
    let lap = accounted(&mut fedhub, count, 0, lap(environment, &spaces, prefix, count)).await?;
    fedhub.stop().await?;
    environment.clear(&spaces).await?;
    Ok(lap)
}

async fn bare_lap(
    environment: &Environment,
    count: usize,
    namespaces: usize,
    prefix: &str,
) -> Result<f64, Error> {
    let spaces = loader::spaces(&environment.project, prefix, namespaces).await?;
    let bare = Bare::federator(environment, &spaces).await?;
    let took = lap(environment, &spaces, prefix, count).await;
    bare.end().await?;
    environment.clear(&spaces).await?;
    took
}

/// From the first create to the last WD that the hub's watch shows, in seconds.
async fn lap(environment: &Environment, spaces: &[Space], prefix: &str, count: usize) -> Result<f64, Error> {
    let mut seen = Arrivals::of(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    let began = Instant::now();
    let (began, ended) = tokio::try_join!(
        async {
            loader::deployments(&environment.project, spaces, prefix, count).await?;
            environment
                .progress
                .step(format!("{count} were created in {:.1} s", began.elapsed().as_secs_f64()));
            Ok(began)
        },
        seen.all(count)
    )?;
    Ok(ended.duration_since(began).as_secs_f64())
}
