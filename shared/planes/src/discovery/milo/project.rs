//! A Project, as far as it matters for its plane.

use fedhub_api::conditions;
use fedhub_core::names::PlaneName;
use fedhub_core::object::ObjectView;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};

use super::decision::ProjectState;
use super::resource::resource;

/// A Project as last observed.
pub struct KnownProject {
    /// `None` for a name that no plane can have.
    pub plane: Option<PlaneName>,
    /// How it stands.
    pub state: ProjectState,
    /// Its server takes no writes to its plane.
    pub suspended: bool,
    /// The Project itself. `None` for one that was never observed: its name is known by what it left on the
    /// hub.
    pub about: Option<ObjectReference>,
}

impl KnownProject {
    /// The Project as the watch shows it.
    pub fn from_project(project: &DynamicObject) -> Self {
        Self {
            plane: PlaneName::new(&project.name_any()).ok(),
            state: state(project),
            suspended: suspended(project),
            about: Some(project.object_ref(resource())),
        }
    }

    /// Describes a Project that is gone.
    pub fn gone(plane: PlaneName) -> Self {
        Self { plane: Some(plane), state: ProjectState::Absent, suspended: false, about: None }
    }

    /// The UID of the Project.
    pub fn uid(&self) -> Option<&str> {
        self.about.as_ref()?.uid.as_deref()
    }
}

/// Whether its condition says that it is suspended or, where it has none yet, whether anything suspends it.
fn suspended(project: &DynamicObject) -> bool {
    let status = project.status();
    conditions::find(status, "Suspended").map_or_else(
        || status["suspensions"].as_array().is_some_and(|suspensions| !suspensions.is_empty()),
        |condition| condition["status"] == "True",
    )
}

fn state(project: &DynamicObject) -> ProjectState {
    if project.is_terminating() {
        return ProjectState::Deleting;
    }
    if conditions::is_true(project.status(), "Ready") { ProjectState::Ready } else { ProjectState::NotReady }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_project_stands_as_its_conditions_and_its_deletion_say() {
        let ready = json!([{"type": "Suspended", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let of = |terminating: bool, conditions: serde_json::Value| {
            let metadata = if terminating {
                json!({"name": "p", "deletionTimestamp": "2026-01-02T03:04:05Z"})
            } else {
                json!({"name": "p"})
            };
            let project = json!({"metadata": metadata, "status": {"conditions": conditions}});
            state(&serde_json::from_value(project).unwrap())
        };
        assert_eq!(of(false, ready.clone()), ProjectState::Ready);
        assert_eq!(of(true, ready), ProjectState::Deleting);
        for not in [
            json!(null),
            json!([]),
            json!([{"type": "Ready", "status": "Unknown"}]),
            json!([{"type": "Ready", "status": "False"}]),
            json!([{"type": "Other", "status": "True"}]),
        ] {
            assert_eq!(of(false, not.clone()), ProjectState::NotReady, "{not}");
        }
    }

    #[test]
    fn a_project_is_suspended_as_its_condition_says_or_else_its_suspensions() {
        let of = |status: &str, suspensions: &serde_json::Value| {
            let mut conditions = vec![json!({"type": "Ready", "status": "True"})];
            if !status.is_empty() {
                conditions.push(json!({"type": "Suspended", "status": status}));
            }
            let status = json!({"conditions": conditions, "suspensions": suspensions});
            suspended(&serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap())
        };
        let some = json!([{"reason": "NonPayment"}]);
        for (status, suspensions, expected) in [
            ("True", json!(null), true),
            ("True", some.clone(), true),
            ("False", some.clone(), false),
            ("Unknown", some.clone(), false),
            ("", some, true),
            ("", json!([]), false),
            ("", json!(null), false),
        ] {
            assert_eq!(of(status, &suspensions), expected, "{status:?} {suspensions}");
        }
    }
}
