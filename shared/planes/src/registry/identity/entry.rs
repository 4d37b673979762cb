//! The UIDs that a plane showed, and the entry that is remembered of it.

use crate::registry::services::entitlement::Grant;

/// The UIDs that tell one cluster from another, as a plane showed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedUids {
    /// The UID of its namespace `kube-system`.
    pub kube_system: Option<String>,
    /// The UID of its namespace `default`.
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

/// The remembered identity of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityEntry {
    /// A UID that the plane showed.
    pub identity: String,
    /// The UID of its Project, where a root server is the authority on which planes there are.
    pub project: Option<String>,
    /// The remembered grant of the service to the project (W9).
    pub grant: Option<Grant>,
}

impl IdentityEntry {
    /// Parses a stored entry: the identity, after a slash the Project, and after another one the grant of the
    /// service.
    pub fn read(stored: &str) -> Option<Self> {
        let mut parts = stored.splitn(3, '/');
        let identity = parts.next().filter(|identity| !identity.is_empty())?.to_owned();
        let project = parts.next().filter(|project| !project.is_empty()).map(str::to_owned);
        let grant = parts.next().and_then(|grant| grant.parse().ok());
        Some(Self { identity, project, grant })
    }

    /// Formats the entry as it is stored.
    pub fn written(&self) -> String {
        let Self { identity, project, grant } = self;
        match (project, grant) {
            (None, None) => identity.clone(),
            (Some(project), None) => format!("{identity}/{project}"),
            (project, Some(grant)) => {
                format!("{identity}/{}/{grant}", project.as_deref().unwrap_or_default())
            }
        }
    }

    /// Whether it is about another Project than the one that has the name now: that one is gone, for no two
    /// have one name at a time.
    pub(super) fn is_past(&self, project: Option<&str>) -> bool {
        self.project.as_deref().zip(project).is_some_and(|(before, now)| before != now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_of_a_plane_is_read_as_it_was_written() {
        for stored in ["k", "k/p", "k/p/granted", "k//withdrawn", "k/p/suspended"] {
            assert_eq!(IdentityEntry::read(stored).unwrap().written(), stored);
        }
        for (stored, written) in [("k/", "k"), ("k/p/", "k/p"), ("k/p/odd", "k/p"), ("k//", "k")] {
            assert_eq!(IdentityEntry::read(stored).unwrap().written(), written, "{stored}");
        }
        assert_eq!(IdentityEntry::read("/p/granted"), None);
    }
}
