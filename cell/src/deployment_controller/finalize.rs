//! The end of a WD: its Instances go, then its finalizer.

use fedhub_core::errors::Error;
use fedhub_core::finalizers;
use fedhub_core::names::WORKLOAD_FINALIZER;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_engine::Outcome;
use fedhub_planes::Pass;

use super::DeploymentController;
use super::apply::WritesSoFar;
use crate::domain::instances::{Deployment, InstanceStep, plan};
use crate::writer;

impl DeploymentController {
    /// Reconciles a terminating WD.
    pub(super) async fn finalize(&self, pass: &Pass, wd: &ObjectRef) -> Result<Outcome, Error> {
        // Where the cell refuses that, its garbage collector takes the autoscaler behind the WD.
        self.autoscale(&mut WritesSoFar::new(pass), wd.clone()).await?;
        let all = self.cell.anchor().store(Kind::Instance).objects(Some(wd.namespace()));
        let deployment = Deployment::from_object(wd);
        let views: Vec<_> = all.iter().map(|i| self.view(&deployment, i)).collect();
        match plan(&deployment, 0, &views).step {
            InstanceStep::Delete(them) => {
                let mut progress = WritesSoFar::new(pass);
                for instance in all.iter().filter(|i| them.iter().any(|it| it.uid == i.uid())) {
                    progress.deleted(instance, self.delete(pass, instance).await)?;
                }
                self.report_held(progress, wd, &deployment).await?;
                Ok(Outcome::AwaitChange)
            }
            InstanceStep::Rest if wd.has_finalizer(WORKLOAD_FINALIZER) => {
                let left = finalizers::without(wd, WORKLOAD_FINALIZER);
                writer(&self.cell, pass).patch_metadata(Kind::WorkloadDeployment, wd, left).await?;
                Ok(Outcome::Updated)
            }
            InstanceStep::Rest => Ok(Outcome::Unchanged),
            InstanceStep::Create(_) | InstanceStep::Replace(_) | InstanceStep::Wait(_) => {
                self.report_held(WritesSoFar::new(pass), wd, &deployment).await?;
                Ok(Outcome::AwaitChange)
            }
        }
    }
}
