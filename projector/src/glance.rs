//! Whether a projection is in order, told from digests alone: no object is read and none is built.
//!
//! Says yes only where [`crate::plan::plan`] would do nothing. Where it does not see that nothing is to do, the plan
//! does, and the [`Sight::circumstances`] that it was judged under are remembered.

use fedhub_shared::digest::deployment::home;
use fedhub_shared::digest::instance::{Tells, projected, says};
use fedhub_shared::digest::{Digest, Instance, Version};
use fedhub_shared::engine::Echo;
use fedhub_shared::hash::Sum;
use fedhub_shared::names::encode_plane;
use fedhub_shared::object::{ObjectView, Shared};

use crate::mark::Mark;
use crate::observe::{Home, Observed};
use crate::projection::reference;

/// What the stores tell of a hub Instance and its surroundings.
#[derive(Clone, Debug)]
pub struct Sight {
    /// Where the projection belongs.
    pub home: Home,
    /// The hub namespace.
    pub hub_namespace: Shared,
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
    /// What the project plane made of the last spec that was sent.
    pub spec_echo: Option<Echo>,
    /// What the project plane made of the last status that was sent.
    pub status_echo: Option<Echo>,
}

impl Sight {
    /// Whether nothing is left to do for this hub Instance.
    pub fn in_order(&self) -> bool {
        let (Some(instance), Some(projection)) =
            (alive(self.instance.as_ref()), alive(self.projection.as_ref()))
        else {
            return false;
        };
        let (Some(is), Some(should)) = (projection.instance(), instance.instance()) else { return false };
        is.labels == should.labels
            && self.names_each_other(instance, should, is).unwrap_or(false)
            && settled(self.spec_echo, should.spec, is.spec)
            && self.tells_the_same(should, is)
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
        let mark = Mark {
            namespace: self.hub_namespace.called().to_owned(),
            namespace_uid: self.hub_namespace.uid().to_owned(),
            instance_uid: instance.uid.to_string(),
        };
        let references = [reference((deployment, &owner.uid))];
        let uid = owner.uid.to_string();
        let tied = projected(cluster, space, Some(&uid), Some(&mark.to_string()), &references);
        let agrees = |controller| should.bond == says(cluster, space, controller);
        Some(
            is.bond == tied
                && (agrees(Some(&controller)) || agrees(None))
                && owner.deployment()?.home == home(Some(self.hub_namespace.called())),
        )
    }

    /// P3: a status that is only the schema's defaults never overwrites one that a cell wrote.
    fn tells_the_same(&self, should: &Instance, is: &Instance) -> bool {
        let defaults = should.tells == Tells::Defaults && is.tells == Tells::News;
        should.tells == Tells::Nothing || defaults || settled(self.status_echo, should.status, is.status)
    }

    /// A hash of all that the plan decides by, but for the time; never zero. Zero where what the plan saw is not what
    /// this sight tells: an event came between, or the owner was read live.
    pub fn judged_by(&self, seen: &Observed) -> u64 {
        let same = |object: &Option<Shared>, digest: &Option<Digest>| {
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
        let sum = Sum::default().text(self.hub_namespace.uid()).text(self.hub_namespace.version());
        all.into_iter().fold(sum, |sum, digest| sum.number(content(digest))).end().max(1)
    }
}

fn alive(digest: Option<&Digest>) -> Option<&Digest> {
    digest.filter(|d| !d.deleting)
}

fn settled(echo: Option<Echo>, desired: u64, current: u64) -> bool {
    desired == current || echo.is_some_and(|e| e.explains(desired, current))
}
