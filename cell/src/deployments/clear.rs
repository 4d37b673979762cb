//! The end of a WD.

use fedhub_core::errors::Error;
use fedhub_core::names::WORKLOAD_FINALIZER;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_engine::Outcome;
use serde_json::json;

use super::Deployments;
use super::pass::Pass;
use crate::instances::{Deployment, Step, plan};

impl Deployments {
    /// A pass over a WD that is being deleted.
    pub(super) async fn clear(&self, wd: &ObjectRef) -> Result<Outcome, Error> {
        // Where the cell refuses that, its garbage collector takes the autoscaler behind the WD.
        self.autoscale(&mut Pass::over(self.writer()), wd.clone()).await?;
        let all = self.cell.anchor().store(Kind::Instance).objects(Some(wd.namespace()));
        let deployment = Deployment::of(wd);
        let views: Vec<_> = all.iter().map(|i| self.view(&deployment, i)).collect();
        match plan(&deployment, 0, &views).step {
            Step::Delete(them) => {
                for doomed in all.iter().filter(|i| them.iter().any(|it| it.uid == i.uid())) {
                    self.delete(doomed).await?;
                }
                Ok(Outcome::AwaitChange)
            }
            Step::Rest if wd.has_finalizer(WORKLOAD_FINALIZER) => {
                let others = wd.metadata.finalizers.iter().flatten().filter(|f| *f != WORKLOAD_FINALIZER);
                let left = json!({"finalizers": others.collect::<Vec<_>>()});
                self.writer().patch_metadata(Kind::WorkloadDeployment, wd, left).await?;
                Ok(Outcome::Updated)
            }
            Step::Rest => Ok(Outcome::Unchanged),
            Step::Create(_) | Step::Replace(_) | Step::Wait(_) => {
                self.report_overdue(wd, &deployment).await?;
                Ok(Outcome::AwaitChange)
            }
        }
    }
}
