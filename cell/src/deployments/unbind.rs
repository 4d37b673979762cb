//! Networking is switched off: what it held is given back (C6).

use fedhub_cache::digest::instance::of_deployment;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::object::{Kind, ObjectView, bare};
use fedhub_engine::Outcome;
use fedhub_planes::Precondition;
use kube::api::{Api, DynamicObject, ListParams};

use super::Deployments;

/// How many bindings are asked for at once.
const PAGE: u32 = 500;

impl Deployments {
    /// Deletes the bindings that WDs of the cell control. They are not watched: the network service, and its kinds with it,
    /// may be gone.
    pub(super) async fn unbind(&self) -> Result<Outcome, Error> {
        let (cell, kind) = (self.cell.anchor(), Kind::NetworkBinding);
        let api = Api::<DynamicObject>::all_with(cell.client(), kind.resource());
        let (mut page, mut deleted) = (ListParams::default().limit(PAGE), 0);
        loop {
            let list = match api.list_metadata(&page).await {
                Ok(list) => list,
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
                    tracing::debug!(error = status.message, "no network bindings to give back");
                    break;
                }
                Err(source) => {
                    let resource = kind.resource().plural.clone();
                    return Err(
                        RequestError { verb: "list", resource, plane: cell.id.clone(), source }.into()
                    );
                }
            };
            for item in list.items {
                let mut binding = bare(kind, "", "");
                binding.metadata = item.metadata;
                if !binding.is_terminating() && self.controls(&binding) {
                    cell.delete(kind, &binding, Precondition::Uid).await?;
                    deleted += 1;
                }
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => break,
            }
        }
        if deleted == 0 {
            return Ok(Outcome::Unchanged);
        }
        tracing::info!(deleted, "networking is off: network bindings given back");
        Ok(Outcome::Updated)
    }

    /// Whether a WD of the cell controls that binding.
    fn controls(&self, binding: &DynamicObject) -> bool {
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
