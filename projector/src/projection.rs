//! What a projection is to be (P3, P4, P8).
//!
//! Decides P3 and P8.

use fedhub_cache::digest::Uid;
use fedhub_cache::digest::instance::{of_deployment, only_defaults};
use fedhub_cache::normalization::settled;
use fedhub_core::names::{
    INSTANCE_LABELS, PROJECTED_FROM, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_UID,
    encode_plane,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use fedhub_planes::writer::probe;
use fedhub_planes::{StatusWrite, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;

use crate::mark::Mark;
use crate::observe::Observed;
use crate::plan::Decision;
use crate::unreachable::told;

/// The project WD: its name, and the UID that it has now.
pub type Owner<'a> = (&'a str, &'a Uid);

/// The write that brings the projection nearer to `instance`, if one is needed; metadata and spec first.
pub fn plan(seen: &Observed, instance: &ObjectRef, owner: Owner<'_>) -> Decision {
    let wanted = wanted(seen, instance, owner);
    let Some(projection) = &seen.projection else { return Decision::Write(Write::Create(Box::new(wanted))) };
    if projection.is_terminating() {
        // Its deletion's event brings the Instance back.
        return Decision::Park(None);
    }
    let told = told(instance.status(), projection.status(), seen.down.as_ref(), seen.now);
    // Before the mark, which alone tells that the status is that of the Instance before this one.
    if let Some(write) = reset(seen, instance, &told, projection) {
        return Decision::Status(projection.clone(), write);
    }
    let differs = !settled(instance.spec(), projection.spec(), seen.spec_normalization);
    if differs || wanted.metadata != projection.metadata {
        let same_instance = Mark::of(projection).is_some_and(|m| m.instance_uid == instance.uid());
        let probe = probe(differs, same_instance, seen.spec_normalization);
        return Decision::Write(Write::Replace { object: Box::new(wanted), probe });
    }
    status(seen, &told, projection)
        .map_or(Decision::InOrder, |write| Decision::Status(projection.clone(), write))
}

/// The projection: labels by allow-list, the mark, the owner, the spec; all else of `seen.projection` as it is (I9).
fn wanted(seen: &Observed, instance: &ObjectRef, owner: Owner<'_>) -> Object {
    let mut wanted = seen
        .projection
        .as_ref()
        .map_or_else(|| bare(Kind::Instance, &seen.home.namespace, instance.name()), |p| p.as_ref().clone());
    let labels = wanted.metadata.labels.get_or_insert_default();
    for key in INSTANCE_LABELS {
        match instance.label(key) {
            Some(value) => labels.insert(key.to_owned(), value.to_owned()),
            None => labels.remove(key),
        };
    }
    labels.insert(UPSTREAM_CLUSTER.to_owned(), encode_plane(&seen.home.plane));
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), seen.home.namespace.clone());
    labels.insert(WORKLOAD_DEPLOYMENT_UID.to_owned(), owner.1.to_string());
    let mark = Mark {
        namespace: seen.hub_namespace.name().to_owned(),
        namespace_uid: seen.hub_namespace.uid().to_owned(),
        instance_uid: instance.uid().to_owned(),
    };
    wanted.metadata.annotations.get_or_insert_default().insert(PROJECTED_FROM.to_owned(), mark.to_string());
    own(&mut wanted, owner);
    set_field(&mut wanted, "spec", instance.spec().clone());
    wanted
}

/// One owner reference to the project WD, by the UID that it has now (I5). Every other reference to a WD goes: it is
/// to a dead UID, or makes the projection another WD's. References to other kinds are foreign and stay (I9).
fn own(projection: &mut Object, owner: Owner<'_>) {
    let reference = reference(owner);
    let references = projection.metadata.owner_references.get_or_insert_default();
    let mut there = false;
    references.retain(|o| !of_deployment(o) || (*o == reference && !std::mem::replace(&mut there, true)));
    if !there {
        references.push(reference);
    }
}

/// The owner reference of a projection (I5).
pub fn reference((name, uid): Owner<'_>) -> OwnerReference {
    let resource = Kind::WorkloadDeployment.resource();
    OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: name.to_owned(),
        uid: uid.to_string(),
        controller: None,
        block_owner_deletion: None,
    }
}

/// The status of an Instance that was replaced under its name and that no cell has reported on yet: the one before it
/// has left its own. Where the hub namespace is another one, too, the hub lost its state, and the Instance may well be
/// the same: its status stands until the cell reports.
fn reset(seen: &Observed, instance: &Object, wanted: &Value, projection: &Object) -> Option<StatusWrite> {
    let mark = Mark::of(projection)?;
    let replaced = mark.namespace_uid == seen.hub_namespace.uid() && mark.instance_uid != instance.uid();
    let current = projection.status();
    let stale = only_defaults(wanted) && !only_defaults(current);
    (replaced && stale && !settled(wanted, current, seen.status_normalization))
        .then(|| StatusWrite { status: wanted.clone(), probe: false })
}

/// The status whole, where it differs (P3).
fn status(seen: &Observed, wanted: &Value, projection: &Object) -> Option<StatusWrite> {
    let current = projection.status();
    if wanted.is_null() || settled(wanted, current, seen.status_normalization) {
        return None;
    }
    let told = !only_defaults(current);
    // The mark names the very Instance, or the projection would have been written first.
    if told && only_defaults(wanted) {
        return None;
    }
    // Where neither side was told anything by a cell, the difference may be the plane's own defaults.
    let written_before = told || (only_defaults(wanted) && !current.is_null());
    Some(StatusWrite {
        status: wanted.clone(),
        probe: probe(true, written_before, seen.status_normalization),
    })
}
