//! I1, F4: what travels, travels whole.

use fedhub_cache::ServerNormalization;
use fedhub_core::names::{
    CITY_CODE, DELETION_PROTECTED, MIRRORED_ANNOTATIONS, SOURCE, SOURCE_GENERATION, SOURCE_UID,
    UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Object, ObjectView, set_field};
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::progress::{Failure, Progress};
use fedhub_federator::refusal::Remnant;
use fedhub_planes::{Write, WriteMode};
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{
    CITY, Edit, SPACE, UID, annotate, body, hub_wd, in_order, label, marked, shared, source, spec, status_of,
    unannotate, with,
};
use crate::plan::observed::desired;
use crate::plan::observed::plan;
use crate::plan::states::{json_value, merged, unknown_fields};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i1_a_spec_goes_down_byte_for_byte(unknown in unknown_fields(), there: bool) {
        let mut seen = in_order();
        let sent = merged(spec(CITY), &unknown);
        seen.project = shared(with(marked(), |wd| set_field(wd, "spec", sent.clone())));
        if !there {
            seen.hub = None;
        }
        match plan(&seen).deployment {
            Some(write) => {
                let text = serde_json::to_string(&body(&write).data["spec"]).unwrap();
                prop_assert_eq!(text, serde_json::to_string(&sent).unwrap());
            }
            None => prop_assert!(there && sent == spec(CITY)),
        }
    }

    #[test]
    fn i1_a_status_comes_back_byte_for_byte(unknown in unknown_fields(), conditions in json_value()) {
        let counters = json!({"replicas": 3, "currentReplicas": 0, "updatedReplicas": 1, "desiredReplicas": 2, "readyReplicas": 0});
        let mut status = merged(counters, &unknown);
        status["observedGeneration"] = json!(4);
        status["conditions"] = json!([{"type": "Available", "status": "True", "x": conditions}, {"type": "Odd"}]);
        let mut seen = in_order();
        seen.hub = Some(shared(status_of(hub_wd(), status.clone())));
        let up = desired(&seen, None).unwrap();
        prop_assert_eq!(serde_json::to_string(&up).unwrap(), serde_json::to_string(&status).unwrap());
    }

    #[test]
    fn i1_other_fields_of_the_hub_wd_stay(unknown in unknown_fields()) {
        let mut seen = in_order();
        let hub = with(hub_wd(), |wd| wd.data = merged(wd.data.clone(), &unknown));
        seen.hub = Some(shared(with(hub, |wd| set_field(wd, "spec", spec("ORD")))));
        let write = plan(&seen).deployment.unwrap();
        for (key, value) in unknown.as_object().unwrap() {
            prop_assert_eq!(&body(&write).data[key], value);
        }
    }
}

#[test]
fn i1_nulls_empties_and_zeros_stay() {
    let odd = merged(
        spec(CITY),
        &json!({"a": null, "b": [], "c": {}, "d": 0, "e": "", "f": false, "g": [null, {"h": null}], "i": -0.0}),
    );
    let mut seen = in_order();
    seen.project = shared(with(marked(), |wd| set_field(wd, "spec", odd.clone())));
    let write = plan(&seen).deployment.unwrap();
    assert_eq!(body(&write).spec().to_string(), odd.to_string());
}

#[test]
fn f4_a_hub_wd_is_made_with_labels_mark_and_spec() {
    let mut seen = in_order();
    seen.hub = None;
    let Some(Write::Create(wd)) = plan(&seen).deployment else { panic!("not made") };
    let labels = [(UPSTREAM_NAMESPACE, SPACE), (CITY_CODE, CITY), DELETION_PROTECTED];
    assert!(labels.iter().all(|(key, value)| wd.label(key) == Some(value)), "{:?}", wd.metadata.labels);
    assert_eq!(wd.metadata.labels.as_ref().unwrap().len(), 3);
    assert_eq!(wd.label(UPSTREAM_CLUSTER), None);
    assert_eq!(wd.annotation(SOURCE), Some(&*source()));
    assert_eq!(wd.annotation(SOURCE_UID), Some(UID));
    assert_eq!(wd.annotation(SOURCE_GENERATION), Some("7"));
    assert_eq!(wd.metadata.annotations.as_ref().unwrap().len(), 3);
    assert_eq!(*wd.spec(), spec(CITY));
    assert!(wd.metadata.finalizers.is_none() && wd.metadata.owner_references.is_none());
    assert!(wd.metadata.uid.is_none() && wd.metadata.resource_version.is_none());
}

#[test]
fn f4_annotations_are_mirrored_and_their_absence_too() {
    let cases = [None, Some(""), Some("true"), Some("[\"ConfigMap/a\"]")];
    for key in MIRRORED_ANNOTATIONS {
        for (here, there) in cases.iter().flat_map(|h| cases.iter().map(move |t| (*h, *t))) {
            let mut seen = in_order();
            let set = |object: Object, value: Option<&str>| {
                with(object, |o| match value {
                    Some(value) => annotate(o, key, value),
                    None => unannotate(o, key),
                })
            };
            seen.project = shared(set(marked(), here));
            seen.hub = Some(shared(set(hub_wd(), there)));
            match plan(&seen).deployment {
                Some(write) => assert_eq!(body(&write).annotation(key), here, "{key}"),
                None => assert_eq!(here, there, "{key}"),
            }
        }
    }
}

#[test]
fn f4_drift_is_restored() {
    let table: [(&str, Edit); 8] = [
        ("city label", |wd| label(wd, CITY_CODE, "ORD")),
        ("namespace label", |wd| label(wd, UPSTREAM_NAMESPACE, "x")),
        ("protection", |wd| label(wd, DELETION_PROTECTED.0, "Never")),
        ("labels", |wd| wd.metadata.labels = None),
        ("source", |wd| unannotate(wd, SOURCE)),
        ("source uid", |wd| unannotate(wd, SOURCE_UID)),
        ("generation", |wd| annotate(wd, SOURCE_GENERATION, "6")),
        ("spec", |wd| wd.data["spec"]["placementName"] = json!("x")),
    ];
    for (what, edit) in table {
        let mut seen = in_order();
        // What was sent is known, so that no dry run is needed to see that this is an edit.
        seen.spec_normalization = Some(ServerNormalization::new(&spec(CITY), &spec(CITY)));
        seen.hub = Some(shared(with(hub_wd(), edit)));
        let restored = plan(&seen);
        assert_eq!(
            restored.deployment,
            Some(Write::Replace { object: Box::new(hub_wd()), mode: WriteMode::Direct }),
            "{what}"
        );
        assert!(restored.mark.is_none() && restored.policy.is_none() && restored.status.is_none(), "{what}");
    }
}

#[test]
fn f4_a_hub_wd_that_was_deleted_by_hand_is_made_anew_once_it_is_gone() {
    let mut seen = in_order();
    seen.hub = Some(shared(crate::plan::fixtures::deleting(hub_wd())));
    let waiting = plan(&seen);
    assert!(waiting.deployment.is_none());
    assert_eq!(waiting.then, Some(Intent::End(Outcome::AwaitChange)));
    assert_eq!(seen.progress(), Progress::Failed(Failure::Remains(Remnant::Deployment)));
    seen.hub = None;
    assert!(matches!(plan(&seen).deployment, Some(Write::Create(_))));
}
