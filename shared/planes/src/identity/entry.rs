//! What a plane showed of itself, and what is remembered of it.

/// The UIDs that tell one cluster from another, as a plane showed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedUids {
    /// Of its namespace `kube-system`.
    pub kube_system: Option<String>,
    /// Of its namespace `default`.
    pub default: Option<String>,
}

impl ObservedUids {
    pub(super) fn uids(&self) -> impl Iterator<Item = &String> {
        self.kube_system.iter().chain(&self.default)
    }

    pub(super) fn shows(&self, uid: &str) -> bool {
        self.uids().any(|seen| seen == uid)
    }
}

/// What is remembered of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityEntry {
    /// One of the UIDs that it showed.
    pub identity: String,
    /// The UID of its Project, where a root server is the authority on which planes there are.
    pub project: Option<String>,
}

impl IdentityEntry {
    /// As it is stored: the identity, and after a slash the Project.
    pub fn read(stored: &str) -> Option<Self> {
        let (identity, project) = stored.split_once('/').unwrap_or((stored, ""));
        let project = Some(project.to_owned()).filter(|project| !project.is_empty());
        (!identity.is_empty()).then(|| Self { identity: identity.to_owned(), project })
    }

    /// The same for what is to be stored.
    pub fn written(&self) -> String {
        match &self.project {
            Some(project) => format!("{}/{project}", self.identity),
            None => self.identity.clone(),
        }
    }

    /// Whether it is about another Project than the one that has the name now: that one is gone, for no two have one
    /// name at a time.
    pub(super) fn is_past(&self, project: Option<&str>) -> bool {
        self.project.as_deref().zip(project).is_some_and(|(before, now)| before != now)
    }
}
