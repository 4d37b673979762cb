//! Networking is switched off: the bindings that it made are deleted (C6).

use fedhub_api::facts::instance::of_deployment;
use fedhub_core::errors::{self, Error};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_engine::Outcome;
use fedhub_planes::{Pass, Precondition};

use super::DeploymentController;

impl DeploymentController {
    /// Deletes the bindings that WDs of the cell control. They are not watched: the network service, and its
    /// kinds with it, may be gone.
    pub(super) async fn unbind(&self, pass: &Pass) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        let kind = Kind::NetworkBinding;
        let ours = |binding: &Object| !binding.is_terminating() && self.controls(binding);
        let bindings = match cell.list_metadata(pass, kind, None, None, usize::MAX, ours).await {
            Err(error) if matches!(error.code(), Some(403 | 404)) => {
                tracing::debug!(error = errors::chain(&error), "no network bindings to delete");
                return Ok(Outcome::Unchanged);
            }
            bindings => bindings?,
        };
        for binding in &bindings {
            cell.delete(pass, kind, binding, Precondition::Uid).await?;
        }
        if bindings.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        tracing::info!(deleted = bindings.len(), "networking is off, deleted network bindings");
        Ok(Outcome::Updated)
    }

    /// Whether a WD of the cell controls that binding.
    fn controls(&self, binding: &Object) -> bool {
        let deployments = self.cell.anchor().store(Kind::WorkloadDeployment);
        let mut owners = binding.metadata.owner_references.iter().flatten();
        owners.any(|owner| {
            let there = deployments.digest(binding.namespace(), &owner.name);
            owner.controller == Some(true)
                && of_deployment(owner)
                && there.is_some_and(|wd| wd.uid.is(&owner.uid))
        })
    }
}
