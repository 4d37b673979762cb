//! What is watched of a kind: everything, or what carries a label.

use crate::object::{Kind, Object, ObjectView};

/// A kind that is watched on a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The kind.
    pub kind: Kind,
    /// Key and value of the label that is asked for; without it everything is watched. A watch tells of an object that
    /// loses the label as it does of one that is deleted, so each [`Change::Deleted`](crate::engine::Change) is an
    /// inferred one.
    pub label: Option<(&'static str, Box<str>)>,
}

impl Watched {
    /// All objects of the kind.
    pub fn all(kind: Kind) -> Self {
        Self { kind, label: None }
    }

    /// Objects of the kind that carry this label. The value is to be one by [`crate::names::is_label_value`]: a server
    /// may read another one as a selector of something else.
    pub fn labelled(kind: Kind, key: &'static str, value: &str) -> Self {
        Self { kind, label: Some((key, value.into())) }
    }

    /// Whether `object` is among them.
    pub fn selects(&self, object: &Object) -> bool {
        self.label.as_ref().is_none_or(|(key, value)| object.label(key) == Some(value))
    }

    /// The label selector of a list or a watch.
    pub fn selector(&self) -> Option<String> {
        self.label.as_ref().map(|(key, value)| format!("{key}={value}"))
    }
}

/// All objects of each of these kinds.
pub fn all(kinds: &[Kind]) -> Vec<Watched> {
    kinds.iter().copied().map(Watched::all).collect()
}
