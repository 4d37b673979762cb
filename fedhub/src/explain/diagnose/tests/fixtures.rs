//! A chain in sync, and how it is edited.

use fedhub_core::object::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::super::cause::Cause;
use super::super::super::chain::{
    Cell, Chain, Failure, Hub, LeaseFacts, Management, Project, Read, ReadError, Subject, SubjectKind,
};
use super::super::State;

/// What has the chain in sync end in a cause and a state.
pub type Case = (Cause, State, fn(&mut Chain));

/// When chains were read.
pub const NOW: &str = "2026-01-02T12:00:00Z";
/// When all objects of the chain in sync were made.
pub const MADE: &str = "2026-01-02T09:00:00Z";
/// A moment ago: within what is usual for every hop.
pub const RECENT: &str = "2026-01-02T11:59:57Z";
/// The hub namespace.
pub const SPACE: &str = "ns-uid-shop";

pub fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

pub fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

/// Merges into an object that was found.
pub fn patch(read: &mut Read<Object>, patch: &Value) {
    let Read::Found(object) = read else { panic!("not found: {read:?}") };
    patch_object(object, patch);
}

pub fn patch_object(object: &mut Object, patch: &Value) {
    let mut value = serde_json::to_value(&*object).unwrap();
    json_patch::merge(&mut value, patch);
    *object = serde_json::from_value(value).unwrap();
}

pub fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": MADE})
}

/// Puts these conditions in place of all of an object's.
pub fn set_conditions(read: &mut Read<Object>, conditions: &[Value]) {
    patch(read, &json!({"status": {"conditions": conditions}}));
}

pub fn failed<T>(failure: Failure) -> Read<T> {
    Read::Failed(ReadError { failure, message: "the error in words".to_owned() })
}

/// The conditions of a WD with that reason of `Available` and `ReplicasReady`, on all planes.
pub fn cell_says(chain: &mut Chain, reason: &str) {
    let message = "the message of the cell";
    let both = [
        condition("Available", "False", reason, message),
        condition("ReplicasReady", "False", reason, message),
    ];
    set_conditions(&mut chain.cells.get_mut("cell-dfw").unwrap().wd, &both);
    set_conditions(&mut chain.hub.wd, &both);
    let federated = condition("Federated", "True", "Applied", "the cell has taken it");
    set_conditions(&mut chain.project.wd, &[both[0].clone(), both[1].clone(), federated]);
}

fn status() -> Value {
    json!({
        "observedGeneration": 3, "replicas": 1, "readyReplicas": 1, "desiredReplicas": 1,
        "conditions": [
            condition("Available", "True", "ReplicasAvailable", "1/1 replicas available"),
            condition("ReplicasReady", "True", "ReplicasReady", "1/1 replicas ready"),
        ],
    })
}

fn wd(namespace: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": namespace, "name": "web", "uid": uid, "generation": 3, "creationTimestamp": MADE,
            "labels": {"topology.datum.net/city-code": "DFW"},
            "annotations": {
                "federation.datumapis.com/source": "project-a/shop/web",
                "federation.datumapis.com/source-uid": "uid-web",
                "federation.datumapis.com/source-generation": "3",
            },
        },
        "spec": {"cityCode": "DFW"}, "status": status(),
    })
}

/// An Instance that is Ready.
pub fn instance(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("uid-{namespace}-{name}"), "creationTimestamp": MADE,
            "labels": {"compute.datumapis.com/workload-deployment-name": "web"},
        },
        "spec": {}, "status": {"conditions": [condition("Ready", "True", "InstanceReady", "")]},
    })
}

/// The Instance in the project that shows the copy of that name.
pub fn projection(name: &str) -> Value {
    let mut projection = instance("shop", name);
    let metadata = &mut projection["metadata"];
    metadata["annotations"] =
        json!({"federation.datumapis.com/projected-from": format!("{SPACE}/uid-space/uid-{SPACE}-{name}")});
    metadata["labels"]["meta.datumapis.com/upstream-namespace"] = json!("shop");
    metadata["labels"]["meta.datumapis.com/upstream-cluster-name"] = json!("cluster-project-a");
    metadata["labels"]["compute.datumapis.com/workload-deployment-uid"] = json!("uid-web");
    metadata["ownerReferences"] = json!([{
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment", "name": "web", "uid": "uid-web",
    }]);
    projection
}

