//! `memory`: what is resident with many objects in order once nothing more is given back, and at most
//! (`VmHWM`) while they are listed; on real planes also after they came one by one. On planes in memory also
//! with a tenant whose objects are as large as its server takes them.

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::environment::Environment;
use super::fake_apiserver::{Fleet, name};
use super::figure::Figure;
use super::fixture::{Fixture, federated};
use super::judge::{Bar, Scale};
use super::laps::ERROR;
use super::noisy_neighbor::{Drained, create_as, paced};
use super::objects::{Kind, deployment};
use super::process::Process;
use super::race::digits;
use super::report::Findings;
use super::stats::{percentile, rounded};
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
pub async fn fake(options: &Options) -> Result<Findings, Error> {
    let planes = options.scaled(FAKE_PLANES);
    let mut fleet = Fleet::up(options, planes + 1).await?;
    fleet.withdraw_last().await?;
    let deployments = options.scaled(FAKE_DEPLOYMENTS);
    fleet.populate(deployments, deployments * FAKE_EACH, "in-order", "wd").await?;
    let mut starts = Starts::default();
    let mut laps = options.laps();
    while laps.begin().is_some() {
        starts.add(fleet.fedhub(&["--leader-elect=false"]).await?).await?;
        fleet.progress.step(format!("{:?} MB, at most {:?}", starts.steady.last(), starts.peaks.last()));
        laps.judge(|error| {
            vec![
                Figure::mean("in memory", "MB", &starts.steady).within(Bar::at_most(150.0), error),
                starts.peak("in memory, the peak of a start").within(Bar::at_most(1.3), error),
            ]
        });
    }
    let hostile = hostile(&fleet, options).await?;
    let figures = laps.figures().into_iter().chain(hostile.figures).collect();
    let details = json!({
        "planes": fleet.planes, "deployments": deployments, "instances": deployments * FAKE_EACH,
        "starts": starts.json(), "hostile": hostile.details,
    });
    Ok(Findings { figures, details })
}

/// Starts on existing objects; memory in megabytes.
#[derive(Default)]
struct Starts {
    at_once: Vec<f64>,
    steady: Vec<f64>,
    peaks: Vec<f64>,
    objects: f64,
}

impl Starts {
    async fn add(&mut self, fedhub: Process) -> Result<(), Error> {
        self.at_once.push(megabytes(fedhub.resident()?));
        self.steady.push(megabytes(fedhub.steady().await?));
        self.peaks.push(megabytes(fedhub.peak()?));
        self.objects = fedhub.scrape().await?.sum("fedhub_cache_objects", &[]);
        fedhub.stop().await
    }

    fn peak(&self, what: &str) -> Figure {
        let ratios = self.peaks.iter().zip(&self.steady).map(|(peak, steady)| peak / steady);
        Figure::ratio(what, "times what stays", &ratios.collect::<Vec<_>>())
    }

    fn json(&self) -> Value {
        json!({
            "objects_in_stores": self.objects, "at_once_mb": self.at_once, "resident_mb": self.steady,
            "peak_mb": self.peaks,
        })
    }
}

