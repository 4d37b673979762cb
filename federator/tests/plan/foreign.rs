//! I9: only our own keys are touched.

use fedhub_core::names::{
    CITY_CODE, DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST, HUB_NAMESPACE_UID,
    MIRRORED_ANNOTATIONS, MOVING, RESYNC, SOURCE, SOURCE_GENERATION, SOURCE_UID, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::Write;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::fixtures::FOREIGN;
use crate::plan::observed::Observed;
use crate::plan::observed::plan;
use crate::plan::states;

/// The metadata less the keys that the federator may set.
fn foreign(object: &Object) -> Value {
    let ours = [
        CITY_CODE,
        DELETION_PROTECTED.0,
        UPSTREAM_CLUSTER,
        UPSTREAM_NAMESPACE,
        SOURCE,
        SOURCE_UID,
        SOURCE_GENERATION,
        HUB_LOST,
        MOVING,
        RESYNC,
    ];
    let mut metadata = serde_json::to_value(&object.metadata).unwrap();
    for field in ["labels", "annotations"] {
        let all = metadata[field].as_object().cloned().unwrap_or_default();
        let kept =
            all.into_iter().filter(|(k, _)| !ours.contains(&&**k) && !MIRRORED_ANNOTATIONS.contains(&&**k));
        metadata[field] = kept.collect();
    }
    metadata
}

fn target(seen: &Observed, object: &Object) -> Option<Object> {
    let live = seen.live.as_ref();
    // F9: where the hub lost state, what live reads found is written.
    let found = live.map(|l| [l.namespace.as_deref(), l.deployment.as_deref()]).unwrap_or_default();
    let all = [seen.hub_namespace.as_deref(), seen.hub.as_deref()].into_iter().chain(found);
    let policies = seen.policies.iter().map(|p| p.object.as_ref());
    all.flatten().chain(policies).find(|o| foreign(o) == foreign(object)).cloned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i9_foreign_metadata_survives_every_write(seen in states::observed()) {
        let plan = plan(&seen);
        for write in [&plan.namespace, &plan.policy, &plan.deployment].into_iter().flatten() {
            if let Write::Replace { object, .. } = write {
                let old = target(&seen, object);
                prop_assert!(old.is_some(), "{:?}", object.metadata);
                prop_assert_eq!(object.label(FOREIGN), Some("kept"));
                prop_assert_eq!(object.annotation(FOREIGN), Some("kept"));
            }
        }
    }

    #[test]
    fn i9_patches_of_the_project_wd_name_only_our_keys(seen in states::observed()) {
        let plan = plan(&seen);
        let before: Vec<String> = seen.project.metadata.finalizers.clone().unwrap_or_default();
        for (patch, with_ours) in [(&plan.mark, true), (&plan.release, false)] {
            let Some(patch) = patch else { continue };
            for (field, value) in patch.as_object().unwrap() {
                match field.as_str() {
                    "finalizers" => {
                        let mut wanted: Vec<String> = before.iter().filter(|f| *f != FEDERATOR_FINALIZER).cloned().collect();
                        wanted.extend(with_ours.then(|| FEDERATOR_FINALIZER.to_owned()));
                        let wanted = if wanted.is_empty() { Value::Null } else { json!(wanted) };
                        prop_assert_eq!(value, &wanted);
                    }
                    "annotations" => {
                        let ours = [FEDERATION_NAMESPACE, HUB_NAMESPACE_UID];
                        prop_assert!(value.as_object().unwrap().keys().all(|k| ours.contains(&&**k)), "{}", value);
                    }
                    other => prop_assert!(false, "metadata.{}", other),
                }
            }
        }
    }

    #[test]
    fn i9_a_status_keeps_the_conditions_that_the_hub_does_not_speak_of(seen in states::observed()) {
        if let Some(write) = plan(&seen).status {
            let own = fedhub_api::conditions::find(seen.project.status(), "ReferencedDataReady");
            if own.is_some() {
                prop_assert_eq!(fedhub_api::conditions::find(&write.status, "ReferencedDataReady"), own);
            }
        }
    }
}
