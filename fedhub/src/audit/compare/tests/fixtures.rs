//! Worlds as fedhub, Karmada and cells make them.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_api::facts::DigestExt;
use fedhub_api::hub_metadata::HubMetadata;
use fedhub_core::names::PlaneName;
use fedhub_core::names::{
    CELL_SOURCE, CITY_CODE, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID, INSTANCE_CITY,
    UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME, encode_plane, hub_namespace,
};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId, bare, set_field};
use fedhub_engine::Intent;
use fedhub_federator::plan::plan;
use fedhub_planes::pauses::stored::PausedPlanes;
use fedhub_planes::{ProjectNamespace, Write};
use fedhub_projector::render::desired;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use serde_json::{Value, json};

use crate::audit::compare::context::{Context, key};
use crate::audit::compare::pairs::Pair;
use crate::audit::world::{Cell, Hub, Objects, Project, World};

/// How many of each there are, of each before it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub planes: usize,
    pub namespaces: usize,
    pub deployments: usize,
    pub instances: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { planes: 2, namespaces: 1, deployments: 2, instances: 2 }
    }
}

/// One WD and what it has.
#[derive(Clone, Debug)]
pub struct Target {
    pub home: ProjectNamespace,
    pub name: String,
    pub space: String,
}

pub const CITIES: [&str; 2] = ["DFW", "ORD"];
pub const CELL: &str = "cell-DFW";

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// An object that was made a day ago.
pub fn object(kind: Kind, namespace: &str, name: &str, uid: &str) -> Object {
    let mut object = bare(kind, namespace, name);
    object.metadata.uid = Some(uid.to_owned());
    object.metadata.resource_version = Some("7".to_owned());
    object.metadata.creation_timestamp = Some(Time(now() - SignedDuration::from_hours(24)));
    object
}

fn labels(object: &mut Object, labels: &[(&str, &str)]) {
    let all = object.metadata.labels.get_or_insert_default();
    all.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
}

pub fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T09:00:00Z"})
}

fn status() -> Value {
    json!({
        "observedGeneration": 3, "replicas": 2, "currentReplicas": 2, "updatedReplicas": 2, "desiredReplicas": 2,
        "readyReplicas": 2, "conditions": [condition("Available", "True"), condition("ReplicasReady", "True")],
    })
}

/// A world in which everything is as it should be, and its WDs.
pub fn world(shape: &Shape) -> (World, Vec<Target>) {
    let mut world = World {
        now: now(),
        grace: Duration::from_mins(1),
        only: None,
        paused: PausedPlanes::default(),
        hub: Hub::default(),
        projects: BTreeMap::new(),
        cells: BTreeMap::from([(
            CELL.to_owned(),
            Cell { uid: "uid-of-cell-DFW".to_owned(), ..Cell::default() },
        )]),
    };
    for city in CITIES {
        let mut cluster = object(Kind::Cluster, "", &format!("cell-{city}"), city);
        labels(&mut cluster, &[(CITY_CODE, city)]);
        set_field(&mut cluster, "status", json!({"conditions": [condition("Ready", "True")]}));
        put(&mut world.hub.clusters, PlaneId::Hub, Kind::Cluster, cluster);
    }
    let mut targets = Vec::new();
    for plane in (0..shape.planes).map(|n| PlaneName::new(&format!("plane-{n}")).unwrap()) {
        world.projects.insert(plane.clone(), Project::default());
        for namespace in (0..shape.namespaces).map(|n| format!("ns-{n}")) {
            let home = ProjectNamespace { plane: plane.clone(), namespace };
            for n in 0..shape.deployments {
                let target = add(&mut world, &home, &format!("web-{n}"), CITIES[n % 2]);
                (0..shape.instances).for_each(|ordinal| project(&mut world, &target, ordinal, CITIES[n % 2]));
                targets.push(target);
            }
        }
    }
    (world, targets)
}

pub fn put(objects: &mut Objects, plane: PlaneId, kind: Kind, object: Object) {
    objects.replace(&key(plane, kind, object.namespace(), object.name()), Some(object));
}

/// Adds a WD, federated and reported on.
fn add(world: &mut World, home: &ProjectNamespace, name: &str, city: &str) -> Target {
    let plane = PlaneId::Project(home.plane.clone());
    let uid = format!("uid-{}-{}", home.plane, home.namespace);
    let space = hub_namespace(&uid);
    let mut namespace = object(Kind::Namespace, "", &space, &format!("uid-of-{space}"));
    let cluster = encode_plane(&home.plane);
    labels(&mut namespace, &[(UPSTREAM_CLUSTER, &cluster), (UPSTREAM_NAMESPACE, &home.namespace)]);
    put(&mut world.hub.namespaces, PlaneId::Hub, Kind::Namespace, namespace);

    let mut wd = object(Kind::WorkloadDeployment, &home.namespace, name, &format!("{uid}-{name}"));
    wd.metadata.generation = Some(3);
    wd.metadata.finalizers = Some(vec![FEDERATOR_FINALIZER.to_owned()]);
    let marks = [(FEDERATION_NAMESPACE, space.clone()), (HUB_NAMESPACE_UID, format!("uid-of-{space}"))];
    wd.metadata.annotations = Some(marks.map(|(key, value)| (key.to_owned(), value)).into());
    set_field(&mut wd, "spec", json!({"cityCode": city, "template": {"image": "app", "args": ["a", "b"]}}));
    set_field(&mut wd, "status", status());

    let mut hub = object(Kind::WorkloadDeployment, &space, name, &format!("hub-{uid}-{name}"));
    let metadata = HubMetadata {
        source: format!("{}/{}/{name}", home.plane, home.namespace),
        source_uid: wd.uid().to_owned(),
        source_generation: 3,
        namespace: home.namespace.clone(),
        city: city.to_owned(),
        ..HubMetadata::default()
    };
    metadata.render(&wd, false, &mut hub);
    set_field(&mut hub, "spec", wd.spec().clone());
    set_field(&mut hub, "status", status());
    if city == CITIES[0] {
        let cell = world.cells.get_mut(CELL).unwrap();
        put(&mut cell.deployments, PlaneId::Cell, Kind::WorkloadDeployment, hub.clone());
    }
    put(&mut world.hub.deployments, PlaneId::Hub, Kind::WorkloadDeployment, hub);
    let read = world.projects.get_mut(&home.plane).unwrap();
    read.namespaces.insert(home.namespace.clone(), Some(uid));
    put(&mut read.deployments, plane, Kind::WorkloadDeployment, wd);

    let target = Target { home: home.clone(), name: name.to_owned(), space };
    put_policy(world, &target);
    target
}

