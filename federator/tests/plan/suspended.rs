//! A suspended project's plane is read and not written; its hub WDs say so (section 2).

use fedhub_core::names::SUSPENDED;
use fedhub_core::object::ObjectView;
use fedhub_planes::WriteState;
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{annotate, body, fresh};
use crate::plan::model::Model;
use crate::plan::observed::{Plan, plan};
use crate::plan::states;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_suspended_project_is_not_written_and_its_hub_wds_are_suspended(mut seen in states::observed()) {
        let active = plan(&seen);
        seen.writes = WriteState::Suspended;
        let plan = plan(&seen);
        if seen.project.is_terminating() {
            // What it still holds is released: the plane permits that.
            prop_assert_eq!(plan.release, active.release);
            return Ok(());
        }
        prop_assert!(plan.mark.is_none() && plan.status.is_none() && plan.release.is_none());
        if active.mark.is_some() {
            prop_assert_eq!(Plan { then: plan.then.clone(), ..Plan::default() }, plan, "I2: not before it is marked");
        } else if let Some(write) = plan.deployment {
            prop_assert_eq!(body(&write).annotation(SUSPENDED), Some("true"));
        }
    }
}

#[test]
fn whatever_a_wd_says_itself_it_is_suspended_with_its_project_and_resumed_with_it() {
    for own in [None, Some("true"), Some("false")] {
        let mut wd = fresh();
        if let Some(own) = own {
            annotate(&mut wd, SUSPENDED, own);
        }
        let mut model = Model::new(wd);
        model.settle();
        model.writes = WriteState::Suspended;
        model.settle().report(json!({"replicas": 1})).settle();
        let seen = model.seen().unwrap();
        assert_eq!(seen.hub.unwrap().annotation(SUSPENDED), Some("true"), "{own:?}");
        assert!(!seen.project.status().is_object(), "{own:?}: its status waits");
        model.writes = WriteState::Active;
        model.settle();
        let seen = model.seen().unwrap();
        assert_eq!(seen.hub.unwrap().annotation(SUSPENDED), own);
        assert_eq!(seen.project.status()["replicas"], 1);
    }
}
