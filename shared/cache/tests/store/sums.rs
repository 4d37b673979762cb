//! How many objects a store has and how much they take, which it keeps in step with every change.

use fedhub_cache::{MemoryBudget, ObjectPart, ServerNormalization};
use fedhub_core::object::Object;
use proptest::prelude::*;

use crate::support::*;

#[derive(Clone, Debug)]
enum Step {
    /// The watch brings an object, with a label of that length.
    Applied(u8, usize),
    /// We write it.
    Own(u8, usize),
    /// The server makes something else of what we write.
    Normalized(u8),
    Deleted(u8),
    OwnDeleted(u8),
    /// A list names the objects below this one only.
    Listed(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..6u8;
    let length = 0..4usize;
    prop_oneof![
        3 => (name.clone(), length.clone()).prop_map(|(name, length)| Step::Applied(name, length)),
        3 => (name.clone(), length).prop_map(|(name, length)| Step::Own(name, length)),
        1 => name.clone().prop_map(Step::Normalized),
        1 => name.clone().prop_map(Step::Deleted),
        1 => name.clone().prop_map(Step::OwnDeleted),
        1 => name.prop_map(Step::Listed),
    ]
}

/// An object of one of two namespaces. Each version is a new object now and then.
fn object_of(name: u8, version: u64, length: usize) -> Object {
    let mut object = object(&format!("o{name}"), &format!("{name}-{}", version / 8), version);
    object.metadata.namespace = Some(format!("ns-{}", name % 2));
    let color = Some("x".repeat(length)).filter(|color| !color.is_empty());
    object.metadata.labels = color.map(|color| [(COLOR.to_owned(), color)].into());
    object
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i8_sums_are_those_of_a_store_that_was_filled_at_once(steps in prop::collection::vec(step(), 1..60)) {
        let changed = ServerNormalization::Changed { sent: 1, got: 2 };
        let tested = store(MemoryBudget::from_bytes(1 << 20));
        let mut version = 0;
        for step in steps {
            version += 1;
            let namespace = |name: u8| format!("ns-{}", name % 2);
            match step {
                Step::Applied(name, length) => drop(tested.applied(object_of(name, version, length))),
                Step::Own(name, length) => own(&tested, object_of(name, version, length)),
                Step::Normalized(name) => {
                    tested.note_normalization(&namespace(name), &format!("o{name}"), ObjectPart::Spec, changed);
                }
                Step::Deleted(name) => {
                    tested.deleted_unread(&namespace(name), &format!("o{name}"));
                }
                Step::OwnDeleted(name) => {
                    let namespace = namespace(name);
                    let name = format!("o{name}");
                    if let Some(digest) = tested.digest(&namespace, &name) {
                        tested.own_deleted(&namespace, &name, &digest.uid.to_string());
                    }
                }
                Step::Listed(below) => {
                    tested.list_begins();
                    (0..below).for_each(|name| drop(tested.listed(object_of(name, version, 2))));
                    tested.list_ends();
                }
            }
            let expected = store(MemoryBudget::from_bytes(1 << 20));
            let all = tested.select(None, |view| Some((view.namespace.to_owned(), view.name.to_owned(), view.digest.clone())));
            for (namespace, name, digest) in &all {
                let mut object = object(name, &digest.uid.to_string(), 1);
                object.metadata.namespace = Some(namespace.clone());
                object.metadata.labels = digest.facts.0.clone().map(|color| [(COLOR.to_owned(), color.into())].into());
                expected.applied(object);
                if let Some(normalization) = tested.normalization(namespace, name, ObjectPart::Spec) {
                    expected.note_normalization(namespace, name, ObjectPart::Spec, normalization);
                }
            }
            prop_assert_eq!((tested.len(), tested.bytes()), (all.len(), expected.bytes()));
        }
    }
}
