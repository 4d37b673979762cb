//! One reconcile of one hub Instance, for the engine's loop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::facts::{Deployment, Digest, DigestExt};
use fedhub_api::transitions;
use fedhub_cache::budget::Reserved;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::metrics::Hop;
use fedhub_core::names::PROJECTOR_MANAGER;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_core::trace::TracedGeneration;
use fedhub_engine::{
    Answer, Bodies, Controller, Draft, Effects, Intent, Job, Outcome, Reconciler, Step, apply, reconcile,
};
use fedhub_planes::events::reference_to;
use fedhub_planes::{Distrust, Plane, PlaneWriter, ProjectNamespace};

use crate::controller::{Projector, is_synced};
use crate::plan::plan;
use crate::quarantine::Reason;
use crate::render::render;
use crate::snapshot::{Confirmed, Live, Snapshot, is_copy};
use crate::unreachable::too_early;
use crate::verdict::{DeletionUnconfirmed, ProjectionPlan, ProjectionVerdict};

impl Controller for Projector {
    fn name(&self) -> &'static str {
        "projector"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if (&job.key.plane, job.key.kind) != (&PlaneId::Hub, Kind::Instance) {
            return Err(Error::Bug(format!("{} is none of the projector's keys", job.key)));
        }
        let key = &job.key;
        let hub = self.planes.hub();
        if !hub.synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let hub_namespace = hub.store(Kind::Namespace).object("", &key.namespace);
        let target = hub_namespace.as_deref().and_then(ProjectNamespace::from_hub_namespace);
        let (Some(hub_namespace), Some(target)) = (hub_namespace.clone(), target) else {
            let instance = hub.store(Kind::Instance).digest(&key.namespace, &key.name);
            let unidentifiable = hub_namespace.is_some() && instance.is_some();
            self.seen_deleted.remove(key);
            self.set_state(
                key,
                unidentifiable.then_some(ProjectionVerdict::Quarantined(Reason::Unidentifiable)),
            );
            return Ok(Outcome::AwaitChange);
        };
        let Some(project) = self.planes.engaged(&target.plane) else {
            self.set_state(key, None);
            return Err(Error::NotEngaged(PlaneId::Project(target.plane)));
        };
        let live = None;
        let confirmed = None;
        let fetched = Fetched::default();
        let memory = None;
        let projector = self;
        let mut instance = InstanceReconciler {
            projector,
            project,
            job,
            target,
            hub_namespace,
            live,
            confirmed,
            fetched,
            memory,
        };
        let outcome = reconcile(&mut instance, job).await?;
        if outcome == Outcome::Updated {
            self.planes.metrics().propagated(Hop::HubToProjectInstance, job.since.elapsed());
        }
        Ok(outcome)
    }
}

/// The change that the hub has of an Instance's WD.
fn change(owner: &Digest, hub: &Digest) -> Option<TracedGeneration> {
    Some(TracedGeneration { uid: owner.uid.to_string(), generation: hub.deployment()?.generation })
}

/// Reconciles one hub Instance.
pub(crate) struct InstanceReconciler<'a> {
    pub projector: &'a Projector,
    pub project: Arc<Plane>,
    job: &'a Job,
    target: ProjectNamespace,
    hub_namespace: ObjectRef,
    /// The objects that were read live, for the next round.
    pub live: Option<Live>,
    /// The owner that was read live because the cache lacks it, until the end.
    pub confirmed: Option<Confirmed>,
    /// The hub Instance and its projection, as fetched where the caches knew another version: until something
    /// is written.
    pub fetched: Fetched,
    memory: Option<Reserved>,
}

/// Objects that were fetched as another version than the caches know, as after a restore of their plane.
#[derive(Clone, Default)]
pub(crate) struct Fetched {
    pub instance: Option<Digest>,
    pub projection: Option<Digest>,
}

