//! What digests alone tell of a projection: no object is read for it.
//!
//! They tell that it is in order, that its status is all that it lacks, that its WD is on its way out, or that it is the one
//! of an Instance that was seen deleted, and tell so only where [`crate::plan::plan`] would decide the same. Where they tell nothing, the plan
//! decides, and the [`Sight::circumstances`] that it was judged under are remembered.

use fedhub_api::cells::CellDown;
use fedhub_api::transitions::Signal;
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::deployment::{home, source};
use fedhub_cache::digest::instance::{StatusOrigin, mirrored, projected, says};
use fedhub_cache::digest::{Digest, Instance, Version};
use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::encode_plane;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};

use crate::mark::Mark;
use crate::observe::{Observed, ProjectNamespace};
use crate::projection::reference;

/// What the stores tell of a hub Instance and its surroundings.
#[derive(Clone, Debug)]
pub struct Sight {
    /// Where the projection belongs.
    pub home: ProjectNamespace,
    /// The hub namespace.
    pub hub_namespace: ObjectRef,
    /// The hub Instance, if the hub has it.
    pub instance: Option<Digest>,
    /// The name of its WD, if it has one.
    pub deployment: Option<String>,
    /// That WD on the hub.
    pub hub_deployment: Option<Digest>,
    /// That WD in the project plane, as its store tells.
    pub owner: Option<Digest>,
    /// The Instance of that name in the project namespace.
    pub projection: Option<Digest>,
    /// The Instance's cell, where it is down: then the plan tells.
    pub down: Option<CellDown>,
    /// What the project plane made of the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// What the project plane made of the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
}

impl Sight {
    /// Whether nothing is left to do for this hub Instance.
    pub fn in_order(&self) -> bool {
        self.down.is_none() && self.placed().is_some_and(|(should, is)| self.tells_the_same(should, is))
    }

    /// Bytes that the larger of its objects takes in memory.
    pub fn object_bytes(&self) -> usize {
        self.instance.iter().chain(&self.projection).map(Digest::object_bytes).max().unwrap_or_default()
    }

    /// Whether the hub Instance's WD is on its way out, so that nothing is done for it, whatever it is like (P6).
    pub fn leaving(&self) -> bool {
        self.instance.is_some() && self.owner.as_ref().is_some_and(|owner| owner.terminating)
    }

    /// Whether the hub Instance's WD is on neither plane: the hub's garbage collector takes the Instance.
    pub fn abandoned(&self) -> bool {
        self.instance.is_some()
            && self.deployment.is_some()
            && self.hub_deployment.is_none()
            && self.owner.is_none()
    }

    /// The projection, named `name`, where its status is all that is left to be written, and that without a dry run: one
    /// has to tell what became of what was written before and nobody remembers (I7).
    pub fn lacks_status(&self, name: &str) -> Option<ObjectRef> {
        let (should, is) = self.placed().filter(|_| self.down.is_none())?;
        let first =
            should.status_origin == StatusOrigin::Reported && is.status_origin != StatusOrigin::Reported;
        let known = self.status_normalization.is_some() || first;
        (known && !self.tells_the_same(should, is)).then(|| self.stub(name)).flatten()
    }

    /// The projection, named `name`, of the Instance of this UID, which the hub has no more; `None` where somebody
    /// deletes it already (I4).
    pub fn left_behind(&self, name: &str, instance_uid: &str) -> Option<ObjectRef> {
        let is = alive(self.projection.as_ref()).filter(|_| self.instance.is_none())?.instance()?;
        let mark = self.mark(instance_uid.to_owned()).to_string();
        (is.copied == mirrored(Some(&mark))).then(|| self.stub(name)).flatten()
    }

    /// What the projection says that its user is told of by Events.
    pub fn signal(&self) -> Signal {
        let is = self.projection.as_ref().and_then(Digest::instance);
        is.map_or_else(Signal::default, |is| is.signal)
    }

    fn stub(&self, name: &str) -> Option<ObjectRef> {
        Some(self.projection.as_ref()?.stub(Kind::Instance, &self.home.namespace, name))
    }

