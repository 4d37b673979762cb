//! The copy of an Instance as it should stand: the one rendering, which the plan compares with and apply
//! writes.

use fedhub_api::cells::CellId;
use fedhub_api::facts::instance::of_deployment;
use fedhub_cache::digest::Uid;
use fedhub_core::names::{
    CELL_SOURCE, LINKING_LABELS, SERVICE_NAME, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    WORKLOAD_DEPLOYMENT_NAME, encode_plane,
};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_planes::ProjectNamespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::refusal::WriteBackRefusal;
use super::snapshot::Snapshot;
use crate::domain::instances::owner_reference;

/// The project namespace and the hub WD that an Instance is written back for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOwner {
    /// The project namespace, by the hub namespace's labels and nothing else (I6).
    pub project: ProjectNamespace,
    /// The UID that its WD has on the hub now.
    pub uid: Uid,
}

impl CopyOwner {
    /// The owner of an Instance (C7): it needs all linking labels, a hub namespace that names its project,
    /// and a WD that lives on the hub, which is the Instance's own or has its copy already (I5). Otherwise
    /// why there is none; `None` until the hub has namespace and WD.
    pub fn from_instance(instance: &Object, snapshot: &Snapshot) -> Result<Self, Option<WriteBackRefusal>> {
        let missing: Vec<&'static str> =
            LINKING_LABELS.into_iter().filter(|key| instance.label(key).is_none_or(str::is_empty)).collect();
        if !missing.is_empty() {
            return Err(Some(WriteBackRefusal::Unlinked(missing)));
        }
        let namespace =
            snapshot.hub_namespace.as_ref().filter(|namespace| !namespace.is_terminating()).ok_or(None)?;
        let project =
            ProjectNamespace::from_hub_namespace(namespace).ok_or(Some(WriteBackRefusal::Unidentifiable))?;
        let deployment =
            snapshot.deployment.as_ref().filter(|deployment| !deployment.terminating).ok_or(None)?;
        let uid = deployment.uid.clone();
        if !snapshot.is_copied_for(&uid) && !snapshot.is_made_from(deployment) {
            return Err(None);
        }
        Ok(Self { project, uid })
    }
}

/// The metadata of a copy that the write-back manages: labels, the mark and the owner. No annotation of the
/// Instance travels. Without an `owner`, what depends on it is left out.
pub fn managed(instance: &Object, cell: &CellId, owner: Option<&CopyOwner>) -> Object {
    let linking = LINKING_LABELS.into_iter().filter_map(|key| Some((key, instance.label(key)?.to_owned())));
    let upstream = owner.map(|CopyOwner { project, .. }| {
        [(UPSTREAM_CLUSTER, encode_plane(&project.plane)), (UPSTREAM_NAMESPACE, project.namespace.clone())]
    });
    let labels = linking.chain(upstream.into_iter().flatten());
    let labels = labels.chain([(SERVICE_NAME.0, SERVICE_NAME.1.to_owned())]);
    let deployment = instance.label(WORKLOAD_DEPLOYMENT_NAME).unwrap_or_default();
    let uid = owner.map(|owner| owner.uid.to_string()).unwrap_or_default();

    let mut managed = bare(Kind::Instance, instance.namespace(), instance.name());
    managed.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value)).collect());
    let mark = (CELL_SOURCE.to_owned(), cell.source(instance).to_string());
    managed.metadata.annotations = Some([mark].into());
    managed.metadata.owner_references = Some(vec![owner_reference(deployment, &uid)]);
    managed
}

/// The copy with what is [`managed`] and the spec of the Instance; all else of `copy` as it is (I9).
pub fn desired(instance: &Object, managed: Object, copy: Option<&Object>) -> Object {
    let mut desired = match copy {
        None => managed,
        Some(copy) => {
            let mut desired = copy.clone();
            let managed = managed.metadata;
            desired.metadata.labels.get_or_insert_default().extend(managed.labels.unwrap_or_default());
            let annotations = desired.metadata.annotations.get_or_insert_default();
            annotations.extend(managed.annotations.unwrap_or_default());
            managed.owner_references.into_iter().flatten().for_each(|owner| own(&mut desired, owner));
            desired
        }
    };
    set_field(&mut desired, "spec", instance.spec().clone());
    desired
}

/// One owner reference to the hub WD, by the UID that it has now. Every other reference to a WD goes: its UID
/// is dead, or it makes the copy another WD's. References to other kinds stay (I9), and a controller among
/// them keeps that place, for an object has one.
fn own(copy: &mut Object, reference: OwnerReference) {
    let references = copy.metadata.owner_references.get_or_insert_default();
    if references.iter().any(|o| o.controller == Some(true) && !of_deployment(o)) {
        return;
    }
    let mut there = false;
    references.retain(|o| !of_deployment(o) || (*o == reference && !std::mem::replace(&mut there, true)));
    if !there {
        references.push(reference);
    }
}
