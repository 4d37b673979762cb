//! The state of the caches for one WD and its surroundings: the input of [`crate::plan::plan`].

use std::ops::Deref;
use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::{Deployment, Digest, DigestExt, Facts};
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::{Uid, Version};
use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{CITY_CODE, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane, policy_name};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId, bare};
use fedhub_engine::Subject;
use fedhub_planes::{Distrust, Plane, ProjectNamespace, ServiceState, WriteState};
use jiff::Timestamp;

use crate::teardown::Teardown;

/// The facts of a WD, and which version of it they are of.
#[derive(Clone, Debug)]
pub struct Wd {
    /// Its UID.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: Version,
    /// Whether deletion was asked for.
    pub terminating: bool,
    /// The hash of everything but the resourceVersion.
    content: u64,
    facts: Box<Deployment>,
}

impl Wd {
    /// The WD that has this digest; `None` for a digest of another kind.
    pub fn new(digest: Digest) -> Option<Self> {
        let Digest { uid, version, terminating, content, facts, weight: _ } = digest;
        let Facts::Deployment(facts) = facts else { return None };
        Some(Self { uid, version, terminating, content, facts })
    }

    /// The facts of that object.
    pub fn from_object(plane: &PlaneId, object: &Object) -> Option<Self> {
        Self::new(Digest::new(plane, Kind::WorkloadDeployment, object))
    }

    fn subject(&self, key: Key) -> Subject {
        let mut stub = bare(key.kind, &key.namespace, &key.name);
        stub.metadata.uid = Some(self.uid.to_string());
        stub.metadata.resource_version = Some(self.version.to_string());
        Subject { key, stub: stub.into() }
    }
}

impl Deref for Wd {
    type Target = Deployment;

    fn deref(&self) -> &Deployment {
        &self.facts
    }
}

/// A policy of a hub namespace, and what the hub made of the last spec that was sent.
#[derive(Clone, Debug)]
pub struct KnownPolicy {
    /// The policy.
    pub object: ObjectRef,
    /// How the hub stored its spec.
    pub normalization: Option<ServerNormalization>,
}

/// A live read of the hub for this snapshot, past every cache (I3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRead {
    /// Whether the cache still has a hub WD.
    pub cached: bool,
}

/// A WD and its surroundings, as far as they are known.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The project plane and the namespace of the WD.
    pub home: ProjectNamespace,
    /// Its name.
    pub name: String,
    /// The WD in the project plane.
    pub project: Wd,
    /// The name of its hub namespace, from the UID of the project namespace.
    pub hub_namespace_name: String,
    /// That namespace, if the hub has it.
    pub hub_namespace: Option<ObjectRef>,
    /// The WD of that name in it.
    pub hub: Option<Wd>,
    /// The `PropagationPolicies` of that namespace.
    pub policies: Vec<KnownPolicy>,
    /// How many Clusters carry the WD's city code.
    pub cells: usize,
    /// The first of them, where Karmada does not reach it.
    pub cell_down: Option<CellDown>,
    /// Whether every cell of the city of a WD that is being deleted is declared lost (C11).
    pub cell_lost: bool,
    /// How the hub stored the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// How the project plane stored the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
    /// Whether fedhub may write for the project.
    pub writes: WriteState,
    /// Whether the service runs in the project (W9).
    pub service: ServiceState,
    /// Whether the cell of the new city has reported on a hub WD that records a move (F6).
    pub arrived: bool,
    /// Whether Karmada is to apply the hub WD again (F8).
    pub stalled: bool,
    /// The hold of the WD on its way to its cell, as far as Karmada was asked.
    pub held: Option<Hold>,
    /// Why what the hub lacks may have been lost, if there is reason to think so (F9).
    pub distrust: Option<Distrust>,
    /// When the hub was last noticed to have been restored, also after it is trusted again.
    pub last_restore: Option<Timestamp>,
    /// The Instances that cells still have of a WD that is to leave the hub (F9).
    pub teardown: Teardown,
    /// Whether the hub WD was seen deleted, while this WD was being deleted.
    pub seen_deleted: bool,
    /// Whether the condition `Federated` is to be written though no status brings it along (U2).
    pub is_due: bool,
    /// The time since the first event that no pass has settled yet.
    pub waited: Duration,
    /// Where the hub was read live: then hub namespace and hub WD are as that read shows them.
    pub live: Option<LiveRead>,
    /// The time now.
    pub now: Timestamp,
}

impl Snapshot {
    /// `spec.cityCode`, empty where there is none.
    pub fn city(&self) -> &str {
        self.project.city.as_deref().unwrap_or_default()
    }

    /// Whether the project or its service is suspended: its WDs on the hub say so.
    pub fn is_suspended(&self) -> bool {
        self.is_read_only() || self.service == ServiceState::Suspended
    }

