//! The parts of a received object that are kept.

use fedhub_core::object::{Kind, Object};
use serde_json::Value;
use zeroize::Zeroize;

use crate::listwatch::guard::Guarded;
use crate::{Plane, Planes};

/// Annotation of an object: the whole of what `kubectl apply` sent last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object without what is never kept: its managedFields and, of what may hold a tenant's data, that (W6).
/// A client's annotation of what it applied last holds it too.
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

/// The object, less its managedFields; `None`, logged and counted, for one that cannot be read (section 6).
/// One that was known before keeps standing as it was known.
pub fn decoded(planes: &Planes, plane: &Plane, kind: Kind, object: Guarded) -> Option<Object> {
    match object.0 {
        Ok(object) => Some(stripped(kind, object)),
        Err(invalid) => {
            planes.metrics().events_dropped.with_label_values(&["undecodable"]).inc();
            let news = plane.unreadable(kind, &invalid.metadata, &invalid.error);
            let namespace = invalid.metadata.namespace.unwrap_or_default();
            let name = invalid.metadata.name.unwrap_or_default();
            plane.store(kind).keep(&namespace, &name);
            plane.service.unread(kind);
            if news {
                tracing::warn!(plane = %plane.id, kind = %kind.resource().kind, namespace, name, error = invalid.error,
                    "skipping unreadable object");
            }
            None
        }
    }
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
