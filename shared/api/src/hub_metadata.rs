//! The labels and annotations that the federator owns on a `WorkloadDeployment` of the hub.
//!
//! Whoever compares them hashes them by the same table that they are written by, so that the two cannot drift
//! apart.

use std::borrow::Cow;

use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{
    CITY_CODE, DELETION_PROTECTED, HUB_LOST, MIRRORED_ANNOTATIONS, MOVING, PROPAGATED_BY, RECALLED, RESYNC,
    SOURCE, SOURCE_GENERATION, SOURCE_UID, SUSPENDED, UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Object, ObjectView};

/// The input of the labels and annotations of a hub WD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubMetadata {
    /// `<plane>/<namespace>/<name>` of the project WD.
    pub source: String,
    /// The UID of the project WD.
    pub source_uid: String,
    /// The generation of the project WD.
    pub source_generation: i64,
    /// The namespace of the project WD.
    pub namespace: String,
    /// `spec.cityCode` of the project WD.
    pub city: String,
    /// Whether the hub WD replaces one that the hub lost, and no cell has reported on it yet (F9).
    pub replaces_lost: bool,
    /// The move under way (F6).
    pub moving: Option<String>,
    /// When Karmada was to apply the hub WD anew (F8).
    pub resync: Option<String>,
    /// When its cells were told to tear it down (F9).
    pub recalled: Option<String>,
}

type Value = fn(&HubMetadata) -> Option<Cow<'_, str>>;

enum Owned {
    Label(&'static str, Value),
    Annotation(&'static str, Value),
}

use Owned::{Annotation, Label};

/// Every label and annotation that the federator owns on a hub WD, each with its value; `None` takes it off.
///
/// To add one, add a line: the federator writes it, digests hash it, and a hub WD without it is no longer in
/// sync. The annotations that travel unchanged are the other half of the table, [`MIRRORED_ANNOTATIONS`].
const OWNED: [Owned; 11] = [
    Label(UPSTREAM_NAMESPACE, |wd| Some(wd.namespace.as_str().into())),
    Label(CITY_CODE, |wd| Some(wd.city.as_str().into())),
    Label(DELETION_PROTECTED.0, |_| Some(DELETION_PROTECTED.1.into())),
    Label(PROPAGATED_BY.0, |wd| wd.recalled.as_ref().map(|_| PROPAGATED_BY.1.into())),
    Annotation(SOURCE, |wd| Some(wd.source.as_str().into())),
    Annotation(SOURCE_UID, |wd| Some(wd.source_uid.as_str().into())),
    Annotation(SOURCE_GENERATION, |wd| Some(wd.source_generation.to_string().into())),
    Annotation(HUB_LOST, |wd| wd.replaces_lost.then(|| "true".into())),
    Annotation(MOVING, |wd| wd.moving.as_deref().map(Into::into)),
    Annotation(RESYNC, |wd| wd.resync.as_deref().map(Into::into)),
    Annotation(RECALLED, |wd| wd.recalled.as_deref().map(Into::into)),
];

impl HubMetadata {
    /// The hash of what the federator is to own, see [`hub_identity`].
    pub fn hub_identity(&self) -> u64 {
        hash(|owned| match owned {
            Label(_, value) | Annotation(_, value) => value(self),
        })
    }

    /// Sets what the federator owns on the hub WD `target`, and mirrors the annotations of `project`. All
    /// else stays as it is.
    pub fn render(&self, project: &Object, suspended: bool, target: &mut Object) {
        for owned in &OWNED {
            match owned {
                Label(key, value) => set_label(target, key, value(self).as_deref()),
                Annotation(key, value) => set_annotation(target, key, value(self).as_deref()),
            }
        }
        for key in MIRRORED_ANNOTATIONS {
            let suspended = (suspended && key == SUSPENDED).then_some("true");
            set_annotation(target, key, suspended.or_else(|| project.annotation(key)));
        }
    }

    /// Removes the protection of the hub WD `target`, which is deleted under its whole origin mark (I6), and
    /// records the recall, if it is recalled.
    pub fn render_unprotected(&self, target: &mut Object) {
        set_label(target, DELETION_PROTECTED.0, None);
        if let Some(since) = &self.recalled {
            set_label(target, PROPAGATED_BY.0, Some(PROPAGATED_BY.1));
            set_annotation(target, RECALLED, Some(since));
        }
        set_annotation(target, SOURCE, Some(&self.source));
        set_annotation(target, SOURCE_UID, Some(&self.source_uid));
    }
}

fn set_label(object: &mut Object, key: &str, value: Option<&str>) {
    let labels = object.metadata.labels.get_or_insert_default();
    match value {
        Some(value) => labels.insert(key.to_owned(), value.to_owned()),
        None => labels.remove(key),
    };
}

/// Sets an annotation, or removes it.
pub fn set_annotation(object: &mut Object, key: &str, value: Option<&str>) {
    let annotations = object.metadata.annotations.get_or_insert_default();
    match value {
        Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
        None => annotations.remove(key),
    };
}

fn hash<'a>(value: impl Fn(&Owned) -> Option<Cow<'a, str>>) -> u64 {
    OWNED.iter().fold(KeyedHasher::default(), |sum, owned| sum.maybe(value(owned).as_deref())).end()
}

/// The hash of what the federator owns on a hub WD.
pub fn hub_identity(wd: &Object) -> u64 {
    hash(|owned| match owned {
        Label(key, _) => wd.label(key).map(Into::into),
        Annotation(key, _) => wd.annotation(key).map(Into::into),
    })
}

/// The hash of the annotations that travel unchanged.
pub fn mirrored_hash(wd: &Object) -> u64 {
    let values = MIRRORED_ANNOTATIONS.map(|key| wd.annotation(key));
    values.into_iter().fold(KeyedHasher::default(), KeyedHasher::maybe).end()
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare};

    use super::*;

    #[test]
    fn f4_what_is_rendered_hashes_as_desired_and_any_edit_of_it_does_not() {
        let wanted = HubMetadata {
            source: "alpha/shop/web".to_owned(),
            moving: Some("DFW/2026-01-01T00:00:00Z".to_owned()),
            ..HubMetadata::default()
        };
        let project = bare(Kind::WorkloadDeployment, "shop", "web");
        let mut hub = bare(Kind::WorkloadDeployment, "ns-1", "web");
        assert_ne!(hub_identity(&hub), wanted.hub_identity());
        wanted.render(&project, false, &mut hub);
        assert_eq!(hub_identity(&hub), wanted.hub_identity());
        assert_eq!(mirrored_hash(&hub), mirrored_hash(&project));
        for owned in &OWNED {
            let mut edited = hub.clone();
            match owned {
                Label(key, _) => set_label(&mut edited, key, Some("edited")),
                Annotation(key, _) => set_annotation(&mut edited, key, Some("edited")),
            }
            assert_ne!(hub_identity(&edited), wanted.hub_identity());
            wanted.render(&project, false, &mut edited);
            assert_eq!(edited, hub);
        }
        wanted.render(&project, true, &mut hub);
        assert_eq!(hub.annotation(SUSPENDED), Some("true"));
    }
}
