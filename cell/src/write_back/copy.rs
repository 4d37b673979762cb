//! What the copy of an Instance is to be.

use fedhub_api::cells::CellId;
use fedhub_cache::digest::instance::of_deployment;
use fedhub_cache::digest::{Digest, Uid};
use fedhub_core::names::{
    CELL_SOURCE, LINKING_LABELS, SERVICE_NAME, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    WORKLOAD_DEPLOYMENT_NAME, encode_plane,
};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_planes::ProjectNamespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::decision::Decision;
use super::refusal::Refusal;

/// On whose behalf an Instance is written back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The project namespace, by the hub namespace's labels and nothing else (I6).
    pub home: ProjectNamespace,
    /// The name of its WD.
    pub name: &'a str,
    /// The UID that this WD has on the hub now.
    pub uid: &'a Uid,
}

/// Whom an Instance is written back for; else what is decided, whatever its copy is like (C7): all linking labels, a hub
/// namespace that says whose it is, and a WD that lives on the hub.
pub fn owner<'a>(
    instance: &'a Object,
    hub_namespace: Option<&Object>,
    deployment: Option<&'a Digest>,
) -> Result<Owner<'a>, Decision> {
    let empty = |key: &&str| instance.label(key).is_none_or(str::is_empty);
    let missing: Vec<&'static str> = LINKING_LABELS.into_iter().filter(empty).collect();
    let name = instance.label(WORKLOAD_DEPLOYMENT_NAME).filter(|_| missing.is_empty());
    let Some(name) = name else { return Err(Decision::Refuse(Refusal::Unlinked(missing))) };
    let Some(hub_namespace) = hub_namespace.filter(|n| !n.is_terminating()) else {
        return Err(Decision::Park);
    };
    let Some(home) = ProjectNamespace::of(hub_namespace) else {
        return Err(Decision::Refuse(Refusal::Unidentifiable));
    };
    let Some(deployment) = deployment.filter(|d| !d.terminating) else { return Err(Decision::Park) };
    Ok(Owner { home, name, uid: &deployment.uid })
}

/// The copy: nine labels and that of the service, the mark, the owner, the spec; all else of `copy` as it is (I9). No
/// annotation of the Instance travels.
pub fn wanted(instance: &Object, cell: &CellId, owner: &Owner<'_>, copy: Option<&Object>) -> Object {
    let new = || bare(Kind::Instance, instance.namespace(), instance.name());
    let mut wanted = copy.map_or_else(new, Object::clone);
    let labels = wanted.metadata.labels.get_or_insert_default();
    for key in LINKING_LABELS {
        labels.insert(key.to_owned(), instance.label(key).unwrap_or_default().to_owned());
    }
    labels.insert(UPSTREAM_CLUSTER.to_owned(), encode_plane(&owner.home.plane));
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), owner.home.namespace.clone());
    labels.insert(SERVICE_NAME.0.to_owned(), SERVICE_NAME.1.to_owned());
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(CELL_SOURCE.to_owned(), cell.source(instance).to_string());
    own(&mut wanted, owner);
    set_field(&mut wanted, "spec", instance.spec().clone());
    wanted
}

/// One owner reference to the hub WD, by the UID that it has now. Every other reference to a WD goes: it is to a dead
/// UID, or makes the copy another WD's. References to other kinds stay (I9), and a controller among them keeps that
/// place, for an object has one.
fn own(copy: &mut Object, owner: &Owner<'_>) {
    let reference = reference(owner.name, &owner.uid.to_string());
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

/// The owner reference of a copy.
pub fn reference(name: &str, uid: &str) -> OwnerReference {
    let resource = Kind::WorkloadDeployment.resource();
    OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
