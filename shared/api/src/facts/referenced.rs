//! What is kept for referenced data (W5): of a project WD what it refers to and what was said of it, of a
//! companion on the hub what it is the copy of and who refers to it. No content of either is ever kept (W6).

use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{
    COPIED_FROM, EXPECTED_REFERENCED_DATA, REFERENCED_BY, REFERENCED_DATA_ERROR, REFERENCED_DATA_FINALIZER,
};
use fedhub_core::object::{Kind, Object, ObjectView};
use serde_json::Value;

use super::mark::mark_hash;
use crate::conditions::{find, is_default, said};
use crate::references::{Reference, references, template};

/// The condition of a WD and of an Instance that tells how far their referenced data has come.
pub const REFERENCED_DATA_READY: &str = "ReferencedDataReady";

/// The references of a project WD that refers to anything, or did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct References {
    /// The names that its template refers to, as [`references`] orders them.
    names: Box<[Name]>,
    /// Whether [`REFERENCED_DATA_FINALIZER`] holds it.
    pub held: bool,
    /// Whether the cell of a WD that is held has observed its newest generation, and no Instance is on an
    /// older template.
    pub rolled_out: bool,
    /// Its annotation [`EXPECTED_REFERENCED_DATA`], by [`mark_hash`].
    pub expected: u64,
    /// Its annotation [`REFERENCED_DATA_ERROR`], likewise.
    pub error: u64,
    /// Its condition [`REFERENCED_DATA_READY`], by [`condition_hash`].
    pub condition: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Name {
    text: Box<str>,
    is_secret: bool,
    optional: bool,
}

impl References {
    pub(super) fn from_deployment(wd: &Object) -> Option<Box<Self>> {
        let name = |of: Reference<'_>| Name {
            text: of.name.into(),
            is_secret: of.kind == Kind::Secret,
            optional: of.optional,
        };
        let held = wd.has_finalizer(REFERENCED_DATA_FINALIZER);
        let it = Self {
            names: references(template(wd.spec())).into_iter().map(name).collect(),
            held,
            rolled_out: held && is_rolled_out(wd),
            expected: mark_hash(wd.annotation(EXPECTED_REFERENCED_DATA)),
            error: mark_hash(wd.annotation(REFERENCED_DATA_ERROR)),
            condition: condition_hash(find(wd.status(), REFERENCED_DATA_READY).filter(|c| !is_default(c))),
        };
        (it != Self::default()).then(|| Box::new(it))
    }

    /// Returns the references of the template: sorted, each once.
    pub fn iter(&self) -> impl Iterator<Item = Reference<'_>> {
        let kind = |name: &Name| if name.is_secret { Kind::Secret } else { Kind::ConfigMap };
        self.names.iter().map(move |name| Reference {
            kind: kind(name),
            name: &name.text,
            optional: name.optional,
        })
    }

    /// Whether the template refers to anything.
    pub fn any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether the template refers to that.
    pub fn contains(&self, kind: Kind, name: &str) -> bool {
        self.iter().any(|reference| reference.kind == kind && reference.name == name)
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.names.iter().map(|name| size_of::<Name>() + name.text.len()).sum::<usize>()
    }
}

/// Whether the cell has seen the newest generation, and all Instances that it counts are on its template.
fn is_rolled_out(wd: &Object) -> bool {
    let number = |field: &str| wd.status()[field].as_i64();
    number("observedGeneration").is_some_and(|observed| Some(observed) == wd.metadata.generation)
        && number("updatedReplicas").unwrap_or_default() >= number("replicas").unwrap_or_default()
}

/// Hash of what a condition says, and of which generation; zero where there is none.
pub fn condition_hash(condition: Option<&Value>) -> u64 {
    condition.map_or(0, |condition| {
        let (status, reason, message) = said(condition);
        let sum = KeyedHasher::default().text(status).text(reason).text(message);
        sum.json(&condition["observedGeneration"]).end().max(1)
    })
}

/// The facts of a companion on the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// The WDs that refer to it, each `<project namespace>/<WD>`, sorted; `None` where its count cannot be
    /// read.
    pub referenced_by: Option<Box<[Box<str>]>>,
    /// The source that it is a copy of, by [`mark_hash`] of the UID and the resourceVersion; zero if it names
    /// none.
    pub copied_from: u64,
    /// How many bytes of content it has.
    pub bytes: u32,
}

impl Companion {
    pub(super) fn from_object(object: &Object) -> Self {
        let list = object.annotation(REFERENCED_BY).unwrap_or("[]");
        let (copied_from, bytes) = object.annotation(COPIED_FROM).and_then(copied_from).unwrap_or_default();
        Self { referenced_by: referenced_by(list), copied_from, bytes }
    }

