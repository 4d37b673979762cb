//! The autoscaler of a WD.

use fedhub_core::errors::{self, Error, RequestError};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::PlaneWriter;
use fedhub_planes::Precondition;
use serde_json::json;

use super::Deployments;
use super::pass::{Pass, is_no};
use crate::autoscaling::{Step, plan};
use crate::status::blocker::Words;

const KIND: Kind = Kind::HorizontalPodAutoscaler;

impl Deployments {
    /// Has a WD that scales an autoscaler, and any other none (C13). Gives the WD back as it stands then.
    pub(super) async fn autoscale(&self, pass: &mut Pass<'_>, mut wd: ObjectRef) -> Result<ObjectRef, Error> {
        let standing = self.cell.anchor().store(KIND).object(wd.namespace(), wd.name());
        let plan = plan(&wd, standing.as_deref());
        pass.scaling = plan.words;
        if let Some(replicas) = plan.replicas {
            let patch = json!({"spec": {"replicas": replicas}});
            let patched = pass.writer.patch(Kind::WorkloadDeployment, &wd, patch).await;
            if let Some(patched) = pass.tried(patched)? {
                pass.wrote = true;
                wd = patched;
            }
        }
        let done = perform(&pass.writer, plan.step, standing.as_deref()).await;
        if let Some(error) = done.as_ref().err().filter(|error| is_no(error)) {
            pass.scaling = Some(Words::no("AutoscalerRefused", errors::chain(error)));
        }
        pass.wrote |= pass.tried(done)? == Some(true);
        Ok(wd)
    }
}

/// Says whether anything was written.
async fn perform(
    writer: &PlaneWriter<'_>,
    step: Step,
    standing: Option<&Object>,
) -> Result<bool, RequestError> {
    let plane = writer.plane;
    match (step, standing) {
        // Past the writer's echoes: a quantity that the server writes its own way is nothing that it did not keep.
        (Step::Create(object), _) => {
            let made = plane.create(KIND, &object, writer.manager).await;
            if made.as_ref().is_err_and(|error| error.code() == Some(409)) {
                plane.refresh(KIND, object.namespace(), object.name()).await?;
            }
            made?;
        }
        (Step::Patch(patch), Some(standing)) => {
            writer.patch(KIND, standing, patch).await?;
        }
        (Step::Delete, Some(standing)) => {
            plane.delete(KIND, standing, Precondition::Uid).await?;
        }
        (Step::Rest | Step::Patch(_) | Step::Delete, _) => return Ok(false),
    }
    Ok(true)
}
