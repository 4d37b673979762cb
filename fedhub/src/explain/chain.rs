//! What was read of a WD on all planes, errors of reading included. The diagnosis and the table are made of
//! this alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::conditions::{find, is_default};
use fedhub_core::names::{CITY_CODE, SOURCE_GENERATION};
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::pauses::stored::Pause;
use jiff::Timestamp;
use serde_json::Value;

use super::rollout::{Rollout, Turn};
pub use crate::operator::read::{Failure, Read, ReadError};

/// Objects of a list; none where it was not read.
pub fn all(read: &Read<Vec<Object>>) -> &[Object] {
    read.found().map_or(&[], Vec::as_slice)
}

/// What is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum SubjectKind {
    /// A WD.
    WorkloadDeployment,
    /// One of its Instances.
    Instance,
}

/// What is explained, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its kind.
    pub kind: SubjectKind,
    /// The name of the project plane.
    pub plane: String,
    /// Its namespace in the project.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The Lease of the management role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseFacts {
    /// Its holder; empty where it was released.
    pub holder: String,
    /// When it was renewed last.
    pub renewed: Option<Timestamp>,
    /// How long a renewal lasts.
    pub duration: Duration,
}

/// What the management plane has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Management {
    /// The plane's kubeconfig: found, absent (no such plane), invalid (the Secret), or the plane could not be
    /// asked.
    pub source: Read<()>,
    /// The Lease.
    pub lease: Read<LeaseFacts>,
    /// Whether the project plane is the cluster that fedhub remembers for its name.
    pub identity_matches: Read<bool>,
    /// The pause of the project plane, or of all planes; absent where there is none.
    pub pause: Read<Pause>,
    /// Whether the hub is considered restored from a backup.
    pub hub_restored: Read<bool>,
}

/// What the project plane has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// The namespace.
    pub namespace: Read<Object>,
    /// The WD.
    pub wd: Read<Object>,
    /// The WD's Instances: projections.
    pub instances: Read<Vec<Object>>,
    /// What has the name of the first Instance that has no projection.
    pub in_its_place: Read<Object>,
}

/// What the hub has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hub {
    /// The hub namespace.
    pub namespace: Read<Object>,
    /// The `PropagationPolicies` of the WD's city in it.
    pub policies: Read<Vec<Object>>,
    /// The hub WD.
    pub wd: Read<Object>,
    /// Its `ResourceBinding`.
    pub binding: Read<Object>,
    /// Its Works in the execution namespaces.
    pub works: Read<Vec<Object>>,
    /// The Clusters that carry the WD's city.
    pub clusters: Read<Vec<Object>>,
    /// The copies of the WD's Instances.
    pub copies: Read<Vec<Object>>,
}

/// What a cell has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The WD.
    pub wd: Read<Object>,
    /// Its Instances.
    pub instances: Read<Vec<Object>>,
}

/// All that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// What is explained.
    pub subject: Subject,
    /// The name of its WD; the subject's own for a WD.
    pub deployment: String,
    /// When it was read.
    pub now: Timestamp,
    /// What was read of the management plane.
    pub management: Management,
    /// What was read of the project plane.
    pub project: Project,
    /// What was read of the hub.
    pub hub: Hub,
    /// What was read of the cells whose credentials were given, by the names of their Clusters.
    pub cells: BTreeMap<String, Cell>,
    /// The rollout of its Workload, where the WD does not carry the newest revision.
    pub rollout: Option<Arc<Rollout>>,
}

impl Chain {
    /// The project WD, where it was found.
    pub fn wd(&self) -> Option<&Object> {
        self.project.wd.found()
    }

    /// Where the WD stands in the rollout of its Workload; `None` where it has the newest template, or
    /// nothing is known.
    pub fn turn(&self) -> Option<Turn> {
        self.rollout.as_ref()?.turn(&self.deployment)
    }

    /// The city of the project WD.
    pub fn city(&self) -> &str {
        self.wd().and_then(|wd| wd.spec()["cityCode"].as_str()).unwrap_or_default()
    }