    /// What the hub Instance and its projection say, where all but the status is as it should be.
    fn placed(&self) -> Option<(&Instance, &Instance)> {
        let (instance, projection) = (alive(self.instance.as_ref())?, alive(self.projection.as_ref())?);
        let (should, is) = (instance.instance()?, projection.instance()?);
        let placed = is.labels == should.labels
            && self.names_each_other(instance, should, is).unwrap_or(false)
            && settled(self.spec_normalization, should.spec, is.spec);
        placed.then_some((should, is))
    }

    /// The mark of the projection of the Instance of that UID.
    fn mark(&self, instance_uid: String) -> Mark {
        let namespace = &self.hub_namespace;
        Mark {
            namespace: namespace.name().to_owned(),
            namespace_uid: namespace.uid().to_owned(),
            instance_uid,
        }
    }

    /// I5, I6, P3, P4: what the hub says of whose it is agrees, its WD lives on both planes, and the projection is
    /// tied to it.
    fn names_each_other(&self, instance: &Digest, should: &Instance, is: &Instance) -> Option<bool> {
        let (deployment, hub_deployment) =
            (self.deployment.as_deref()?, alive(self.hub_deployment.as_ref())?);
        let owner = alive(self.owner.as_ref())?;
        let (cluster, space) = (encode_plane(&self.home.plane), self.home.namespace.as_str());
        let (cluster, space) = (Some(cluster.as_str()), Some(space));
        let controller = hub_deployment.uid.to_string();
        let mark = self.mark(instance.uid.to_string());
        let references = [reference((deployment, &owner.uid))];
        let uid = owner.uid.to_string();
        let tied = projected(cluster, space, Some(&uid), Some(&mark.to_string()), &references);
        let agrees = |controller| should.bond == says(cluster, space, controller);
        Some(
            is.bond == tied
                && (agrees(Some(&controller)) || agrees(None))
                && hub_deployment.deployment()?.source == source(Some(&uid))
                && owner.deployment()?.home == home(Some(self.hub_namespace.name())),
        )
    }

    /// P3: a status that is only the schema's defaults never overwrites one that a cell wrote.
    fn tells_the_same(&self, should: &Instance, is: &Instance) -> bool {
        let defaults =
            should.status_origin == StatusOrigin::Defaulted && is.status_origin == StatusOrigin::Reported;
        should.status_origin == StatusOrigin::Absent
            || defaults
            || settled(self.status_normalization, should.status, is.status)
    }

    /// A hash of all that the plan decides by, but for the time; never zero. Zero where what the plan saw is not what
    /// this sight tells: an event came between, or the owner was read live.
    pub fn judged_by(&self, seen: &Observed) -> u64 {
        let same = |object: &Option<ObjectRef>, digest: &Option<Digest>| {
            object.as_ref().map(|o| Version::new(o.version())) == digest.as_ref().map(|d| d.version.clone())
        };
        let all = same(&seen.instance, &self.instance)
            && same(&seen.projection, &self.projection)
            && seen.owner == self.owner;
        if all { self.circumstances() } else { 0 }
    }

    /// The same, where nothing was seen but this.
    pub fn circumstances(&self) -> u64 {
        let all = [&self.instance, &self.hub_deployment, &self.owner, &self.projection];
        let content = |digest: &Option<Digest>| digest.as_ref().map_or(0, |d| d.content);
        let sum = KeyedHasher::default().text(self.hub_namespace.uid()).text(self.hub_namespace.version());
        let sum = sum.maybe(self.down.as_ref().map(CellDown::to_string).as_deref());
        all.into_iter().fold(sum, |sum, digest| sum.number(content(digest))).end().max(1)
    }
}

fn alive(digest: Option<&Digest>) -> Option<&Digest> {
    digest.filter(|d| !d.terminating)
}

fn settled(echo: Option<ServerNormalization>, desired: u64, current: u64) -> bool {
    desired == current || echo.is_some_and(|e| e.explains(desired, current))
}
