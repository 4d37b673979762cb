//! R8: the plan is frozen when a rollout starts.

use fedhub_rollout::{Carries, Health, OnFailure, Revision, Strategy, Verdict};

use crate::assign::scene::{Scene, stuck, wave};

fn names(scene: &Scene) -> Vec<String> {
    scene.status.plan.iter().map(|wave| format!("{}: {}", wave.name, wave.deployments.join(" "))).collect()
}

#[test]
fn r8_other_waves_are_those_of_the_next_rollout() {
    let mut scene = Scene::new(&[wave("first", "a"), wave("second", "b c")]);
    scene.template().pass();
    scene.policy.waves = vec![wave("only", "c b a")];
    scene.policy.waves[0].max_concurrent = 3;
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3");
    assert_eq!(names(&scene), ["first: a", "second: b c"]);
    scene.settle();
    assert_eq!(scene.template().step(), "a=5 b=5 c=5");
    assert_eq!(names(&scene), ["only: c b a"]);
}

#[test]
fn r8_a_newer_template_starts_from_where_each_city_is() {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    scene.template().pass();
    scene.heal().pass();
    scene.set("b", Health::Healthy);
    assert_eq!(scene.carried(), "a=4 b=4 c=3");
    assert_eq!(scene.template().step(), "a=5 b=4 c=3");
    let good: Vec<_> = scene.status.cities.iter().map(|entry| entry.last_good.unwrap().0).collect();
    // It was complete on 4 in `a`, and never seen so in `b`.
    assert_eq!(good, [4, 3, 3]);
    assert_eq!(scene.set("a", stuck()).step(), "a=5 b=4 c=3");
    scene.policy.on_failure = OnFailure::RollBack;
    assert_eq!(scene.step(), "a=4 b=4 c=3");
}

#[test]
fn r8_who_comes_joins_the_last_wave() {
    let mut scene = Scene::new(&[wave("first", "a"), wave("second", "b")]);
    scene.template().pass();
    scene.add("c");
    assert_eq!(scene.step(), "a=4 b=3 c=3");
    assert_eq!(names(&scene), ["first: a", "second: b c"]);
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3");
    assert_eq!(scene.settle(), Verdict::Complete);
    assert_eq!(scene.carried(), "a=4 b=4 c=4");
}

#[test]
fn r8_who_goes_leaves_the_plan() {
    let mut scene = Scene::new(&[wave("first", "a"), wave("second", "b c")]);
    scene.template().pass();
    assert_eq!(scene.remove("a").step(), "b=4 c=3");
    assert_eq!(names(&scene), ["first: ", "second: b c"]);
    assert_eq!(scene.states(), "b=Updating c=Waiting");
}

#[test]
fn r8_a_city_in_no_wave_or_in_two_is_in_one() {
    let mut scene = Scene::new(&[wave("first", "a b"), wave("second", "c")]);
    scene.policy.waves = vec![wave("first", "a b x"), wave("second", "a")];
    scene.template().pass();
    assert_eq!(names(&scene), ["first: a b", "second: c"]);
    scene.policy.waves.clear();
    scene.template().pass();
    assert_eq!(names(&scene), ["all: a b c"]);
    assert_eq!(scene.carried(), "a=5 b=3 c=3");
}

#[test]
fn r8_a_city_that_moves_keeps_its_revision() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.city("b").city = "NEW".into();
    scene.carry("b", Carries::Nothing);
    assert_eq!(scene.step(), "a=4 b=3");
    assert_eq!((&*scene.status.cities[1].city, scene.status.cities[1].revision), ("NEW", Some(Revision(3))));
}

#[test]
fn r8_another_strategy_makes_a_new_plan_from_where_each_city_is() {
    let mut scene = Scene::new(&[wave("first", "a"), wave("second", "b c d")]);
    scene.policy.strategy = Strategy::AllAtOnce;
    scene.policy.paused = true;
    assert_eq!(scene.template().step(), "a=3 b=3 c=3 d=3");
    assert_eq!(names(&scene), ["all: a b c d"]);
    scene.policy.strategy = Strategy::InOrder;
    scene.policy.paused = false;
    assert_eq!(scene.step(), "a=4 b=3 c=3 d=3");
    assert_eq!(names(&scene), ["first: a", "second: b c d"]);
    // It is frozen from here on, and back and forth again.
    scene.policy.waves = vec![wave("only", "a b c d")];
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3 d=3");
    assert_eq!(names(&scene), ["first: a", "second: b c d"]);
    scene.policy.strategy = Strategy::AllAtOnce;
    assert_eq!(scene.step(), "a=4 b=4 c=4 d=4");
    scene.policy.strategy = Strategy::InOrder;
    scene.pass();
    assert_eq!(scene.states(), "a=Complete b=Updating c=Updating d=Updating");
    assert_eq!(names(&scene), ["only: a b c d"]);
    // The failures that may be are those of the new plan, and the way back is that of before.
    scene.policy.on_failure = OnFailure::RollBack;
    scene.set("c", stuck()).pass();
    assert_eq!(scene.settle(), scene.decide().verdict);
    assert_eq!(scene.carried(), "a=3 b=3 c=3 d=3");
}

#[test]
fn r8_a_plan_of_an_external_controller_is_not_followed() {
    let mut scene = Scene::new(&[wave("first", "a"), wave("second", "b c")]);
    scene.policy.strategy = Strategy::External;
    scene.template().pass();
    scene.policy.waves = vec![wave("only", "c b a")];
    scene.policy.strategy = Strategy::InOrder;
    assert_eq!(scene.step(), "a=3 b=3 c=4");
    assert_eq!(names(&scene), ["only: c b a"]);
}
