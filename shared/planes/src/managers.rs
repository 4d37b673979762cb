//! Who wrote what of an object: the one read that does not leave its `managedFields` out.

use fedhub_core::errors::RequestError;
use fedhub_core::object::{Kind, Object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::Api;

use crate::{Plane, plane_responses};

impl Plane {
    /// Reads the metadata of one object of a namespace from the server, with its `managedFields`, past every store. `None`
    /// where the server says that there is none.
    pub async fn get_metadata(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ObjectMeta>, RequestError> {
        let api = Api::<Object>::namespaced_with(self.client(), namespace, kind.resource());
        let answer = match plane_responses::admit(&self.id) {
            Ok(()) => api.get_metadata_opt(name).await,
            Err(held_back) => Err(held_back),
        };
        plane_responses::note(&self.id, &answer);
        Ok(answer.map_err(self.failed("get", kind))?.map(|object| object.metadata))
    }
}
