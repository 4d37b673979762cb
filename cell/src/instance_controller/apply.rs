//! The writes of a reconcile.

use fedhub_api::transitions::{self, Signal};
use fedhub_core::errors::RequestError;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_engine::Outcome;
use fedhub_planes::Pass;
use fedhub_planes::events::reference_to;

use super::InstanceController;
use super::plan::InstancePlan;
use crate::domain::status::gates::opening;
use crate::writer;

impl InstanceController {
    /// Writes the status, takes the gates off that it satisfies, and tells the user of a transition.
    pub(super) async fn apply(
        &self,
        pass: &Pass,
        instance: &ObjectRef,
        plan: InstancePlan,
    ) -> Result<Outcome, RequestError> {
        let InstancePlan { status, opens, requeue_after } = plan;
        let kind = Kind::Instance;
        let writer = writer(&self.cell, pass);
        let mut stands = instance.clone();
        if let Some(write) = status
            && let Some(stored) = writer.write_status(kind, instance, write).await?
        {
            stands = stored;
        }
        let mut opened = Ok(None);
        if let Some(patch) = opens.and_then(|opens| opening(&stands, opens)) {
            opened = writer.patch(kind, &stands, patch).await.map(Some);
        }
        let before = Signal::of_instance(instance.status());
        if let Some(transition) = transitions::of_instance(before, stands.status()) {
            self.cell.anchor().events.transition(reference_to(kind, instance), transition);
        }
        let updated = opened?.is_some() || stands.version() != instance.version();
        Ok(match requeue_after {
            Some(wait) => Outcome::RequeueAfter(wait),
            None if updated => Outcome::Updated,
            None => Outcome::Unchanged,
        })
    }
}
