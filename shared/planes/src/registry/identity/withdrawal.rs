//! An operator's decision that the service of a project is withdrawn (I4), stored where it is remembered.

use fedhub_core::names::PlaneName;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};

use super::decision::shard;
use super::entry::IdentityEntry;
use crate::registry::services::entitlement::Grant;

/// Stores that the service was withdrawn from a project, on which fedhub acts unless an entitlement is there.
/// Returns whether the service was remembered to be granted there: nothing else is withdrawn.
pub async fn withdraw(management: &Client, namespace: &str, plane: &PlaneName) -> kube::Result<bool> {
    let api: Api<ConfigMap> = Api::namespaced(management.clone(), namespace);
    let name = shard(plane);
    loop {
        let Some(mut map) = api.get_opt(&name).await? else { return Ok(false) };
        let Some(stored) = map.data.as_mut().and_then(|data| data.get_mut(plane.as_str())) else {
            return Ok(false);
        };
        let Some(entry) = IdentityEntry::read(stored) else { return Ok(false) };
        if !matches!(entry.grant, Some(Grant::Granted | Grant::Suspended)) {
            return Ok(false);
        }
        *stored = IdentityEntry { grant: Some(Grant::Withdrawn), ..entry }.written();
        match api.replace(&name, &PostParams::default(), &map).await {
            Ok(_) => return Ok(true),
            // The leader wrote meanwhile.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
    }
}
