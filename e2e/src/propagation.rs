//! How long a change of a project's WD takes to the hub, seen from outside: from the user's request to the
//! hub's watch event.

use std::time::Instant;

use futures::{Stream, StreamExt, pin_mut};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::Error;
use crate::bench::objects::{Kind, api};
use crate::bench::stats::percentile;
use crate::topology::planes::HUB;
use crate::topology::{Layout, kubeconfig};

/// The annotation of the template that a change is known by.
const SAMPLE: &str = "example.com/sample";
/// Changes without which a p99 means nothing: three of so many are above it.
const ENOUGH: usize = 300;

/// Changes each WD of a namespace once, when the change of the last one has arrived, and returns the
/// milliseconds of each.
///
/// Writes of one WD are spaced out (I8), and that wait would hide all others: each WD is changed once.
pub async fn measure(layout: &Layout, plane: &str, namespace: &str) -> Result<Vec<f64>, Error> {
    let project = kubeconfig::client(&layout.kubeconfig(plane)).await?;
    let hub = kubeconfig::client(&layout.kubeconfig(HUB)).await?;
    let found = Api::<Namespace>::all(project.clone()).get(namespace).await;
    let uid = found.map_err(Error::api(format!("get namespace {namespace} on {plane}")))?.uid();
    let copies = api(&hub, Kind::Deployment, &format!("ns-{}", uid.unwrap_or_default()));
    let events = copies.watch(&WatchParams::default(), "0").await.map_err(Error::api("watch the hub"))?;
    pin_mut!(events);
    let wds = api(&project, Kind::Deployment, namespace);
    let listed = wds.list_metadata(&ListParams::default()).await;
    let listed = listed.map_err(Error::api(format!("list the WDs of {namespace} on {plane}")))?;
    let mut took = Vec::with_capacity(listed.items.len());
    for wd in listed.iter().map(ResourceExt::name_any) {
        let sample = Timestamp::now().to_string();
        let change = json!({ "spec": { "template": { "metadata": { "annotations": { SAMPLE: sample } } } } });
        let began = Instant::now();
        let changed = wds.patch(&wd, &PatchParams::default(), &Patch::Merge(&change)).await;
        changed.map_err(Error::api(format!("patch {wd} on {plane}")))?;
        arrival(&mut events, &sample).await?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(took)
}

/// Waits for the event that shows a change.
async fn arrival(
    events: &mut (impl Stream<Item = kube::Result<WatchEvent<DynamicObject>>> + Unpin),
    sample: &str,
) -> Result<(), Error> {
    while let Some(event) = events.next().await {
        if let WatchEvent::Added(wd) | WatchEvent::Modified(wd) =
            event.map_err(Error::api("watch the hub"))?
            && wd.data["spec"]["template"]["metadata"]["annotations"][SAMPLE] == sample
        {
            return Ok(());
        }
    }
    Err(Error::Benchmark("the watch of the hub ended before a change arrived".to_owned()))
}

/// Compares the p99 of two series of milliseconds: `with` may have `at_most` times that of `without`.
pub fn compare(without: &[f64], with: &[f64], at_most: f64) -> Result<String, Error> {
    let fewest = without.len().min(with.len());
    if fewest < ENOUGH {
        return Err(Error::Benchmark(format!("{fewest} changes are too few for a p99: {ENOUGH} are needed")));
    }
    let at = |values: &[f64], percent| percentile(values, percent).unwrap_or(f64::NAN);
    let ratio = at(with, 99) / at(without, 99);
    let figures = format!(
        "p99 {:.1} ms of {} changes, without {:.1} ms of {}: {ratio:.2} times; p50 {:.1} and {:.1} ms",
        at(with, 99),
        with.len(),
        at(without, 99),
        without.len(),
        at(with, 50),
        at(without, 50),
    );
    if ratio > at_most {
        return Err(Error::Benchmark(format!("changes take more than {at_most} times as long: {figures}")));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_in_a_hundred_may_be_slow_and_two_may_not() {
        let series = |slow: usize| [vec![10.0; 400 - slow], vec![20.0; slow]].concat();
        assert!(compare(&series(0), &series(4), 1.5).unwrap().contains("1.00 times"));
        assert!(compare(&series(0), &series(8), 1.5).unwrap_err().to_string().contains("2.00 times"));
        assert!(compare(&series(8), &series(8), 1.5).is_ok());
        assert!(compare(&series(8), &series(0), 1.5).is_ok());
    }

    #[test]
    fn too_few_changes_decide_nothing() {
        for (without, with) in [(299, 400), (400, 299), (0, 0)] {
            let compared = compare(&vec![10.0; without], &vec![10.0; with], 1.5);
            assert!(compared.unwrap_err().to_string().contains("too few"), "{without} {with}");
        }
    }
}
