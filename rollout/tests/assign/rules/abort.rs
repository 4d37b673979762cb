//! R7: an abort ends in one revision.

use fedhub_rollout::{Carries, Direction, Health, OnFailure, Revision, Status, Verdict};

use crate::assign::scene::{Scene, stuck, wave};

fn midway() -> Scene {
    let mut scene = Scene::new(&[wave("first", "a b"), wave("second", "c")]);
    scene.template().pass();
    scene.heal().pass();
    assert_eq!(scene.carried(), "a=4 b=4 c=3");
    scene
}

#[test]
fn r7_an_abort_leaves_the_target_at_once() {
    let mut scene = midway();
    scene.policy.abort = true;
    assert_eq!(scene.step(), "a=3 b=3 c=3");
    assert_eq!((scene.status.target, scene.status.direction), (Some(Revision(3)), Direction::Abort));
    assert_eq!(scene.pass().verdict, Verdict::Progressing);
    assert_eq!(scene.heal().pass().verdict, Verdict::Complete);
}

#[test]
fn r7_from_any_state() {
    let states: [fn(&mut Scene); 5] = [
        |scene| scene.policy.paused = true,
        |scene| drop(scene.set("b", stuck()).step()),
        |scene| {
            scene.policy.on_failure = OnFailure::RollBack;
            scene.set("b", stuck()).pass();
        },
        |scene| drop(scene.template().step()),
        |scene| scene.status = Status::default(),
    ];
    for (at, state) in states.into_iter().enumerate() {
        let mut scene = midway();
        state(&mut scene);
        scene.policy.abort = true;
        assert_eq!(scene.step(), "a=3 b=3 c=3", "{at}");
    }
}

#[test]
fn r7_the_last_good_revision_of_most() {
    for (good, expected) in [([2, 3, 3], 3), ([2, 2, 3], 2), ([1, 2, 3], 3)] {
        let mut scene = midway();
        for (entry, good) in scene.status.cities.iter_mut().zip(good) {
            entry.last_good = Some(Revision(good));
        }
        scene.policy.abort = true;
        scene.pass();
        assert_eq!(scene.status.target, Some(Revision(expected)), "{good:?}");
    }
}

#[test]
fn r7_without_a_good_revision_the_one_that_most_carry() {
    let mut scene = midway();
    scene.status = Status::default();
    scene.policy.abort = true;
    for name in ["a", "b", "c"] {
        scene.set(name, Health::Progressing);
    }
    assert_eq!(scene.step(), "a=4 b=4 c=4");
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.status = Status::default();
    scene.policy.abort = true;
    scene.carry("a", Carries::Unknown).carry("b", Carries::Unknown);
    assert_eq!(scene.step(), "a=3 b=3");
}

#[test]
fn r7_an_ended_rollout_has_nothing_to_abort() {
    let mut scene = midway();
    scene.settle();
    scene.policy.abort = true;
    assert_eq!(scene.pass().verdict, Verdict::Complete);
    assert_eq!(scene.carried(), "a=4 b=4 c=4");
}

#[test]
fn r7_who_cannot_be_reached_follows_later() {
    let mut scene = midway();
    scene.policy.abort = true;
    assert_eq!(scene.set("a", Health::Unreachable).step(), "a=4 b=3 c=3");
    assert_eq!(scene.heal().pass().verdict, Verdict::Complete);
    assert_eq!(scene.set("a", Health::Progressing).step(), "a=3 b=3 c=3");
}

#[test]
fn r7_an_abort_stands_until_it_is_taken_back() {
    let mut scene = midway();
    scene.policy.abort = true;
    scene.settle();
    assert_eq!(scene.template().step(), "a=3 b=3 c=3");
    scene.carry("b", Carries::Nothing).add("d");
    assert_eq!(scene.step(), "a=3 b=3 c=3 d=3");
    scene.settle();
    scene.policy.abort = false;
    assert_eq!(scene.step(), "a=5 b=3 c=3 d=3");
    assert_eq!(scene.settle(), Verdict::Complete);
}

#[test]
fn r7_a_target_that_was_rolled_back_is_tried_again_after_an_abort() {
    let mut scene = midway();
    scene.policy.on_failure = OnFailure::RollBack;
    scene.set("b", stuck()).settle();
    scene.policy.abort = true;
    assert_eq!(scene.settle(), Verdict::Complete);
    scene.policy.abort = false;
    assert_eq!(scene.step(), "a=4 b=3 c=3");
}
