//! Hub Instances that no retry can project (P7). A state in memory, derived again whenever the facts change:
//! one log line, one Event on the management plane, a gauge by reason; nothing is deleted or annotated for
//! it.

use std::fmt;

use fedhub_core::object::Key;

/// Why an Instance is not projected, and will not be before something about it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The labels of its hub namespace are missing or name no plane.
    Unidentifiable,
    /// Its own labels name another plane or namespace than its hub namespace does (I6).
    Contradictory,
    /// The project WD lives in another hub namespace now.
    StaleNamespace,
    /// Neither its labels nor its name identify its WD (P1).
    Unnamed,
    /// Another Instance has its name in the project namespace (P4).
    NameTaken,
    /// The project plane has no such WD, past the grace.
    DeploymentAbsent,
}

impl Reason {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unidentifiable => "unidentifiable",
            Self::Contradictory => "contradictory",
            Self::StaleNamespace => "stale_namespace",
            Self::Unnamed => "unnamed",
            Self::NameTaken => "name_taken",
            Self::DeploymentAbsent => "deployment_absent",
        }
    }

    /// The note of the Event that reports the Instance of that key.
    pub fn note(self, key: &Key) -> String {
        format!("Instance {}/{} on the hub is not projected: {self}", key.namespace, key.name)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Unidentifiable => {
                "the labels of its hub namespace do not identify a project plane and namespace"
            }
            Self::Contradictory => "its labels contradict those of its hub namespace",
            Self::StaleNamespace => "its WorkloadDeployment is now federated to another hub namespace",
            Self::Unnamed => "neither its labels nor its name identify its WorkloadDeployment",
            Self::NameTaken => "the project namespace has another Instance of this name",
            Self::DeploymentAbsent => "its WorkloadDeployment does not exist in the project",
        };
        write!(f, "{text} ({})", self.label())
    }
}
