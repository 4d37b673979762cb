//! `projection`: hub Instances written as fast as the hub takes them, until the project has the last one.

use std::time::Instant;

use serde_json::json;

use super::baseline::{Bare, CONCURRENCY};
use super::environment::Environment;
use super::figure::Figure;
use super::fixture::Fixture;
use super::judge::Bar;
use super::objects::{Kind, runs};
use super::race::{Accounted, Race, accounted, rates};
use super::report::Findings;
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// WDs that own the Instances of a lap.
const DEPLOYMENTS: usize = 500;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Instances of each WD.
const EACH: usize = 20;

/// Laps of fedhub and of the bare client in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let fixture =
        Fixture::build(environment, "p", options.scaled(NAMESPACES), options.scaled(DEPLOYMENTS)).await?;
    let count = fixture.on_hub.len() * EACH;
    let (race, figures) = Race::run(
        options,
        async |_| Box::pin(fedhub_lap(environment, &fixture, count)).await,
        async |_| Box::pin(bare_lap(environment, &fixture, count)).await,
        |race: &Race<Accounted, f64>, error| {
            let paces = race.ratios(|ours| 1.0 / ours.seconds, |bare| 1.0 / bare);
            vec![Figure::ratio("pace", "of the bare client", &paces).within(Bar::at_least(0.8), error)]
        },
    )
    .await?;
    let details = json!({
        "instances": count,
        "concurrency": CONCURRENCY,
        "instances_per_second": rates(count, &race.each(|ours| ours.seconds)),
        "bare_instances_per_second": rates(count, &race.bare),
        "fedhub": race.ours.iter().map(|ours| &ours.anatomy).collect::<Vec<_>>(),
    });
    Ok(Findings { figures, details })
}

async fn fedhub_lap(environment: &Environment, fixture: &Fixture, count: usize) -> Result<Accounted, Error> {
    let mut fedhub = environment.fedhub().await?;
    let lap = accounted(&mut fedhub, count, 0, lap(environment, fixture, count)).await?;
    fedhub.stop().await?;
    fixture.vacate(environment).await?;
    Ok(lap)
}

async fn bare_lap(environment: &Environment, fixture: &Fixture, count: usize) -> Result<f64, Error> {
    let owners = fixture.on_project.iter().map(|(_, wd)| (wd.name.clone(), wd.clone())).collect();
    let bare = Bare::projector(environment, fixture.homes(), owners).await?;
    let took = lap(environment, fixture, count).await;
    bare.end().await?;
    fixture.vacate(environment).await?;
    took
}

/// From the first create to the last projection with its status that the project's watch shows, in seconds.
async fn lap(environment: &Environment, fixture: &Fixture, count: usize) -> Result<f64, Error> {
    let mut seen = Arrivals::of(&environment.project, Kind::Instance, "", |seen| runs(&seen.status)).await?;
    let began = Instant::now();
    let ((), ended) = tokio::try_join!(
        async {
            loader::instances(&environment.hub, &fixture.on_hub, EACH).await?;
            environment
                .progress
                .step(format!("{count} were written in {:.1} s", began.elapsed().as_secs_f64()));
            Ok(())
        },
        seen.all(count)
    )?;
    Ok(ended.duration_since(began).as_secs_f64())
}
