//! The `ResourceClaim` of an Instance (`quota.miloapis.com/v1alpha1`), in its project's plane.

use fedhub_api::cells::{CellId, Source};
use fedhub_api::instance_types::Size;
use fedhub_core::names::{CELL_SOURCE, INSTANCE_NAMESPACE, SOURCE_CLUSTER};
use fedhub_core::object::{Kind, Object, ObjectView, bare};
use fedhub_planes::ProjectNamespace;
use serde_json::{Value, json};

use super::sizing::Sizing;

const PREFIX: &str = "instance-";

const VCPUS: &str = "compute.datumapis.com/vcpus";
const MEMORY: &str = "compute.datumapis.com/memory";

/// The name of the claim of an Instance.
pub fn name(instance: &str) -> String {
    format!("{PREFIX}{instance}")
}

/// The namespace and name, in the cell, of the Instance that a claim is for; `None` for another cell's: neither its
/// label nor its mark, which survives a renamed cell, is this cell's (C10).
pub fn instance_of<'a>(claim: &'a Object, cell: &CellId) -> Option<(&'a str, &'a str)> {
    let named = claim.label(SOURCE_CLUSTER) == Some(&*cell.name);
    let marked = || Source::of(claim).is_some_and(|source| source.cell_uid.as_deref() == Some(&*cell.uid));
    let namespace = claim.label(INSTANCE_NAMESPACE).filter(|_| named || marked())?;
    Some((namespace, claim.name().strip_prefix(PREFIX)?))
}

/// The claim of `instance` in `cell`. What it requests never changes; its marks may, see [`remarked`].
pub fn of(instance: &Object, cell: &CellId, consumer: &ProjectNamespace, sizing: &Sizing) -> Object {
    let mut claim = bare(Kind::ResourceClaim, &consumer.namespace, &name(instance.name()));
    let labels = [(SOURCE_CLUSTER, &*cell.name), (INSTANCE_NAMESPACE, instance.namespace())];
    claim.metadata.labels = Some(labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    claim.metadata.annotations = Some([(CELL_SOURCE.to_owned(), cell.source(instance).to_string())].into());
    let project = json!({
        "apiGroup": "resourcemanager.miloapis.com",
        "kind": "Project",
        "name": consumer.plane.as_str(),
    });
    // A quota service admits claims of the kinds that the resource is registered for: deploy/components/milo-service.
    let projection = json!({
        "apiGroup": "compute.datumapis.com",
        "kind": "Instance",
        "name": instance.name(),
        "namespace": consumer.namespace,
    });
    let request = |what: &str, amount: i64| json!({"resourceType": what, "amount": amount});
    let mut requests = vec![request("compute.datumapis.com/instances", 1)];
    if let Sizing::Known(Size { millicores, mebibytes }) = sizing {
        requests.push(request(VCPUS, *millicores));
        requests.push(request(MEMORY, *mebibytes));
    }
    claim.data = json!({
        "spec": {"consumerRef": project, "resourceRef": projection, "requests": Value::Array(requests)},
    });
    claim
}

/// Whether a claim requests a size. What a claim requests is what was known when it was made.
pub fn is_sized(claim: &Object) -> bool {
    let mut requests = claim.spec()["requests"].as_array().into_iter().flatten();
    requests.any(|request| request["resourceType"] == VCPUS)
}

/// The owner of a claim under an Instance's name. Its mark, the same as on the hub's copy, separates earlier Instances
/// of the name and other clusters (C10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOwnership {
    /// This Instance.
    Ours,
    /// This cell, for an earlier Instance of the name: that is gone, so the claim may be deleted (C8), with its UID as
    /// the precondition.
    Previous,
    /// The claim is terminating: wait for it.
    Terminating,
    /// Another cell, most often while a deployment moves: it is not touched.
    Foreign,
    /// Another cluster under this cell's name, or the mark is by name alone for an Instance that this cell never had:
    /// it is not touched either (C10).
    Namesake,
}

/// The owner of `claim`, which stands under the name of the claim of `instance` in `cell`. `had` tells whether an
/// Instance of that UID was there.
pub fn ownership(
    claim: &Object,
    instance: &Object,
    cell: &CellId,
    had: impl Fn(&str) -> bool,
) -> ClaimOwnership {
    if instance_of(claim, cell) != Some((instance.namespace(), instance.name())) {
        return ClaimOwnership::Foreign;
    }
    match Source::of(claim) {
        _ if claim.is_terminating() => ClaimOwnership::Terminating,
        // Made before claims were marked.
        None if claim.annotation(CELL_SOURCE).is_none() => ClaimOwnership::Ours,
        Some(source) if source.is_of(cell, |uid| uid == instance.uid() || had(uid)) => {
            if source.instance_uid == instance.uid() {
                ClaimOwnership::Ours
            } else {
                ClaimOwnership::Previous
            }
        }
        None | Some(_) => ClaimOwnership::Namesake,
    }
}

/// The metadata that marks `claim` as `cell`'s in this version's format and under the cell's current name; `None` where
/// it is so marked, or is not the claim of `instance`. A mark by name alone proves nothing once its Instance is gone
/// (C10), so it is replaced while that stands. A claim under another name only where Karmada `recorded` this cell for
/// the current one.
pub fn remarked(claim: &Object, instance: &Object, cell: &CellId, recorded: bool) -> Option<Value> {
    if claim.is_terminating() || instance_of(claim, cell) != Some((instance.namespace(), instance.name())) {
        return None;
    }
    let stands = |uid: &str| uid == instance.uid();
    let source = Source::of(claim)?;
    let ours = stands(&source.instance_uid) && source.is_of(cell, stands);
    let mark = cell.source(instance);
    let named = *source.cell == *cell.name && claim.label(SOURCE_CLUSTER) == Some(&*cell.name);
    let to_say = if named { source != mark } else { recorded };
    let metadata = || {
        json!({
            "labels": {SOURCE_CLUSTER: &*cell.name},
            "annotations": {CELL_SOURCE: mark.to_string()},
        })
    };
    (ours && to_say).then(metadata)
}

/// Whether a claim of `cell` is to be deleted: its Instance is gone (C8), or no quota is `needed` (C6). `there` is the
/// Instance of that name in the cell, terminating or not. Claims from before there were marks stay: no cell can prove
/// that it made them (C10).
pub fn is_free(
    claim: &Object,
    cell: &CellId,
    needed: bool,
    there: Option<&Object>,
    had: impl Fn(&str) -> bool,
) -> bool {
    if claim.is_terminating() || instance_of(claim, cell).is_none() {
        return false;
    }
    let stands = |uid: &str| there.is_some_and(|there| there.uid() == uid);
    Source::of(claim)
        .filter(|source| source.is_of(cell, |uid| stands(uid) || had(uid)))
        .is_some_and(|source| !needed || !stands(&source.instance_uid))
}
