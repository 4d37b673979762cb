//! What users of other tools complain of in public, as what must not happen here. The table in the
//! documents names them.

use std::time::Duration;

use fedhub_rollout::{
    Approval, Carries, DEADLINE_EXCEEDED, Direction, Gate, Health, OnFailure, Revision, Verdict,
};

use crate::assign::scene::{DEADLINE, Scene, stalled, stuck, wave};

const DAY: Duration = Duration::from_hours(24);

fn soaked(name: &str, deployments: &str) -> fedhub_rollout::Wave {
    fedhub_rollout::Wave { soak: Duration::from_mins(5), ..wave(name, deployments) }
}

#[test]
fn an_update_during_which_a_city_stays_healthy_soaks_all_the_same() {
    let mut scene = Scene::new(&[soaked("all", "a b")]);
    scene.template().pass();
    // No condition ever changed: it was healthy for a day, and is.
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=3");
    assert_eq!(scene.states(), "a=Soaking b=Waiting");
}

#[test]
fn soak_and_failures_count_together() {
    let mut all = soaked("all", "a b c");
    all.max_failures = 1;
    let mut scene = Scene::new(&[all]);
    scene.template().pass();
    scene.set("a", stuck()).pass();
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3");
    assert_eq!(scene.wait(Duration::from_mins(5)).step(), "a=4 b=4 c=4");
}

#[test]
fn what_is_only_written_is_not_complete() {
    let mut scene = Scene::new(&[wave("all", "a")]);
    assert_eq!(scene.template().pass().verdict, Verdict::Progressing);
    assert_eq!(scene.pass().verdict, Verdict::Progressing);
    scene.add("b");
    assert_eq!(scene.heal().pass().verdict, Verdict::Progressing);
}

#[test]
fn a_limit_of_0_or_of_too_many_is_one_or_all() {
    for (max_concurrent, expected) in [(0, "a=4 b=3 c=3"), (usize::MAX, "a=4 b=4 c=4")] {
        let mut all = wave("all", "a b c");
        all.max_concurrent = max_concurrent;
        all.max_failures = max_concurrent;
        assert_eq!(Scene::new(&[all]).template().step(), expected);
    }
}

#[test]
fn an_unreachable_city_keeps_what_it_carries_however_long_it_is_away() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.set("a", Health::Unreachable).template();
    for _ in 0..10 {
        scene.wait(DAY).pass();
        scene.heal();
    }
    assert_eq!(scene.carried(), "a=3 b=4");
}

#[test]
fn more_unreachable_cities_than_slots_hold_nobody() {
    let mut scene = Scene::new(&[wave("all", "a b c d")]);
    for name in ["a", "b", "c"] {
        scene.set(name, Health::Unreachable);
    }
    assert_eq!(scene.template().step(), "a=3 b=3 c=3 d=4");
    assert_eq!(scene.settle(), Verdict::Complete);
}

#[test]
fn a_deleted_deployment_comes_back_without_a_slot_and_after_failures() {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    scene.template().pass();
    assert_eq!(scene.carry("b", Carries::Nothing).step(), "a=4 b=3 c=3");
    scene.set("a", stuck()).pass();
    assert_eq!(scene.carry("c", Carries::Nothing).step(), "a=4 b=3 c=3");
}

#[test]
fn a_deleted_deployment_comes_back_as_it_was_while_paused() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.paused = true;
    scene.template().carry("a", Carries::Nothing).carry("b", Carries::Nothing);
    assert_eq!(scene.step(), "a=3 b=3");
}

#[test]
fn a_stall_names_the_city_that_failed_first_and_its_cause() {
    let mut all = wave("all", "a b");
    all.max_concurrent = 2;
    let mut scene = Scene::new(&[all]);
    scene.template().pass();
    scene.set("b", stuck()).pass();
    scene.wait(DEADLINE);
    assert_eq!(stalled(&scene.pass().verdict), ("b", "ImageUnavailable"));
    assert_eq!(scene.states(), "a=Failed b=Failed");
}

#[test]
fn cities_that_come_and_go_do_not_end_a_rollout() {
    let mut scene = Scene::new(&[wave("first", "a b"), wave("second", "c d")]);
    scene.template().pass();
    scene.remove("a").remove("d").add("e");
    assert_eq!(scene.step(), "b=4 c=3 e=3");
    assert_eq!(scene.settle(), Verdict::Complete);
    assert_eq!(scene.carried(), "b=4 c=4 e=4");
}

