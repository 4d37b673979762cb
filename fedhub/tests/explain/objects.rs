//! The objects of a WD in sync, as users, fedhub, Karmada and the cell write them.

use fedhub_fake_apiserver::{ApiServer, Resource, resource};
use serde_json::{Value, json};

use super::planes::Planes;

pub const SPACE: &str = "ns-uid-shop";
const COMPUTE: &str = "compute.datumapis.com/v1alpha";
const MADE: &str = "2026-01-02T09:00:00Z";

/// What a hub serves, Karmada's Works too.
pub fn hub() -> Vec<Resource> {
    let mut resources = resource::hub();
    resources.push(Resource::custom("work.karmada.io", "v1alpha1", "Work", "works").with_status());
    resources
}

pub fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "in words", "lastTransitionTime": MADE})
}

fn wd(namespace: &str, uid: &str) -> Value {
    json!({
        "apiVersion": COMPUTE, "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": namespace, "name": "web", "uid": uid, "creationTimestamp": MADE,
            "labels": {"topology.datum.net/city-code": "DFW"},
            "annotations": {
                "federation.datumapis.com/source": "project-a/shop/web",
                "federation.datumapis.com/source-uid": "uid-web",
                "federation.datumapis.com/source-generation": "1",
            },
        },
        "spec": {"cityCode": "DFW"},
        "status": {
            "observedGeneration": 1, "replicas": 1, "desiredReplicas": 1,
            "conditions": [
                condition("Available", "True", "ReplicasAvailable"),
                condition("ReplicasReady", "True", "ReplicasReady"),
            ],
        },
    })
}

pub fn instance(namespace: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": COMPUTE, "kind": "Instance",
        "metadata": {
            "namespace": namespace, "name": "web-0", "uid": format!("uid-{namespace}"), "creationTimestamp": MADE,
            "labels": labels,
        },
        "spec": {}, "status": {"conditions": [condition("Ready", "True", "InstanceReady")]},
    })
}

fn labels() -> Value {
    json!({"compute.datumapis.com/workload-deployment-name": "web"})
}

fn put(server: &ApiServer, object: Value) {
    server.put(object).unwrap();
}

fn namespace(server: &ApiServer, name: &str, uid: &str, labels: &Value) {
    let metadata = json!({"name": name, "uid": uid, "creationTimestamp": MADE, "labels": labels});
    put(server, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
}

/// A Cluster of DFW that is Ready.
pub fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {"topology.datum.net/city-code": "DFW"}},
        "spec": {}, "status": {"conditions": [condition("Ready", "True", "ClusterReady")]},
    })
}

/// The Lease, renewed so many seconds ago.
pub fn put_lease(planes: &Planes, seconds: i64) {
    let renewed = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    let renewed = renewed.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    put(
        &planes.management,
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "fedhub-system", "name": "fedhub"},
            "spec": {"holderIdentity": "fedhub-0", "leaseDurationSeconds": 15, "renewTime": renewed},
        }),
    );
}

/// The identity that fedhub remembers for the project plane.
pub fn put_identity(planes: &Planes, uid: &str) {
    put(
        &planes.management,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "namespace": "fedhub-system", "name": "fedhub-plane-identities-7",
                "labels": {"federation.datumapis.com/remembers": "plane-identities"},
            },
            "data": {"project-a": uid},
        }),
    );
}

/// Puts everything of the WD on all planes.
pub fn put_in_sync(planes: &Planes) {
    put_lease(planes, 1);
    namespace(&planes.project, "kube-system", "uid-project-a", &json!({}));
    put_identity(planes, "uid-project-a");
    namespace(&planes.project, "shop", "uid-shop", &json!({}));
    let mut own = wd("shop", "uid-web");
    own["metadata"]["finalizers"] = json!(["compute.datumapis.com/federator"]);
    own["metadata"]["annotations"] = json!({
        "compute.datumapis.com/federation-namespace": SPACE,
        "federation.datumapis.com/hub-namespace-uid": "uid-space",
    });
    own["status"]["conditions"].as_array_mut().unwrap().push(condition("Federated", "True", "Applied"));
    put(&planes.project, own);
    let mut projection = instance("shop", &labels());
    projection["metadata"]["annotations"] =
        json!({"federation.datumapis.com/projected-from": format!("{SPACE}/uid-space/uid-{SPACE}")});
    put(&planes.project, projection);

    let tenant = json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-project-a", "meta.datumapis.com/upstream-namespace": "shop",
    });
    namespace(&planes.hub, SPACE, "uid-space", &tenant);
    put(&planes.hub, cluster("cell-dfw"));
    put(
        &planes.hub,
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {
                "namespace": SPACE, "name": "city-dfw", "labels": {"topology.datum.net/city-code": "DFW"},
            },
            "spec": {},
        }),
    );
    put(&planes.hub, wd(SPACE, "uid-hub-web"));
    put(&planes.hub, instance(SPACE, &labels()));
    let id = json!({"resourcebinding.karmada.io/permanent-id": "id-1"});
    put(
        &planes.hub,
        json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": SPACE, "name": "web-workloaddeployment", "labels": id},
            "spec": {"clusters": [{"name": "cell-dfw"}]},
            "status": {
                "conditions": [condition("Scheduled", "True", "Success")],
                "aggregatedStatus": [{"clusterName": "cell-dfw", "applied": true}],
            },
        }),
    );
    put(
        &planes.hub,
        json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"namespace": "karmada-es-cell-dfw", "name": "web-1a2b", "labels": id},
            "spec": {}, "status": {"conditions": [condition("Applied", "True", "AppliedSuccessful")]},
        }),
    );
    put(&planes.cell, wd(SPACE, "uid-cell-web"));
    put(&planes.cell, instance(SPACE, &labels()));
    put_as_written(planes);
}

/// Makes the objects the very ones that fedhub writes.
fn put_as_written(planes: &Planes) {
    let tenant = json!({"meta.datumapis.com/upstream-namespace": "shop"});
    let mut labels = tenant.clone();
    labels["resourcetemplate.karmada.io/deletion-protected"] = json!("Always");
    let labelled = json!({"metadata": {"labels": labels}});
    planes.hub.patch("WorkloadDeployment", SPACE, "web", &labelled).unwrap();
    let city = json!({"matchLabels": {"topology.datum.net/city-code": "DFW"}});
    let selector = json!({
        "apiVersion": COMPUTE, "kind": "WorkloadDeployment", "namespace": SPACE, "labelSelector": city,
    });
    let spec = json!({
        "conflictResolution": "Abort", "preemption": "Never", "priority": 0, "schedulerName": "default-scheduler",
        "propagateDeps": true, "resourceSelectors": [selector],
        "placement": {
            "clusterAffinity": {"labelSelector": city},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
        },
    });
    planes.hub.patch("PropagationPolicy", SPACE, "city-dfw", &json!({"spec": spec})).unwrap();
    labels = tenant;
    labels["meta.datumapis.com/upstream-cluster-name"] = json!("cluster-project-a");
    labels["compute.datumapis.com/workload-deployment-uid"] = json!("uid-web");
    let owner = json!({"apiVersion": COMPUTE, "kind": "WorkloadDeployment", "name": "web", "uid": "uid-web"});
    let projected = json!({"metadata": {"labels": labels, "ownerReferences": [owner]}});
    planes.project.patch("Instance", "shop", "web-0", &projected).unwrap();
}
