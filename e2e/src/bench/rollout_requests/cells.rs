//! What cells, with Karmada, say on the hub of each WD.

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, WatchEvent};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::super::environment::HANDS;
use super::super::objects::{Kind, api, api_all, reported};
use super::super::watch::events;
use crate::Error;

/// Annotation of a hub WD: the generation of the project's that it was written for.
const SOURCE_GENERATION: &str = "federation.datumapis.com/source-generation";
/// The reason for which a city fails: one on which its user has to act.
const FAULT: &str = "ImageUnavailable";

/// Cells that report on every hub WD as soon as it is written, and once on those that are there. They end
/// when this is dropped.
pub struct Cells {
    task: JoinHandle<Result<(), Error>>,
}

impl Cells {
    /// Reports from now on: that all is well, but for the city that fails.
    pub async fn report(hub: &Client, failing: Option<&'static str>) -> Result<Self, Error> {
        let events = events::<DynamicObject>(hub, Kind::Deployment).await?;
        let there = api_all(hub, Kind::Deployment).list(&ListParams::default()).await;
        let there = there.map_err(Error::api("list the hub's WorkloadDeployments".to_owned()))?;
        let changed = events.try_filter_map(async |event| {
            Ok(match event {
                WatchEvent::Added(wd) | WatchEvent::Modified(wd) => Some(wd),
                _ => None,
            })
        });
        let hub = hub.clone();
        let task = tokio::spawn(async move {
            let wds = stream::iter(there.items.into_iter().map(Ok)).chain(changed);
            wds.try_for_each_concurrent(HANDS, |wd| write(&hub, wd, failing)).await?;
            Err(Error::Benchmark("the watch of the hub's WDs ended".to_owned()))
        });
        Ok(Self { task })
    }

    /// Ends the reports; fails where they failed.
    pub async fn end(mut self) -> Result<(), Error> {
        if self.task.is_finished() {
            return (&mut self.task).await?;
        }
        Ok(())
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn write(hub: &Client, wd: DynamicObject, failing: Option<&str>) -> Result<(), Error> {
    let Some(status) = report(&wd, failing) else { return Ok(()) };
    let name = wd.name_any();
    let api = api(hub, Kind::Deployment, &wd.namespace().unwrap_or_default());
    let patch = Patch::Merge(json!({ "status": status }));
    match api.patch_status(&name, &PatchParams::default(), &patch).await {
        // It was removed meanwhile.
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        stored => stored.map(drop).map_err(Error::api(format!("report on {name}"))),
    }
}

/// What is to be said of a WD; `None` where that was said.
fn report(wd: &DynamicObject, failing: Option<&str>) -> Option<Value> {
    let generation: i64 = wd.annotations().get(SOURCE_GENERATION)?.parse().ok()?;
    let is_failing = failing.is_some_and(|city| wd.data["spec"]["cityCode"] == city);
    let ready = u8::from(!is_failing);
    let status = &wd.data["status"];
    if status["observedGeneration"] == generation && status["readyReplicas"] == ready {
        return None;
    }
    let mut status = reported(1);
    status["observedGeneration"] = json!(generation);
    status["readyReplicas"] = json!(ready);
    if is_failing {
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            condition["status"] = json!("False");
            condition["reason"] = json!(FAULT);
        }
    }
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::objects::{is_true, object};

    fn wd(city: &str, generation: &str, status: Value) -> DynamicObject {
        object(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": { "name": "a", "annotations": { SOURCE_GENERATION: generation } },
            "spec": { "cityCode": city }, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn each_generation_is_reported_once() {
        let first = report(&wd("DFW", "3", json!({})), None).unwrap();
        assert_eq!((&first["observedGeneration"], &first["readyReplicas"]), (&json!(3), &json!(1)));
        assert!(is_true(&first, "Available"));
        assert_eq!(report(&wd("DFW", "3", first.clone()), None), None);
        assert!(report(&wd("DFW", "4", first), None).is_some());
    }

    #[test]
    fn a_city_that_fails_says_so_until_it_is_well() {
        let failed = report(&wd("SJC", "3", json!({})), Some("SJC")).unwrap();
        assert_eq!(failed["readyReplicas"], 0);
        assert!(!is_true(&failed, "Available") && failed["conditions"][0]["reason"] == FAULT);
        assert_eq!(report(&wd("SJC", "3", failed.clone()), Some("SJC")), None);
        assert!(is_true(&report(&wd("SJC", "3", failed), None).unwrap(), "Available"));
        assert!(is_true(&report(&wd("DFW", "3", json!({})), Some("SJC")).unwrap(), "Available"));
    }
}
