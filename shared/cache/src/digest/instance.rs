//! What is kept of an Instance: on the hub what its projection is to become, on a project plane what it has become
//! (P3).
//!
//! Decides P1.

use fedhub_api::conditions::is_default;
use fedhub_api::transitions::Signal;
use fedhub_core::hash::{self, KeyedHasher};
use fedhub_core::names::{
    CELL_SOURCE, INSTANCE_CITY, INSTANCE_LABELS, PROJECTED_FROM, SERVICE_NAME, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID,
};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;

use super::owners::owners;

/// Labels of a projection that say where it is, and so are not its Instance's.
const PLACE: [&str; 3] = [UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_UID];

/// What is kept of an Instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Its WD's name, where its own name does not tell that; empty where nothing does. No enum of three: it would be
    /// eight bytes more, and this is what there is most of.
    named: Option<Box<str>>,
    /// What its status tells.
    pub status_origin: StatusOrigin,
    /// On the hub: the city that it is in, see [`city`].
    pub city: u32,
    /// What its status says that Events tell of.
    pub signal: Signal,
    /// Hash of its spec.
    pub spec: u64,
    /// Hash of its status.
    pub status: u64,
    /// Hash of the labels that travel.
    pub labels: u64,
    /// What ties it to its counterpart: see [`says`] for the hub and [`projected`] for a project plane.
    pub bond: u64,
    /// What it is made of: on the hub, the cell's Instance that it is the copy of, see [`copied`]; on a project plane,
    /// see [`mirrored`].
    pub copied: u64,
}

/// What the status of an Instance tells (P3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusOrigin {
    /// There is none.
    Absent,
    /// It is what the schema puts there.
    Defaulted,
    /// A cell wrote it.
    Reported,
}

impl Instance {
    pub(super) fn of(plane: &PlaneId, object: &Object) -> Self {
        let (spec, status) = (object.spec(), object.status());
        let by_name = derived(object.name());
        let named = match deployment_name(object) {
            None => Some(Box::default()),
            name if name == by_name => None,
            Some(name) => Some(name.into()),
        };
        let references = object.metadata.owner_references.iter().flatten();
        let owner = object.label(WORKLOAD_DEPLOYMENT_UID);
        let (cluster, space) = (object.label(UPSTREAM_CLUSTER), object.label(UPSTREAM_NAMESPACE));
        Self {
            named,
            status_origin: match status {
                Value::Null => StatusOrigin::Absent,
                status if only_defaults(status) => StatusOrigin::Defaulted,
                _ => StatusOrigin::Reported,
            },
            city: city(object.label(INSTANCE_CITY).filter(|_| *plane == PlaneId::Hub)),
            signal: Signal::of_instance(status),
            spec: hash::json(spec),
            status: hash::json(status),
            labels: labels(object),
            copied: if *plane == PlaneId::Hub {
                let (mark, service) = (object.annotation(CELL_SOURCE), object.label(SERVICE_NAME.0));
                copied(mark, owner, service, references.clone().filter(|o| of_deployment(o)))
            } else {
                mirrored(object.annotation(PROJECTED_FROM))
            },
            bond: if *plane == PlaneId::Hub {
                let mut references = references;
                let controller = references.find(|o| o.controller == Some(true));
                says(cluster, space, controller.map(|o| o.uid.as_str()))
            } else {
                projected(
                    cluster,
                    space,
                    owner,
                    object.annotation(PROJECTED_FROM),
                    references.filter(|o| of_deployment(o)),
                )
            },
        }
    }

    /// Its WD's name, where the Instance's own name does not tell it.
    pub(super) fn deployment_name(&self) -> Option<&str> {
        self.named.as_deref().filter(|name| !name.is_empty())
    }

    /// The name of its WD, where `name` is its own.
    pub fn deployment<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        if self.named.is_none() { derived(name) } else { self.deployment_name() }
    }
}

/// Half of the hash of a city's code, for which there is room beside [`StatusOrigin`]; zero for none.
pub fn city(code: Option<&str>) -> u32 {
    code.map_or(0, |code| u32::try_from(hash::text(code) >> 32).unwrap_or(u32::MAX))
}

/// What a hub Instance says of whose it is (I5, I6): its labels, and the UID of its controller.
pub fn says(cluster: Option<&str>, namespace: Option<&str>, controller: Option<&str>) -> u64 {
    [cluster, namespace, controller].into_iter().fold(KeyedHasher::default(), KeyedHasher::maybe).end()
}

/// What a projection says of whose it is (P3, P4): its labels, its mark, and its owner references to WDs.
pub fn projected<'a>(
    cluster: Option<&str>,
    namespace: Option<&str>,
    owner: Option<&str>,
    mark: Option<&str>,
    references: impl IntoIterator<Item = &'a OwnerReference>,
) -> u64 {
    let sum = [cluster, namespace, owner, mark].into_iter().fold(KeyedHasher::default(), KeyedHasher::maybe);
    owners(sum, references).end()
}

/// What a hub Instance says of the cell's Instance that it is the copy of (C7): its mark, the label with the UID of the
/// cell's WD, that of its service, and its owner references to WDs, less whose UID they are, which [`says`] tells.
pub fn copied<'a>(
    mark: Option<&str>,
    owner: Option<&str>,
    service: Option<&str>,
    references: impl IntoIterator<Item = &'a OwnerReference>,
) -> u64 {
    let flag = |flag: Option<bool>| flag.map_or(2, u64::from);
    let sum = [mark, owner, service].into_iter().fold(KeyedHasher::default(), KeyedHasher::maybe);
    let each = |sum: KeyedHasher, o: &OwnerReference| {
        sum.text(&o.name).number(flag(o.controller)).number(flag(o.block_owner_deletion))
    };
    references.into_iter().fold(sum, each).end()
}

/// What a projection says of the hub Instance that it is of: its mark.
pub fn mirrored(mark: Option<&str>) -> u64 {
    KeyedHasher::default().maybe(mark).end()
}

/// Hash of those labels of an Instance that are the same on every plane.
pub fn labels(instance: &Object) -> u64 {
    let travel = INSTANCE_LABELS.into_iter().filter(|key| !PLACE.contains(key));
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
    label.or_else(|| derived(instance.name()))
}

fn derived(name: &str) -> Option<&str> {
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
            let digest = Instance::of(&PlaneId::Hub, &instance);
            assert_eq!(digest.deployment(name), expected, "{label:?} {name}");
        }
    }
}
