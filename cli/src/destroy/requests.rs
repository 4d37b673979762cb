//! What is written.

use fedhub_core::names::WORKLOAD_UID;
use fedhub_core::object::Kind;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};

use super::remains::remaining;
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

/// What is left of a workload, a line for each city; `None` where that cannot be told.
pub async fn remains(session: &Session, workload: &DynamicObject) -> Option<String> {
    let of = ListParams::default().labels(&format!("{WORKLOAD_UID}={}", workload.uid()?));
    let list = async |kind: Kind| {
        let api: Api<DynamicObject> =
            Api::namespaced_with(session.client.clone(), &session.namespace, kind.resource());
        api.list(&of).await.ok()
    };
    let deployments = list(Kind::WorkloadDeployment).await?;
    let instances = list(Kind::Instance).await;
    remaining(&deployments.items, instances.as_ref().map(|list| list.items.as_slice()))
}