    /// Whether the project is suspended: its plane is read and not written.
    pub fn is_read_only(&self) -> bool {
        self.writes == WriteState::Suspended
    }

    /// Whether the WD is to leave the hub: it is being deleted, or its project's service is withdrawn (W9).
    pub fn is_leaving(&self) -> bool {
        self.project.terminating || self.service == ServiceState::Withdrawn
    }

    /// The key of the project WD.
    pub fn project_key(&self) -> Key {
        let ProjectNamespace { plane, namespace } = &self.home;
        key(PlaneId::Project(plane.clone()), namespace, &self.name)
    }

    /// The key of the hub WD.
    pub fn hub_key(&self) -> Key {
        key(PlaneId::Hub, &self.hub_namespace_name, &self.name)
    }

    /// The project WD, as much as its facts tell.
    pub fn project_subject(&self) -> Subject {
        self.project.subject(self.project_key())
    }

    /// The hub WD, as much as its facts tell.
    pub fn hub_subject(&self) -> Option<Subject> {
        Some(self.hub.as_ref()?.subject(self.hub_key()))
    }

    /// The one policy for the WD's city, found by its label, not by its name (F5).
    pub fn policy(&self) -> Option<&KnownPolicy> {
        let city = self.city();
        self.policies
            .iter()
            .filter(|p| p.object.label(CITY_CODE) == Some(city))
            .min_by_key(|p| p.object.is_terminating())
            .or_else(|| {
                // Its label was taken off by hand: by its name it is ours.
                let names = [policy_name(city, |_| false), policy_name(city, |_| true)];
                self.policies
                    .iter()
                    .filter(|p| p.object.label(CITY_CODE).is_none())
                    .find(|p| names.iter().any(|n| n == p.object.name()))
            })
    }

    /// The origin mark of this WD: `<plane>/<namespace>/<name>`.
    pub fn source(&self) -> String {
        source(&self.home, &self.name)
    }

    /// Whether that hub namespace may be used for this WD: it names this plane and namespace, or none yet.
    pub fn namespace_is_ours(&self, namespace: &Object) -> bool {
        let plane = namespace.label(UPSTREAM_CLUSTER);
        let space = namespace.label(UPSTREAM_NAMESPACE);
        plane.is_none_or(|p| decode_plane(p).as_ref() == Some(&self.home.plane))
            && space.is_none_or(|s| s == self.home.namespace)
    }

    /// Whether the labels of that hub namespace name this plane and namespace, both of them.
    pub fn namespace_names_us(&self, namespace: &Object) -> bool {
        let labels = [UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE].map(|label| namespace.label(label));
        labels.iter().all(Option::is_some) && self.namespace_is_ours(namespace)
    }

    /// Whether the hub namespace that the WD records is the one that stands.
    pub fn recorded_namespace_stands(&self) -> bool {
        let uid = self.hub_namespace.as_ref().map(|namespace| mark_hash(Some(namespace.uid())));
        uid == Some(self.project.counterpart_uid)
    }

    /// A hash of all that decides about a WD that stays, but for the time; never zero. Zero where it rests on
    /// what was read live.
    pub fn fingerprint(&self) -> u64 {
        if self.live.is_some() || self.teardown.left.is_some() || self.stalled || self.is_due {
            return 0;
        }
        let sum = KeyedHasher::default()
            .number(self.project.content)
            .number(self.hub.as_ref().map_or(0, |hub| hub.content))
            .maybe(self.hub_namespace.as_ref().map(|n| n.version()))
            .number(self.cells as u64)
            .number(self.writes as u64)
            .number(self.service as u64)
            .maybe(self.cell_down.as_ref().map(CellDown::to_string).as_deref())
            .maybe(self.held.as_ref().map(Hold::to_string).as_deref());
        let policies = self.policies.iter();
        policies.fold(sum, |sum, p| sum.text(p.object.uid()).text(p.object.version())).end().max(1)
    }
}

fn key(plane: PlaneId, namespace: &str, name: &str) -> Key {
    Key { plane, kind: Kind::WorkloadDeployment, namespace: namespace.into(), name: name.into() }
}

/// The origin mark of the WD of that name.
pub fn source(home: &ProjectNamespace, name: &str) -> String {
    format!("{}/{}/{name}", home.plane, home.namespace)
}

/// Whether the WD is to leave the hub of its project, and our finalizer holds it until that is done.
pub(crate) fn awaits_cleanup(project: &Plane, wd: &Digest) -> bool {
    let leaves = wd.terminating || project.service() == ServiceState::Withdrawn;
    leaves && wd.deployment().is_some_and(|facts| facts.held)
}
