//! One hub Instance with everything about it in order, to be bent by the tests.

use std::sync::Arc;
use std::time::Duration;

use crate::plan::world::Observed;
use fedhub_api::facts::{Digest, ProjectedFrom};
use fedhub_core::names::{
    FEDERATION_NAMESPACE, PROJECTED_FROM, PlaneName, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID,
};
use fedhub_core::object::{Kind, Object, ObjectRef, PlaneId, bare};
use fedhub_planes::ProjectNamespace;
use fedhub_projector::snapshot::Live;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use serde_json::{Value, json};

pub const SPACE: &str = "shop";
pub const HUB_SPACE: &str = "ns-a";
pub const HUB_SPACE_UID: &str = "uid-of-ns-a";
pub const INSTANCE_UID: &str = "uid-of-hub-instance";
pub const PROJECTION_UID: &str = "uid-of-projection";
/// The project WD's UID.
pub const OWNER_UID: &str = "uid-of-project-wd";
/// The hub WD's UID.
pub const HUB_WD_UID: &str = "uid-of-hub-wd";

/// 2026-01-01T00:00:00Z.
pub fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

pub fn object(kind: Kind, namespace: &str, name: &str, uid: &str) -> Object {
    let mut object = bare(kind, namespace, name);
    object.metadata.uid = Some(uid.to_owned());
    object.metadata.resource_version = Some("10".to_owned());
    object.metadata.creation_timestamp = Some(Time(now()));
    object
}

/// Labels or annotations, as metadata has them.
pub fn map(pairs: &[(&str, &str)]) -> Option<std::collections::BTreeMap<String, String>> {
    pairs.iter().map(|(k, v)| Some(((*k).to_owned(), (*v).to_owned()))).collect()
}

pub fn dying(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time(now()));
}

pub fn wd_reference(name: &str, uid: &str, controller: Option<bool>) -> OwnerReference {
    reference("compute.datumapis.com/v1alpha", "WorkloadDeployment", name, uid, controller)
}

pub fn reference(api: &str, kind: &str, name: &str, uid: &str, controller: Option<bool>) -> OwnerReference {
    OwnerReference {
        api_version: api.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller,
        block_owner_deletion: controller,
    }
}

pub fn hub_namespace() -> Object {
    let mut space = object(Kind::Namespace, "", HUB_SPACE, HUB_SPACE_UID);
    space.metadata.labels = map(&[(UPSTREAM_CLUSTER, "cluster-alpha"), (UPSTREAM_NAMESPACE, SPACE)]);
    space
}

pub fn instance() -> Object {
    let mut i = object(Kind::Instance, HUB_SPACE, "wd-0", INSTANCE_UID);
    i.metadata.labels = map(&[
        (UPSTREAM_CLUSTER, "cluster-alpha"),
        (UPSTREAM_NAMESPACE, SPACE),
        (WORKLOAD_DEPLOYMENT_NAME, "wd"),
        (WORKLOAD_DEPLOYMENT_UID, HUB_WD_UID),
        ("compute.datumapis.com/city-code", "DFW"),
    ]);
    i.metadata.owner_references = Some(vec![wd_reference("wd", HUB_WD_UID, Some(true))]);
    i.data = json!({"spec": {"size": "small"}, "status": reported()});
    i
}

pub fn reported() -> Value {
    json!({"suspended": false})
}

/// The schema's default, before anything reports.
pub fn defaults() -> Value {
    json!({"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "1970-01-01T00:00:00Z"}]})
}

pub fn hub_wd() -> Object {
    let mut wd = object(Kind::WorkloadDeployment, HUB_SPACE, "wd", HUB_WD_UID);
    wd.metadata.annotations = map(&[(SOURCE_UID, OWNER_UID)]);
    wd.data = json!({"spec": {}, "status": {"replicas": 1}});
    wd
}

pub fn owner() -> Object {
    let mut wd = object(Kind::WorkloadDeployment, SPACE, "wd", OWNER_UID);
    wd.metadata.annotations = map(&[(FEDERATION_NAMESPACE, HUB_SPACE)]);
    wd
}

pub fn mark(instance_uid: &str) -> ProjectedFrom<'_> {
    ProjectedFrom { namespace: HUB_SPACE, namespace_uid: HUB_SPACE_UID, instance_uid }
}

/// The projection of [`instance`] as it should be.
pub fn projection() -> Object {
    let mut p = object(Kind::Instance, SPACE, "wd-0", PROJECTION_UID);
    p.metadata.labels = map(&[
        (UPSTREAM_CLUSTER, "cluster-alpha"),
        (UPSTREAM_NAMESPACE, SPACE),
        (WORKLOAD_DEPLOYMENT_NAME, "wd"),
        (WORKLOAD_DEPLOYMENT_UID, OWNER_UID),
        ("compute.datumapis.com/city-code", "DFW"),
    ]);
    p.metadata.annotations = map(&[(PROJECTED_FROM, &mark(INSTANCE_UID).to_string())]);
    p.metadata.owner_references = Some(vec![wd_reference("wd", OWNER_UID, None)]);
    p.data = instance().data;
    p
}

/// Everything in order.
pub fn seen() -> Observed {
    Observed {
        home: ProjectNamespace { plane: PlaneName::new("alpha").unwrap(), namespace: SPACE.to_owned() },
        hub_namespace: Arc::new(hub_namespace()),
        instance: Some(Arc::new(instance())),
        hub_deployment: Some(on_hub(&hub_wd())),
        owner: Some(on_project(&owner())),
        projection: Some(Arc::new(projection())),
        seen_deleted: None,
        distrust: None,
        down: None,
        live: None,
        withdrawn: false,
        spec_normalization: None,
        status_normalization: None,
        grace: Duration::from_mins(15),
        now: now(),
    }
}

/// What a store keeps of a WD on the hub.
pub fn on_hub(wd: &Object) -> Digest {
    Digest::new(&PlaneId::Hub, Kind::WorkloadDeployment, wd)
}

/// What a store keeps of a WD in the project plane.
pub fn on_project(wd: &Object) -> Digest {
    let plane = PlaneId::Project(PlaneName::new("alpha").unwrap());
    Digest::new(&plane, Kind::WorkloadDeployment, wd)
}

/// That object, bent.
pub fn but(mut object: Object, bend: impl FnOnce(&mut Object)) -> Object {
    bend(&mut object);
    object
}

/// The hub Instance is gone.
pub fn gone() -> Observed {
    Observed { instance: None, hub_deployment: None, owner: None, ..seen() }
}

/// What live reads say where the Instance is gone for good.
pub fn proof() -> Live {
    Live {
        namespace: Some(Arc::new(hub_namespace())),
        instance: None,
        deployment: Some(Arc::new(hub_wd())),
        copies: 0,
    }
}

/// Replaces the object by a copy that `bend` has changed.
pub fn bent(shared: &mut Option<ObjectRef>, bend: impl FnOnce(&mut Object)) {
    let mut object = shared.as_deref().cloned().expect("something to bend");
    bend(&mut object);
    *shared = Some(Arc::new(object));
}
