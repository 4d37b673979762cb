//! The one rendering of a projection (P3).
//!
//! Decides P3.

use fedhub_api::facts::ProjectedFrom;
use fedhub_api::facts::instance::{PROJECTION_LABELS, of_deployment};
use fedhub_cache::digest::Uid;
use fedhub_cache::normalization::settled;
use fedhub_core::names::{INSTANCE_LABELS, PROJECTED_FROM, encode_plane};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId, bare, set_field};
use fedhub_engine::{Bodies, Draft, DraftPart, Intent};
use fedhub_planes::{StatusWrite, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::snapshot::Snapshot;
use crate::unreachable::projected_status;

/// The project WD: its name, and the UID that it has now.
#[derive(Clone, Copy, Debug)]
pub struct ProjectionOwner<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a Uid,
}

/// The metadata that the projector manages of a projection, besides the labels that travel: compared by
/// [`fedhub_api::facts::instance::managed`], and written by [`desired`].
pub fn managed(seen: &Snapshot, instance: &Uid, owner: ProjectionOwner<'_>) -> ObjectMeta {
    let labels = [encode_plane(&seen.target.plane), seen.target.namespace.clone(), owner.uid.to_string()];
    let mark = ProjectedFrom {
        namespace: seen.hub_namespace.name(),
        namespace_uid: seen.hub_namespace.uid(),
        instance_uid: &instance.to_string(),
    };
    ObjectMeta {
        labels: Some(PROJECTION_LABELS.map(str::to_owned).into_iter().zip(labels).collect()),
        annotations: Some([(PROJECTED_FROM.to_owned(), mark.to_string())].into()),
        owner_references: Some(vec![reference(owner)]),
        ..ObjectMeta::default()
    }
}

/// The projection of `instance` in `namespace`: labels by allow-list, what is managed, and the spec;
/// everything else of `current` stays as it is (I9).
pub fn desired(namespace: &str, managed: ObjectMeta, instance: &Object, current: Option<&Object>) -> Object {
    let mut desired = current.map_or_else(|| bare(Kind::Instance, namespace, instance.name()), Object::clone);
    let metadata = &mut desired.metadata;
    let labels = metadata.labels.get_or_insert_default();
    labels.retain(|key, _| !INSTANCE_LABELS.contains(&key.as_str()));
    labels.extend(
        INSTANCE_LABELS.into_iter().filter_map(|key| Some((key.to_owned(), instance.label(key)?.to_owned()))),
    );
    labels.extend(managed.labels.into_iter().flatten());
    metadata.annotations.get_or_insert_default().extend(managed.annotations.into_iter().flatten());
    own(metadata.owner_references.get_or_insert_default(), managed.owner_references.unwrap_or_default());
    set_field(&mut desired, "spec", instance.spec().clone());
    desired
}

/// The write of a draft, by the objects that it is made of; none where what it would write stands.
pub fn render(seen: &Snapshot, draft: &Draft, bodies: &Bodies) -> Option<Intent> {
    let kind = Kind::Instance;
    let to = PlaneId::Project(seen.target.plane.clone());
    let instance = bodies.get(&seen.key)?;
    let projection = seen.projection_subject();
    let current = projection.as_ref().and_then(|projection| bodies.get(&projection.key)).cloned();
    match draft.part {
        DraftPart::Object => {
            let owner = ProjectionOwner { name: seen.deployment.as_deref()?, uid: &seen.owner.as_ref()?.uid };
            let managed = managed(seen, &seen.instance.as_ref()?.uid, owner);
            let object = Box::new(desired(&seen.target.namespace, managed, instance, current.as_deref()));
            let write = match current {
                Some(_) => Write::Replace { object, mode: draft.mode },
                None => Write::Create(object),
            };
            // The Instance may have been replaced under its name: the projection follows (P3).
            Some(Intent::Put { to, kind, write, recreate: current })
        }
        // A projection has no protection.
        DraftPart::Unprotected { .. } => None,
        DraftPart::Status => {
            let of = current.or(projection.map(|projection| projection.stub))?;
            let status = projected_status(instance.status(), of.status(), seen.down.as_ref(), seen.now);
            if seen.down.is_some() && settled(&status, of.status(), seen.status_normalization) {
                return None;
            }
            let write = StatusWrite { status: status.into_owned(), mode: draft.mode };
            Some(Intent::PutStatus { to, kind, of, write })
        }
    }
}

/// One owner reference to the project WD, by the UID that it has now (I5). Every other reference to a WD
/// goes: it is to a dead UID, or makes the projection another WD's. References to other kinds are foreign and
/// stay (I9).
fn own(references: &mut Vec<OwnerReference>, mut missing: Vec<OwnerReference>) {
    references.retain(|reference| {
        let at = missing.iter().position(|o| o == reference);
        !of_deployment(reference) || at.map(|at| missing.remove(at)).is_some()
    });
    references.append(&mut missing);
}

fn reference(owner: ProjectionOwner<'_>) -> OwnerReference {
    let resource = Kind::WorkloadDeployment.resource();
    OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: owner.name.to_owned(),
        uid: owner.uid.to_string(),
        controller: None,
        block_owner_deletion: None,
    }
}
