//! A plane that is paused: nothing is done for it, whatever else is so (I12).

use fedhub_planes::WriteState;
use proptest::prelude::*;

use crate::plan::observed::{Plan, plan};
use crate::plan::states;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn i12_for_a_paused_plane_every_plan_holds(mut seen in states::observed()) {
        seen.writes = WriteState::Paused;
        let plan = plan(&seen);
        prop_assert_eq!(&plan, &Plan { then: plan.then.clone(), ..Plan::default() });
        prop_assert!(plan != Plan::default(), "it waits, and is not taken for in sync");
    }
}
