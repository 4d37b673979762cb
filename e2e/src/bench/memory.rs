//! `memory`: what is resident with many objects in order once nothing more is given back, and at most (`VmHWM`) while they
//! are listed; on real planes also after they came one by one. On planes in memory also with a tenant whose objects are
//! as large as its server takes them.

use http::Method;
use serde_json::{Value, json};

use super::environment::Environment;
use super::fake_apiserver::{Fleet, name};
use super::fixture::Fixture;
use super::noisy_neighbor::{Drained, create_as, paced};
use super::objects::{Kind, deployment, runs};
use super::process::Process;
use super::report::{Claim, Part};
use super::stats::{median, percentile, rounded};
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// Planes in memory.
const FAKE_PLANES: usize = 1_000;
/// WDs on them.
const FAKE_DEPLOYMENTS: usize = 20_000;
/// Instances of each of those.
const FAKE_EACH: usize = 5;
/// WDs of the hostile tenant, and bytes of each; one more is too large to be federated.
const HOSTILE: (usize, usize, usize) = (2_000, 250_000, 1_400_000);
/// How many of them it changes in a second while the others are measured.
const CHANGES: usize = 10;
/// WDs that the others make meanwhile, a hundred in a second.
const MEASURED: usize = 2_000;
/// Changes of the hostile tenant meanwhile.
const CHANGED: usize = MEASURED * CHANGES / 100;
/// WDs on real planes.
const DEPLOYMENTS: usize = 5_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Instances of each WD.
const EACH: usize = 2;

/// Planes in memory: starts on existing objects.
pub async fn fake(options: &Options) -> Result<Part, Error> {
    let planes = options.scaled(FAKE_PLANES);
    let mut fleet = Fleet::up(options, planes + 1).await?;
    fleet.withdraw_last().await?;
    let deployments = options.scaled(FAKE_DEPLOYMENTS);
    fleet.populate(deployments, deployments * FAKE_EACH, "in-order", "wd").await?;
    let (mut at_once, mut steady, mut peaks, mut objects) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
    for _ in 0..options.repetitions {
        let fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
        at_once.push(megabytes(fedhub.resident()?));
        steady.push(megabytes(fedhub.steady().await?));
        peaks.push(megabytes(fedhub.peak()?));
        objects = fedhub.scrape().await?.sum("fedhub_cache_objects", &[]);
        fedhub.stop().await?;
        fleet.progress.step(format!("{:?} MB, at most {:?}", steady.last(), peaks.last()));
    }
    let value = median(&steady).unwrap_or(f64::NAN);
    let ratios: Vec<_> = peaks.iter().zip(&steady).map(|(peak, steady)| peak / steady).collect();
    let hostile = hostile(&fleet, options).await?;
    let claims = vec![
        Claim::at_most("MB", value, 150.0),
        Claim::at_most("peak: times that", median(&ratios).unwrap_or(f64::NAN), 1.3),
        Claim::at_most("hostile tenant: MB more at the peak", hostile.more, 67.1),
        Claim::at_most("hostile tenant: times the others' p99", hostile.ratio, 1.5),
    ];
    let details = json!({
        "planes": fleet.planes, "deployments": deployments, "instances": deployments * FAKE_EACH,
        "objects_in_stores": objects, "at_once_mb": at_once, "resident_mb": steady, "peak_mb": peaks,
        "hostile": hostile.details,
    });
    Ok(Part { value, claims, details })
}

/// What a hostile tenant costs.
struct Hostile {
    /// Megabytes at the peak, more than without it.
    more: f64,
    /// The others' p99, in those without it.
    ratio: f64,
    details: Value,
}

/// The others' WDs without it; then a start that finds its WDs and federates them, the others' WDs while it changes its own,
/// in turns with laps in which it does that on a plane that is not fedhub's (see `noisy-neighbor`), and a start on what
/// stands.
async fn hostile(fleet: &Fleet, options: &Options) -> Result<Hostile, Error> {
    let fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
    let mut alone = Vec::new();
    for lap in 0..options.repetitions {
        alone.push(rounded(others(fleet, options, &format!("o{lap}")).await?, 2));
    }
    let of = |laps: &[f64]| median(laps).unwrap_or(f64::NAN);
    let ordinary_p99 = of(&alone);
    let ordinary = megabytes(fedhub.peak()?);
    fedhub.stop().await?;
    let (management, count) = (fleet.management().await?, options.scaled(HOSTILE.0));
    let elsewhere = fleet.planes;
    for index in 0..=count {
        let name = if index == count { "huge".to_owned() } else { format!("hostile-{index}") };
        let bytes = if index == count { HOSTILE.2 } else { HOSTILE.1 };
        create_as(&management, 0, &name, &large(&name, bytes)).await?;
        if index < options.scaled(CHANGED) {
            create_as(&management, elsewhere, &name, &large(&name, bytes)).await?;
        }
    }
    fleet
        .progress
        .step(format!("ordinary: {ordinary} MB at most, p99 {ordinary_p99:.1} ms; {count} hostile WDs"));
    let mut federated = Arrivals::of(&fleet.hub().await?, Kind::Deployment, "hostile", |_| true).await?;
    let mut fedhub = fleet.spawn(&["--leader-elect=false"])?;
    fedhub.ready(fleet.planes).await?;
    federated.all(count).await?;
    fedhub.settled().await?;
    let watching = Drained::of(&management, elsewhere);
    let (mut there, mut here) = (Vec::new(), Vec::new());
    for lap in 0..options.repetitions {
        there.push(changing(fleet, options, elsewhere, &format!("e{lap}")).await?);
        here.push(changing(fleet, options, 0, &format!("h{lap}")).await?);
    }
    watching.end().await?;
    fedhub.settled().await?;
    let federating = megabytes(fedhub.peak()?);
    fedhub.stop().await?;
    let fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
    let in_order = megabytes(fedhub.peak()?);
    fedhub.stop().await?;
    let (elsewhere_p99, with) = (of(&there), of(&here));
    fleet.progress.step(format!(
        "hostile: {federating} MB at most, then {in_order}, p99 {elsewhere_p99:.1} and {with:.1} ms"
    ));
    let details = json!({
        "deployments": count, "bytes": HOSTILE.1, "changes_a_second": CHANGES, "ordinary_peak_mb": ordinary,
        "federating_peak_mb": federating, "in_order_peak_mb": in_order,
        "others_p99_ms": { "without": alone, "elsewhere": there, "hostile": here },
    });
    let more = rounded(federating.max(in_order) - ordinary, 1);
    Ok(Hostile { more, ratio: rounded(with / ordinary_p99, 3), details })
}

