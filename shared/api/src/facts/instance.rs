//! What is kept of an Instance: on the hub what its projection is to become, on a project plane what it has
//! become (P3).
//!
//! Decides P1.

use fedhub_cache::digest::{Uid, owners};
use fedhub_core::hash::{self, KeyedHasher};
use fedhub_core::names::{
    CELL_SOURCE, INSTANCE_CITY, INSTANCE_LABELS, PROJECTED_FROM, PlaneName, SERVICE_NAME, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID, decode_plane, encode_plane,
};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::Value;

use super::mark::ProjectedFrom;
use crate::conditions::is_default;
use crate::transitions::Signal;

/// The labels that the projector gives a projection; the others of [`INSTANCE_LABELS`] travel as they are.
pub const PROJECTION_LABELS: [&str; 3] = [UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_UID];

/// The facts of an Instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Boxed, so that most Instances need no memory for it.
    rare: Option<Box<Rare>>,
    /// The writer of its status.
    pub status_origin: StatusOrigin,
    /// Whether the label of an Instance on a project plane names that plane.
    labelled: bool,
    /// The city of an Instance on the hub, see [`city`]; the hub namespace that the mark names on a project
    /// plane.
    pub city: u32,
    /// The part of its status that Events report.
    pub signal: Signal,
    /// Hash of its spec.
    pub spec: u64,
    /// Hash of its status.
    pub status: u64,
    /// Hash of the labels that travel.
    pub labels: u64,
    /// Hash of its identity: on the hub the tenant that its labels name, see `tenant`; on a project plane
    /// what the projector manages of it, see [`managed`].
    pub identity: u64,
    /// Hash of its source: on the hub the cell's Instance that it is the copy of, see `cell_source`; on a
    /// project plane the UID of the hub Instance that its mark names, zero without a mark.
    pub source: u64,
    /// Hash of a UID, zero for none: on the hub of its controller, on a project plane of the hub namespace
    /// that its mark names.
    parent: u64,
}

/// The facts that few Instances have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rare {
    /// The name of its WD, where its own name does not tell that; empty where nothing does.
    deployment: Option<Box<str>>,
    /// The UIDs of its owners, where nothing else on a project plane tells that it is a projection.
    owners: Box<[Uid]>,
}

/// The origin of an Instance's status (P3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusOrigin {
    /// The Instance has no status.
    Absent,
    /// The status is the schema's default.
    Defaulted,
    /// A cell wrote it.
    Reported,
}

impl Instance {
    pub(super) fn new(plane: &PlaneId, object: &Object) -> Self {
        let status = object.status();
        let cluster = object.label(UPSTREAM_CLUSTER);
        let references = || object.metadata.owner_references.iter().flatten();
        let mut facts = Self {
            rare: None,
            status_origin: match status {
                Value::Null => StatusOrigin::Absent,
                status if only_defaults(status) => StatusOrigin::Defaulted,
                _ => StatusOrigin::Reported,
            },
            labelled: false,
            city: 0,
            signal: Signal::of_instance(status),
            spec: hash::json(object.spec()),
            status: hash::json(status),
            labels: labels(object),
            identity: 0,
            source: 0,
            parent: 0,
        };
        let mut rare = Rare::default();
        if *plane == PlaneId::Hub {
            let controller = references().find(|o| o.controller == Some(true));
            facts.city = city(object.label(INSTANCE_CITY));
            facts.identity = tenant(cluster, object.label(UPSTREAM_NAMESPACE));
            facts.source = cell_source(object);
            facts.parent = controller.map_or(0, |controller| uid_hash(&controller.uid));
        } else {
            let mark = ProjectedFrom::from_projection(object);
            let names = |name: &PlaneName| matches!(plane, PlaneId::Project(plane) if plane == name);
            facts.labelled = cluster.and_then(decode_plane).is_some_and(|name| names(&name));
            facts.identity = managed(&object.metadata);
            facts.city = mark.map_or(0, |mark| namespace_hash(mark.namespace));
            facts.source = mark.map_or(0, |mark| uid_hash(mark.instance_uid));
            facts.parent = mark.map_or(0, |mark| uid_hash(mark.namespace_uid));
            if mark.is_none() && !facts.labelled {
                rare.owners = references().map(|o| Uid::new(&o.uid)).collect();
            }
        }
        let name = deployment_name(object);
        if name != deployment_in(object.name()) || name.is_none() {
            rare.deployment = Some(name.unwrap_or_default().into());
        }
        facts.rare = (rare != Rare::default()).then(|| Box::new(rare));
        facts
    }

