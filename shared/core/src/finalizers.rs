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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Kind, bare};

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
