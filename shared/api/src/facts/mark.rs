//! The annotation by which a projection names the hub Instance that it is the projection of, and the hash of
//! such a mark.

use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{PROJECTED_FROM, is_hub_namespace, is_uid};
use fedhub_core::object::{Object, ObjectView};

/// `<hub namespace>/<its UID>/<UID of the hub Instance>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectedFrom<'a> {
    /// The hub namespace.
    pub namespace: &'a str,
    /// Its UID.
    pub namespace_uid: &'a str,
    /// The UID of the hub Instance.
    pub instance_uid: &'a str,
}

impl<'a> ProjectedFrom<'a> {
    /// The mark of a projection; `None` where it has none that can be read.
    pub fn from_projection(projection: &'a Object) -> Option<Self> {
        let mut parts = projection.annotation(PROJECTED_FROM)?.split('/');
        let mut next = || parts.next().filter(|p| !p.is_empty());
        let namespace = next()?;
        let namespace_uid = next()?;
        let instance_uid = next()?;
        // A tenant can write anything there.
        let is_plain = is_hub_namespace(namespace) && is_uid(namespace_uid) && is_uid(instance_uid);
        (next().is_none() && is_plain).then_some(Self { namespace, namespace_uid, instance_uid })
    }
}

impl std::fmt::Display for ProjectedFrom<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.namespace_uid, self.instance_uid)
    }
}

/// The hash of what an annotation names, zero where there is none.
pub fn mark_hash(value: Option<&str>) -> u64 {
    value.map_or(0, |value| KeyedHasher::default().text(value).end().max(1))
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare};

    use super::*;

    #[test]
    fn a_mark_is_read_whole_or_not_at_all() {
        for (text, readable) in [
            ("ns-1/u/i", true),
            ("ns-1/u", false),
            ("ns-1/u/i/x", false),
            ("//", false),
            ("", false),
            ("a//b", false),
            ("kube-system/u/i", false),
            ("ns-1?a/u/i", false),
            ("ns-1/u u/i", false),
            ("ns-1/u/i\u{1b}", false),
        ] {
            let mut projection = bare(Kind::Instance, "default", "wd-0");
            projection.metadata.annotations = Some([(PROJECTED_FROM.to_owned(), text.to_owned())].into());
            let mark = ProjectedFrom::from_projection(&projection);
            assert_eq!(mark.is_some(), readable, "{text}");
            assert!(mark.is_none_or(|m| m.to_string() == text));
        }
    }
}
