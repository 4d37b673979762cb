//! The path of a field in an object.

use std::borrow::Cow;
use std::fmt;

use fedhub_core::hash;
use fedhub_core::message::excerpt;

/// The path of a field. It knows items of lists by their index, as messages show them, and by their name,
/// which stays when items come and go: a fault is the same fault wherever its item has moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Path {
    shown: String,
    stable: String,
}

impl Path {
    /// A field at the top of an object.
    pub fn from_field(field: &str) -> Self {
        Self { shown: field.to_owned(), stable: field.to_owned() }
    }

    /// A field of what is here.
    pub fn field(&self, name: &str) -> Self {
        Self { shown: format!("{}.{name}", self.shown), stable: format!("{}.{name}", self.stable) }
    }

    /// A key of the map that is here.
    pub fn key(&self, key: &str) -> Self {
        let shown = format!("{}[{}]", self.shown, excerpt(key));
        Self { shown, stable: format!("{}[{}]", self.stable, bounded(key)) }
    }

    /// An item of the list that is here, by its index and by its name.
    pub fn item(&self, index: usize, name: &str) -> Self {
        let name = bounded(name);
        Self { shown: format!("{}[{index}]", self.shown), stable: format!("{}[{name:?}]", self.stable) }
    }

    /// The path that stays when items of lists come and go.
    pub fn stable(&self) -> &str {
        &self.stable
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The longest name that paths repeat.
const NAME_MAX: usize = 253;

/// A name, or what stands for one that no object can have: it is repeated in the path of each field below it.
fn bounded(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_MAX { name.into() } else { format!("{:016x}", hash::text(name)).into() }
}