/// The others' WDs without it; then a start that finds its WDs and federates them, the others' WDs while it
/// changes its own, in turns with laps in which it does that on a plane that is not fedhub's (see
/// `noisy-neighbor`), and a start on what stands.
async fn hostile(fleet: &Fleet, options: &Options) -> Result<Findings, Error> {
    let fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
    let mut alone = Vec::new();
    // The hostile WDs cannot be taken away between two laps, so these are so many, and those without come
    // first.
    for lap in 0..options.repeats() {
        alone.push(others(fleet, options, &format!("o{lap}")).await?);
    }
    let ordinary_p99 = Scale::Logarithmic.mean(&alone);
    let ordinary = megabytes(fedhub.peak()?);
    fedhub.stop().await?;
    let management = fleet.management().await?;
    let count = options.scaled(HOSTILE.0);
    let elsewhere = fleet.planes;
    create_hostile(&management, count, options.scaled(CHANGED), elsewhere).await?;
    fleet
        .progress
        .step(format!("ordinary: {ordinary} MB at most, p99 {ordinary_p99:.1} ms; {count} hostile WDs"));
    let mut federated = Arrivals::watch(&fleet.hub().await?, Kind::Deployment, "hostile", |_| true).await?;
    let mut fedhub = fleet.spawn(&["--leader-elect=false"])?;
    fedhub.ready(fleet.planes).await?;
    federated.all(count).await?;
    fedhub.settled().await?;
    let watching = Drained::new(&management, elsewhere);
    let mut there = Vec::new();
    let mut here = Vec::new();
    for lap in 0..options.repeats() {
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
    let [elsewhere_p99, with] = [&there, &here].map(|laps| Scale::Logarithmic.mean(laps));
    fleet.progress.step(format!(
        "hostile: {federating} MB at most, then {in_order}, p99 {elsewhere_p99:.1} and {with:.1} ms"
    ));
    let details = json!({
        "deployments": count, "bytes": HOSTILE.1, "changes_a_second": CHANGES, "ordinary_peak_mb": ordinary,
        "federating_peak_mb": federating, "in_order_peak_mb": in_order,
        "others_p99_ms": { "without": digits(&alone, 2), "elsewhere": digits(&there, 2), "hostile": digits(&here, 2) },
    });
    let more = federating.max(in_order) - ordinary;
    let ratios: Vec<_> = here.iter().zip(&alone).map(|(with, without)| with / without).collect();
    let figures = vec![
        Figure::exact("hostile tenant, at the peak", "MB more", more).exactly(Bar::at_most(67.1)),
        Figure::ratio("hostile tenant, the others' p99", "times theirs without", &ratios)
            .within(Bar::at_most(1.5), ERROR),
        Figure::ratio("hostile tenant on a plane that is not fedhub's, the others' p99", "ms", &there),
    ];
    Ok(Findings { figures, details })
}

/// Creates so many hostile WDs on the first plane, and one that is huge; `changed` of them elsewhere as well.
async fn create_hostile(
    management: &Client,
    count: usize,
    changed: usize,
    elsewhere: usize,
) -> Result<(), Error> {
    for index in 0..=count {
        let name = if index == count { "huge".to_owned() } else { format!("hostile-{index}") };
        let bytes = if index == count { HOSTILE.2 } else { HOSTILE.1 };
        create_as(management, 0, &name, &large(&name, bytes)).await?;
        if index < changed {
            create_as(management, elsewhere, &name, &large(&name, bytes)).await?;
        }
    }
    Ok(())
}

/// The others' p99 while the tenant of a plane changes its WDs.
async fn changing(fleet: &Fleet, options: &Options, plane: usize, prefix: &str) -> Result<f64, Error> {
    let changes = json!({ "updates": options.scaled(CHANGED), "what": "spec", "per_second": CHANGES });
    let path = format!("/planes/{}/touch", name(plane));
    let (p99, _) = tokio::try_join!(others(fleet, options, prefix), fleet.ask(Method::POST, &path, changes))?;
    Ok(p99)
}

/// Returns the p99 of the time from a WD's create on one of the other planes to the hub's event, in
/// milliseconds.
async fn others(fleet: &Fleet, options: &Options, prefix: &str) -> Result<f64, Error> {
    let count = options.scaled(MEASURED);
    let client = fleet.management().await?;
    let mut arrived =
        Arrivals::watch(&fleet.hub().await?, Kind::Deployment, &format!("{prefix}-"), |_| true).await?;
    let (made, _) = tokio::try_join!(paced(&client, prefix, count, 1..fleet.planes), arrived.all(count))?;
    Ok(percentile(&arrived.since(&made), 99).unwrap_or(f64::NAN))
}

/// Returns a WD with `bytes` bytes in its template, in values of ten thousand each.
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
pub async fn real(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let count = options.scaled(DEPLOYMENTS);
    let spaces = loader::spaces(&environment.project, "m", options.scaled(NAMESPACES)).await?;
    let mut fedhub = environment.fedhub().await?;
    let empty = megabytes(fedhub.steady().await?);
    federated(environment, &spaces, "m", count).await?;
    fedhub.settled().await?;
    let with_deployments = megabytes(fedhub.steady().await?);
    environment.progress.step(format!("{count} WDs: {with_deployments} MB"));
    let fixture = Fixture::find(environment, "m", spaces).await?;
    fixture.projected(environment, EACH).await?;
    fedhub.settled().await?;
    let after_load = megabytes(fedhub.steady().await?);
    let load_peak = megabytes(fedhub.peak()?);
    let objects = fedhub.scrape().await?.sum("fedhub_cache_objects", &[]);
    environment
        .progress
        .step(format!("and {} Instances: {after_load} MB, {load_peak} at most", count * EACH));
    fedhub.stop().await?;

    let mut starts = Starts::default();
    let mut laps = options.laps();
    while laps.begin().is_some() {
        starts.add(environment.fedhub().await?).await?;
        laps.judge(|error| {
            vec![
                // There is one load only, which takes a minute.
                Figure::exact("real planes, after the load", "MB", after_load).exactly(Bar::at_most(40.0)),
                Figure::mean("real planes, after a restart", "MB", &starts.steady)
                    .within(Bar::at_most(40.0), error),
                starts.peak("real planes, the peak of a restart").within(Bar::at_most(1.5), error),
                Figure::exact("real planes, the peak of the load", "MB", load_peak),
            ]
        });
    }
    environment.progress.step(format!("after a restart: {:?} MB, at most {:?}", starts.steady, starts.peaks));
    let details = json!({
        "deployments": count, "instances": count * EACH, "objects_in_stores": objects,
        "empty_mb": empty, "with_deployments_mb": with_deployments, "starts": starts.json(),
    });
    Ok(Findings { figures: laps.figures(), details })
}

fn megabytes(bytes: f64) -> f64 {
    rounded(bytes / 1e6, 1)
}
