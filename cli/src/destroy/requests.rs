//! The requests that read and delete a workload.

use fedhub_core::names::WORKLOAD_UID;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::Api;
use kube::api::{DeleteParams, Preconditions};

use super::remains::remaining;
use crate::model;
use crate::problem::Problem;
use crate::session::Session;

/// The project's workloads.
pub fn workloads(session: &Session) -> Api<Object> {
    model::api(session.client.clone(), &session.namespace, Kind::Workload)
}

/// Deletes the workload that was shown, and no other of its name. A dry run asks whether that may be done.
pub async fn delete(api: &Api<Object>, workload: &Object, dry_run: bool) -> Result<(), Problem> {
    let preconditions = Some(Preconditions { uid: workload.metadata.uid.clone(), resource_version: None });
    let params = DeleteParams { dry_run, preconditions, ..DeleteParams::background() };
    match api.delete(workload.name(), &params).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted
            .map(|_| ())
            .map_err(|error| Problem::from_error(error, &format!("delete workload {:?}", workload.name()))),
    }
}

/// Describes what is left of a workload, a line for each city; `None` if nothing is.
pub async fn remains(session: &Session, workload: &Object) -> Option<String> {
    let of = format!("{WORKLOAD_UID}={}", workload.uid());
    let Ok(deployments) = model::list(session, Kind::WorkloadDeployment, &of).await else {
        return Some("  What is left is not known.".to_owned());
    };
    let instances = model::list(session, Kind::Instance, &of).await.ok();
    remaining(&deployments, instances.as_deref())
}