    /// The generation of the project WD.
    pub fn generation(&self) -> i64 {
        self.wd().and_then(|wd| wd.metadata.generation).unwrap_or_default()
    }

    /// The Clusters of its city.
    pub fn clusters(&self) -> impl Iterator<Item = &Object> {
        all(&self.hub.clusters).iter().filter(|cluster| cluster.label(CITY_CODE) == Some(self.city()))
    }

    /// The cell that the `ResourceBinding` names, else the one of its city.
    pub fn cell_name(&self) -> Option<&str> {
        let bound =
            self.hub.binding.found().and_then(|binding| binding.spec()["clusters"][0]["name"].as_str());
        bound.or_else(|| self.clusters().next().map(ObjectView::name))
    }

    /// What that cell has, where its credentials were given.
    pub fn cell(&self) -> Option<&Cell> {
        self.cells.get(self.cell_name()?)
    }

    /// Whether an Instance is one that is explained.
    pub fn concerns(&self, instance: &Object) -> bool {
        self.subject.kind == SubjectKind::WorkloadDeployment || instance.name() == self.subject.name
    }

    /// The Instances of the cell that are explained; `None` where the cell was not read.
    pub fn instances(&self) -> Option<Vec<&Object>> {
        let instances = self.cell()?.instances.found()?;
        Some(instances.iter().filter(|instance| self.concerns(instance)).collect())
    }

    /// The copies that are explained.
    pub fn copies(&self) -> Vec<&Object> {
        all(&self.hub.copies).iter().filter(|copy| self.concerns(copy)).collect()
    }

    /// The projections that are explained.
    pub fn projections(&self) -> Vec<&Object> {
        all(&self.project.instances).iter().filter(|projection| self.concerns(projection)).collect()
    }
}

/// Namespace and name of an object; the name alone where it has no namespace.
pub fn path(object: &Object) -> String {
    match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    }
}

/// When a condition turned last; `None` for what a schema puts there.
pub fn turned_at(condition: &Value) -> Option<Timestamp> {
    let at = condition["lastTransitionTime"].as_str()?;
    if is_default(condition) { None } else { at.parse().ok() }
}

/// When a condition of that type turned last.
pub fn condition_turned_at(object: &Object, kind: &str) -> Option<Timestamp> {
    find(object.status(), kind).and_then(turned_at)
}

/// When an object was created.
pub fn created_at(object: &Object) -> Option<Timestamp> {
    object.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// When its deletion was asked for.
pub fn deleted_at(object: &Object) -> Option<Timestamp> {
    object.metadata.deletion_timestamp.as_ref().map(|time| time.0)
}

/// When a part of an object was written last by a manager that `counts`: its status, or with an empty `part`
/// the rest.
fn written(object: &Object, part: &str, counts: impl Fn(&str) -> bool) -> Option<Timestamp> {
    let fields = object.metadata.managed_fields.iter().flatten();
    let writes = fields
        .filter(|entry| entry.subresource.as_deref().unwrap_or_default() == part)
        .filter(|entry| counts(entry.manager.as_deref().unwrap_or_default()));
    writes.filter_map(|entry| entry.time.as_ref().map(|time| time.0)).max()
}

/// When an object was written last, its status aside; else when it was created.
pub fn written_at(object: &Object) -> Option<Timestamp> {
    written(object, "", |_| true).max(created_at(object))
}

/// When others than fedhub wrote an object last.
pub fn changed_at(object: &Object) -> Option<Timestamp> {
    written(object, "", |manager| !manager.starts_with("fedhub")).max(created_at(object))
}

/// When the status of an object was written last, or a condition of it turned.
pub fn reported_at(object: &Object) -> Option<Timestamp> {
    let conditions = object.status()["conditions"].as_array().into_iter().flatten();
    written(object, "status", |_| true).max(conditions.filter_map(turned_at).max())
}

/// The generation of the project WD that a hub WD, or a cell's, was written for.
pub fn source_generation(object: &Object) -> i64 {
    object.annotation(SOURCE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or_default()
}
