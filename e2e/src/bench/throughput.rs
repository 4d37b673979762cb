//! `throughput`: WDs created as fast as the project plane takes them, until the hub has the last one.

use std::time::Instant;

use serde_json::{Value, json};

use super::baseline::{Bare, CONCURRENCY};
use super::environment::{Environment, Space};
use super::metrics::Scrape;
use super::objects::Kind;
use super::process::Process;
use super::report::{Claim, Report};
use super::stats::{median, number, rounded};
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// WDs of a lap.
const DEPLOYMENTS: usize = 5_000;
/// Laps, at least. The first runs on fresh planes.
const LAPS: usize = 5;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;

/// Laps of fedhub and of the bare client in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Report, Error> {
    let (count, namespaces) = (options.scaled(DEPLOYMENTS), options.scaled(NAMESPACES));
    let (mut ours, mut bare, mut details) = (Vec::new(), Vec::new(), Vec::new());
    for lap in 0..options.repetitions.max(LAPS) {
        let (rate, more) = Box::pin(fedhub_lap(environment, count, namespaces, &format!("t{lap}f"))).await?;
        environment.progress.step(format!("lap {lap}: fedhub federates {rate:.0} WDs a second"));
        ours.push(rate);
        details.push(more);
        let rate = Box::pin(bare_lap(environment, count, namespaces, &format!("t{lap}b"))).await?;
        environment.progress.step(format!("lap {lap}: the bare client federates {rate:.0} WDs a second"));
        bare.push(rate);
    }
    let ratios: Vec<_> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    let ratio = median(&ratios).unwrap_or(f64::NAN);
    let slowest = ratios.iter().copied().fold(f64::NAN, f64::min);
    let details = json!({
        "deployments": count,
        "concurrency": CONCURRENCY,
        "laps": ratios.iter().map(|ratio| rounded(*ratio, 3)).collect::<Vec<_>>(),
        "deployments_per_second": ours.iter().map(|rate| rounded(*rate, 1)).collect::<Vec<_>>(),
        "bare_deployments_per_second": bare.iter().map(|rate| rounded(*rate, 1)).collect::<Vec<_>>(),
        "fedhub": details,
    });
    let claims = [Claim::at_least("", ratio, 0.9), Claim::at_least("each lap", slowest, 0.8)];
    Ok(Report::on("throughput", ratio, "of the bare client", &claims, details))
}

async fn fedhub_lap(
    environment: &Environment,
    count: usize,
    namespaces: usize,
    prefix: &str,
) -> Result<(f64, Value), Error> {
    let spaces = loader::spaces(&environment.project, prefix, namespaces).await?;
    let mut fedhub = environment.fedhub().await?;
    let (before, cpu) = (fedhub.scrape().await?, fedhub.cpu()?);
    let took = lap(environment, &spaces, prefix, count).await?;
    let cpu = fedhub.cpu()?.saturating_sub(cpu);
    fedhub.settled().await?;
    let grown = fedhub.scrape().await?.since(&before);
    let mut details = anatomy(&grown, number(count));
    details["cpu_ms_each"] = json!(rounded(cpu.as_secs_f64() * 1e3 / number(count), 3));
    details["resident_mb"] = json!(megabytes(&fedhub)?);
    fedhub.stop().await?;
    environment.clear(&spaces).await?;
    Ok((number(count) / took, details))
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
    Ok(number(count) / took?)
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

/// Where the time of a lap went, by fedhub's own metrics.
pub fn anatomy(grown: &Scrape, count: f64) -> Value {
    let milliseconds = |histogram: &str, labels: &[super::metrics::Label<'_>]| {
        rounded(grown.mean(histogram, labels) * 1e3, 2)
    };
    let request = |kind: &str, verb: &str| {
        milliseconds("fedhub_api_request_seconds", &[("plane_kind", &[kind]), ("verb", &[verb])])
    };
    let requests: std::collections::BTreeMap<_, _> = grown
        .by("fedhub_api_requests_total", &["plane_kind", "verb", "resource", "code"])
        .into_iter()
        .map(|(series, sum)| (series, rounded(sum / count, 4)))
        .collect();
    json!({
        "passes_each": rounded(grown.sum("fedhub_reconciles_total", &[]) / count, 3),
        "passes": grown.by("fedhub_reconciles_total", &["controller", "outcome"]),
        "pass_ms": milliseconds("fedhub_reconcile_seconds", &[("controller", &["federator"])]),
        "queue_wait_ms": milliseconds("fedhub_queue_wait_seconds", &[]),
        "project_patch_ms": request("project", "patch"),
        "hub_create_ms": request("hub", "create"),
        "requests_each": requests,
    })
}

fn megabytes(fedhub: &Process) -> Result<f64, Error> {
    Ok(rounded(fedhub.resident()? / 1e6, 1))
}