/// The others' p99 while the tenant of a plane changes its WDs.
async fn changing(fleet: &Fleet, options: &Options, plane: usize, prefix: &str) -> Result<f64, Error> {
    let changes = json!({ "updates": options.scaled(CHANGED), "what": "spec", "per_second": CHANGES });
    let path = format!("/planes/{}/touch", name(plane));
    let (p99, _) = tokio::try_join!(others(fleet, options, prefix), fleet.ask(Method::POST, &path, changes))?;
    Ok(rounded(p99, 2))
}

/// From a WD's create on a plane of the others to the hub's event, in milliseconds: the p99.
async fn others(fleet: &Fleet, options: &Options, prefix: &str) -> Result<f64, Error> {
    let count = options.scaled(MEASURED);
    let client = fleet.management().await?;
    let mut arrived =
        Arrivals::of(&fleet.hub().await?, Kind::Deployment, &format!("{prefix}-"), |_| true).await?;
    let (made, _) = tokio::try_join!(paced(&client, prefix, count, 1..fleet.planes), arrived.all(count))?;
    let arrivals = arrived.times();
    let took = made.into_iter().filter_map(|(name, made)| {
        Some(arrivals.get(&name)?.saturating_duration_since(made).as_secs_f64() * 1e3)
    });
    Ok(percentile(&took.collect::<Vec<_>>(), 99).unwrap_or(f64::NAN))
}

/// A WD with so many bytes in its template, in values of ten thousand each.
fn large(name: &str, bytes: usize) -> Value {
    const EACH: usize = 10_000;
    let mut wd = deployment("default", name);
    let values =
        (0..bytes.div_ceil(EACH)).map(|n| json!({ "name": format!("V{n}"), "value": "x".repeat(EACH) }));
    let containers = "/spec/template/spec/runtime/sandbox/containers/0";
    if let Some(container) = wd.pointer_mut(containers) {
        container["env"] = values.collect();
    }
    wd
}

/// Real planes: fills them once, then starts on existing objects.
pub async fn real(environment: &Environment, options: &Options) -> Result<Part, Error> {
    let count = options.scaled(DEPLOYMENTS);
    let spaces = loader::spaces(&environment.project, "m", options.scaled(NAMESPACES)).await?;
    let mut fedhub = environment.fedhub().await?;
    let empty = megabytes(fedhub.steady().await?);
    let mut seen = Arrivals::of(&environment.hub, Kind::Deployment, "m", |_| true).await?;
    tokio::try_join!(loader::deployments(&environment.project, &spaces, "m", count), seen.all(count))?;
    fedhub.settled().await?;
    let with_deployments = megabytes(fedhub.steady().await?);
    environment.progress.step(format!("{count} WDs: {with_deployments} MB"));
    let fixture = Fixture::find(environment, "m", spaces).await?;
    let mut seen = Arrivals::of(&environment.project, Kind::Instance, "", |seen| runs(&seen.status)).await?;
    tokio::try_join!(loader::instances(&environment.hub, &fixture.on_hub, EACH), seen.all(count * EACH))?;
    fedhub.settled().await?;
    let (after_load, load_peak) = (megabytes(fedhub.steady().await?), megabytes(fedhub.peak()?));
    let objects = fedhub.scrape().await?.sum("fedhub_cache_objects", &[]);
    environment
        .progress
        .step(format!("and {} Instances: {after_load} MB, {load_peak} at most", count * EACH));
    fedhub.stop().await?;

    let (mut at_once, mut after_restart, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.repetitions {
        let fedhub: Process = environment.fedhub().await?;
        at_once.push(megabytes(fedhub.resident()?));
        after_restart.push(megabytes(fedhub.steady().await?));
        peaks.push(megabytes(fedhub.peak()?));
        fedhub.stop().await?;
    }
    let restarted = median(&after_restart).unwrap_or(f64::NAN);
    environment.progress.step(format!("after a restart: {restarted} MB, at most {peaks:?}"));
    let value = after_load.max(restarted);
    let details = json!({
        "deployments": count, "instances": count * EACH, "objects_in_stores": objects,
        "empty_mb": empty, "with_deployments_mb": with_deployments,
        "after_load_mb": after_load, "load_peak_mb": load_peak,
        "after_restart_at_once_mb": at_once, "after_restart_mb": after_restart, "restart_peak_mb": peaks,
    });
    let ratios: Vec<_> = peaks.iter().zip(&after_restart).map(|(peak, after)| peak / after).collect();
    let claims = vec![
        Claim::at_most("real planes: MB", value, 40.0),
        Claim::at_most("peak of a start: times what stays", median(&ratios).unwrap_or(f64::NAN), 1.5),
    ];
    Ok(Part { value, claims, details })
}

fn megabytes(bytes: f64) -> f64 {
    rounded(bytes / 1e6, 1)
}