#[test]
fn a_city_that_goes_leaves_nothing_behind() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.set("a", stuck()).pass();
    assert_eq!(scene.remove("a").pass().verdict, Verdict::Progressing);
    assert_eq!((scene.carried().as_str(), scene.states().as_str()), ("b=4", "b=Updating"));
}

#[test]
fn a_newer_template_replaces_a_rollout_that_is_under_way() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    for newest in 4..10 {
        assert_eq!(scene.template().step(), format!("a={newest} b=3"));
    }
    assert_eq!(scene.settle(), Verdict::Complete);
}

#[test]
fn the_deadline_passes_without_any_event() {
    let mut scene = Scene::new(&[wave("all", "a")]);
    let next = scene.template().pass().next.unwrap();
    assert_eq!(stalled(&scene.wait(next).pass().verdict), ("a", DEADLINE_EXCEEDED));
}

#[test]
fn no_deadline_passes_without_a_rollout() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.set("a", Health::Progressing).pass();
    let decision = scene.wait(DAY).pass();
    assert_eq!((decision.verdict, decision.next), (Verdict::Complete, None));
    assert_eq!(decision.status.direction, Direction::Forward);
}

#[test]
fn the_next_rollout_goes_on_after_a_failed_one() {
    for on_failure in [OnFailure::Pause, OnFailure::RollBack] {
        let mut scene = Scene::new(&[wave("all", "a b")]);
        scene.policy.on_failure = on_failure;
        scene.template().pass();
        scene.set("a", stuck()).settle();
        assert_eq!(scene.template().step(), "a=5 b=3");
        assert_eq!(scene.settle(), Verdict::Complete);
    }
}

#[test]
fn pauses_and_approvals_count_into_no_deadline() {
    let mut rest = wave("rest", "b c");
    rest.approval = Approval::Before;
    let mut scene = Scene::new(&[wave("canary", "a"), rest]);
    scene.template().pass();
    scene.heal().pass();
    assert_eq!(scene.wait(DAY).pass().next, None);
    assert_eq!(scene.approve("rest", Gate::Before).step(), "a=4 b=4 c=3");
    scene.policy.paused = true;
    scene.heal().pass();
    scene.wait(DAY).pass();
    scene.policy.paused = false;
    let decision = scene.pass();
    assert_eq!((decision.verdict, decision.next), (Verdict::Progressing, Some(DEADLINE)));
}

#[test]
fn a_roll_back_passes_over_revisions_that_were_never_complete() {
    let mut scene = Scene::new(&[soaked("all", "a b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.template().pass();
    // It is healthy on 4 for less than the soak time, and then 5 comes.
    scene.heal().pass();
    scene.template().pass();
    scene.set("a", stuck()).settle();
    assert_eq!(scene.carried(), "a=3 b=3");
}

#[test]
fn a_roll_back_takes_along_what_was_complete() {
    let mut scene = Scene::new(&[wave("canary", "a"), wave("rest", "b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.template().pass();
    scene.heal().pass();
    scene.set("b", stuck()).settle();
    assert_eq!(scene.carried(), "a=3 b=3");
}

#[test]
fn a_pause_leaves_a_failure_as_it_is() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.set("a", stuck());
    for _ in 0..5 {
        assert_eq!(scene.wait(DAY).step(), "a=4 b=3");
    }
}

#[test]
fn an_abort_needs_no_template() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.policy.abort = true;
    assert_eq!(scene.step(), "a=3 b=3");
}

#[test]
fn a_target_that_failed_is_tried_again_without_a_template() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.template().pass();
    scene.set("a", stuck()).settle();
    scene.policy.abort = true;
    scene.settle();
    scene.policy.abort = false;
    assert_eq!(scene.step(), "a=4 b=3");
    assert_eq!(scene.settle(), Verdict::Complete);
}

#[test]
fn a_healthy_city_holds_nothing_up() {
    let mut scene = Scene::new(&[soaked("first", "a b"), wave("second", "c")]);
    scene.template();
    // Only time passes, and only when it was asked for.
    for _ in 0..9 {
        scene.pass();
        scene.heal();
        if let Some(next) = scene.pass().next {
            scene.wait(next);
        }
    }
    assert_eq!(scene.pass().verdict, Verdict::Complete);
}

#[test]
fn a_city_in_no_wave_is_updated() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.waves = vec![wave("all", "a")];
    scene.template().settle();
    assert_eq!(scene.carried(), "a=4 b=4");
}

#[test]
fn a_city_without_any_report_is_not_healthy() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.carry("a", Carries::Known(Revision(4))).set("a", Health::Progressing).template();
    assert_eq!(scene.step(), "a=4 b=3");
}