    /// Whether it is known that this WD refers to it.
    pub fn is_of(&self, wd: &str) -> bool {
        self.referenced_by.iter().flatten().any(|by| **by == *wd)
    }

    /// Bytes that it takes.
    pub(super) fn heap(&self) -> usize {
        let each = |by: &str| size_of::<Box<str>>() + by.len();
        size_of::<Self>() + self.referenced_by.iter().flatten().map(|by| each(by)).sum::<usize>()
    }
}

/// The WDs that the annotation [`REFERENCED_BY`] names; `None` where it cannot be read.
pub fn referenced_by(text: &str) -> Option<Box<[Box<str>]>> {
    let mut list: Vec<Box<str>> = serde_json::from_str(text).ok()?;
    list.sort_unstable();
    list.dedup();
    Some(list.into())
}

/// Returns the value of [`COPIED_FROM`] for a source with this UID, resourceVersion and content size.
pub fn copied_from_text(uid: &str, version: &str, bytes: usize) -> String {
    format!("{uid}/{version}/{bytes}")
}

/// The hash by which [`Companion::copied_from`] names an object of that UID and resourceVersion.
pub fn source_hash(uid: &str, version: &str) -> u64 {
    mark_hash(Some(&format!("{uid}/{version}")))
}

fn copied_from(text: &str) -> Option<(u64, u32)> {
    let (source, bytes) = text.rsplit_once('/')?;
    Some((mark_hash(Some(source)), bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{bare, set_field};
    use serde_json::json;

    use super::*;

    #[test]
    fn w5_facts_of_a_wd_that_refers_to_nothing_take_no_room() {
        let mut wd = bare(Kind::WorkloadDeployment, "shop", "web");
        assert!(References::from_deployment(&wd).is_none());
        set_field(
            &mut wd,
            "spec",
            json!({"template": {"spec": {"volumes": [{"secret": {"secretName": "db"}}]}}}),
        );
        let facts = References::from_deployment(&wd).unwrap();
        assert!(facts.any() && facts.contains(Kind::Secret, "db") && !facts.contains(Kind::ConfigMap, "db"));
        assert!(facts.bytes() < 120, "{}", facts.bytes());
        set_field(&mut wd, "spec", json!({}));
        wd.metadata.finalizers = Some(vec![REFERENCED_DATA_FINALIZER.to_owned()]);
        assert!(References::from_deployment(&wd).is_some_and(|facts| facts.held && !facts.any()));
    }

    #[test]
    fn w5_a_wd_is_rolled_out_once_no_instance_is_on_an_older_template() {
        let rolled_out = |generation: i64, status: Value| {
            let mut wd = bare(Kind::WorkloadDeployment, "shop", "web");
            wd.metadata.generation = Some(generation);
            wd.metadata.finalizers = Some(vec![REFERENCED_DATA_FINALIZER.to_owned()]);
            set_field(&mut wd, "status", status);
            References::from_deployment(&wd).unwrap().rolled_out
        };
        for (generation, status, expected) in [
            (2, json!({}), false),
            (2, json!({"replicas": 2, "updatedReplicas": 2}), false),
            (2, json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2}), false),
            (2, json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1}), false),
            (2, json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2}), true),
            (2, json!({"observedGeneration": 2, "replicas": 0}), true),
        ] {
            assert_eq!(rolled_out(generation, status.clone()), expected, "{status}");
        }
    }

    #[test]
    fn w5_what_a_companion_says_of_itself() {
        let mut companion = bare(Kind::Secret, "ns-1", "db");
        let put = |companion: &mut Object, key: &str, value: &str| {
            companion.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        };
        let none = Companion::from_object(&companion);
        assert_eq!((none.referenced_by.as_deref(), none.copied_from, none.bytes), (Some(&[][..]), 0, 0));
        put(&mut companion, COPIED_FROM, &copied_from_text("u", "7", 12));
        put(&mut companion, REFERENCED_BY, r#"["shop/web","shop/api","shop/web"]"#);
        let it = Companion::from_object(&companion);
        assert_eq!((it.copied_from, it.bytes), (source_hash("u", "7"), 12));
        assert_eq!(it.referenced_by.as_ref().unwrap().len(), 2);
        assert!(it.is_of("shop/api") && !it.is_of("shop/ap"));
        for corrupt in ["", "{}", "[1]", r#"["shop/web""#] {
            put(&mut companion, REFERENCED_BY, corrupt);
            let it = Companion::from_object(&companion);
            assert!(it.referenced_by.is_none() && !it.is_of("shop/web"), "{corrupt}");
        }
    }
}
