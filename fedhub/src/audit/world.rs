//! What the planes have, as the audit compares it: whole objects, and the digests that fedhub decides by.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::facts::Digest;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::history::Remembered;
use fedhub_planes::pauses::stored::PausedPlanes;
use jiff::Timestamp;

/// An object and its digest.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The object, without what its `managedFields` list.
    pub object: ObjectRef,
    /// What fedhub keeps of it.
    pub digest: Digest,
}

impl Stored {
    fn new(plane: &PlaneId, kind: Kind, mut object: Object) -> Self {
        for manager in object.metadata.managed_fields.iter_mut().flatten() {
            // Who wrote when is all that is asked, and the rest is most of a small object.
            manager.fields_v1 = None;
        }
        let digest = Digest::new(plane, kind, &object);
        Self { object: Arc::new(object), digest }
    }
}

/// The objects of one kind on one plane, by namespace and name; of cluster-scoped kinds the namespace is
/// empty.
#[derive(Clone, Debug, Default)]
pub struct Objects(BTreeMap<String, BTreeMap<String, Stored>>);

impl Objects {
    /// These objects.
    pub fn new(plane: &PlaneId, kind: Kind, objects: impl IntoIterator<Item = Object>) -> Self {
        let mut all = Self::default();
        objects.into_iter().for_each(|object| all.put(plane, kind, object));
        all
    }

    fn put(&mut self, plane: &PlaneId, kind: Kind, object: Object) {
        let namespace = object.namespace().to_owned();
        let name = object.name().to_owned();
        self.0.entry(namespace).or_default().insert(name, Stored::new(plane, kind, object));
    }

    /// One object.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Stored> {
        self.0.get(namespace)?.get(name)
    }

    /// Returns the objects of a namespace.
    pub fn within(&self, namespace: &str) -> impl Iterator<Item = &Stored> {
        self.0.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Stored> {
        self.0.values().flat_map(BTreeMap::values)
    }

    /// The namespaces with objects.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, objects)| !objects.is_empty()).map(|(namespace, _)| namespace.as_str())
    }

    /// Puts what was read anew in the place of an object.
    pub fn replace(&mut self, key: &Key, object: Option<Object>) {
        match object {
            Some(object) => self.put(&key.plane, key.kind, object),
            None => {
                if let Some(objects) = self.0.get_mut(&*key.namespace) {
                    objects.remove(&*key.name);
                }
            }
        }
    }
}

/// The hub.
#[derive(Clone, Debug, Default)]
pub struct Hub {
    /// Its namespaces.
    pub namespaces: Objects,
    /// Its WDs.
    pub deployments: Objects,
    /// Its Instances: the copies that cells write back.
    pub instances: Objects,
    /// Its `PropagationPolicies`.
    pub policies: Objects,
    /// Its copies of `ConfigMaps`, by their metadata.
    pub config_maps: Objects,
    /// Its copies of Secrets, by their metadata.
    pub secrets: Objects,
    /// Its Clusters.
    pub clusters: Objects,
    /// What fedhub remembers of its history; `None` where nothing is stored, or it was not asked.
    pub history: Option<Remembered>,
}

/// A project plane that was read whole.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// The UIDs of the namespaces that its WDs are in; `None` for one that is gone.
    pub namespaces: BTreeMap<String, Option<String>>,
    /// Its WDs.
    pub deployments: Objects,
    /// Its Instances.
    pub instances: Objects,
}

/// A cell that was read whole.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The UID of its `kube-system`; empty where it shows none.
    pub uid: String,
    /// Its WDs.
    pub deployments: Objects,
    /// Its Instances.
    pub instances: Objects,
}

/// All that the audit compares. A plane that could not be read is not in it, and nothing of it is judged.
#[derive(Clone, Debug)]
pub struct World {
    /// The time now.
    pub now: Timestamp,
    /// How long a change may take before a difference counts.
    pub grace: Duration,
    /// The one plane that is audited, where not all are.
    pub only: Option<PlaneName>,
    /// What operators paused.
    pub paused: PausedPlanes,
    /// The hub.
    pub hub: Hub,
    /// Project planes by name.
    pub projects: BTreeMap<PlaneName, Project>,
    /// Cells by the names of their Clusters.
    pub cells: BTreeMap<String, Cell>,
}

impl World {
    /// The objects of a kind on a plane; `None` where they were not read. Cells are not told apart by
    /// [`PlaneId`], and not read anew.
    pub fn objects_mut(&mut self, plane: &PlaneId, kind: Kind) -> Option<&mut Objects> {
        match (plane, kind) {
            (PlaneId::Hub, Kind::Namespace) => Some(&mut self.hub.namespaces),
            (PlaneId::Hub, Kind::WorkloadDeployment) => Some(&mut self.hub.deployments),
            (PlaneId::Hub, Kind::Instance) => Some(&mut self.hub.instances),
            (PlaneId::Hub, Kind::PropagationPolicy) => Some(&mut self.hub.policies),
            (PlaneId::Hub, Kind::ConfigMap) => Some(&mut self.hub.config_maps),
            (PlaneId::Hub, Kind::Secret) => Some(&mut self.hub.secrets),
            (PlaneId::Project(name), kind) => {
                let project = self.projects.get_mut(name)?;
                match kind {
                    Kind::WorkloadDeployment => Some(&mut project.deployments),
                    Kind::Instance => Some(&mut project.instances),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A part of an object that is written by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Metadata and spec.
    Spec,
    /// The status.
    Status,
}

/// When that part of an object last changed, as far as the object tells.
pub fn changed(object: &Object, part: Part) -> Option<Timestamp> {
    let metadata = &object.metadata;
    let born = metadata.creation_timestamp.iter().chain(&metadata.deletion_timestamp).map(|at| at.0);
    let writes = metadata.managed_fields.iter().flatten();
    let of_part = |subresource: Option<&str>| (subresource == Some("status")) == (part == Part::Status);
    let writes =
        writes.filter(|it| of_part(it.subresource.as_deref())).filter_map(|it| Some(it.time.as_ref()?.0));
    let conditions = object.status()["conditions"].as_array().filter(|_| part == Part::Status);
    let transitions = conditions
        .into_iter()
        .flatten()
        .filter_map(|condition| condition["lastTransitionTime"].as_str()?.parse().ok());
    born.chain(writes).chain(transitions).max()
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{bare, set_field};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time};
    use serde_json::json;

    use super::*;

    #[test]
    fn u4_the_last_change_of_a_part_is_the_newest_time_that_the_object_tells_of_it() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut object = bare(Kind::Instance, "a", "b");
        assert_eq!(changed(&object, Part::Spec), None);
        object.metadata.creation_timestamp = Some(Time(at(10)));
        let entry = |subresource: Option<&str>, second| ManagedFieldsEntry {
            subresource: subresource.map(str::to_owned),
            time: Some(Time(at(second))),
            ..ManagedFieldsEntry::default()
        };
        object.metadata.managed_fields = Some(vec![entry(None, 20), entry(Some("status"), 30)]);
        assert_eq!(changed(&object, Part::Spec), Some(at(20)));
        assert_eq!(changed(&object, Part::Status), Some(at(30)));
        set_field(
            &mut object,
            "status",
            json!({"conditions": [{"lastTransitionTime": "1970-01-01T00:00:40Z"}, {}]}),
        );
        assert_eq!(
            (changed(&object, Part::Spec), changed(&object, Part::Status)),
            (Some(at(20)), Some(at(40)))
        );
        object.metadata.deletion_timestamp = Some(Time(at(50)));
        assert_eq!(changed(&object, Part::Spec), Some(at(50)));
    }
}
