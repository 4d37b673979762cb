//! The `ResourceClaim` of an Instance (`quota.miloapis.com/v1alpha1`), in its project's plane.

use std::sync::LazyLock;

use fedhub_api::cells::{CellId, Source};
use fedhub_core::names::{
    CELL_SOURCE, INSTANCE_NAMESPACE, PlaneName, SOURCE_CLUSTER, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    decode_plane,
};
use fedhub_core::object::{Object, ObjectView};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::sizing::Sizing;

const PREFIX: &str = "instance-";

/// Group, version, kind and plural of `ResourceClaims`.
pub fn resource() -> &'static ApiResource {
    static RESOURCE: LazyLock<ApiResource> = LazyLock::new(|| {
        let kind = GroupVersionKind::gvk("quota.miloapis.com", "v1alpha1", "ResourceClaim");
        ApiResource::from_gvk_with_plural(&kind, "resourceclaims")
    });
    &RESOURCE
}

/// On whose account an Instance runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The project.
    pub project: PlaneName,
    /// The namespace in the project's plane, where the claim stands.
    pub namespace: String,
}

impl Consumer {
    /// By the labels of the Instance's namespace, which no tenant writes; `None` where they do not say.
    pub fn of(namespace: &Object) -> Option<Self> {
        let project = decode_plane(namespace.label(UPSTREAM_CLUSTER)?)?;
        let namespace = namespace.label(UPSTREAM_NAMESPACE).filter(|n| !n.is_empty())?.to_owned();
        Some(Self { project, namespace })
    }
}

/// The name of the claim of an Instance.
pub fn name(instance: &str) -> String {
    format!("{PREFIX}{instance}")
}

/// The namespace and name, in the cell, of the Instance that a claim is for; `None` where it is another cell's: neither
/// by its label, which is no proof that this one made it, nor by its mark, which holds whatever the cell is called (C10).
pub fn instance_of<'a>(claim: &'a Object, cell: &CellId) -> Option<(&'a str, &'a str)> {
    let named = claim.label(SOURCE_CLUSTER) == Some(&*cell.name);
    let marked = || Source::of(claim).is_some_and(|source| source.cell_uid.as_deref() == Some(&*cell.uid));
    let namespace = claim.label(INSTANCE_NAMESPACE).filter(|_| named || marked())?;
    Some((namespace, claim.name().strip_prefix(PREFIX)?))
}

/// The claim of `instance` in `cell`. What it asks for never changes, whose it is may be said in another way: see
/// [`remarked`].
pub fn of(instance: &Object, cell: &CellId, consumer: &Consumer, sizing: &Sizing) -> Object {
    let mut claim = Object::new(&name(instance.name()), resource());
    claim.metadata.namespace = Some(consumer.namespace.clone());
    let labels = [(SOURCE_CLUSTER, &*cell.name), (INSTANCE_NAMESPACE, instance.namespace())];
    claim.metadata.labels = Some(labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    claim.metadata.annotations = Some([(CELL_SOURCE.to_owned(), cell.source(instance).to_string())].into());
    let project = json!({
        "apiGroup": "resourcemanager.miloapis.com",
        "kind": "Project",
        "name": consumer.project.as_str(),
    });
    let request = |what: &str, amount: i64| json!({"resourceType": format!("compute.datumapis.com/{what}"), "amount": amount});
    let mut requests = vec![request("instances", 1)];
    if let Sizing::Known { millicores, mebibytes } = sizing {
        requests.push(request("vcpus", *millicores));
        requests.push(request("memory", *mebibytes));
    }
    claim.data = json!({
        "spec": {"consumerRef": project, "resourceRef": project, "requests": Value::Array(requests)},
    });
    claim
}

/// Whose a claim under an Instance's name is. By its mark, which is that of the hub's copy of the Instance, a claim of
/// an earlier Instance of the name is told from this one's, and another cluster's from this one's (C10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This Instance's.
    Ours,
    /// This cell made it for an earlier Instance of the name, whose place this one has taken: it is gone, so the
    /// claim may be deleted (C8), with its UID as the precondition.
    Earlier,
    /// On its way out: wait for it.
    Going,
    /// Another cell's, most often while a deployment moves: it is not touched.
    Anothers,
    /// Another cluster's under this cell's name, or marked with the name alone for an Instance that this cell never had:
    /// it is not touched either (C10).
    Namesakes,
}

/// Whose `claim` is, which stands under the name of the claim of `instance` in `cell`. `had` tells whether an Instance of
/// that UID was there.
pub fn whose(claim: &Object, instance: &Object, cell: &CellId, had: impl Fn(&str) -> bool) -> Whose {
    if instance_of(claim, cell) != Some((instance.namespace(), instance.name())) {
        return Whose::Anothers;
    }
    match Source::of(claim) {
        _ if claim.is_terminating() => Whose::Going,
        // Made before claims were marked.
        None if claim.annotation(CELL_SOURCE).is_none() => Whose::Ours,
        Some(source) if source.is_of(cell, |uid| uid == instance.uid() || had(uid)) => {
            if source.instance_uid == instance.uid() { Whose::Ours } else { Whose::Earlier }
        }
        None | Some(_) => Whose::Namesakes,
    }
}

/// The metadata by which `claim` says that it is `cell`'s as this version says it, under the name that the cell has now;
/// `None` where it does so, or where it is not the claim of `instance`, which stands. A mark by name alone proves nothing
/// once its Instance is gone (C10), so it is taken over while that stands. Under another name only one that Karmada
/// `recorded` this cell for: else it might be another's.
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

/// Whether a claim that `cell` made is to be deleted: its Instance is gone (C8), or no quota is `needed` (C6). `there` is
/// what stands in the cell under the Instance's name. One that is on its way out is there still. A claim from before
/// claims were marked stays: no cell can prove that it made it (C10).
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
