//! `memory`: what is resident with many objects in order once nothing more is given back, and at most while they are
//! listed; on real planes also after they came one by one.

use serde_json::json;

use super::{
    Options,
    estate::Estate,
    loader,
    objects::{Kind, runs},
    process::Process,
    report::{Claim, Part},
    sim::Sim,
    stage::Stage,
    stats::{median, rounded},
    watch::Sight,
};
use crate::Error;

/// Planes in memory.
const SIM_PLANES: usize = 1_000;
/// WDs on them.
const SIM_DEPLOYMENTS: usize = 20_000;
/// Instances of each of those.
const SIM_EACH: usize = 5;
/// WDs on real planes.
const DEPLOYMENTS: usize = 5_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Instances of each WD.
const EACH: usize = 2;

/// Planes in memory: starts anew on what stands.
pub async fn sim(options: &Options) -> Result<Part, Error> {
    let sim = Sim::up(options, options.scaled(SIM_PLANES)).await?;
    let deployments = options.scaled(SIM_DEPLOYMENTS);
    sim.populate(deployments, deployments * SIM_EACH, "in-order", "wd").await?;
    let (mut at_once, mut steady, mut peaks, mut objects) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
    for _ in 0..options.repetitions {
        let fedhub = sim.fedhub(&["--leader-elect=false"]).await?;
        at_once.push(megabytes(fedhub.resident()?));
        steady.push(megabytes(fedhub.steady().await?));
        peaks.push(megabytes(fedhub.peak()?));
        objects = fedhub.scrape().await?.sum("fedhub_cache_objects", &[]);
        fedhub.stop().await?;
        sim.progress.step(format!("{:?} MB, at most {:?}", steady.last(), peaks.last()));
    }
    let value = median(&steady).unwrap_or(f64::NAN);
    let ratios: Vec<_> = peaks.iter().zip(&steady).map(|(peak, steady)| peak / steady).collect();
    let claims = vec![
        Claim::at_most("MB", value, 150.0),
        Claim::at_most("peak: times that", median(&ratios).unwrap_or(f64::NAN), 1.3),
    ];
    let details = json!({
        "planes": sim.planes, "deployments": deployments, "instances": deployments * SIM_EACH,
        "objects_in_stores": objects, "at_once_mb": at_once, "resident_mb": steady, "peak_mb": peaks,
    });
    Ok(Part { value, claims, details })
}

/// Real planes: fills them once, then starts anew on them.
pub async fn real(stage: &Stage, options: &Options) -> Result<Part, Error> {
    let count = options.scaled(DEPLOYMENTS);
    let spaces = loader::spaces(&stage.project, "m", options.scaled(NAMESPACES)).await?;
    let mut fedhub = stage.fedhub().await?;
    let empty = megabytes(fedhub.steady().await?);
    let mut seen = Sight::of(&stage.hub, Kind::Deployment, "m", |_| true).await?;
    tokio::try_join!(loader::deployments(&stage.project, &spaces, "m", count), seen.all(count))?;
    fedhub.settled().await?;
    let with_deployments = megabytes(fedhub.steady().await?);
    stage.progress.step(format!("{count} WDs: {with_deployments} MB"));
    let estate = Estate::find(stage, "m", spaces).await?;
    let mut seen = Sight::of(&stage.project, Kind::Instance, "", |seen| runs(&seen.status)).await?;
    tokio::try_join!(loader::instances(&stage.hub, &estate.on_hub, EACH), seen.all(count * EACH))?;
    fedhub.settled().await?;
    let (after_load, load_peak) = (megabytes(fedhub.steady().await?), megabytes(fedhub.peak()?));
    let objects = fedhub.scrape().await?.sum("fedhub_cache_objects", &[]);
    stage.progress.step(format!("and {} Instances: {after_load} MB, {load_peak} at most", count * EACH));
    fedhub.stop().await?;

    let (mut at_once, mut after_restart, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.repetitions {
        let fedhub: Process = stage.fedhub().await?;
        at_once.push(megabytes(fedhub.resident()?));
        after_restart.push(megabytes(fedhub.steady().await?));
        peaks.push(megabytes(fedhub.peak()?));
        fedhub.stop().await?;
    }
    let restarted = median(&after_restart).unwrap_or(f64::NAN);
    stage.progress.step(format!("after a restart: {restarted} MB"));
    let value = after_load.max(restarted);
    let details = json!({
        "deployments": count, "instances": count * EACH, "objects_in_stores": objects,
        "empty_mb": empty, "with_deployments_mb": with_deployments,
        "after_load_mb": after_load, "load_peak_mb": load_peak,
        "after_restart_at_once_mb": at_once, "after_restart_mb": after_restart, "restart_peak_mb": peaks,
    });
    Ok(Part { value, claims: vec![Claim::at_most("real planes: MB", value, 40.0)], details })
}

fn megabytes(bytes: f64) -> f64 {
    rounded(bytes / 1e6, 1)
}
