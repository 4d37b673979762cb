//! Objects and observations, made in one line each.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::names::{
    CITY_CODE, DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID, PlaneName,
    SOURCE, SOURCE_GENERATION, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use fedhub_federator::teardown::Teardown;
use fedhub_planes::{ServiceState, Write, WriteState};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::plan::observed::{KnownPolicy, Live, Observed};
use crate::plan::observed::{Plan, plan};

/// Name and UIDs that all tests share.
pub const PLANE: &str = "alpha";
pub const SPACE: &str = "shop";
pub const NAME: &str = "web-dfw";
pub const UID: &str = "uid-of-the-project-wd";
pub const HUB_SPACE: &str = "ns-uid-of-the-project-namespace";
pub const HUB_SPACE_UID: &str = "uid-of-the-hub-namespace";
pub const CITY: &str = "DFW";
pub const FOREIGN: &str = "example.org/foreign";

/// A change of an object, as tables hold it.
pub type Edit = fn(&mut Object);

pub fn source() -> String {
    format!("{PLANE}/{SPACE}/{NAME}")
}

pub fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub fn spec(city: &str) -> Value {
    json!({"cityCode": city, "placementName": "p", "scaleSettings": {"minReplicas": 1}})
}

/// A project WD that was never looked at.
pub fn fresh() -> Object {
    let mut wd = bare(Kind::WorkloadDeployment, SPACE, NAME);
    wd.metadata.uid = Some(UID.to_owned());
    wd.metadata.resource_version = Some("100".to_owned());
    wd.metadata.generation = Some(7);
    set_field(&mut wd, "spec", spec(CITY));
    wd
}

/// A project WD that is marked.
pub fn marked() -> Object {
    let mut wd = fresh();
    wd.metadata.finalizers = Some(vec![FEDERATOR_FINALIZER.to_owned()]);
    annotate(&mut wd, FEDERATION_NAMESPACE, HUB_SPACE);
    annotate(&mut wd, HUB_NAMESPACE_UID, HUB_SPACE_UID);
    wd
}

pub fn hub_namespace() -> Object {
    let mut namespace = bare(Kind::Namespace, "", HUB_SPACE);
    namespace.metadata.uid = Some(HUB_SPACE_UID.to_owned());
    namespace.metadata.resource_version = Some("10".to_owned());
    label(&mut namespace, UPSTREAM_CLUSTER, &format!("cluster-{PLANE}"));
    label(&mut namespace, UPSTREAM_NAMESPACE, SPACE);
    namespace
}

/// The hub WD as the federator makes it of [`marked`].
pub fn hub_wd() -> Object {
    let mut wd = bare(Kind::WorkloadDeployment, HUB_SPACE, NAME);
    wd.metadata.uid = Some("uid-of-the-hub-wd".to_owned());
    wd.metadata.resource_version = Some("20".to_owned());
    label(&mut wd, UPSTREAM_NAMESPACE, SPACE);
    label(&mut wd, CITY_CODE, CITY);
    label(&mut wd, DELETION_PROTECTED.0, DELETION_PROTECTED.1);
    annotate(&mut wd, SOURCE, &source());
    annotate(&mut wd, SOURCE_UID, UID);
    annotate(&mut wd, SOURCE_GENERATION, "7");
    set_field(&mut wd, "spec", spec(CITY));
    wd
}

/// A policy with that name, of that city, with an unedited spec.
pub fn policy(name: &str, city: &str) -> Object {
    let mut made = match plan(&seen(marked_in(city), Some(hub_namespace()), None, vec![])).policy {
        Some(Write::Create(policy)) => *policy,
        other => panic!("no policy was made: {other:?}"),
    };
    made.metadata.name = Some(name.to_owned());
    made.metadata.uid = Some(format!("uid-of-{name}"));
    made.metadata.resource_version = Some("30".to_owned());
    made
}

pub fn marked_in(city: &str) -> Object {
    let mut wd = marked();
    set_field(&mut wd, "spec", spec(city));
    wd
}

/// An observation of these objects, with one cell and no echoes.
pub fn seen(
    project: Object,
    namespace: Option<Object>,
    hub: Option<Object>,
    policies: Vec<Object>,
) -> Observed {
    Observed {
        plane: PlaneName::new(PLANE).unwrap(),
        project: Arc::new(project),
        hub_namespace_name: HUB_SPACE.to_owned(),
        hub_namespace: namespace.map(Arc::new),
        hub: hub.map(Arc::new),
        policies: policies
            .into_iter()
            .map(|p| KnownPolicy { object: Arc::new(p), normalization: None })
            .collect(),
        cells: 1,
        cell_down: None,
        cell_lost: false,
        spec_normalization: None,
        status_normalization: None,
        writes: WriteState::Active,
        service: ServiceState::Active,
        bound: None,
        stalled: false,
        held: None,
        is_due: false,
        distrust: None,
        last_restore: None,
        teardown: Teardown::default(),
        seen_deleted: false,
        waited: Duration::ZERO,
        live: None,
        now: now(),
    }
}

/// A WD that is federated and in order.
pub fn in_order() -> Observed {
    seen(marked(), Some(hub_namespace()), Some(hub_wd()), vec![policy("city-dfw", CITY)])
}

pub fn live(namespace: Option<Object>, deployment: Option<Object>) -> Live {
    Live { namespace: namespace.map(Arc::new), deployment: deployment.map(Arc::new) }
}

pub fn label(object: &mut Object, key: &str, value: &str) {
    object.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

pub fn annotate(object: &mut Object, key: &str, value: &str) {
    object.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

pub fn unannotate(object: &mut Object, key: &str) {
    object.metadata.annotations.get_or_insert_default().remove(key);
}

pub fn deleting(mut object: Object) -> Object {
    object.metadata.deletion_timestamp = Some(Time(now()));
    object
}

/// Returns the object after a change.
pub fn with(mut object: Object, change: impl FnOnce(&mut Object)) -> Object {
    change(&mut object);
    object
}

/// The object that a write is to store.
pub fn body(write: &Write) -> &Object {
    match write {
        Write::Create(object) | Write::Replace { object, .. } => object,
    }
}

pub fn status_of(mut object: Object, status: Value) -> Object {
    set_field(&mut object, "status", status);
    object
}

pub fn shared(object: Object) -> ObjectRef {
    Arc::new(object)
}

/// The reason of the condition `Available`.
pub fn reason(wd: &Object) -> Option<&str> {
    fedhub_api::conditions::find(wd.status(), "Available")?["reason"].as_str()
}

/// Whether the plan writes anything at all.
pub fn writes(plan: &Plan) -> bool {
    plan.mark.is_some() || writes_hub(plan) || plan.status.is_some() || plan.release.is_some()
}

/// Whether the plan writes anything to the hub.
pub fn writes_hub(plan: &Plan) -> bool {
    plan.namespace.is_some() || plan.policy.is_some() || plan.deployment.is_some() || plan.delete.is_some()
}
