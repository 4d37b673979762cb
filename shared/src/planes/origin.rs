//! Where a project plane was found, and what is said of it there.

use std::fmt;

use k8s_openapi::api::core::v1::ObjectReference;

use crate::events::Events;

/// What stands for a project plane where it was found.
#[derive(Clone, Default)]
pub struct Origin {
    /// The Project or the Secret, and who writes Events about it.
    pub about: Option<(ObjectReference, Events)>,
    /// The UID of the Project, whose server is the authority on which planes there are. None for a Secret: that says
    /// where a plane is, and not which.
    pub project: Option<String>,
    /// The project is suspended: its plane refuses writes.
    pub suspended: bool,
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

/// The project is suspended: its plane is read and not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the project is suspended")]
pub struct Suspended;
