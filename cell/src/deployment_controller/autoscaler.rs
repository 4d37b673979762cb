//! The autoscaler of a WD.

use fedhub_api::cells::readable;
use fedhub_api::reason::Reason;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::{PlaneWriter, Precondition};
use serde_json::json;

use super::DeploymentController;
use super::apply::{WritesSoFar, is_refused};
use crate::domain::autoscaling::{AutoscalerStep, plan};
use crate::domain::status::blocker::ConditionUpdate;
use crate::writer;

const KIND: Kind = Kind::HorizontalPodAutoscaler;

impl DeploymentController {
    /// Applies the autoscaler of a WD, or deletes it if the WD does not scale (C13). Returns the WD as last
    /// read or written.
    pub(super) async fn autoscale(
        &self,
        progress: &mut WritesSoFar<'_>,
        mut wd: ObjectRef,
    ) -> Result<ObjectRef, Error> {
        let writer = writer(&self.cell, progress.pass);
        let standing = self.cell.anchor().store(KIND).object(wd.namespace(), wd.name());
        let plan = plan(&wd, standing.as_deref());
        progress.scaling = plan.words;
        if let Some(replicas) = plan.replicas {
            let patch = json!({"spec": {"replicas": replicas}});
            let patched = writer.patch(Kind::WorkloadDeployment, &wd, patch).await;
            if let Some(patched) = progress.tried(patched)? {
                progress.updated = true;
                wd = patched;
            }
        }
        let done = perform(&writer, plan.step, standing.as_deref()).await;
        if let Some(error) = done.as_ref().err().filter(|error| is_refused(error)) {
            progress.scaling = Some(ConditionUpdate::no(Reason::AutoscalerRefused, readable(error)));
        }
        progress.updated |= progress.tried(done)? == Some(true);
        Ok(wd)
    }
}

/// Returns whether anything was written.
async fn perform(
    writer: &PlaneWriter<'_>,
    step: AutoscalerStep,
    standing: Option<&Object>,
) -> Result<bool, RequestError> {
    let plane = writer.plane;
    match (step, standing) {
        // Past what the writer remembers: a quantity that the server writes its own way is nothing that it
        // did not keep.
        (AutoscalerStep::Create(object), _) => {
            plane.create_or_read(writer.pass, KIND, &object, writer.manager).await?.stored()?;
        }
        (AutoscalerStep::Patch(patch), Some(standing)) => {
            writer.patch(KIND, standing, patch).await?;
        }
        (AutoscalerStep::Delete, Some(standing)) => {
            plane.delete(writer.pass, KIND, standing, Precondition::Uid).await?;
        }
        (AutoscalerStep::Rest | AutoscalerStep::Patch(_) | AutoscalerStep::Delete, _) => return Ok(false),
    }
    Ok(true)
}
