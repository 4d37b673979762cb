//! What is kept of an object that a plane sent.

use fedhub_core::object::{Kind, Object};
use serde_json::Value;
use zeroize::Zeroize;

/// Annotation of an object: the whole of what `kubectl apply` sent last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object without what is never kept: its managedFields and, of what may hold a tenant's data, that (W6). A client's
/// annotation of what it applied last holds it too.
pub fn stripped(kind: Kind, mut object: Object) -> Object {
    object.metadata.managed_fields = None;
    if matches!(kind, Kind::ConfigMap | Kind::Secret) {
        object.data = Value::Null;
        if let Some(mut applied) =
            object.metadata.annotations.as_mut().and_then(|all| all.remove(LAST_APPLIED))
        {
            applied.zeroize();
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn w6_nothing_that_may_be_confidential_is_kept_of_an_object() {
        let object: Object = serde_json::from_value(json!({
            "metadata": {"name": "a", "annotations": {LAST_APPLIED: "canary", "other": "kept"}},
            "data": {"k": "canary"},
        }))
        .unwrap();
        let kept = format!("{:?}", stripped(Kind::Secret, object));
        assert!(!kept.contains("canary") && kept.contains("other"), "{kept}");
    }
}
