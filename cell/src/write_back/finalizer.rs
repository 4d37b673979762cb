//! Who holds an Instance: the write-back by its finalizer, others by theirs.

use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

/// Whether an Instance is being deleted and everybody but us has let go of it. Until then its copy stays and tells how far
/// that is (C7). No server lets anybody else take hold of it any more.
pub(super) fn is_released(instance: &Object) -> bool {
    instance.is_terminating() && finalizers(instance).all(|f| f == INSTANCE_FINALIZER)
}

/// The finalizers of an Instance without that of the write-back, for a merge patch. That replaces the list; the
/// resourceVersion makes sure that it is the one that was read (I9).
pub(super) fn other_finalizers(instance: &Object) -> Value {
    let others: Vec<&String> = finalizers(instance).filter(|f| *f != INSTANCE_FINALIZER).collect();
    if others.is_empty() { Value::Null } else { json!(others) }
}

/// All of them.
pub(super) fn finalizers(instance: &Object) -> impl Iterator<Item = &String> {
    instance.metadata.finalizers.iter().flatten()
}
