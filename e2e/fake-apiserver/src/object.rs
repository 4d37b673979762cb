//! An object as it is kept: its text, shared by everything that holds this version of it.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// A version of an object, as JSON text: a third of what the tree of values takes, and ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stored(Arc<str>);

impl Stored {
    /// Keeps an object.
    pub(crate) fn new(object: &Value) -> Self {
        Self(object.to_string().into())
    }

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The object. What was kept is always JSON; if it were not, this would be no object.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
