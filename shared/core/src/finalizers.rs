//! Patches of finalizers, which replace the whole list: their resourceVersion is the one that was read (I9).

use serde_json::{Value, json};

use crate::object::Object;

/// The finalizers of an object.
pub fn of(object: &Object) -> impl Iterator<Item = &str> {
    object.metadata.finalizers.iter().flatten().map(String::as_str)
}

/// The metadata with this finalizer, which the object lacks, behind its others.
pub fn with(object: &Object, finalizer: &str) -> Value {
    json!({ "finalizers": of(object).chain([finalizer]).collect::<Vec<_>>() })
}

/// The metadata with all finalizers but this one.
pub fn without(object: &Object, finalizer: &str) -> Value {
    let others: Vec<_> = of(object).filter(|f| *f != finalizer).collect();
    json!({ "finalizers": if others.is_empty() { Value::Null } else { json!(others) } })
}

/// The metadata with this finalizer, where one is given, and with these annotations, or without them.
pub fn mark(object: &Object, finalizer: Option<&str>, annotations: Vec<(&str, Option<String>)>) -> Value {
    let mut metadata = finalizer.map_or_else(|| json!({}), |finalizer| with(object, finalizer));
    for (key, value) in annotations {
        metadata["annotations"][key] = json!(value);
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Kind, bare};

    #[test]
    fn i2_a_mark_is_one_patch_of_what_is_missing() {
        let object = bare(Kind::WorkloadDeployment, "default", "web");
        let annotations = || vec![("a", Some("1".to_owned())), ("b", None)];
        let metadata = json!({"annotations": {"a": "1", "b": null}});
        assert_eq!(mark(&object, None, annotations()), metadata);
        let metadata = json!({"annotations": {"a": "1", "b": null}, "finalizers": ["ours"]});
        assert_eq!(mark(&object, Some("ours"), annotations()), metadata);
        assert_eq!(mark(&object, Some("ours"), vec![]), with(&object, "ours"));
    }

    #[test]
    fn i9_a_patch_keeps_the_others_and_their_order() {
        let mut object = bare(Kind::WorkloadDeployment, "default", "web");
        assert_eq!(with(&object, "ours"), json!({"finalizers": ["ours"]}));
        assert_eq!(without(&object, "ours"), json!({"finalizers": null}));
        object.metadata.finalizers = Some(["b", "a"].map(str::to_owned).to_vec());
        assert_eq!(with(&object, "ours"), json!({"finalizers": ["b", "a", "ours"]}));
        object.metadata.finalizers = Some(["b", "ours", "a"].map(str::to_owned).to_vec());
        assert_eq!(without(&object, "ours"), json!({"finalizers": ["b", "a"]}));
        object.metadata.finalizers = Some(vec!["ours".to_owned()]);
        assert_eq!(
            without(&object, "ours"),
            json!({"finalizers": null}),
            "a merge patch takes the list away"
        );
    }
}