fn namespace(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "uid": uid, "creationTimestamp": MADE},
    })
}

fn project() -> Project {
    let mut own = wd("shop", "uid-web");
    own["metadata"]["finalizers"] = json!(["compute.datumapis.com/federator"]);
    own["metadata"]["annotations"] = json!({
        "compute.datumapis.com/federation-namespace": SPACE,
        "federation.datumapis.com/hub-namespace-uid": "uid-space",
    });
    let federated = condition("Federated", "True", "Applied", "the cell has taken it");
    own["status"]["conditions"].as_array_mut().unwrap().push(federated);
    Project {
        namespace: Read::Found(object(namespace("shop", "uid-shop"))),
        wd: Read::Found(object(own)),
        instances: Read::Found(vec![object(projection("web-0"))]),
        in_its_place: Read::Skipped,
    }
}

fn hub() -> Hub {
    let mut space = namespace(SPACE, "uid-space");
    space["metadata"]["labels"] = json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-project-a",
        "meta.datumapis.com/upstream-namespace": "shop",
    });
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {
            "namespace": SPACE, "name": "city-dfw", "creationTimestamp": MADE,
            "labels": {"topology.datum.net/city-code": "DFW"},
        },
    });
    let binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": SPACE, "name": "web-workloaddeployment", "creationTimestamp": MADE},
        "spec": {"clusters": [{"name": "cell-dfw"}]},
        "status": {
            "conditions": [condition("Scheduled", "True", "Success", ""), condition("FullyApplied", "True", "", "")],
            "aggregatedStatus": [{"clusterName": "cell-dfw", "applied": true, "health": "Healthy"}],
        },
    });
    let work = json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"namespace": "karmada-es-cell-dfw", "name": "web-1a2b", "creationTimestamp": MADE},
        "spec": {"workload": {"manifests": [wd(SPACE, "")]}},
        "status": {"conditions": [condition("Applied", "True", "AppliedSuccessful", "")]},
    });
    let mut hub_wd = wd(SPACE, "uid-hub-web");
    hub_wd["metadata"]["labels"]["meta.datumapis.com/upstream-namespace"] = json!("shop");
    hub_wd["metadata"]["labels"]["resourcetemplate.karmada.io/deletion-protected"] = json!("Always");
    Hub {
        namespace: Read::Found(object(space)),
        policies: Read::Found(vec![object(policy)]),
        wd: Read::Found(object(hub_wd)),
        binding: Read::Found(object(binding)),
        works: Read::Found(vec![object(work)]),
        clusters: Read::Found(vec![object(cluster("cell-dfw"))]),
        copies: Read::Found(vec![object(instance(SPACE, "web-0"))]),
    }
}

/// A Cluster that is Ready, in DFW.
pub fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {"topology.datum.net/city-code": "DFW"}, "creationTimestamp": MADE},
        "spec": {}, "status": {"conditions": [condition("Ready", "True", "ClusterReady", "")]},
    })
}

/// A chain in sync, with the cell read too.
pub fn healthy() -> Chain {
    let lease = LeaseFacts {
        holder: "fedhub-0".to_owned(),
        renewed: Some(at(RECENT)),
        duration: std::time::Duration::from_secs(15),
    };
    let mut cell_wd = wd(SPACE, "uid-cell-web");
    cell_wd["metadata"]["generation"] = json!(7);
    cell_wd["status"]["observedGeneration"] = json!(7);
    let cell = Cell {
        wd: Read::Found(object(cell_wd)),
        instances: Read::Found(vec![object(instance(SPACE, "web-0"))]),
    };
    Chain {
        subject: Subject {
            kind: SubjectKind::WorkloadDeployment,
            plane: "project-a".to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
        },
        deployment: "web".to_owned(),
        now: at(NOW),
        management: Management {
            source: Read::Found(()),
            lease: Read::Found(lease),
            identity_matches: Read::Found(true),
            pause: Read::Absent,
            hub_restored: Read::Found(false),
        },
        project: project(),
        hub: hub(),
        cells: [("cell-dfw".to_owned(), cell)].into(),
        rollout: None,
    }
}
