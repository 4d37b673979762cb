//! An object as its JSON text, for as long as it waits.

use std::sync::Arc;

use fedhub_core::object::{Object, ObjectRef, from_json};

/// An object as its JSON text: one piece of memory, where a tree is a hundred. What comes and goes by the
/// thousand leaves no pages half empty then.
#[derive(Clone, Debug)]
pub struct Packed(Arc<[u8]>);

impl Packed {
    /// The text of an object. `None` where it cannot be written as JSON, which no object that a server sent
    /// is.
    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        // Room for most of them, so that the text does not move while it is written.
        let mut text = Vec::with_capacity(4 << 10);
        serde_json::to_writer(&mut text, object).ok()?;
        Some(Self(text.into()))
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The object.
    pub(crate) fn unpack(&self) -> Option<ObjectRef> {
        from_json(&self.0).ok().map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{TooLarge, set_too_large};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn i1_an_object_is_the_same_after_it_waited(spec in value(), status in value(), annotation in ".*") {
            let mut object: Object = serde_json::from_value(json!({
                "apiVersion": "v1", "kind": "A", "spec": spec, "status": status, "other": [spec],
                "metadata": {
                    "name": "a", "uid": "u", "resourceVersion": "7", "generation": 2, "labels": {"l": ""},
                    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:06Z",
                    "annotations": {"a": annotation}, "finalizers": ["f"],
                    "ownerReferences": [{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "v", "controller": true}],
                },
            }))
            .unwrap();
            let unpacked = |object: &Object| Packed::from_object(object).unwrap().unpack().unwrap();
            prop_assert_eq!(&*unpacked(&object), &object);
            set_too_large(&mut object, Some(TooLarge { size: 2, limit: 1 }));
            prop_assert_eq!(&*unpacked(&object), &object);
        }
    }
}
