//! `projection`: hub Instances written as fast as the hub takes them, until the project has the last one.

use std::time::Instant;

use serde_json::{Value, json};

use super::baseline::{Bare, CONCURRENCY};
use super::environment::Environment;
use super::fixture::Fixture;
use super::objects::{Kind, runs};
use super::report::{Claim, Report};
use super::stats::{median, number, rounded};
use super::throughput::anatomy;
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
pub async fn run(environment: &Environment, options: &Options) -> Result<Report, Error> {
    let fixture =
        Fixture::build(environment, "p", options.scaled(NAMESPACES), options.scaled(DEPLOYMENTS)).await?;
    let count = fixture.on_hub.len() * EACH;
    let (mut ours, mut bare, mut details) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..options.repetitions {
        let (rate, more) = Box::pin(fedhub_lap(environment, &fixture, count)).await?;
        environment.progress.step(format!("lap {at}: fedhub projects {rate:.0} Instances a second"));
        ours.push(rate);
        details.push(more);
        let rate = Box::pin(bare_lap(environment, &fixture, count)).await?;
        environment.progress.step(format!("lap {at}: the bare client projects {rate:.0} Instances a second"));
        bare.push(rate);
    }
    let ratios: Vec<_> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    let ratio = median(&ratios).unwrap_or(f64::NAN);
    let details = json!({
        "instances": count,
        "concurrency": CONCURRENCY,
        "instances_per_second": ours.iter().map(|rate| rounded(*rate, 1)).collect::<Vec<_>>(),
        "bare_instances_per_second": bare.iter().map(|rate| rounded(*rate, 1)).collect::<Vec<_>>(),
        "fedhub": details,
    });
    Ok(Report::on("projection", ratio, "of the bare client", &[Claim::at_least("", ratio, 0.8)], details))
}

async fn fedhub_lap(
    environment: &Environment,
    fixture: &Fixture,
    count: usize,
) -> Result<(f64, Value), Error> {
    let mut fedhub = environment.fedhub().await?;
    let (before, cpu) = (fedhub.scrape().await?, fedhub.cpu()?);
    let took = lap(environment, fixture, count).await?;
    let cpu = fedhub.cpu()?.saturating_sub(cpu);
    fedhub.settled().await?;
    let mut details = anatomy(&fedhub.scrape().await?.since(&before), number(count));
    details["cpu_ms_each"] = json!(rounded(cpu.as_secs_f64() * 1e3 / number(count), 3));
    details["resident_mb"] = json!(rounded(fedhub.resident()? / 1e6, 1));
    fedhub.stop().await?;
    fixture.vacate(environment).await?;
    Ok((number(count) / took, details))
}

async fn bare_lap(environment: &Environment, fixture: &Fixture, count: usize) -> Result<f64, Error> {
    let owners = fixture.on_project.iter().map(|(_, wd)| (wd.name.clone(), wd.clone())).collect();
    let bare = Bare::projector(environment, fixture.homes(), owners).await?;
    let took = lap(environment, fixture, count).await;
    bare.end().await?;
    fixture.vacate(environment).await?;
    Ok(number(count) / took?)
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