impl InstanceReconciler<'_> {
    /// Reserves memory for the objects of this reconcile, until it ends.
    async fn reserve(&mut self, seen: &Snapshot) {
        if self.memory.is_none() {
            let budget = self.projector.planes.budget();
            self.memory = Some(budget.working(&self.project.id, seen.object_bytes()).await);
        }
    }

    /// Reads the hub live (I4).
    async fn read_hub(&self, seen: &Snapshot) -> Result<Live, RequestError> {
        let hub = self.projector.planes.hub();
        let key = &seen.key;
        let pass = &self.job.pass;
        let wds = Kind::WorkloadDeployment;
        let namespace = hub.get_live(pass, Kind::Namespace, "", &key.namespace).await?.map(Arc::new);
        let facts = seen.projection.as_ref().and_then(Digest::instance);
        let name = facts.and_then(|facts| facts.deployment(&key.name));
        let is_lost = !namespace
            .as_ref()
            .is_some_and(|n| facts.is_some_and(|facts| facts.is_from_namespace_uid(n.uid())));
        let known = name.and_then(|name| hub.store(wds).digest(&key.namespace, name));
        let is_reported = known.is_some_and(|wd| wd.deployment().is_some_and(Deployment::reported));
        if namespace.is_none() || is_lost && !is_reported && !seen.withdrawn {
            // In that case nothing else can prove anything.
            return Ok(Live { namespace, ..Live::default() });
        }
        let instance = hub.get_live(pass, Kind::Instance, &key.namespace, &key.name).await?.map(Arc::new);
        let deployment = match name {
            Some(name) => hub.get_live(pass, wds, &key.namespace, name).await?.map(Arc::new),
            None => None,
        };
        let copies = deployment.as_deref().filter(|_| is_lost).map_or(0, |wd| self.copies(wd));
        Ok(Live { namespace, instance, deployment, copies })
    }

    /// How many of the hub's Instances are that hub WD's and not being deleted.
    fn copies(&self, deployment: &Object) -> u64 {
        let instances = self.projector.planes.hub().store(Kind::Instance);
        let its = instances.select(Some(deployment.namespace()), |instance| {
            is_copy(instance.digest, instance.name, deployment).then_some(())
        });
        its.len() as u64
    }

    /// Reads the owner live, where the hub has its counterpart, and the age of the Instance (P2, P7).
    async fn confirm_owner(&self, seen: &Snapshot, bodies: &Bodies) -> Result<Confirmed, RequestError> {
        let kind = Kind::WorkloadDeployment;
        let owner = match (&seen.deployment, &seen.hub_deployment) {
            (Some(name), Some(_)) => {
                self.project.get_live(&self.job.pass, kind, &seen.target.namespace, name).await?
            }
            _ => None,
        };
        let owner = owner.map(|owner| Digest::new(&self.project.id, kind, &owner));
        let created =
            bodies.get(&seen.key).and_then(|instance| instance.metadata.creation_timestamp.as_ref());
        let created = created.map_or(seen.now, |time| time.0);
        Ok(Confirmed { owner, created })
    }
}

