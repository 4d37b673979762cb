//! A rollout and the deployments of its Workload.

use fedhub_core::names::APPROVED;
use fedhub_core::object::{Kind, Object, bare};
use fedhub_workload::rollouts::spec::Deployment;
use serde_json::{Value, json};

/// A rollout of the Workload `web` with these waves.
pub fn rollout(waves: Value) -> Object {
    let mut rollout = bare(Kind::WorkloadRollout, "shop", "web");
    rollout.metadata.generation = Some(3);
    rollout.data = json!({"spec": {"workloadRef": {"name": "web"}, "waves": waves}});
    rollout
}

/// The rollout with a field of its spec.
pub fn with(mut rollout: Object, field: &str, value: Value) -> Object {
    rollout.data["spec"][field] = value;
    rollout
}

/// The rollout with the annotation that approves waves.
pub fn approving(mut rollout: Object, value: &str) -> Object {
    let annotations = rollout.metadata.annotations.get_or_insert_default();
    annotations.insert(APPROVED.to_owned(), value.to_owned());
    rollout
}

/// Two placements, of which one city is in both.
pub const DEPLOYMENTS: [Deployment<'_>; 4] = [
    Deployment { name: "web-us-dfw", placement: "us", city: "DFW" },
    Deployment { name: "web-us-ord", placement: "us", city: "ORD" },
    Deployment { name: "web-eu-lhr", placement: "eu", city: "LHR" },
    Deployment { name: "web-eu-dfw", placement: "eu", city: "DFW" },
];