/// Adds the policy of a WD, if it lacks one.
pub fn put_policy(world: &mut World, target: &Target) {
    if let Some(mut policy) = policy_of(world, target) {
        policy.metadata.creation_timestamp = Some(Time(now() - SignedDuration::from_hours(24)));
        put(&mut world.hub.policies, PlaneId::Hub, Kind::PropagationPolicy, policy);
    }
}

/// The policy that the federator makes for a WD, if it lacks one.
fn policy_of(world: &World, target: &Target) -> Option<Object> {
    let context = Context::from_world(world);
    let wd =
        world.projects[&target.home.plane].deployments.get(&target.home.namespace, &target.name).unwrap();
    let pair = Pair { context: &context, home: &target.home, wd, space: &target.space };
    let seen = pair.snapshot(fedhub_planes::WriteState::Active, fedhub_planes::ServiceState::Active).unwrap();
    plan(&seen).intents.into_iter().find_map(|intent| match intent {
        Intent::Put { kind: Kind::PropagationPolicy, write: Write::Create(policy), .. } => Some(*policy),
        _ => None,
    })
}

/// Adds an Instance of a WD: in the cell, on the hub and in the project.
fn project(world: &mut World, target: &Target, ordinal: usize, city: &str) {
    let Target { home, name, space } = target;
    let name_of = format!("{name}-{ordinal}");
    let hub_uid = format!("hub-{space}-{name}-{ordinal}");
    let mut copy = object(Kind::Instance, space, &name_of, &hub_uid);
    let cluster = encode_plane(&home.plane);
    labels(
        &mut copy,
        &[
            (UPSTREAM_CLUSTER, &cluster),
            (UPSTREAM_NAMESPACE, &home.namespace),
            (WORKLOAD_DEPLOYMENT_NAME, name),
            (INSTANCE_CITY, city),
        ],
    );
    let original = format!("cell-{hub_uid}");
    let mark = format!("cell-{city}/uid-of-cell-{city}/{original}");
    copy.metadata.annotations = Some([(CELL_SOURCE.to_owned(), mark)].into());
    let hub_wd = world.hub.deployments.get(space, name).unwrap().object.uid().to_owned();
    let resource = Kind::WorkloadDeployment.resource();
    copy.metadata.owner_references = Some(vec![OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: name.clone(),
        uid: hub_wd,
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    set_field(&mut copy, "spec", json!({"image": "app"}));
    set_field(&mut copy, "status", json!({"conditions": [condition("Ready", "True")]}));
    if city == CITIES[0] {
        let mut instance = object(Kind::Instance, space, &name_of, &original);
        instance.metadata.labels.clone_from(&copy.metadata.labels);
        put(&mut world.cells.get_mut(CELL).unwrap().instances, PlaneId::Cell, Kind::Instance, instance);
    }
    put(&mut world.hub.instances, PlaneId::Hub, Kind::Instance, copy.clone());
    let mut projection = projection_of(world, target, &copy);
    projection.metadata.uid = Some(format!("projection-{hub_uid}"));
    projection.metadata.creation_timestamp.clone_from(&copy.metadata.creation_timestamp);
    set_field(&mut projection, "status", copy.status().clone());
    let plane = PlaneId::Project(home.plane.clone());
    put(&mut world.projects.get_mut(&home.plane).unwrap().instances, plane, Kind::Instance, projection);
}

/// The projection that the projector makes of a copy.
fn projection_of(world: &World, target: &Target, copy: &Object) -> Object {
    use fedhub_api::facts::ProjectedFrom;
    let wd =
        world.projects[&target.home.plane].deployments.get(&target.home.namespace, &target.name).unwrap();
    let namespace = world.hub.namespaces.get("", &target.space).unwrap();
    assert!(wd.digest.deployment().is_some());
    let mut managed = copy.metadata.clone();
    let mark = ProjectedFrom {
        namespace: &target.space,
        namespace_uid: namespace.object.uid(),
        instance_uid: copy.uid(),
    };
    managed.annotations = Some([(fedhub_core::names::PROJECTED_FROM.to_owned(), mark.to_string())].into());
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    managed.labels = Some(
        [
            label(UPSTREAM_CLUSTER, &encode_plane(&target.home.plane)),
            label(UPSTREAM_NAMESPACE, &target.home.namespace),
            label(fedhub_core::names::WORKLOAD_DEPLOYMENT_UID, wd.object.uid()),
        ]
        .into(),
    );
    let owner = managed.owner_references.as_mut().unwrap().first_mut().unwrap();
    (owner.uid, owner.controller, owner.block_owner_deletion) = (wd.object.uid().to_owned(), None, None);
    desired(&target.home.namespace, managed, copy, None)
}
