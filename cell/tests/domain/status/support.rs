//! Objects of a cell with nothing said about them yet, to be bent by the tests.

use std::sync::Arc;

use fedhub_cell::domain::status::deployment::status;
use fedhub_cell::domain::status::facts::DeploymentFacts;
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::object::{Kind, Object, ObjectRef, bare};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

pub const LONG_AGO: &str = "2020-01-01T00:00:00Z";
pub const HASH: &str = "new";

/// 2026-01-01T00:00:00Z.
pub fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

pub fn object(kind: Kind, name: &str) -> Object {
    let mut object = bare(kind, "ns-a", name);
    object.metadata.uid = Some(format!("uid-of-{name}"));
    object.metadata.resource_version = Some("10".to_owned());
    object.metadata.generation = Some(3);
    object.metadata.creation_timestamp = Some(Time(now()));
    object
}

pub fn wd() -> Object {
    let mut wd = object(Kind::WorkloadDeployment, "wd");
    wd.data = json!({"spec": {"cityCode": "DFW"}});
    wd
}

pub fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": LONG_AGO})
}

/// An Instance with those gates and conditions.
pub fn instance(name: &str, gates: &[&str], conditions: &[Value]) -> Object {
    let mut instance = object(Kind::Instance, name);
    let gates: Vec<_> = gates.iter().map(|g| json!({"name": g})).collect();
    instance.data = json!({
        "spec": {"controller": {"templateHash": HASH, "schedulingGates": gates}},
        "status": {"conditions": conditions},
    });
    instance
}

pub fn ready(name: &str) -> ObjectRef {
    let all = ["Programmed", "Available", "Ready"].map(|kind| condition(kind, "True", kind, ""));
    let mut instance = instance(name, &[], &all);
    instance.data["status"]["controller"] = json!({"observedTemplateHash": HASH});
    Arc::new(instance)
}

/// An Instance that says why it is not ready.
pub fn unready(name: &str, reason: &str, message: &str) -> ObjectRef {
    Arc::new(instance(name, &[], &[condition("Ready", "False", reason, message)]))
}

/// That object, bent.
pub fn but(mut object: Object, bend: impl FnOnce(&mut Object)) -> Object {
    bend(&mut object);
    object
}

pub fn annotated(mut object: Object, key: &str, value: &str) -> Object {
    object.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    object
}

pub fn dying(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time(now()));
}

/// Status, reason and message of a condition.
pub fn words(status: &Value, kind: &str) -> (String, String, String) {
    let found = fedhub_api::conditions::find(status, kind).unwrap_or_else(|| panic!("no {kind}: {status}"));
    let (status, reason, message) = fedhub_api::conditions::said(found);
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

/// The status of a deployment with these Instances, of which so many are wanted.
pub fn deployment_status(
    deployment: &Object,
    instances: &[ObjectRef],
    desired: u32,
    network: &Network,
    location: &Location,
) -> Value {
    status(&DeploymentFacts {
        deployment,
        instances,
        desired,
        template_hash: HASH,
        network,
        location,
        scaling: None,
        obstacle: None,
        held: None,
        now: now(),
    })
}

/// Returns the status if neither networking nor location blocks the deployment.
pub fn plain(deployment: &Object, instances: &[ObjectRef], desired: u32) -> Value {
    deployment_status(deployment, instances, desired, &Network::Ready, &Location::Unasked)
}
