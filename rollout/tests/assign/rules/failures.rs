//! R6: what is a failure, and what follows.

use std::time::Duration;

use fedhub_rollout::{
    Carries, CityState, DEADLINE_EXCEEDED, Direction, Health, OnFailure, Revision, Verdict,
};

use crate::assign::scene::{DEADLINE, Scene, stalled, stuck, wave};

#[test]
fn r6_a_stuck_city_stops_the_rollout() {
    let mut scene = Scene::new(&[wave("canary", "a"), wave("rest", "b c")]);
    scene.template().pass();
    assert_eq!(stalled(&scene.set("a", stuck()).pass().verdict), ("a", "ImageUnavailable"));
    scene.wait(Duration::from_hours(1)).pass();
    assert_eq!(scene.carried(), "a=4 b=3 c=3");
    assert_eq!(scene.states(), "a=Failed b=Waiting c=Waiting");
}

#[test]
fn r6_a_slow_city_stops_the_rollout_after_the_deadline() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    let decision = scene.template().pass();
    assert_eq!(decision.next, Some(DEADLINE));
    let decision = scene.wait(Duration::from_secs(599)).pass();
    assert_eq!((decision.verdict, decision.next), (Verdict::Progressing, Some(Duration::from_secs(1))));
    assert_eq!(stalled(&scene.wait(Duration::from_secs(1)).pass().verdict), ("a", DEADLINE_EXCEEDED));
}

#[test]
fn r6_as_many_may_fail_as_the_wave_says() {
    let mut first = wave("first", "a b c");
    first.max_failures = 1;
    let mut scene = Scene::new(&[first, wave("second", "d")]);
    scene.template().pass();
    assert_eq!(scene.set("a", stuck()).step(), "a=4 b=4 c=3 d=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=4 d=3");
    let mut worse = scene.clone();
    assert_eq!(stalled(&worse.set("c", stuck()).pass().verdict).0, "a");
    assert_eq!(worse.carried(), "a=4 b=4 c=4 d=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=4 d=4");
    assert_eq!(stalled(&scene.heal().pass().verdict).0, "a");
}

#[test]
fn r6_a_pause_heals_itself() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.set("a", stuck()).pass();
    // It crashes and starts in turns: that is no health.
    assert!(matches!(scene.set("a", Health::Progressing).pass().verdict, Verdict::Stalled { .. }));
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=4");
}

fn rolling_back() -> Scene {
    let mut scene = Scene::new(&[wave("first", "a b"), wave("second", "c d")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.template();
    for _ in 0..3 {
        scene.pass();
        scene.set("a", Health::Healthy).set("b", Health::Healthy);
    }
    assert_eq!(scene.carried(), "a=4 b=4 c=4 d=3");
    scene.set("c", stuck());
    scene
}

#[test]
fn r6_a_roll_back_goes_by_the_same_waves() {
    let mut scene = rolling_back();
    // What is broken has nothing to lose, and does not wait.
    assert_eq!(scene.step(), "a=3 b=4 c=3 d=3");
    assert_eq!(scene.status.direction, Direction::Back);
    assert_eq!(scene.set("c", Health::Healthy).step(), "a=3 b=4 c=3 d=3");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=3 b=3 c=3 d=3");
    assert_eq!(scene.pass().verdict, Verdict::Progressing);
    assert_eq!(stalled(&scene.heal().pass().verdict), ("c", "ImageUnavailable"));
}

#[test]
fn r6_a_healthy_city_of_a_later_wave_waits_on_the_way_back() {
    let mut scene = Scene::new(&[wave("first", "a"), wave("second", "b c")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.template();
    scene.pass();
    scene.heal().pass();
    scene.heal().pass();
    scene.set("b", Health::Healthy).set("c", stuck());
    assert_eq!(scene.step(), "a=3 b=4 c=3");
    assert_eq!(scene.set("c", Health::Healthy).step(), "a=3 b=4 c=3");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=3 b=3 c=3");
}

#[test]
fn r6_a_target_that_was_rolled_back_is_not_tried_again() {
    let mut scene = rolling_back();
    scene.settle();
    assert_eq!(scene.carried(), "a=3 b=3 c=3 d=3");
    for _ in 0..3 {
        scene.wait(Duration::from_hours(1));
        assert_eq!(scene.step(), "a=3 b=3 c=3 d=3");
    }
    assert_eq!(scene.template().step(), "a=5 b=3 c=3 d=3");
    assert_eq!(scene.settle(), Verdict::Complete);
    assert_eq!(scene.carried(), "a=5 b=5 c=5 d=5");
}

#[test]
fn r6_a_roll_back_stops_where_it_fails_too() {
    let mut scene = rolling_back();
    scene.pass();
    assert_eq!(stalled(&scene.set("a", stuck()).pass().verdict).0, "a");
    assert_eq!(scene.set("c", Health::Healthy).step(), "a=3 b=4 c=3 d=3");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=3 b=3 c=3 d=3");
}

#[test]
fn r6_a_city_without_a_good_revision_stays() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.status = fedhub_rollout::Status::default();
    scene.carry("a", Carries::Unknown).template().pass();
    scene.heal().pass();
    assert_eq!(scene.carried(), "a=4 b=4");
    scene.set("b", stuck()).settle();
    assert_eq!(scene.carried(), "a=4 b=3");
    assert_eq!(scene.state("a"), CityState::Complete);
}

#[test]
fn r6_a_new_city_that_fails_turns_no_ended_rollout_back() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.add("c").pass();
    assert_eq!(stalled(&scene.set("c", stuck()).pass().verdict).0, "c");
    assert_eq!(scene.status.direction, Direction::Forward);
    assert_eq!(scene.step(), "a=3 b=3 c=3");
}

#[test]
fn r6_a_straggler_that_fails_goes_back_alone() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.on_failure = OnFailure::RollBack;
    scene.set("b", Health::Unreachable).template().settle();
    assert_eq!(scene.carried(), "a=4 b=3");
    assert_eq!(scene.set("b", Health::Healthy).step(), "a=4 b=4");
    scene.set("b", stuck()).settle();
    assert_eq!(scene.carried(), "a=4 b=3");
}

#[test]
fn r6_no_roll_back_begins_while_paused() {
    let mut scene = rolling_back();
    scene.policy.paused = true;
    assert_eq!(stalled(&scene.pass().verdict).0, "c");
    assert_eq!(scene.carried(), "a=4 b=4 c=4 d=3");
    scene.policy.paused = false;
    assert_eq!(scene.step(), "a=3 b=4 c=3 d=3");
}

#[test]
fn r6_a_new_city_comes_to_what_was_rolled_back_to() {
    let mut scene = rolling_back();
    scene.settle();
    assert_eq!(scene.add("e").step(), "a=3 b=3 c=3 d=3 e=3");
    assert_eq!(scene.status.cities[4].revision, Some(Revision(3)));
}
