//! Flavors, images and networks.

use serde_json::{Value, json};

use super::World;
use super::bodies::check_uuid;
use crate::options::Network;
use crate::refusal::Refusal;

impl World {
    /// What servers can be made of, as JSON.
    pub fn list_flavors(&self, organization: &str, region: &str) -> Result<Value, Refusal> {
        self.check_region(organization, region)?;
        let shown = self.options.flavors.iter().map(|flavor| {
            let mut spec = json!({"cpus": flavor.cpus, "memory": flavor.memory, "disk": flavor.disk});
            if let Some(architecture) = &flavor.architecture {
                spec["architecture"] = json!(architecture);
            }
            json!({"metadata": self.metadata(&flavor.id, &flavor.name), "spec": spec})
        });
        Ok(shown.collect())
    }

    /// What servers can boot, as JSON.
    pub fn list_images(&self, organization: &str, region: &str) -> Result<Value, Refusal> {
        self.check_region(organization, region)?;
        let shown = self.options.images.iter().map(|image| {
            let mut spec = json!({"sizeGiB": image.size, "virtualization": "any"});
            if let Some(architecture) = &image.architecture {
                spec["architecture"] = json!(architecture);
            }
            let state = if image.ready { "ready" } else { "pending" };
            json!({
                "metadata": self.metadata(&image.id, &image.name), "spec": spec,
                "status": {"state": state},
            })
        });
        Ok(shown.collect())
    }

    /// One network, as JSON.
    pub fn get_network(&self, id: &str) -> Result<Value, Refusal> {
        check_uuid(id)?;
        let network = self.network(id)?;
        let mut metadata = self.metadata(&network.id, "network");
        metadata["organizationId"] = json!(network.organization_id);
        metadata["projectId"] = json!(network.project_id);
        let status = json!({"regionId": self.options.region_id});
        Ok(json!({"metadata": metadata, "spec": {"prefix": "10.0.0.0/8"}, "status": status}))
    }

    /// Holds a network back from deletion, or lets it go.
    pub fn refer(&mut self, network: &str, reference: &str, holds: bool) -> Result<(), Refusal> {
        check_uuid(network)?;
        self.network(network)?;
        let key = (network.to_owned(), reference.to_owned());
        if holds {
            self.references.insert(key);
        } else {
            self.references.remove(&key);
        }
        Ok(())
    }

    /// A network that the caller may see.
    pub(super) fn network(&self, id: &str) -> Result<&Network, Refusal> {
        let found = self.options.networks.iter().find(|network| network.id == id);
        let network = found.ok_or_else(Refusal::not_found)?;
        if self.options.organizations.contains(&network.organization_id) {
            return Ok(network);
        }
        Err(Refusal::forbidden("the caller may not do that in this project"))
    }

    /// An image has to be there, to be ready, and to fit the flavor. A flavor that is not offered any more
    /// keeps new servers from being made of it, and no other change.
    pub(super) fn check_image(&self, image: &str, flavor: &str, is_new: bool) -> Result<(), Refusal> {
        let image = self.options.images.iter().find(|it| it.id == image).ok_or_else(Refusal::not_found)?;
        if !image.ready {
            return Err(Refusal::unprocessable("the image is not ready"));
        }
        let Some(flavor) = self.options.flavors.iter().find(|it| it.id == flavor) else {
            if is_new {
                return Err(Refusal::unprocessable("the region does not offer this flavor any more"));
            }
            return Ok(());
        };
        let fits = flavor.architecture == image.architecture
            || flavor.architecture.is_none()
            || image.architecture.is_none();
        if !fits {
            return Err(Refusal::unprocessable("the image is for another architecture than the flavor"));
        }
        if flavor.disk < image.size {
            return Err(Refusal::unprocessable("the flavor's disk is too small for the image"));
        }
        Ok(())
    }

    fn metadata(&self, id: &str, name: &str) -> Value {
        json!({
            "id": id, "name": name, "creationTime": self.began.1,
            "provisioningStatus": "provisioned", "healthStatus": "healthy",
        })
    }

    fn check_region(&self, organization: &str, region: &str) -> Result<(), Refusal> {
        check_uuid(organization)?;
        check_uuid(region)?;
        if !self.options.organizations.iter().any(|it| it == organization) {
            return Err(Refusal::forbidden("the caller may not do that in this organization"));
        }
        if self.options.region_id != region {
            return Err(Refusal::not_found());
        }
        Ok(())
    }
}
