//! The objects of a populated fleet, as users, cells and fedhub write them: about 2 KB each.

use serde_json::{Value, json};

/// The API of WDs and Instances.
const API: &str = "compute.datumapis.com/v1alpha";
const CLUSTER: &str = "meta.datumapis.com/upstream-cluster-name";
const NAMESPACE: &str = "meta.datumapis.com/upstream-namespace";
const CITY: &str = "topology.datum.net/city-code";

/// Where a WD stands: its plane, the namespace in it, the hub namespace, and the UIDs of both namespaces'
/// objects.
pub(super) struct Place<'a> {
    pub plane: &'a str,
    pub namespace: &'a str,
    pub hub_namespace: &'a str,
    pub hub_namespace_uid: &'a str,
}

/// A WD.
pub(super) struct Deployment<'a> {
    pub name: &'a str,
    pub city: &'a str,
    pub replicas: usize,
    /// When its conditions changed last.
    pub since: &'a str,
}

/// A WD as a user makes it; with a place, as it is once it is federated and reported on.
pub(super) fn project_deployment(wd: &Deployment<'_>, namespace: &str, place: Option<&Place<'_>>) -> Value {
    let mut object = json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": { "namespace": namespace, "name": wd.name, "labels": workload_labels(wd) },
        "spec": deployment_spec(wd),
    });
    if let Some(place) = place {
        object["metadata"]["finalizers"] = json!(["compute.datumapis.com/federator"]);
        object["metadata"]["annotations"] = json!({
            "compute.datumapis.com/federation-namespace": place.hub_namespace,
            "federation.datumapis.com/hub-namespace-uid": place.hub_namespace_uid,
        });
        object["status"] = deployment_status(wd);
    }
    object
}

/// The hub's copy of a WD of that UID and generation.
pub(super) fn hub_deployment(
    wd: &Deployment<'_>,
    place: &Place<'_>,
    uid: &Value,
    generation: &Value,
) -> Value {
    json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": place.hub_namespace, "name": wd.name,
            "labels": {
                NAMESPACE: place.namespace, CITY: wd.city,
                "resourcetemplate.karmada.io/deletion-protected": "Always",
            },
            "annotations": {
                "federation.datumapis.com/source": format!("{}/{}/{}", place.plane, place.namespace, wd.name),
                "federation.datumapis.com/source-uid": uid,
                "federation.datumapis.com/source-generation": generation.to_string(),
            },
        },
        "spec": deployment_spec(wd), "status": deployment_status(wd),
    })
}

/// The hub namespace for a namespace of a project plane.
pub(super) fn hub_namespace(name: &str, plane: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": name, "labels": { CLUSTER: format!("cluster-{plane}"), NAMESPACE: namespace } },
    })
}

/// The policy of a city in a hub namespace.
pub(super) fn policy(hub_namespace: &str, city: &str) -> Value {
    let labels = json!({ "matchLabels": { CITY: city } });
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {
            "namespace": hub_namespace, "name": format!("city-{}", city.to_lowercase()), "labels": { CITY: city },
        },
        "spec": {
            "conflictResolution": "Abort", "preemption": "Never", "priority": 0,
            "schedulerName": "default-scheduler", "propagateDeps": true,
            "resourceSelectors": [{
                "apiVersion": API, "kind": "WorkloadDeployment", "namespace": hub_namespace, "labelSelector": labels,
            }],
            "placement": {
                "clusterAffinity": { "labelSelector": labels },
                "spreadConstraints": [{ "spreadByField": "cluster", "minGroups": 1, "maxGroups": 1 }],
            },
        },
    })
}

/// An Instance of a hub WD of that UID, as its cell writes it back.
pub(super) fn hub_instance(wd: &Deployment<'_>, place: &Place<'_>, wd_uid: &Value, ordinal: usize) -> Value {
    let cell = format!("cell-{}/00000000-0000-4000-8000-{ordinal:012x}", wd.city.to_lowercase());
    let mut object = instance(wd, place, wd_uid, ordinal);
    object["metadata"]["namespace"] = json!(place.hub_namespace);
    object["metadata"]["annotations"] = json!({ "federation.datumapis.com/cell-source": cell });
    object["metadata"]["ownerReferences"][0]["controller"] = json!(true);
    object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(true);
    object
}

/// The projection of a hub Instance of that UID, owned by the project WD of that other one.
pub(super) fn projection(
    wd: &Deployment<'_>,
    place: &Place<'_>,
    wd_uid: &Value,
    ordinal: usize,
    instance_uid: &str,
) -> Value {
    let mark = format!("{}/{}/{instance_uid}", place.hub_namespace, place.hub_namespace_uid);
    let mut object = instance(wd, place, wd_uid, ordinal);
    object["metadata"]["namespace"] = json!(place.namespace);
    object["metadata"]["annotations"] = json!({ "federation.datumapis.com/projected-from": mark });
    object
}

