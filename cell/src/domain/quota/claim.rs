//! The `ResourceClaim` of an Instance (`quota.miloapis.com/v1alpha1`), in its project's plane.

use fedhub_api::cells::{CellId, CellSource};
use fedhub_api::instance_types::Size;
use fedhub_core::names::{CELL_SOURCE, INSTANCE_NAMESPACE, SOURCE_CLUSTER};
use fedhub_core::object::{Kind, Object, ObjectView, bare};
use fedhub_planes::ProjectNamespace;
use serde_json::{Value, json};

const PREFIX: &str = "instance-";

/// The name of the claim of an Instance of `cell`: no other cell's has it (C10).
pub fn name(instance: &str, cell: &CellId) -> String {
    format!("{PREFIX}{instance}-{}", cell.uid)
}

/// The namespace and name, in `cell`, of the Instance that a claim is for; `None` for another cell's.
pub fn instance_of<'a>(claim: &'a Object, cell: &CellId) -> Option<(&'a str, &'a str)> {
    let name = claim.name().strip_prefix(PREFIX)?.strip_suffix(&*cell.uid)?.strip_suffix('-')?;
    Some((claim.label(INSTANCE_NAMESPACE)?, name))
}

/// The claim of `instance` in `cell`.
pub fn of(instance: &Object, cell: &CellId, consumer: &ProjectNamespace, size: Size) -> Object {
    let mut claim = bare(Kind::ResourceClaim, &consumer.namespace, &name(instance.name(), cell));
    let labels = [(SOURCE_CLUSTER, &*cell.name), (INSTANCE_NAMESPACE, instance.namespace())];
    claim.metadata.labels = Some(labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    claim.metadata.annotations = Some([(CELL_SOURCE.to_owned(), cell.source(instance).to_string())].into());
    let project = json!({
        "apiGroup": "resourcemanager.miloapis.com",
        "kind": "Project",
        "name": consumer.plane.as_str(),
    });
    // A quota service admits claims of the kinds that the resource is registered for:
    // deploy/components/milo-service.
    let projection = json!({
        "apiGroup": "compute.datumapis.com",
        "kind": "Instance",
        "name": instance.name(),
        "namespace": consumer.namespace,
    });
    let requests = json!([
        {"resourceType": "compute.datumapis.com/instances", "amount": 1},
        {"resourceType": "compute.datumapis.com/vcpus", "amount": size.millicores},
        {"resourceType": "compute.datumapis.com/memory", "amount": size.mebibytes},
    ]);
    claim.data = json!({
        "spec": {"consumerRef": project, "resourceRef": projection, "requests": requests},
    });
    claim
}

/// Whether a claim asks for just what `wanted` does. Whoever may create claims can put a cheaper one under
/// its name.
pub fn is_same_request(claim: &Object, wanted: &Object) -> bool {
    ["consumerRef", "resourceRef", "requests"]
        .into_iter()
        .all(|field| claim.spec()[field] == wanted.spec()[field])
}

/// The owner of a claim under the name of an Instance's, by its mark (C10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOwnership {
    /// The claim is of this Instance.
    Ours,
    /// An earlier Instance of the name: where that is gone, the claim may be deleted (C8), with its UID as
    /// the precondition.
    Previous,
    /// The claim is terminating: wait for it.
    Terminating,
    /// The claim has no mark of this cell: it is not touched (I9).
    Unmarked,
}

/// The owner of `claim`, which stands under the name of the claim of `instance` in `cell`.
pub fn ownership(claim: &Object, instance: &Object, cell: &CellId) -> ClaimOwnership {
    let of = instance_of(claim, cell);
    match marked(claim, cell) {
        _ if claim.is_terminating() => ClaimOwnership::Terminating,
        Some(uid) if uid != instance.uid() && of.is_some() => ClaimOwnership::Previous,
        Some(_) if of == Some((instance.namespace(), instance.name())) => ClaimOwnership::Ours,
        _ => ClaimOwnership::Unmarked,
    }
}

/// The UID of the Instance of `cell` that a claim is marked for.
fn marked(claim: &Object, cell: &CellId) -> Option<String> {
    let source = CellSource::from_object(claim).filter(|source| source.is_of(cell, |_| false))?;
    Some(source.instance_uid)
}

/// The metadata of the claim of `instance` where the cell was called otherwise when it was made: claims are
/// watched by the cell's name.
pub fn renamed(claim: &Object, instance: &Object, cell: &CellId) -> Option<Value> {
    (claim.label(SOURCE_CLUSTER) != Some(&*cell.name)).then(|| {
        json!({
            "labels": {SOURCE_CLUSTER: &*cell.name},
            "annotations": {CELL_SOURCE: cell.source(instance).to_string()},
        })
    })
}

/// Whether a claim of `cell` is to be deleted: its Instance is gone (C8), or no quota is `needed` (C6).
/// `there` is the Instance of that name in the cell, terminating or not.
pub fn is_free(claim: &Object, cell: &CellId, needed: bool, there: Option<&Object>) -> bool {
    if claim.is_terminating() || instance_of(claim, cell).is_none() {
        return false;
    }
    marked(claim, cell).is_some_and(|uid| !needed || there.is_none_or(|there| there.uid() != uid))
}
