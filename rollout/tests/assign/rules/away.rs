//! R5: a city whose cell cannot be reached is left alone, counts nowhere and is caught up.

use fedhub_rollout::{Assignment, Carries, Health, Revision, Unreachable, Verdict};

use crate::assign::scene::{Scene, stuck, wave};

#[test]
fn r5_an_unreachable_city_is_passed_over_and_caught_up() {
    let mut scene = Scene::new(&[wave("first", "a b"), wave("second", "c")]);
    scene.template().set("a", Health::Unreachable);
    assert_eq!(scene.step(), "a=3 b=4 c=3");
    assert_eq!(scene.heal().step(), "a=3 b=4 c=4");
    assert_eq!(scene.heal().pass().verdict, Verdict::Complete);
    assert_eq!(scene.states(), "a=Skipped b=Complete c=Complete");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=4 c=4");
    assert_eq!(scene.state("a"), fedhub_rollout::CityState::Updating);
    assert_eq!(scene.heal().pass().verdict, Verdict::Complete);
}

#[test]
fn r5_who_is_back_waits_for_a_slot_of_its_wave() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().set("a", Health::Unreachable);
    assert_eq!(scene.step(), "a=3 b=4");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=3 b=4");
    assert_eq!(scene.set("b", Health::Healthy).step(), "a=4 b=4");
}

#[test]
fn r5_an_unreachable_city_is_not_touched() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().set("a", Health::Unreachable);
    let cases = [Carries::Known(Revision(3)), Carries::Known(Revision(4)), Carries::Unknown];
    for carries in cases {
        assert_eq!(scene.carry("a", carries).decide().assignments[0], Assignment::Keep, "{carries:?}");
    }
}

#[test]
fn r5_a_city_in_flight_that_cannot_be_reached_keeps_its_slot_until_it_answers() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    assert_eq!(scene.set("a", Health::Unreachable).step(), "a=4 b=3");
    assert_eq!(scene.states(), "a=Updating b=Waiting");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=4");
}

#[test]
fn r5_an_assignment_that_did_not_arrive_is_none() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template();
    let decision = scene.decide();
    scene.keep(&decision);
    assert_eq!(scene.set("a", Health::Unreachable).step(), "a=3 b=4");
    assert_eq!(scene.status.cities[0].revision, Some(Revision(3)));
}

#[test]
fn r5_hold_waits() {
    let mut scene = Scene::new(&[wave("first", "a b c"), wave("second", "d")]);
    scene.policy.unreachable = Unreachable::Hold;
    scene.template().set("b", Health::Unreachable);
    assert_eq!(scene.step(), "a=4 b=3 c=3 d=3");
    assert_eq!(scene.heal().step(), "a=4 b=3 c=3 d=3");
    assert_eq!(scene.set("b", Health::Healthy).step(), "a=4 b=4 c=3 d=3");
    scene.set("b", Health::Unreachable);
    assert_eq!(scene.pass().verdict, Verdict::Progressing);
    assert_eq!(scene.carried(), "a=4 b=4 c=3 d=3");
    scene.set("b", Health::Healthy);
    assert_eq!(scene.settle(), Verdict::Complete);
}

#[test]
fn r5_a_failure_is_not_forgotten_when_its_cell_goes_away() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.set("a", stuck()).pass();
    scene.set("a", Health::Unreachable).pass();
    assert_eq!(scene.carried(), "a=4 b=3");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=4");
}
