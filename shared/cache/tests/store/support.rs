//! A store whose facts are one label, and objects for it.

use std::sync::Arc;

use fedhub_cache::{MemoryBudget, ObjectFacts};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId, bare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub type Store = fedhub_cache::Store<Color>;
pub type Change = fedhub_cache::Change<Color>;

/// What these tests keep of an object: one label, by the length of which it is found. Namespaces are kept
/// whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Color(pub Option<Box<str>>);

pub const COLOR: &str = "color";

impl ObjectFacts for Color {
    fn kept_whole(_: &PlaneId, kind: Kind) -> bool {
        kind == Kind::Namespace
    }

    fn new(_: &PlaneId, _: Kind, object: &Object) -> Self {
        Self(object.label(COLOR).map(Into::into))
    }

    fn heap(&self) -> usize {
        self.0.as_deref().map_or(0, str::len)
    }

    fn index_value(&self) -> Option<u64> {
        self.0.as_deref().map(|color| color.len() as u64)
    }
}

pub fn object(name: &str, uid: &str, version: u64) -> Object {
    let mut o = bare(Kind::ConfigMap, "ns", name);
    o.metadata.uid = Some(uid.to_owned());
    o.metadata.resource_version = Some(version.to_string());
    o
}

pub fn store(budget: MemoryBudget) -> Store {
    Store::new(PlaneId::Management, Kind::ConfigMap, budget)
}

pub fn filled(objects: &[Object]) -> Store {
    let store = store(MemoryBudget::from_bytes(1 << 20));
    store.list_begins();
    for o in objects {
        store.listed(o.clone());
    }
    store.list_ends();
    store
}

pub fn version(store: &Store) -> String {
    store.digest("ns", "a").unwrap().version.to_string()
}

pub fn own(store: &Store, object: Object) {
    store.own(&Arc::new(object));
}

/// `a`, which is being deleted and has these finalizers.
pub fn terminating(finalizers: &[&str]) -> Object {
    let mut terminating = object("a", "1", 7);
    terminating.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
    terminating.metadata.finalizers = Some(finalizers.iter().map(ToString::to_string).collect());
    terminating
}
