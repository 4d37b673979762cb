//! What is written.

use fedhub_core::object::Kind;
use kube::api::{DeleteParams, Preconditions};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};

use crate::problem::Problem;
use crate::session::Session;

/// The project's workloads.
pub fn workloads(session: &Session) -> Api<DynamicObject> {
    Api::namespaced_with(session.client.clone(), &session.namespace, Kind::Workload.resource())
}

/// Deletes the workload that was shown, and no other of its name.
pub async fn delete(api: &Api<DynamicObject>, workload: &DynamicObject) -> Result<(), Problem> {
    let preconditions = Some(Preconditions { uid: workload.uid(), resource_version: None });
    let params = DeleteParams { preconditions, ..DeleteParams::background() };
    match api.delete(&workload.name_any(), &params).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted
            .map(|_| ())
            .map_err(|error| Problem::of(error, &format!("delete workload {:?}", workload.name_any()))),
    }
}
