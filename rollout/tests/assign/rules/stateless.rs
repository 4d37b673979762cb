//! R10, R3: without a kept status all follows from the world.

use std::time::Duration;

use fedhub_rollout::{Carries, Health, Revision, Verdict};

use crate::assign::scene::{Scene, stuck};

#[test]
fn r3_without_a_status_one_after_the_other() {
    let mut scene = Scene::stateless("a b c");
    assert_eq!(scene.template().step(), "a=4 b=3 c=3");
    assert_eq!(scene.step(), "a=4 b=3 c=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3");
    assert_eq!(scene.settle(), Verdict::Complete);
    assert_eq!(scene.carried(), "a=4 b=4 c=4");
}

#[test]
fn r10_without_a_status_time_changes_nothing() {
    let mut scene = Scene::stateless("a b c");
    scene.template().pass();
    let first = scene.decide();
    for _ in 0..5 {
        scene.wait(Duration::from_hours(1));
        let later = scene.decide();
        assert_eq!((later.assignments, later.verdict), (first.assignments.clone(), first.verdict.clone()));
    }
}

#[test]
fn r6_without_a_status_a_stuck_city_stops_the_others() {
    let mut scene = Scene::stateless("a b c");
    scene.template().pass();
    scene.set("a", stuck());
    for _ in 0..3 {
        assert!(matches!(scene.pass().verdict, Verdict::Stalled { .. }));
        assert_eq!(scene.carried(), "a=4 b=3 c=3");
    }
    // A newer template is the way out.
    assert_eq!(scene.template().step(), "a=5 b=3 c=3");
}

#[test]
fn r5_without_a_status_an_unreachable_city_is_caught_up() {
    let mut scene = Scene::stateless("a b c");
    scene.template().set("a", Health::Unreachable);
    scene.settle();
    assert_eq!(scene.carried(), "a=3 b=4 c=4");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=4 c=4");
}

#[test]
fn r1_without_a_status_new_cities_come_at_what_the_waiting_ones_carry() {
    let mut scene = Scene::stateless("a b");
    scene.template().pass();
    assert_eq!(scene.add("c").step(), "a=4 b=3 c=3");
    scene.settle();
    assert_eq!(scene.add("d").step(), "a=4 b=4 c=4 d=4");
}

#[test]
fn r1_without_a_status_the_first_pass_after_an_upgrade_goes_in_order() {
    let mut scene = Scene::stateless("a b");
    scene.carry("a", Carries::Known(Revision(3))).carry("b", Carries::Unknown);
    assert_eq!(scene.step(), "a=3 b=3");
}
