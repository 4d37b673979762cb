//! The reconcile of one Instance.

use fedhub_core::errors::Error;
use fedhub_core::finalizers;
use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome};
use fedhub_planes::Pass;

use super::InstanceController;
use super::quota::QuotaOutcome;
use crate::trace::change_of;
use crate::writer;

impl InstanceController {
    async fn instance(&self, job: &Job) -> Result<Outcome, Error> {
        if !self.cell.anchor().synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        let key = &job.key;
        let pass = &job.pass;
        job.answered.say(|| change_of(self.cell.anchor(), key));
        if let Some(instance) = self.held(key) {
            return self.remove_finalizer(pass, &instance).await;
        }
        let Some(instance) = self.living(key) else { return self.terminating(pass, key).await };
        let QuotaOutcome { quota, failed, again } = self.ask(pass, &instance).await?;
        // It may have changed while its project was asked.
        let Some(instance) = self.living(key).filter(|now| now.uid() == instance.uid()) else {
            return Ok(Outcome::AwaitChange);
        };
        let mut plan = self.plan(&instance, &quota);
        plan.requeue_after = plan.requeue_after.into_iter().chain(again).min();
        let outcome = self.apply(pass, &instance, plan).await?;
        failed.map_or(Ok(outcome), Err)
    }

    /// The Instance, if it has the finalizer of earlier versions, by which it waited for the hub.
    fn held(&self, key: &Key) -> Option<ObjectRef> {
        let instance = self.cell.anchor().store(key.kind).object(&key.namespace, &key.name)?;
        instance.has_finalizer(INSTANCE_FINALIZER).then_some(instance)
    }

    /// Removes the finalizer. The event of the Instance enqueues it again.
    async fn remove_finalizer(&self, pass: &Pass, instance: &Object) -> Result<Outcome, Error> {
        let metadata = finalizers::without(instance, INSTANCE_FINALIZER);
        match writer(&self.cell, pass).patch_metadata(Kind::Instance, instance, metadata).await {
            // It is gone already.
            Err(error) if error.code() == Some(404) => Ok(Outcome::AwaitChange),
            stored => stored.map(|_| Outcome::Updated).map_err(Error::from),
        }
    }

    /// Reconciles a terminating Instance, if it is still there.
    async fn terminating(&self, pass: &Pass, key: &Key) -> Result<Outcome, Error> {
        let there = self.cell.anchor().store(key.kind).object(&key.namespace, &key.name);
        let Some(instance) = there else { return Ok(Outcome::Unchanged) };
        match self.apply(pass, &instance, self.plan_terminating(&instance)).await {
            // Its event is on the way.
            Err(error) if error.code() == Some(404) => Ok(Outcome::AwaitChange),
            outcome => Ok(outcome?),
        }
    }
}

impl Controller for InstanceController {
    fn name(&self) -> &'static str {
        "readiness"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Cell, Kind::Instance) => self.instance(job).await,
            (PlaneId::Project(project), Kind::ResourceClaim) => {
                self.claim(&job.pass, project, &job.key).await
            }
            _ => Err(Error::Bug(format!("{} is not a key of the Instance controller", job.key))),
        }
    }
}