    /// Bytes that it takes beside its own size.
    pub(super) fn heap(&self) -> usize {
        let rare = |rare: &Rare| {
            let name = rare.deployment.as_deref().map_or(0, str::len);
            size_of::<Rare>() + name + size_of_val(&*rare.owners)
        };
        self.rare.as_deref().map_or(0, rare)
    }

    /// The name of its WD, where `name` is its own.
    pub fn deployment<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        match self.rare.as_deref().and_then(|rare| rare.deployment.as_deref()) {
            Some(deployment) => Some(deployment).filter(|name| !name.is_empty()),
            None => deployment_in(name),
        }
    }

    // === Of a copy on the hub ===

    /// Whether it carries the metadata of `managed`, which is rendered as its copy should be (C7).
    pub fn carries(&self, managed: &Self) -> bool {
        let metadata = |facts: &Self| (facts.identity, facts.source, facts.parent, facts.labels);
        metadata(self) == metadata(managed)
    }

    /// Whether the tenant that its labels name, if any, is that plane and namespace (I6).
    pub fn may_belong_to(&self, plane: &PlaneName, namespace: &str) -> bool {
        let plane = Some(plane.as_str());
        let planes = [(Spelling::Canonical, plane), (Spelling::Absent, None), (Spelling::Older, plane)];
        let is = |(spelling, plane), namespace| self.identity == tenant_hash(spelling, plane, namespace);
        planes.into_iter().any(|plane| is(plane, Some(namespace)) || is(plane, None))
    }

    /// Whether the object of that UID is its controller, or it has none (I5).
    pub fn may_be_controlled_by(&self, uid: &str) -> bool {
        self.parent == 0 || self.is_controlled_by(uid)
    }

    /// Whether the object of that UID is its controller.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.parent == uid_hash(uid)
    }

    // === Of an Instance on a project plane ===

    /// Whether its mark names a hub Instance.
    pub fn is_marked(&self) -> bool {
        self.source != 0
    }

    /// Whether its mark names the hub Instance of that UID.
    pub fn is_projection_of(&self, instance_uid: &str) -> bool {
        self.source == uid_hash(instance_uid)
    }

    /// Whether its mark names the hub namespace of that name.
    pub fn is_from_namespace(&self, name: &str) -> bool {
        self.is_marked() && self.city == namespace_hash(name)
    }

    /// Whether its mark names the hub namespace of that UID.
    pub fn is_from_namespace_uid(&self, uid: &str) -> bool {
        self.parent == uid_hash(uid)
    }

    /// Whether it is a projection (P4): by its mark, its label or its owner. Else it is a tenant's own.
    pub fn is_projection(&self, owner: Option<&Uid>) -> bool {
        self.is_marked()
            || self.labelled
            || owner.is_some_and(|owner| self.rare.as_deref().is_some_and(|rare| rare.owners.contains(owner)))
    }
}

/// Half of the hash of a city's code, for which there is room beside [`StatusOrigin`]; zero for none.
pub fn city(code: Option<&str>) -> u32 {
    code.map_or(0, |code| u32::try_from(hash::text(code) >> 32).unwrap_or(u32::MAX))
}

/// How a label names a plane.
#[derive(Clone, Copy)]
enum Spelling {
    /// The label does not exist.
    Absent,
    /// The label has the spelling of [`encode_plane`].
    Canonical,
    /// The label has the spelling of earlier versions.
    Older,
    /// The label names no plane.
    Invalid,
}

/// Hash of the tenant that a hub Instance's labels name (I6).
fn tenant(cluster: Option<&str>, namespace: Option<&str>) -> u64 {
    let plane = cluster.and_then(decode_plane);
    let spelling = match (cluster, &plane) {
        (None, _) => Spelling::Absent,
        (Some(label), Some(plane)) if encode_plane(plane) == label => Spelling::Canonical,
        (Some(_), Some(_)) => Spelling::Older,
        (Some(_), None) => Spelling::Invalid,
    };
    tenant_hash(spelling, plane.as_ref().map(PlaneName::as_str), namespace)
}

fn tenant_hash(spelling: Spelling, plane: Option<&str>, namespace: Option<&str>) -> u64 {
    KeyedHasher::default().number(spelling as u64).maybe(plane).maybe(namespace).end()
}