impl Reconciler for InstanceReconciler<'_> {
    type Snapshot = Snapshot;
    type Plan = ProjectionPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        let seen = self.projector.snapshot(&self.project, &self.job.key, &self.target, &self.hub_namespace);
        if let Some(wait) = seen.down.as_ref().and_then(|down| too_early(down, seen.now)) {
            return Ok(ControlFlow::Break(Outcome::RequeueAfter(wait)));
        }
        let owner = seen.owner.clone().or_else(|| self.confirmed.as_ref()?.owner.clone());
        self.job.answered.say(|| change(owner.as_ref()?, seen.hub_deployment.as_ref()?));
        let live = self.live.take();
        let confirmed = self.confirmed.clone();
        let since_event = self.job.unsettled_since.elapsed();
        let Fetched { instance, projection } = self.fetched.clone();
        let refetched = instance.is_some() || projection.is_some();
        let instance = instance.or(seen.instance);
        let projection = projection.or(seen.projection);
        Ok(ControlFlow::Continue(Snapshot {
            instance,
            owner,
            confirmed,
            projection,
            refetched,
            live,
            since_event,
            ..seen
        }))
    }

    fn is_synced(&self, seen: &Snapshot) -> bool {
        is_synced(&self.project, seen)
    }

    fn plan(&self, seen: &Snapshot) -> ProjectionPlan {
        plan(seen)
    }

    async fn apply(&mut self, seen: &Snapshot, plan: ProjectionPlan) -> Result<Step, Error> {
        let key = &self.job.key;
        // The last verdict is kept until live reads or the rate limit change it.
        let is_told = !plan
            .intents
            .iter()
            .any(|intent| matches!(intent, Intent::ReadHub | Intent::ConfirmOwner | Intent::Delete { .. }));
        if is_told {
            self.projector.set_state(key, plan.verdict);
        }
        if self.project.stop.is_cancelled() {
            // The plane was disengaged during this reconcile: no later one clears the state.
            self.projector.set_state(key, None);
            return Err(Error::NotEngaged(self.project.id.clone()));
        }
        if let Some(ProjectionVerdict::Parked | ProjectionVerdict::Quarantined(_)) = plan.verdict {
            // Their next event may be long in coming.
            self.projector.release(&self.project, seen, 0);
        }
        if plan.fetches() {
            self.reserve(seen).await;
        }
        let step = apply(self, seen, plan.intents).await?;
        if step == Step::Updated {
            self.fetched = Fetched::default();
        }
        Ok(step)
    }

    fn mark_synced(&self, seen: &Snapshot) {
        self.projector.mark_synced(&self.project, seen);
    }
}

impl Effects for InstanceReconciler<'_> {
    fn writer(&self, plane: &PlaneId) -> PlaneWriter<'_> {
        let planes = &self.projector.planes;
        let plane = if *plane == PlaneId::Hub { planes.hub() } else { &self.project };
        PlaneWriter { plane, pass: &self.job.pass, manager: PROJECTOR_MANAGER, metrics: planes.metrics() }
    }

    fn render(&self, seen: &Snapshot, draft: &Draft, bodies: &Bodies) -> Option<Intent> {
        render(seen, draft, bodies)
    }

    fn take(&self, _: &Key) -> Result<(), Duration> {
        self.projector.delete_limits.take(&self.target.plane, &self.job.key)
    }

    fn learn(&mut self, seen: &Snapshot, key: &Key, answer: Answer) -> Result<Step, Error> {
        match &answer {
            Answer::Outdated(fetched) => {
                let digest = Digest::new(&key.plane, key.kind, fetched);
                let known = match key.plane {
                    PlaneId::Hub => &mut self.fetched.instance,
                    _ => &mut self.fetched.projection,
                };
                *known = Some(digest);
            }
            // What a restored hub says was reported before.
            Answer::StatusStored { stored: projection, .. }
                if self.projector.planes.distrust() != Some(Distrust::Restored) =>
            {
                let transition = transitions::of_instance(seen.signal(), projection.status());
                if let Some(transition) = transition.filter(|it| !it.routine) {
                    self.project.events.transition(reference_to(Kind::Instance, projection), transition);
                }
            }
            Answer::Limited(_) => {
                self.projector.set_state(
                    &seen.key,
                    Some(ProjectionVerdict::Withheld(DeletionUnconfirmed::RateLimited)),
                );
            }
            Answer::Deleted { .. } if seen.instance.is_none() => {
                self.projector.set_state(&seen.key, None);
                self.projector.seen_deleted.remove(&seen.key);
                return Ok(Step::End(Outcome::Updated));
            }
            _ => {}
        }
        answer.step()
    }

    async fn perform(&mut self, seen: &Snapshot, intent: Intent, bodies: &Bodies) -> Result<Step, Error> {
        match intent {
            Intent::ReadHub => self.live = Some(self.read_hub(seen).await?),
            Intent::ConfirmOwner => self.confirmed = Some(self.confirm_owner(seen, bodies).await?),
            intent => return Err(Error::Bug(format!("{intent:?} is none of the projector's intents"))),
        }
        Ok(Step::Learned)
    }
}