fn instance(wd: &Deployment<'_>, place: &Place<'_>, wd_uid: &Value, ordinal: usize) -> Value {
    let mut labels = workload_labels(wd);
    labels[CLUSTER] = json!(format!("cluster-{}", place.plane));
    labels[NAMESPACE] = json!(place.namespace);
    labels["compute.datumapis.com/workload-deployment-uid"] = wd_uid.clone();
    labels["compute.datumapis.com/workload-deployment-name"] = json!(wd.name);
    labels["compute.datumapis.com/city-code"] = json!(wd.city);
    labels["compute.datumapis.com/instance-index"] = json!(ordinal.to_string());
    json!({
        "apiVersion": API, "kind": "Instance",
        "metadata": {
            "name": format!("{}-{ordinal}", wd.name), "labels": labels,
            "ownerReferences": [{
                "apiVersion": API, "kind": "WorkloadDeployment", "name": wd.name, "uid": wd_uid,
            }],
        },
        "spec": template_spec(),
        "status": {
            "conditions": [
                condition("Programmed", "Programmed", "The instance is programmed", wd.since),
                condition("Available", "Available", "The instance is available", wd.since),
                condition("Ready", "Ready", "The instance is ready", wd.since),
                condition("QuotaGranted", "QuotaGranted", "Quota was granted", wd.since),
            ],
            "networkInterfaces": [{
                "name": "eth0",
                "assignments": { "networkIP": format!("10.0.{}.{}", ordinal / 250, ordinal % 250 + 4) },
            }],
        },
    })
}

fn workload_labels(wd: &Deployment<'_>) -> Value {
    json!({
        "compute.datumapis.com/workload-uid": WORKLOAD,
        "compute.datumapis.com/workload-name": wd.name,
        "compute.datumapis.com/placement-name": "america",
    })
}

/// The UID of the Workload that all WDs are of.
const WORKLOAD: &str = "6b0f8a0e-5a51-4c1e-9f8e-0d7a3c0b9d51";

fn deployment_spec(wd: &Deployment<'_>) -> Value {
    json!({
        "cityCode": wd.city, "placementName": "america", "replicas": wd.replicas,
        "scaleSettings": { "minReplicas": wd.replicas, "instanceManagementPolicy": "OrderedReady" },
        "template": {
            "metadata": { "labels": { "app.kubernetes.io/name": wd.name } },
            "spec": template_spec(),
        },
        "workloadRef": { "name": wd.name, "uid": WORKLOAD },
    })
}

fn deployment_status(wd: &Deployment<'_>) -> Value {
    let n = wd.replicas;
    let ready = format!("{n} of {n} are ready");
    json!({
        "observedGeneration": 1, "replicas": n, "currentReplicas": n, "updatedReplicas": n, "desiredReplicas": n,
        "readyReplicas": n,
        "conditions": [
            condition("Available", "StableInstanceFound", "a stable instance was found", wd.since),
            condition("ReplicasReady", "AllReady", &ready, wd.since),
        ],
    })
}

fn condition(kind: &str, reason: &str, message: &str, since: &str) -> Value {
    json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since })
}

/// Two containers with what such ones have, and without data that has to exist beside them (W5).
fn template_spec() -> Value {
    json!({
        "runtime": {
            "resources": { "instanceType": "datumcloud/d1-standard-2" },
            "sandbox": { "containers": [
                {
                    "name": "web", "image": "ghcr.io/example/web:2.4.1",
                    "command": ["/bin/web"], "args": ["--listen=:8080"],
                    "env": [
                        { "name": "LOG_LEVEL", "value": "info" },
                        { "name": "DATABASE_HOST", "value": "database.default.svc.cluster.local" },
                    ],
                    "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
                    "volumeAttachments": [{ "name": "data", "mountPath": "/var/lib/web" }],
                },
                {
                    "name": "metrics", "image": "ghcr.io/example/metrics:1.0.0",
                    "ports": [{ "name": "metrics", "port": 9100, "protocol": "TCP" }],
                },
            ] },
        },
        "networkInterfaces": [{
            "name": "eth0", "network": { "name": "default" }, "ipFamilies": ["IPv4", "IPv6"],
            "networkPolicy": { "ingress": [{
                "ports": [{ "port": 8080, "protocol": "TCP" }], "from": [{ "ipBlock": { "cidr": "0.0.0.0/0" } }],
            }] },
        }],
        "volumes": [{ "name": "data", "disk": { "template": { "spec": {
            "type": "pd-standard", "resources": { "requests": { "storage": "10Gi" } },
        } } } }],
    })
}
