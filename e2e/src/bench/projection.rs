//! `projection`: hub Instances written as fast as the hub takes them, until the project has the last one.

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    Options,
    estate::Estate,
    loader,
    objects::{Kind, runs},
    report::{Claim, Report},
    stage::Stage,
    stats::{median, number, rounded},
    throughput::anatomy,
    watch::Sight,
    yardstick::{Bare, CONCURRENCY},
};
use crate::Error;

/// WDs that own the Instances of a lap.
const DEPLOYMENTS: usize = 500;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Instances of each WD.
const EACH: usize = 20;

/// Laps of fedhub and of the bare client in turn.
pub async fn run(stage: &Stage, options: &Options) -> Result<Report, Error> {
    let estate = Estate::build(stage, "p", options.scaled(NAMESPACES), options.scaled(DEPLOYMENTS)).await?;
    let count = estate.on_hub.len() * EACH;
    let (mut ours, mut bare, mut details) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..options.repetitions {
        let (rate, more) = Box::pin(fedhub_lap(stage, &estate, count)).await?;
        stage.progress.step(format!("lap {at}: fedhub projects {rate:.0} Instances a second"));
        ours.push(rate);
        details.push(more);
        let rate = Box::pin(bare_lap(stage, &estate, count)).await?;
        stage.progress.step(format!("lap {at}: the bare client projects {rate:.0} Instances a second"));
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

async fn fedhub_lap(stage: &Stage, estate: &Estate, count: usize) -> Result<(f64, Value), Error> {
    let mut fedhub = stage.fedhub().await?;
    let (before, cpu) = (fedhub.scrape().await?, fedhub.cpu()?);
    let took = lap(stage, estate, count).await?;
    let cpu = fedhub.cpu()?.saturating_sub(cpu);
    fedhub.settled().await?;
    let mut details = anatomy(&fedhub.scrape().await?.since(&before), number(count));
    details["cpu_ms_each"] = json!(rounded(cpu.as_secs_f64() * 1e3 / number(count), 3));
    details["resident_mb"] = json!(rounded(fedhub.resident()? / 1e6, 1));
    fedhub.stop().await?;
    estate.vacate(stage).await?;
    Ok((number(count) / took, details))
}

async fn bare_lap(stage: &Stage, estate: &Estate, count: usize) -> Result<f64, Error> {
    let owners = estate.on_project.iter().map(|(_, wd)| (wd.name.clone(), wd.clone())).collect();
    let bare = Bare::projector(stage, estate.homes(), owners).await?;
    let took = lap(stage, estate, count).await;
    bare.end().await?;
    estate.vacate(stage).await?;
    Ok(number(count) / took?)
}

/// From the first create to the last projection with its status that the project's watch shows, in seconds.
async fn lap(stage: &Stage, estate: &Estate, count: usize) -> Result<f64, Error> {
    let mut seen = Sight::of(&stage.project, Kind::Instance, "", |seen| runs(&seen.status)).await?;
    let began = Instant::now();
    let ((), ended) = tokio::try_join!(
        async {
            loader::instances(&stage.hub, &estate.on_hub, EACH).await?;
            stage.progress.step(format!("{count} were written in {:.1} s", began.elapsed().as_secs_f64()));
            Ok(())
        },
        seen.all(count)
    )?;
    Ok(ended.duration_since(began).as_secs_f64())
}
