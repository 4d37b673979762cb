//! The place where a project plane was found, and its state there.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use k8s_openapi::api::core::v1::ObjectReference;

use crate::registry::events::Events;

/// Where a project plane was found, and what describes it there.
#[derive(Clone, Default)]
pub struct Origin {
    /// The Project or the Secret, and who writes Events about it.
    pub about: Option<(ObjectReference, Events)>,
    /// The UID of the Project, whose server is the authority on which planes there are. None for a Secret:
    /// that says where a plane is, and not which.
    pub project: Option<String>,
    /// Whether discovery says that the project is suspended. Clones share it.
    pub suspended: Arc<AtomicBool>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = self.about.as_ref().map(|(about, _)| about);
        let Self { about: _, project, suspended } = self;
        f.debug_struct("Origin")
            .field("about", &about)
            .field("project", project)
            .field("suspended", suspended)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::clock::Clock;
    use fedhub_core::metrics::Metrics;
    use fedhub_core::names::PlaneName;
    use fedhub_fake_apiserver::ApiServer;

    use crate::{Planes, WriteState};

    #[tokio::test]
    async fn a_project_that_is_suspended_while_its_plane_is_engaged_anew_stays_so() {
        let [hub, server] = ["hub", "alpha"].map(ApiServer::project_plane);
        let planes = Planes::new(hub.client(), Metrics::new().unwrap(), Clock::system(), 7);
        let name = PlaneName::new("alpha").unwrap();
        let old = planes.engage(&name, server.client());
        let new = planes.fresh(&name, old.connection().clone(), old.origin.clone(), Some(&old));
        // Told to the one that stands.
        planes.suspend(&name, true);
        assert_eq!([old.write_state(), new.write_state()], [WriteState::Suspended; 2]);
    }
}
