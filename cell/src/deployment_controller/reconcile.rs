//! The reconcile of one WD.

use fedhub_api::conditions::find;
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_core::errors::Error;
use fedhub_core::names::WORKLOAD_FINALIZER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_core::trace::TracedGeneration;
use fedhub_engine::{Controller, Job, Outcome};
use fedhub_planes::{Pass, Precondition};

use super::DeploymentController;
use super::apply::WritesSoFar;
use super::plan::{Snapshot, plan};
use crate::domain::instances::{Deployment, Instance};
use crate::domain::network::Networking;
use crate::domain::status::network::Location;
use crate::domain::status::termination::is_overdue;

impl DeploymentController {
    /// Reconciles a WD that is to live.
    async fn sync(&self, pass: &Pass, wd: ObjectRef) -> Result<Outcome, Error> {
        let mut progress = WritesSoFar::new(pass);
        let wd = if wd.has_finalizer(WORKLOAD_FINALIZER) {
            wd
        } else {
            progress.updated = true;
            self.add_finalizer(pass, &wd).await?
        };
        let wd = self.autoscale(&mut progress, wd).await?;
        let schema = self.schema.judging(pass, self.cell.anchor(), &wd).await?;
        let deployment = Deployment::by(&wd, &schema);
        let networking = self.networks(&mut progress, &wd).await?;
        let all = self.cell.anchor().store(Kind::Instance).objects(Some(wd.namespace()));
        let instances: Vec<_> = all.iter().map(|i| (i, self.view(&deployment, i))).collect();
        let planned = plan(&Snapshot {
            config: self.config,
            wd: &wd,
            deployment: &deployment,
            instances: &instances,
            networking: &networking,
        });
        self.apply(&mut progress, planned).await?;
        for replaced in &networking.plan.replaced {
            let deleted =
                self.cell.anchor().delete(pass, Kind::NetworkBinding, replaced, Precondition::Uid).await;
            progress.step(deleted)?;
        }
        self.write_status(&mut progress, &wd, &deployment, &networking).await?;
        if let Some(refusal) = progress.refused {
            return Err(refusal.into());
        }
        Ok(match progress.debounce.into_iter().chain(progress.deadline).min() {
            // There is more to come, which must not wait for its turn behind what was written.
            _ if progress.stepped => Outcome::AwaitChange,
            Some(wait) => Outcome::RequeueAfter(wait),
            None if progress.updated => Outcome::Updated,
            None if progress.at_rest => Outcome::Unchanged,
            None => Outcome::AwaitChange,
        })
    }

    /// Names the Instances of a terminating WD that take longer to go than they may, and those that the cell
    /// does not let go (C12). What else its status says matters no more.
    pub(super) async fn report_held(
        &self,
        mut progress: WritesSoFar<'_>,
        wd: &Object,
        deployment: &Deployment<'_>,
    ) -> Result<(), Error> {
        let overdue =
            |i: &Object| i.is_terminating() && is_overdue(i) && deployment.owns(&Instance::from_object(i));
        let instances = self.cell.anchor().store(Kind::Instance);
        let is_news = progress.held.is_some() || find(wd.status(), TERMINATION_OVERDUE).is_some();
        if !is_news && !instances.objects(Some(wd.namespace())).iter().any(|i| overdue(i)) {
            return progress.refused.map(Error::from).map_or(Ok(()), Err);
        }
        let networking = Networking::off(Location::Unasked);
        self.write_status(&mut progress, wd, deployment, &networking).await?;
        progress.refused.map(Error::from).map_or(Ok(()), Err)
    }
}

impl Controller for DeploymentController {
    fn name(&self) -> &'static str {
        "deployments"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        let unbind = match (&job.key.plane, job.key.kind) {
            (PlaneId::Cell, Kind::WorkloadDeployment) => false,
            (PlaneId::Cell, Kind::NetworkBinding) => true,
            _ => return Err(Error::Bug(format!("{} is not a key of the cell's WDs", job.key))),
        };
        if unbind {
            return if cell.synced() {
                self.unbind(&job.pass).await
            } else {
                Err(Error::NotEngaged(PlaneId::Cell))
            };
        }
        let wd = cell.store(Kind::WorkloadDeployment).object(&job.key.namespace, &job.key.name);
        if !cell.synced() {
            return self.report_unread(&job.pass, wd.as_deref()).await;
        }
        job.answered.say(|| TracedGeneration::of_mark(wd.as_ref()?));
        match wd {
            None => Ok(Outcome::Unchanged),
            Some(wd) if wd.is_terminating() => self.finalize(&job.pass, &wd).await,
            Some(wd) => self.sync(&job.pass, wd).await,
        }
    }
}
