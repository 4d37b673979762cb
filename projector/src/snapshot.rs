//! The state of the caches for one hub Instance and its surroundings: digests, and few small objects.

use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_api::transitions::Signal;
use fedhub_cache::ServerNormalization;
use fedhub_core::hash::KeyedHasher;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::Subject;
use fedhub_planes::{Distrust, ProjectNamespace, WriteState};
use jiff::Timestamp;

/// Everything that [`crate::plan::plan`] decides by.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The key of the hub Instance.
    pub key: Key,
    /// The project namespace that the projection belongs into.
    pub target: ProjectNamespace,
    /// The hub namespace.
    pub hub_namespace: ObjectRef,
    /// The hub Instance, if the hub has it.
    pub instance: Option<Digest>,
    /// The name of its WD, if it has one.
    pub deployment: Option<String>,
    /// The WD on the hub.
    pub hub_deployment: Option<Digest>,
    /// The WD on the project plane.
    pub owner: Option<Digest>,
    /// The live read that was made because the cache lacks the owner (P2).
    pub confirmed: Option<Confirmed>,
    /// The Instance of that name in the project namespace.
    pub projection: Option<Digest>,
    /// The UID of the hub Instance of this name that a watch without a gap reported deleted, if one was (I4).
    pub seen_deleted: Option<String>,
    /// Why the hub's absences may be no deletions, if there is reason to think so (I4).
    pub distrust: Option<Distrust>,
    /// Whether the Instance or its projection was fetched as another version than the cache knows.
    pub refetched: bool,
    /// The live reads of the hub, where the plan asked for them.
    pub live: Option<Live>,
    /// The Instance's cell, where it is down (C11).
    pub down: Option<CellDown>,
    /// How the project plane stored the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// How the project plane stored the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
    /// Whether fedhub may write for the project.
    pub writes: WriteState,
    /// Whether the service of the project was withdrawn and nothing of the projection's WD is on the hub any
    /// more, as its finalizer tells (W9).
    pub withdrawn: bool,
    /// The time since the first event that no reconcile has settled yet.
    pub since_event: Duration,
    /// How long a hub Instance may be without its WD before that is final (P7).
    pub grace: Duration,
    /// The time now.
    pub now: Timestamp,
}

/// The result of a live read of a WD that the project plane's cache lacks (P2).
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// The WD, if the plane has it.
    pub owner: Option<Digest>,
    /// When the hub Instance was created.
    pub created: Timestamp,
}

/// The hub as live reads show it, past every cache (I4).
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The hub namespace.
    pub namespace: Option<ObjectRef>,
    /// The hub Instance.
    pub instance: Option<ObjectRef>,
    /// The hub WD that the projection names.
    pub deployment: Option<ObjectRef>,
    /// How many of the hub's Instances are that WD's and not being deleted, where the namespace is not the
    /// recorded one.
    pub copies: u64,
}

/// Whether the hub Instance of that name is that hub WD's, and not being deleted.
pub fn is_copy(instance: &Digest, name: &str, deployment: &Object) -> bool {
    !instance.terminating
        && instance.instance().is_some_and(|facts| {
            facts.deployment(name) == Some(deployment.name()) && facts.may_be_controlled_by(deployment.uid())
        })
}

impl Snapshot {
    /// Bytes that the larger of its objects takes in memory.
    pub fn object_bytes(&self) -> usize {
        self.instance.iter().chain(&self.projection).map(Digest::object_bytes).max().unwrap_or_default()
    }

    /// The state of the projection that Events tell its user of.
    pub fn signal(&self) -> Signal {
        let facts = self.projection.as_ref().and_then(Digest::instance);
        facts.map_or_else(Signal::default, |facts| facts.signal)
    }

    /// The hub Instance, as much as its digest tells.
    pub fn instance_subject(&self) -> Option<Subject> {
        let stub = self.instance.as_ref()?.stub(Kind::Instance, &self.key.namespace, &self.key.name);
        Some(Subject { key: self.key.clone(), stub })
    }

    /// The projection, as much as its digest tells.
    pub fn projection_subject(&self) -> Option<Subject> {
        let stub = self.projection.as_ref()?.stub(Kind::Instance, &self.target.namespace, &self.key.name);
        let plane = PlaneId::Project(self.target.plane.clone());
        Some(Subject {
            key: Key { plane, namespace: self.target.namespace.as_str().into(), ..self.key.clone() },
            stub,
        })
    }

    /// A hash of all inputs of the plan but the time; zero where live reads are part of them.
    pub fn fingerprint(&self) -> u64 {
        if self.live.is_some() || self.confirmed.is_some() || self.refetched {
            return 0;
        }
        let hasher = KeyedHasher::default().text(self.hub_namespace.uid()).text(self.hub_namespace.version());
        let hasher = [&self.instance, &self.hub_deployment, &self.owner, &self.projection]
            .into_iter()
            .fold(hasher, |hasher, digest| hasher.number(digest.as_ref().map_or(0, |d| d.content)));
        let hasher =
            [self.spec_normalization, self.status_normalization].into_iter().fold(hasher, |hasher, n| {
                let (sent, got) = match n {
                    None => (0, 0),
                    Some(ServerNormalization::Kept) => (0, 1),
                    Some(ServerNormalization::Changed { sent, got }) => (sent, got),
                };
                hasher.number(sent).number(got)
            });
        hasher
            .maybe(self.down.as_ref().map(CellDown::to_string).as_deref())
            .maybe(self.seen_deleted.as_deref())
            .maybe(self.distrust.map(Distrust::label))
            .end()
            .max(1)
    }
}