/// Hash of what the projector manages of a projection's metadata (P3, P4): [`PROJECTION_LABELS`], its mark,
/// and its owner references to WDs.
pub fn managed(metadata: &ObjectMeta) -> u64 {
    let label = |key| metadata.labels.as_ref()?.get(key).map(String::as_str);
    let mark = metadata.annotations.as_ref().and_then(|all| all.get(PROJECTED_FROM));
    let sum = PROJECTION_LABELS.into_iter().fold(KeyedHasher::default(), |sum, key| sum.maybe(label(key)));
    let references = metadata.owner_references.iter().flatten();
    owners(sum.maybe(mark.map(String::as_str)), references.filter(|o| of_deployment(o))).end()
}

/// Hash of a UID; never zero.
fn uid_hash(uid: &str) -> u64 {
    KeyedHasher::default().text(uid).end().max(1)
}

/// Half of the hash of a namespace's name.
fn namespace_hash(name: &str) -> u32 {
    u32::try_from(KeyedHasher::default().text(name).end() >> 32).unwrap_or(u32::MAX)
}

/// Hash of what a copy says of the cell's Instance (C7): its mark, the label with the UID of the cell's WD,
/// that of its service, and its owner references to WDs without their UIDs.
fn cell_source(copy: &Object) -> u64 {
    let mark = copy.annotation(CELL_SOURCE);
    let owner = copy.label(WORKLOAD_DEPLOYMENT_UID);
    let flag = |flag: Option<bool>| flag.map_or(2, u64::from);
    let hasher = KeyedHasher::default().maybe(mark).maybe(owner).maybe(copy.label(SERVICE_NAME.0));
    let references = copy.metadata.owner_references.iter().flatten().filter(|o| of_deployment(o));
    references
        .fold(hasher, |hasher, o| {
            hasher.text(&o.name).number(flag(o.controller)).number(flag(o.block_owner_deletion))
        })
        .end()
}

/// Hash of those labels of an Instance that are the same on every plane.
fn labels(instance: &Object) -> u64 {
    let travel = INSTANCE_LABELS.into_iter().filter(|key| !PROJECTION_LABELS.contains(key));
    travel.fold(KeyedHasher::default(), |sum, key| sum.maybe(instance.label(key))).end()
}

/// Whether an owner reference is to a WD.
pub fn of_deployment(reference: &OwnerReference) -> bool {
    let resource = Kind::WorkloadDeployment.resource();
    reference.kind == resource.kind && reference.api_version == resource.api_version
}

/// The name of an Instance's WD: its label, else the Instance's name less its last `-<ordinal>` (P1).
pub fn deployment_name(instance: &Object) -> Option<&str> {
    let label = instance.label(WORKLOAD_DEPLOYMENT_NAME).filter(|n| !n.is_empty());
    label.or_else(|| deployment_in(instance.name()))
}

/// The name of the WD in the name of an Instance: less the last `-<ordinal>`.
pub fn deployment_in(name: &str) -> Option<&str> {
    let (name, ordinal) = name.rsplit_once('-')?;
    let numeric = !ordinal.is_empty() && ordinal.bytes().all(|b| b.is_ascii_digit());
    (numeric && !name.is_empty()).then_some(name)
}

/// Whether a status is nothing but what the schema puts there: conditions that never changed.
pub fn only_defaults(status: &Value) -> bool {
    let Some(fields) = status.as_object() else { return true };
    fields.iter().all(|(key, value)| {
        key == "conditions" && value.as_array().is_some_and(|conditions| conditions.iter().all(is_default))
    })
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::bare;

    use super::*;

    #[test]
    fn p1_the_label_names_the_wd_and_else_the_name_does() {
        for (label, name, expected) in [
            (Some("wd"), "other-0", Some("wd")),
            (Some("wd"), "wd-0", Some("wd")),
            (Some(""), "wd-0", Some("wd")),
            (None, "wd-12", Some("wd")),
            (None, "a-b-3", Some("a-b")),
            (None, "wd-x", None),
            (None, "wd-", None),
            (None, "-0", None),
            (None, "wd", None),
            (Some("wd"), "wd", Some("wd")),
        ] {
            let mut instance = bare(Kind::Instance, "ns-1", name);
            instance.metadata.labels =
                label.map(|l| [(WORKLOAD_DEPLOYMENT_NAME.to_owned(), l.to_owned())].into());
            assert_eq!(deployment_name(&instance), expected, "{label:?} {name}");
            let digest = Instance::new(&PlaneId::Hub, &instance);
            assert_eq!(digest.deployment(name), expected, "{label:?} {name}");
        }
    }
}
