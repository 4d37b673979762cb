//! What the bare client makes of a Workload: the writes that fedhub makes, and not one read.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::Error;
use crate::bench::objects::{CITIES, Kind, api};
use crate::demo::objects::{PLACEMENT, deployment_name, object};

/// The writes that a Workload needs on its own plane, and the read that tells who wrote its template.
pub const NECESSARY: f64 = 6.0;

/// History, finalizer and annotations, the WDs, status: in this order.
pub async fn place(project: Client, workload: DynamicObject) -> Result<(), Error> {
    let space = workload.namespace().unwrap_or_default();
    let name = workload.name_any();
    let create = |api: Api<DynamicObject>, manifest: Value| async move {
        let object = object(manifest)?;
        let made = api.create(&PostParams::default(), &object).await;
        made.map(drop).map_err(Error::api(format!("create {}", object.name_any())))
    };
    create(api(&project, Kind::ConfigMap, &space), history(&workload)).await?;
    let mark = Patch::Merge(json!({ "metadata": {
        "resourceVersion": workload.resource_version(),
        "finalizers": ["compute.datumapis.com/workload-controller"],
        "annotations": {
            "compute.datumapis.com/current-revision": "1",
            "federation.datumapis.com/recorded-template": "1/0123456789abcdef",
        },
    } }));
    let workloads = api(&project, Kind::Workload, &space);
    let marked = workloads.patch(&name, &PatchParams::default(), &mark).await;
    let mut marked = marked.map_err(Error::api(format!("mark {name}")))?;
    for city in CITIES {
        create(api(&project, Kind::Deployment, &space), deployment(&marked, city)).await?;
    }
    marked.data["status"] = status(&marked);
    let reported = workloads.replace_status(&name, &PostParams::default(), &marked).await;
    reported.map(drop).map_err(Error::api(format!("report on {name}")))
}

fn owner(workload: &DynamicObject) -> Value {
    json!([{
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload",
        "name": workload.name_any(), "uid": workload.uid(), "controller": true,
    }])
}

fn history(workload: &DynamicObject) -> Value {
    let spec = &workload.data["spec"];
    let entry = json!({
        "rev": 1, "timestamp": "2026-01-01T00:00:00Z", "image": "docker.io/library/nginx:1.29", "changes": "created",
        "actor": "bench", "templateHash": "0123456789abcdef", "spec": spec.to_string(),
    });
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": workload.namespace(),
            "name": format!("compute.datumapis.com-revision-history.{}", workload.name_any()),
            "ownerReferences": owner(workload),
        },
        "data": { "1": entry.to_string() },
    })
}

fn deployment(workload: &DynamicObject, city: &str) -> Value {
    let name = workload.name_any();
    let uid = workload.uid();
    let spec = &workload.data["spec"];
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": workload.namespace(), "name": deployment_name(&name, city),
            "labels": {
                "compute.datumapis.com/workload-uid": uid,
                "compute.datumapis.com/workload-name": name,
                "compute.datumapis.com/placement-name": PLACEMENT,
                "compute.datumapis.com/city-code": city,
                "services.miloapis.com/service-name": "compute.datumapis.com",
            },
            "ownerReferences": owner(workload),
        },
        "spec": {
            "workloadRef": { "name": name, "uid": uid }, "placementName": PLACEMENT, "cityCode": city,
            "scaleSettings": spec["placements"][0]["scaleSettings"], "template": spec["template"],
        },
    })
}

fn status(workload: &DynamicObject) -> Value {
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "reason": "InstancesProvisioning", "message": "Instances are on their way",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let mut counters = json!({
        "replicas": 0, "currentReplicas": 0, "updatedReplicas": 0, "desiredReplicas": 0, "readyReplicas": 0,
    });
    let mut placement = counters.clone();
    placement["name"] = json!(PLACEMENT);
    placement["conditions"] = json!([condition("Available", "False")]);
    counters["deployments"] = json!(CITIES.len());
    counters["observedGeneration"] = json!(workload.metadata.generation);
    counters["conditions"] = json!([condition("Available", "False"), condition("Progressing", "True")]);
    counters["placements"] = json!([placement]);
    counters
}
