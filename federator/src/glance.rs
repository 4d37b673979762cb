//! Whether a WD is in order, told from digests alone: no object is read and none is built.
//!
//! Says yes only where [`crate::plan::plan`] would do nothing. Where it does not see that nothing is to do, the plan
//! does, and the [`Sight::circumstances`] that it was judged under are remembered.

use fedhub_api::cells::CellDown;
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::deployment::{claim, marked, placed, unreported};
use fedhub_cache::digest::{Deployment, Digest, Version};
use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{DELETION_PROTECTED, PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, encode_plane};
use fedhub_core::object::{Key, ObjectRef, ObjectView};
use fedhub_planes::Write;

use crate::moving::keeps;
use crate::observe::{Known, Observed};
use crate::origin::origin;
use crate::plan::{PolicyStep, policy};
use crate::refusal::Refusal;

/// What the stores tell of a WD and its surroundings.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The WD in the project plane.
    pub project: Digest,
    /// The name of its hub namespace, from the UID of the project namespace.
    pub hub_namespace_name: String,
    /// That namespace, if the hub has it.
    pub hub_namespace: Option<ObjectRef>,
    /// The WD of that name in it.
    pub hub: Option<Digest>,
    /// The `PropagationPolicies` of that namespace.
    pub policies: Vec<Known>,
    /// How many Clusters carry the WD's city code.
    pub cells: usize,
    /// The first of them, where it is down: then the plan tells.
    pub down: Option<CellDown>,
    /// What the hub made of the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// Whether the project is suspended: then the plan tells.
    pub suspended: bool,
}

impl Sight {
    /// Whether nothing is left to do for the WD `key` of `plane`.
    pub fn in_order(&self, plane: &PlaneName, key: &Key) -> bool {
        let Some(project) = self.project.deployment() else { return false };
        let Some(hub) = self.hub.as_ref().filter(|hub| !hub.terminating).and_then(Digest::deployment) else {
            return false;
        };
        let Some(namespace) = self.hub_namespace.as_ref().filter(|n| !n.is_terminating()) else {
            return false;
        };
        let Some(city) = project.city.as_deref() else { return false };
        !self.suspended
            && self.down.is_none()
            && !self.project.terminating
            && !hub.lost
            && Refusal::of_input(&key.name, city).is_none()
            && self.cells == 1
            && self.names_each_other(plane, key, namespace, (project, hub))
            && self.carries_the_same(project, hub)
            && !self.is_claimed_by_another_city(city, hub)
            && says_the_same(project, hub)
            && matches!(policy(namespace.name(), city, &self.policies), PolicyStep::InOrder)
    }

    /// Whether the WD `name` can be federated, and its hub namespace or its city's policy has to be made for that.
    pub(crate) fn lacks_setup(&self, name: &str) -> bool {
        let city = self.project.deployment().and_then(|wd| wd.city.as_deref()).unwrap_or_default();
        if self.project.terminating || self.cells > 1 || Refusal::of_input(name, city).is_some() {
            return false;
        }
        self.hub_namespace.as_ref().is_none_or(|namespace| {
            matches!(policy(namespace.name(), city, &self.policies), PolicyStep::Write(Write::Create(_)))
        })
    }

    /// I2, F3, F4: the marks on both planes name each other, and the hub namespace names this project namespace.
    fn names_each_other(
        &self,
        plane: &PlaneName,
        key: &Key,
        namespace: &ObjectRef,
        (project, hub): (&Deployment, &Deployment),
    ) -> bool {
        let (space, city) = (Some(key.namespace.as_str()), project.city.as_deref());
        let source = origin(plane, &key.namespace, &key.name);
        let uid = self.project.uid.to_string();
        namespace.label(UPSTREAM_CLUSTER) == Some(&encode_plane(plane))
            && namespace.label(UPSTREAM_NAMESPACE) == space
            && project.bond == marked(true, Some(namespace.name()), Some(namespace.uid()))
            && hub.bond == placed(Some(&source), Some(&uid), space, city, Some(DELETION_PROTECTED.1), None)
    }

    /// F6: another city's policy has it.
    fn is_claimed_by_another_city(&self, city: &str, hub: &Deployment) -> bool {
        let claims = |p: &&Known| claim(Some(p.object.name())) == hub.claim;
        self.policies.iter().find(claims).is_some_and(|p| !keeps(&p.object, city))
    }

    fn carries_the_same(&self, project: &Deployment, hub: &Deployment) -> bool {
        let settled = project.spec == hub.spec
            || self.spec_normalization.is_some_and(|e| e.explains(project.spec, hub.spec));
        settled && project.carried == hub.carried
    }

    /// A hash of all that the plan decides by, but for the time; never zero. Zero where what the plan saw is not what
    /// this sight tells: an event came between.
    pub fn judged_by(&self, seen: &Observed) -> u64 {
        let version = |object: &ObjectRef| Version::new(object.version());
        let hub = seen.hub.as_ref().map(version) == self.hub.as_ref().map(|hub| hub.version.clone());
        if hub && version(&seen.project) == self.project.version { self.circumstances() } else { 0 }
    }

    /// The same, where nothing was seen but this.
    pub fn circumstances(&self) -> u64 {
        let sum = KeyedHasher::default()
            .number(self.project.content)
            .number(self.hub.as_ref().map_or(0, |hub| hub.content))
            .maybe(self.hub_namespace.as_ref().map(|n| n.version()))
            .number(self.cells as u64)
            .number(self.suspended.into())
            .maybe(self.down.as_ref().map(CellDown::to_string).as_deref());
        self.policies
            .iter()
            .fold(sum, |sum, p| sum.text(p.object.uid()).text(p.object.version()))
            .end()
            .max(1)
    }
}

/// F8, for a WD that is not refused.
fn says_the_same(project: &Deployment, hub: &Deployment) -> bool {
    if !hub.reported {
        return !project.reported || project.status == unreported();
    }
    let generation = hub.observed_generation.is_none_or(|g| project.observed_generation == Some(g));
    generation && project.status == hub.status
}
