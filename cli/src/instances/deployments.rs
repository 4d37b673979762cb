//! The deployments of instances, as far as they are needed.

use fedhub_core::object::{Kind, Object};

use super::view::needs_deployment;
use crate::model::{Listed, list};
use crate::session::Session;

/// The deployments, where the labels of an Instance do not say all of where it belongs.
pub async fn deployments_for(session: &Session, instances: &[Object]) -> Listed {
    if instances.iter().any(needs_deployment) {
        list(session, Kind::WorkloadDeployment, "").await
    } else {
        Ok(Vec::new())
    }
}
