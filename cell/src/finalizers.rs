//! Patches of finalizers, which replace the whole list: their resourceVersion is the one that was read (I9).

use fedhub_core::object::Object;
use serde_json::{Value, json};

/// The finalizers of an object.
pub(crate) fn of(object: &Object) -> impl Iterator<Item = &str> {
    object.metadata.finalizers.iter().flatten().map(String::as_str)
}

/// The metadata with this finalizer, which the object lacks, behind its others.
pub(crate) fn with(object: &Object, finalizer: &str) -> Value {
    json!({ "finalizers": of(object).chain([finalizer]).collect::<Vec<_>>() })
}

/// The metadata with all finalizers but this one.
pub(crate) fn without(object: &Object, finalizer: &str) -> Value {
    let others: Vec<_> = of(object).filter(|f| *f != finalizer).collect();
    json!({ "finalizers": if others.is_empty() { Value::Null } else { json!(others) } })
}
