//! Applies the plan of one hub Instance: fetches what it writes, renders it and writes where that differs.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::facts::{Deployment, Digest, DigestExt};
use fedhub_api::transitions;
use fedhub_cache::digest::Version;
use fedhub_cache::normalization::settled;
use fedhub_core::names::PROJECTOR_MANAGER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_engine::{Outcome, Step};
use fedhub_planes::events::reference_to;
use fedhub_planes::{Distrust, PlaneWriter, Precondition, StatusWrite, Write, WriteMode, Written};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::desired::desired;
use crate::intents::ProjectionPlan;
use crate::quarantine::InstanceState;
use crate::reconcile::{InstanceReconciler, Interrupted};
use crate::snapshot::{Confirmed, Live, Snapshot, is_copy};
use crate::unreachable::projected_status;

/// When a deletion that is not confirmed is reconsidered.
const WITHHELD: Duration = Duration::from_mins(1);

/// The object has gone: its event follows.
const GONE: Interrupted = Interrupted::Outdated(Step::End(Outcome::AwaitChange));

/// The object is another version than the plan is for: the next round plans by what was fetched.
const OUTDATED: Interrupted = Interrupted::Outdated(Step::Learned);

impl InstanceReconciler<'_> {
    /// Performs a plan.
    pub(crate) async fn perform(
        &mut self,
        seen: &Snapshot,
        plan: ProjectionPlan,
    ) -> Result<Step, Interrupted> {
        match plan {
            ProjectionPlan::Synced => Ok(Step::Unchanged),
            ProjectionPlan::Write { managed, mode } => self.write(seen, *managed, mode).await,
            ProjectionPlan::WriteStatus { mode } => self.write_status(seen, mode).await,
            ProjectionPlan::Delete { inferred } => self.delete(seen, inferred).await,
            ProjectionPlan::ReadHub => {
                self.live = Some(self.read_hub(seen).await?);
                Ok(Step::Learned)
            }
            ProjectionPlan::ConfirmOwner => {
                self.confirmed = Some(self.confirm_owner(seen).await?);
                Ok(Step::Learned)
            }
            ProjectionPlan::Withhold(_) => Ok(Step::End(Outcome::RequeueAfter(WITHHELD))),
            // Their next event may be long in coming.
            ProjectionPlan::Park(wait) => {
                self.projector.release(&self.project, seen, 0);
                Ok(Step::End(wait.map_or(Outcome::AwaitChange, Outcome::RequeueAfter)))
            }
            ProjectionPlan::Quarantine(_) => {
                self.projector.release(&self.project, seen, 0);
                Ok(Step::End(Outcome::AwaitChange))
            }
            ProjectionPlan::AwaitResume => Ok(Step::End(Outcome::AwaitChange)),
        }
    }

    /// Writes a projection's metadata and spec.
    async fn write(
        &mut self,
        seen: &Snapshot,
        managed: ObjectMeta,
        mode: WriteMode,
    ) -> Result<Step, Interrupted> {
        let (instance, current) = (self.fetch_instance(seen).await?, self.fetch_projection(seen).await?);
        if seen.projection.is_some() && current.is_none() {
            return Err(GONE);
        }
        let (namespace, name) = (&seen.target.namespace, &seen.key.name);
        let object = Box::new(desired(namespace, managed, &instance, current.as_deref()));
        let write = if current.is_some() { Write::Replace { object, mode } } else { Write::Create(object) };
        match (self.writer().write(Kind::Instance, write).await, current) {
            (Ok(Some(Written::Stored(_))), _) => Ok(Step::Updated),
            (Ok(Some(Written::Exists { .. }) | None), _) => Ok(Step::Learned),
            (Err(error), Some(current)) if error.immutable() => {
                // The Instance was replaced under its name. Only this very answer deletes (P3).
                tracing::info!(plane = %self.project.id, namespace, name,
                    "recreating projection: a field is immutable");
                self.project.delete(Kind::Instance, &current, Precondition::Uid).await?;
                Ok(Step::End(Outcome::AwaitChange))
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Writes the projection's status, and tells its user of the transition (U3).
    async fn write_status(&mut self, seen: &Snapshot, mode: WriteMode) -> Result<Step, Interrupted> {
        let (instance, down) = (self.fetch_instance(seen).await?, seen.down.as_ref());
        let projection = if mode == WriteMode::DryRunFirst || down.is_some() {
            self.fetch_projection(seen).await?
        } else {
            seen.projection_stub()
        };
        let projection = projection.ok_or(GONE)?;
        let status = projected_status(instance.status(), projection.status(), down, seen.now);
        if down.is_some() && settled(&status, projection.status(), seen.status_normalization) {
            return Ok(Step::Unchanged);
        }
        let transition = transitions::of_instance(seen.signal(), &status).filter(|it| !it.routine);
        let write = StatusWrite { status: status.into_owned(), mode };
        let stored = self.writer().write_status(Kind::Instance, &projection, write).await?;
        // What a restored hub says was reported before.
        let is_news = stored.is_some() && self.projector.planes.distrust() != Some(Distrust::Restored);
        if let Some(transition) = transition.filter(|_| is_news) {
            self.project.events.transition(reference_to(Kind::Instance, &projection), transition);
        }
        Ok(updated(stored))
    }

    /// Deletes the projection; one that was seen to lack its Instance only after a gap, within the rate limit (I4).
    async fn delete(&self, seen: &Snapshot, inferred: bool) -> Result<Step, Interrupted> {
        let limits = &self.projector.delete_limits;
        if inferred && let Err(wait) = limits.take(&seen.target.plane, &seen.key) {
            self.projector.set_state(&seen.key, Some(InstanceState::Withheld("rate")));
            return Ok(Step::End(Outcome::RequeueAfter(wait)));
        }
        self.projector.set_state(&seen.key, None);
        let projection = seen.projection_stub().ok_or(GONE)?;
        self.project.delete(Kind::Instance, &projection, Precondition::Uid).await?;
        self.projector.seen_deleted.remove(&seen.key);
        Ok(Step::End(Outcome::Updated))
    }

    /// Reads the hub live, where the projection is still what the plan took it for (I4).
    async fn read_hub(&mut self, seen: &Snapshot) -> Result<Live, Interrupted> {
        self.fetch_projection(seen).await?.ok_or(GONE)?;
        let hub = self.projector.planes.hub();
        let key = &seen.key;
        let wds = Kind::WorkloadDeployment;
        let namespace = hub.get_live(Kind::Namespace, "", &key.namespace).await?.map(Arc::new);
        let facts = seen.projection.as_ref().and_then(Digest::instance);
        let name = facts.and_then(|facts| facts.deployment(&key.name));
        let is_recorded = |n: &ObjectRef| facts.is_some_and(|facts| facts.is_from_namespace_uid(n.uid()));
        let is_lost = !namespace.as_ref().is_some_and(is_recorded);
        let known = name.and_then(|name| hub.store(wds).digest(&key.namespace, name));
        let is_reported = known.is_some_and(|wd| wd.deployment().is_some_and(Deployment::reported));
        if namespace.is_none() || is_lost && !is_reported && !seen.withdrawn {
            // Nothing else can prove anything then.
            return Ok(Live { namespace, ..Live::default() });
        }
        let instance = hub.get_live(Kind::Instance, &key.namespace, &key.name).await?.map(Arc::new);
        let deployment = match name {
            Some(name) => hub.get_live(wds, &key.namespace, name).await?.map(Arc::new),
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
    async fn confirm_owner(&mut self, seen: &Snapshot) -> Result<Confirmed, Interrupted> {
        let (instance, kind) = (self.fetch_instance(seen).await?, Kind::WorkloadDeployment);
        let owner = match (&seen.deployment, &seen.hub_deployment) {
            (Some(name), Some(_)) => self.project.get_live(kind, &seen.target.namespace, name).await?,
            _ => None,
        };
        let owner = owner.map(|owner| Digest::of(&self.project.id, kind, &owner));
        let created = instance.metadata.creation_timestamp.as_ref().map_or(seen.now, |t| t.0);
        Ok(Confirmed { owner, created })
    }

    /// The hub Instance.
    async fn fetch_instance(&mut self, seen: &Snapshot) -> Result<ObjectRef, Interrupted> {
        let (hub, key) = (self.projector.planes.hub(), &seen.key);
        let fetched = hub.get_or_fetch(Kind::Instance, &key.namespace, &key.name).await?.ok_or(GONE)?;
        if is_planned(&fetched, seen.instance.as_ref()) {
            return Ok(fetched);
        }
        self.fetched.instance = Some(Digest::of(&hub.id, Kind::Instance, &fetched));
        Err(OUTDATED)
    }

    /// The projection, if there is one.
    async fn fetch_projection(&mut self, seen: &Snapshot) -> Result<Option<ObjectRef>, Interrupted> {
        let Some(digest) = &seen.projection else { return Ok(None) };
        let (namespace, name) = (&seen.target.namespace, &seen.key.name);
        let Some(fetched) = self.project.get_or_fetch(Kind::Instance, namespace, name).await? else {
            return Ok(None);
        };
        if is_planned(&fetched, Some(digest)) {
            return Ok(Some(fetched));
        }
        self.fetched.projection = Some(Digest::of(&self.project.id, Kind::Instance, &fetched));
        Err(OUTDATED)
    }

    fn writer(&self) -> PlaneWriter<'_> {
        let metrics = self.projector.planes.metrics();
        PlaneWriter { plane: &self.project, manager: PROJECTOR_MANAGER, metrics }
    }
}

/// Whether an object that was fetched is the version that was planned by.
fn is_planned(fetched: &ObjectRef, digest: Option<&Digest>) -> bool {
    digest.is_some_and(|digest| digest.version == Version::new(fetched.version()))
}

/// A dry run that shows no difference stores nothing, and is remembered.
fn updated(stored: Option<ObjectRef>) -> Step {
    if stored.is_some() { Step::Updated } else { Step::Learned }
}
