//! Single changes of a consistent world, and what each is found as.

use fedhub_core::names::{
    CITY_CODE, FEDERATION_NAMESPACE, INSTANCE_CITY, MOVING, REFERENCED_BY, REFERENCED_DATA, SOURCE,
    UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME, encode_plane,
};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId, set_field};
use fedhub_planes::ProjectNamespace;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::fixtures::{CELL, Target, object, put};
use crate::audit::compare::context::{key, key_of};
use crate::audit::finding::Discrepancy;
use crate::audit::world::{Objects, World};

/// A change, and what it is found as.
pub struct Edit {
    pub what: &'static str,
    pub expected: Discrepancy,
    pub apply: fn(&mut World, &Target),
}

const fn edit(what: &'static str, expected: Discrepancy, apply: fn(&mut World, &Target)) -> Edit {
    Edit { what, expected, apply }
}

pub fn annotate(object: &mut Object, key: &str, value: &str) {
    object.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

fn label(object: &mut Object, key: &str, value: &str) {
    object.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// A copy of the object `db` that counts the WD.
pub fn companion(of: &Target, kind: Kind) -> Object {
    let mut copy = object(kind, &of.space, "db", "copy");
    label(&mut copy, REFERENCED_DATA, "true");
    annotate(&mut copy, REFERENCED_BY, &format!(r#"["{}/{}"]"#, of.home.namespace, of.name));
    copy
}

fn deleting(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time(Timestamp::from_second(1_799_999_000).unwrap()));
}

fn change(objects: &mut Objects, key: Key, edit: impl FnOnce(&mut Object)) {
    let mut object = objects.get(&key.namespace, &key.name).unwrap().object.as_ref().clone();
    edit(&mut object);
    objects.replace(&key, Some(object));
}

fn remove(objects: &mut Objects, namespace: &str, name: &str) {
    objects.replace(&key(PlaneId::Hub, Kind::Instance, namespace, name), None);
}

pub fn on_hub_wd(world: &mut World, of: &Target, edit: impl FnOnce(&mut Object)) {
    let key = key(PlaneId::Hub, Kind::WorkloadDeployment, &of.space, &of.name);
    change(&mut world.hub.deployments, key, edit);
}

pub fn on_wd(world: &mut World, of: &Target, edit: impl FnOnce(&mut Object)) {
    let key =
        key(PlaneId::Project(of.home.plane.clone()), Kind::WorkloadDeployment, &of.home.namespace, &of.name);
    change(&mut world.projects.get_mut(&of.home.plane).unwrap().deployments, key, edit);
}

fn first(of: &Target) -> String {
    format!("{}-0", of.name)
}

fn on_copy(world: &mut World, of: &Target, edit: impl FnOnce(&mut Object)) {
    let key = key(PlaneId::Hub, Kind::Instance, &of.space, &first(of));
    change(&mut world.hub.instances, key, edit);
}

fn on_projection(world: &mut World, of: &Target, edit: impl FnOnce(&mut Object)) {
    let key = key(PlaneId::Project(of.home.plane.clone()), Kind::Instance, &of.home.namespace, &first(of));
    change(&mut world.projects.get_mut(&of.home.plane).unwrap().instances, key, edit);
}

fn policy(world: &World, of: &Target) -> Key {
    let wd = world.hub.deployments.get(&of.space, &of.name).unwrap();
    let city = wd.object.label(CITY_CODE);
    let mut policies = world.hub.policies.within(&of.space);
    let policy = policies.find(|it| it.object.label(CITY_CODE) == city).unwrap();
    key_of(PlaneId::Hub, Kind::PropagationPolicy, policy)
}

/// The policy of the WD's city goes, and another of that city stands.
pub fn replace_policy(world: &mut World, of: &Target) {
    let key = policy(world, of);
    let mut another = world.hub.policies.get(&key.namespace, &key.name).unwrap().object.as_ref().clone();
    another.metadata.name = Some("another".to_owned());
    change(&mut world.hub.policies, key, deleting);
    put(&mut world.hub.policies, PlaneId::Hub, Kind::PropagationPolicy, another);
}

/// Nothing of a WD is on the hub and in the cell any more.
fn clear_hub(world: &mut World, of: &Target) {
    remove(&mut world.hub.deployments, &of.space, &of.name);
    let copies: Vec<String> = instances_of(&world.hub.instances, &of.space, of);
    let cell = world.cells.get_mut(CELL).unwrap();
    remove(&mut cell.deployments, &of.space, &of.name);
    for name in copies {
        remove(&mut cell.instances, &of.space, &name);
        remove(&mut world.hub.instances, &of.space, &name);
    }
}

fn instances_of(objects: &Objects, namespace: &str, of: &Target) -> Vec<String> {
    let names = objects.within(namespace).map(|it| it.object.name().to_owned());
    names.filter(|name| name.starts_with(&format!("{}-", of.name))).collect()
}

fn clear_project(world: &mut World, of: &Target) {
    let project = world.projects.get_mut(&of.home.plane).unwrap();
    remove(&mut project.deployments, &of.home.namespace, &of.name);
    for name in instances_of(&project.instances, &of.home.namespace, of) {
        remove(&mut project.instances, &of.home.namespace, &name);
    }
}

/// A hub namespace besides, of the same project namespace.
fn another_namespace(world: &mut World, of: &Target) -> &'static str {
    let mut namespace = object(Kind::Namespace, "", "ns-another", "uid-of-another");
    label(&mut namespace, UPSTREAM_CLUSTER, &encode_plane(&of.home.plane));
    label(&mut namespace, UPSTREAM_NAMESPACE, &of.home.namespace);
    put(&mut world.hub.namespaces, PlaneId::Hub, Kind::Namespace, namespace);
    "ns-another"
}

pub const EDITS: &[Edit] = &[
    edit("the finalizer is stripped", Discrepancy::WdMarkDiffers, |w, of| {
        on_wd(w, of, |wd| wd.metadata.finalizers = None);
    }),
    edit("a tenant edits the annotation", Discrepancy::WdMarkDiffers, |w, of| {
        on_wd(w, of, |wd| annotate(wd, FEDERATION_NAMESPACE, "ns-of-another"));
    }),
    edit("the hub WD is deleted", Discrepancy::HubWdMissing, |w, of| {
        remove(&mut w.hub.deployments, &of.space, &of.name);
        remove(&mut w.cells.get_mut(CELL).unwrap().deployments, &of.space, &of.name);
    }),
    edit("the hub WD is being deleted", Discrepancy::HubWdMissing, |w, of| on_hub_wd(w, of, deleting)),
    edit("the hub WD's spec is edited", Discrepancy::HubWdDiffers, |w, of| {
        on_hub_wd(w, of, |hub| hub.data["spec"]["template"]["image"] = json!("other"));
    }),
    edit("the project WD is newer", Discrepancy::HubWdDiffers, |w, of| {
        on_wd(w, of, |wd| wd.metadata.generation = Some(4));
    }),
    edit("a field of the hub WD is pruned", Discrepancy::SchemaDiffers, |w, of| {
        on_hub_wd(w, of, |hub| drop(hub.data["spec"]["template"].as_object_mut().unwrap().remove("image")));
    }),
    edit("the hub WD is relabelled", Discrepancy::WrongCity, |w, of| {
        on_hub_wd(w, of, |hub| label(hub, CITY_CODE, "LAX"));
    }),
    edit("a move does not end", Discrepancy::WrongCity, |w, of| {
        on_hub_wd(w, of, |hub| annotate(hub, MOVING, "LAX/2026-11-01T00:00:00Z"));
    }),
    edit("the hub WD is another's", Discrepancy::HubConflict, |w, of| {
        on_hub_wd(w, of, |hub| annotate(hub, SOURCE, "other/shop/web"));
    }),
    edit("the policy is deleted", Discrepancy::PolicyMissing, |w, of| {
        let key = policy(w, of);
        w.hub.policies.replace(&key, None);
    }),
    edit("the policy is being deleted", Discrepancy::PolicyMissing, |w, of| {
        let key = policy(w, of);
        change(&mut w.hub.policies, key, deleting);
    }),
    edit("the policy is edited", Discrepancy::PolicyDiffers, |w, of| {
        let key = policy(w, of);
        change(&mut w.hub.policies, key, |policy| policy.data["spec"]["priority"] = json!(9));
    }),
    edit("a policy is left over", Discrepancy::PolicyUnused, |w, of| {
        let mut policy = object(Kind::PropagationPolicy, &of.space, "city-lax", "p");
        label(&mut policy, CITY_CODE, "LAX");
        put(&mut w.hub.policies, PlaneId::Hub, Kind::PropagationPolicy, policy);
    }),
    edit("a copy of a Secret is left over", Discrepancy::CompanionLeft, |w, of| {
        put(&mut w.hub.secrets, PlaneId::Hub, Kind::Secret, companion(of, Kind::Secret));
    }),
    edit(
        "a copy of a ConfigMap whose count cannot be read is left over",
        Discrepancy::CompanionLeft,
        |w, of| {
            let mut copy = companion(of, Kind::ConfigMap);
            annotate(&mut copy, REFERENCED_BY, "corrupt");
            put(&mut w.hub.config_maps, PlaneId::Hub, Kind::ConfigMap, copy);
        },
    ),
    edit("the status is not mirrored", Discrepancy::StatusNotMirrored, |w, of| {
        on_hub_wd(w, of, |hub| hub.data["status"]["readyReplicas"] = json!(1));
    }),
    edit("a deleted WD is still on the hub", Discrepancy::CleanupPending, |w, of| on_wd(w, of, deleting)),
    edit("a deleted WD's hub WD has another mark", Discrepancy::CleanupBlocked, |w, of| {
        on_wd(w, of, deleting);
        on_hub_wd(w, of, |hub| annotate(hub, SOURCE, "other/shop/web"));
    }),
    edit("a deleted WD keeps its finalizer", Discrepancy::FinalizerLeft, |w, of| {
        on_wd(w, of, deleting);
        clear_hub(w, of);
        // Its policy is used by what is left of its city, or goes a moment later.
        let policies: Vec<Key> = w
            .hub
            .policies
            .within(&of.space)
            .map(|it| key_of(PlaneId::Hub, Kind::PropagationPolicy, it))
            .collect();
        for key in policies {
            let code = w
                .hub
                .policies
                .get(&key.namespace, &key.name)
                .unwrap()
                .object
                .label(CITY_CODE)
                .map(str::to_owned);
            let mut wds = w.hub.deployments.within(&of.space);
            if !wds.any(|wd| wd.object.label(CITY_CODE) == code.as_deref()) {
                w.hub.policies.replace(&key, None);
            }
        }
    }),
    edit("the WD's finalizer was stripped, and it is gone", Discrepancy::Orphan, clear_project),
    edit("the WD was made anew", Discrepancy::Orphan, |w, of| {
        clear_project(w, of);
        let plane = PlaneId::Project(of.home.plane.clone());
        let mut wd = object(Kind::WorkloadDeployment, &of.home.namespace, &of.name, "uid-anew");
        wd.metadata.generation = Some(1);
        let hub = w.hub.deployments.get(&of.space, &of.name).unwrap().object.clone();
        set_field(&mut wd, "spec", hub.spec().clone());
        put(
            &mut w.projects.get_mut(&of.home.plane).unwrap().deployments,
            plane,
            Kind::WorkloadDeployment,
            wd,
        );
    }),
    edit("a second hub WD", Discrepancy::Duplicate, |w, of| {
        let space = another_namespace(w, of);
        let mut twin = w.hub.deployments.get(&of.space, &of.name).unwrap().object.as_ref().clone();
        (twin.metadata.namespace, twin.metadata.uid) = (Some(space.to_owned()), Some("twin".to_owned()));
        put(&mut w.hub.deployments, PlaneId::Hub, Kind::WorkloadDeployment, twin);
        let key = policy(w, of);
        let mut policy = w.hub.policies.get(&key.namespace, &key.name).unwrap().object.as_ref().clone();
        policy.metadata.namespace = Some(space.to_owned());
        put(&mut w.hub.policies, PlaneId::Hub, Kind::PropagationPolicy, policy);
    }),
    edit("another's hub WD", Discrepancy::ForeignHubWd, |w, of| {
        let mut foreign = w.hub.deployments.get(&of.space, &of.name).unwrap().object.as_ref().clone();
        (foreign.metadata.name, foreign.metadata.uid) = (Some("foreign".to_owned()), Some("f".to_owned()));
        annotate(&mut foreign, SOURCE, "other/shop/foreign");
        put(&mut w.hub.deployments, PlaneId::Hub, Kind::WorkloadDeployment, foreign);
    }),
    edit("an empty hub namespace", Discrepancy::EmptyHubNamespace, |w, of| {
        let nowhere = ProjectNamespace { namespace: "unused".to_owned(), ..of.home.clone() };
        another_namespace(w, &Target { home: nowhere, ..of.clone() });
    }),
    edit("the project namespace was removed by force", Discrepancy::NamespaceGone, |w, of| {
        let gone = "gone".to_owned();
        let plane = PlaneId::Project(of.home.plane.clone());
        let mut wd = object(Kind::WorkloadDeployment, &gone, "lonely", "uid-lonely");
        set_field(&mut wd, "spec", json!({"cityCode": "DFW"}));
        let project = w.projects.get_mut(&of.home.plane).unwrap();
        project.namespaces.insert(gone, None);
        put(&mut project.deployments, plane, Kind::WorkloadDeployment, wd);
    }),
    edit("the hub namespace was never made", Discrepancy::HubNamespaceMissing, |w, of| {
        let new = "new".to_owned();
        let plane = PlaneId::Project(of.home.plane.clone());
        let mut wd = w.projects[&of.home.plane]
            .deployments
            .get(&of.home.namespace, &of.name)
            .unwrap()
            .object
            .as_ref()
            .clone();
        (wd.metadata.namespace, wd.metadata.uid) = (Some(new.clone()), Some("uid-new".to_owned()));
        annotate(&mut wd, FEDERATION_NAMESPACE, "ns-uid-of-new");
        set_field(&mut wd, "status", json!(null));
        let project = w.projects.get_mut(&of.home.plane).unwrap();
        project.namespaces.insert(new, Some("uid-of-new".to_owned()));
        put(&mut project.deployments, plane, Kind::WorkloadDeployment, wd);
    }),
    edit("the hub namespace lacks a label", Discrepancy::HubNamespaceDiffers, |w, of| {
        let empty = "empty".to_owned();
        let plane = PlaneId::Project(of.home.plane.clone());
        let mut namespace = object(Kind::Namespace, "", "ns-uid-of-empty", "uid-bald");
        label(&mut namespace, UPSTREAM_CLUSTER, &encode_plane(&of.home.plane));
        put(&mut w.hub.namespaces, PlaneId::Hub, Kind::Namespace, namespace);
        let mut wd = object(Kind::WorkloadDeployment, &empty, "wd", "uid-wd");
        wd.metadata.finalizers = Some(vec![fedhub_core::names::FEDERATOR_FINALIZER.to_owned()]);
        annotate(&mut wd, FEDERATION_NAMESPACE, "ns-uid-of-empty");
        annotate(&mut wd, fedhub_core::names::HUB_NAMESPACE_UID, "uid-bald");
        set_field(&mut wd, "spec", json!({"cityCode": "DFW"}));
        wd.metadata.generation = Some(1);
        let project = w.projects.get_mut(&of.home.plane).unwrap();
        project.namespaces.insert(empty, Some("uid-of-empty".to_owned()));
        put(&mut project.deployments, plane.clone(), Kind::WorkloadDeployment, wd.clone());
        let mut hub = object(Kind::WorkloadDeployment, "ns-uid-of-empty", "wd", "uid-hub-wd");
        let metadata = fedhub_api::hub_metadata::HubMetadata {
            source: format!("{}/empty/wd", of.home.plane),
            source_uid: "uid-wd".to_owned(),
            source_generation: 1,
            namespace: "empty".to_owned(),
            city: "DFW".to_owned(),
            ..fedhub_api::hub_metadata::HubMetadata::default()
        };
        metadata.render(&wd, false, &mut hub);
        set_field(&mut hub, "spec", wd.spec().clone());
        put(&mut w.hub.deployments, PlaneId::Hub, Kind::WorkloadDeployment, hub.clone());
        put(&mut w.cells.get_mut(CELL).unwrap().deployments, PlaneId::Cell, Kind::WorkloadDeployment, hub);
        let target = Target {
            home: ProjectNamespace { namespace: "empty".to_owned(), ..of.home.clone() },
            name: "wd".to_owned(),
            space: "ns-uid-of-empty".to_owned(),
        };
        super::fixtures::put_policy(w, &target);
    }),
    edit("a copy names another tenant", Discrepancy::InstanceQuarantined, |w, of| {
        on_copy(w, of, |copy| label(copy, UPSTREAM_NAMESPACE, "another"));
    }),
    edit("a copy without a WD", Discrepancy::InstanceParked, |w, of| {
        let mut copy = object(Kind::Instance, &of.space, "lonely-0", "uid-lonely");
        copy.metadata.creation_timestamp = Some(Time(Timestamp::from_second(1_799_999_700).unwrap()));
        put(&mut w.hub.instances, PlaneId::Hub, Kind::Instance, copy);
    }),
    edit("a copy without a WD, for long", Discrepancy::InstanceQuarantined, |w, of| {
        let copy = object(Kind::Instance, &of.space, "lonely-0", "uid-lonely");
        put(&mut w.hub.instances, PlaneId::Hub, Kind::Instance, copy);
    }),
    edit("a copy of a hub WD that is no more", Discrepancy::DanglingOwner, |w, of| {
        on_copy(w, of, |copy| copy.metadata.owner_references.as_mut().unwrap()[0].uid = "dead".to_owned());
    }),
    edit("a copy of another city", Discrepancy::WrongCity, |w, of| {
        on_copy(w, of, |copy| label(copy, INSTANCE_CITY, "LAX"));
        on_projection(w, of, |projection| label(projection, INSTANCE_CITY, "LAX"));
    }),
    edit("the projection is deleted", Discrepancy::ProjectionMissing, |w, of| {
        let project = w.projects.get_mut(&of.home.plane).unwrap();
        remove(&mut project.instances, &of.home.namespace, &first(of));
    }),
    edit("the projection is edited", Discrepancy::ProjectionDiffers, |w, of| {
        on_projection(w, of, |projection| projection.data["spec"]["image"] = json!("other"));
    }),
    edit("the projection's status is edited", Discrepancy::ProjectionStatusDiffers, |w, of| {
        on_projection(w, of, |projection| {
            projection.data["status"]["conditions"][0]["status"] = json!("False");
        });
    }),
    edit("the projection has no owner", Discrepancy::ProjectionOwnerless, |w, of| {
        on_projection(w, of, |projection| projection.metadata.owner_references = None);
    }),
    edit("the projection's owner is dead", Discrepancy::DanglingOwner, |w, of| {
        on_projection(w, of, |it| it.metadata.owner_references.as_mut().unwrap()[0].uid = "dead".to_owned());
    }),
    edit("a projection of nothing", Discrepancy::ProjectionLeft, |w, of| {
        remove(&mut w.hub.instances, &of.space, &first(of));
        remove(&mut w.cells.get_mut(CELL).unwrap().instances, &of.space, &first(of));
    }),
    edit("a projection that its WD has left", Discrepancy::ProjectionWdGone, |w, of| {
        let project = w.projects.get_mut(&of.home.plane).unwrap();
        let mut left = project.instances.get(&of.home.namespace, &first(of)).unwrap().object.as_ref().clone();
        left.metadata.name = Some("gone-0".to_owned());
        label(&mut left, WORKLOAD_DEPLOYMENT_NAME, "gone");
        put(&mut project.instances, PlaneId::Project(of.home.plane.clone()), Kind::Instance, left);
    }),
    edit("a WD that the hub does not have, in a cell", Discrepancy::CellWdLeft, |w, of| {
        let mut wd = object(Kind::WorkloadDeployment, &of.space, "left", "uid-left");
        label(&mut wd, UPSTREAM_NAMESPACE, &of.home.namespace);
        put(&mut w.cells.get_mut(CELL).unwrap().deployments, PlaneId::Cell, Kind::WorkloadDeployment, wd);
    }),
    edit("an Instance without a copy", Discrepancy::CopyMissing, |w, of| {
        let instance = object(Kind::Instance, &of.space, &format!("{}-9", of.name), "uid-9");
        put(&mut w.cells.get_mut(CELL).unwrap().instances, PlaneId::Cell, Kind::Instance, instance);
    }),
    edit("a copy whose Instance is another", Discrepancy::CopyLeft, |w, of| {
        on_copy(w, of, |copy| {
            annotate(copy, fedhub_core::names::CELL_SOURCE, "cell-DFW/uid-of-cell-DFW/dead");
        });
    }),
];
