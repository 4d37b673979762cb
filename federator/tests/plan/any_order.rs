//! I3, F9: whatever happens to a WD and in whatever order, it is released only when nothing of it runs on.

use fedhub_core::names::{FEDERATION_NAMESPACE, HUB_NAMESPACE_UID, SOURCE, SOURCE_UID};
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{self, annotate, unannotate};
use crate::plan::model::Model;

/// What may happen to a WD, in any order.
#[derive(Clone, Copy, Debug)]
enum Blow {
    Settle,
    OneStep,
    Restart,
    LoseHub,
    BackUp,
    RestoreHub,
    Trust,
    Report,
    Delete,
    DeleteOnHub,
    UnmarkOnHub,
    Edit(&'static str, Option<&'static str>),
}

fn blow() -> impl Strategy<Value = Blow> {
    let key = prop_oneof![Just(HUB_NAMESPACE_UID), Just(FEDERATION_NAMESPACE)];
    let value = prop_oneof![Just(None), Just(Some("x"))];
    prop_oneof![
        3 => Just(Blow::Settle),
        4 => Just(Blow::OneStep),
        1 => Just(Blow::Restart),
        2 => Just(Blow::LoseHub),
        1 => Just(Blow::BackUp),
        2 => Just(Blow::RestoreHub),
        1 => Just(Blow::Trust),
        2 => Just(Blow::Report),
        2 => Just(Blow::Delete),
        1 => Just(Blow::DeleteOnHub),
        1 => Just(Blow::UnmarkOnHub),
        2 => (key, value).prop_map(|(key, value)| Blow::Edit(key, value)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A kill is a [`Blow::OneStep`] before a [`Blow::Restart`].
    #[test]
    fn i3_f9_nothing_runs_on_in_a_cell_when_a_wd_is_released(blows in proptest::collection::vec(blow(), 1..24)) {
        let mut model = Model::new(fixtures::fresh());
        model.step();
        model.back_up().settle().report(json!({"replicas": 1, "observedGeneration": 7})).settle();
        for blow in blows {
            match blow {
                Blow::Settle => _ = model.settle(),
                Blow::OneStep => _ = model.step(),
                Blow::Restart => _ = model.restart(),
                Blow::LoseHub => _ = model.lose_hub(),
                Blow::BackUp => _ = model.back_up(),
                Blow::RestoreHub if model.project.is_some() => _ = model.restore_hub(),
                Blow::Trust => _ = model.trust_hub(),
                Blow::Report if model.hub.is_some() => _ = model.report(json!({"replicas": 1, "observedGeneration": 7})),
                Blow::Delete if model.project.is_some() => _ = model.delete(),
                Blow::DeleteOnHub => _ = model.delete_on_hub(),
                Blow::UnmarkOnHub => _ = model.edit_hub(|hub| {
                    unannotate(hub, SOURCE);
                    unannotate(hub, SOURCE_UID);
                }),
                Blow::Edit(key, value) => _ = model.edit_project(|wd| match value {
                    Some(value) => annotate(wd, key, value),
                    None => unannotate(wd, key),
                }),
                Blow::RestoreHub | Blow::Report | Blow::Delete => {}
            }
            prop_assert!(model.project.is_some() || !model.runs, "released, and it runs on");
        }
        // And it ends: no wedge, whatever was edited.
        if model.project.is_some() {
            model.delete();
        }
        for _ in 0..3 {
            model.settle();
            if model.hub.is_some() {
                model.report(json!({"replicas": 1, "observedGeneration": 7}));
            }
        }
        prop_assert!(model.project.is_none(), "held for ever: {:?}", model.then);
        prop_assert!(!model.runs && model.hub.is_none());
    }
}
