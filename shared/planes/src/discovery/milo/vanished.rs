//! Asks the server of Projects about those that may be gone for good and whose planes are remembered, each by
//! its name (I4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use kube::Api;
use kube::api::DynamicObject;
use kube::core::response::Status;

use super::resource::resource;
use crate::Planes;
use crate::registry::identity::pruning::Sighting;
use crate::transport::Connection;

/// How often they are asked for.
pub const EVERY: Duration = Duration::from_hours(1);
/// How many are asked for each time, one after the other.
const MOST: usize = 60;

/// Gets the Projects of remembered planes, and notes which of them are gone. `there` are those that the watch
/// shows.
pub async fn look(planes: Arc<Planes>, server: Connection, there: BTreeSet<PlaneName>) {
    let Some(identities) = &planes.identities else { return };
    let mut candidates = identities.to_ask_about(planes.clock().now());
    candidates.retain(|plane| {
        !there.contains(plane) && planes.project(plane).is_none() && !planes.is_federated(plane)
    });
    let projects: Api<DynamicObject> = Api::all_with(server.client(), resource());
    let mut gone = BTreeSet::new();
    for plane in candidates.iter().take(MOST) {
        match projects.get(plane.as_str()).await {
            Err(kube::Error::Api(status)) if is_about(&status, plane) => {
                gone.insert(plane.clone());
            }
            Ok(_) => {}
            Err(error) => {
                let error = errors::chain(&error);
                tracing::debug!(project = %plane, error, "failed to get a Project that may be gone");
                break;
            }
        }
    }
    identities.note_sighting(Sighting { gone, there });
}

/// Whether a server says that it has no Project of that name. One that does not serve the kind says 404, too,
/// and not of which object.
fn is_about(status: &Status, plane: &PlaneName) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| details.name == plane.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i4_only_an_answer_about_the_project_says_that_it_is_gone() {
        let plane = PlaneName::new("a").unwrap();
        for (status, expected) in [
            (json!({"code": 404, "reason": "NotFound", "details": {"name": "a", "kind": "projects"}}), true),
            (json!({"code": 404, "reason": "NotFound", "details": {"name": "b", "kind": "projects"}}), false),
            // What an API server says that does not serve the kind.
            (json!({"code": 404, "reason": "NotFound", "details": {}}), false),
            (
                json!({"code": 404, "reason": "Failed to parse error data", "message": "404 page not found"}),
                false,
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "details": {"name": "a", "kind": "projects"}}),
                false,
            ),
        ] {
            assert_eq!(
                is_about(&serde_json::from_value(status.clone()).unwrap(), &plane),
                expected,
                "{status}"
            );
        }
    }
}
