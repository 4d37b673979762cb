//! R10: one more pass over an unchanged world decides the same.

use std::time::Duration;

use fedhub_rollout::{OnFailure, Status, Strategy, Verdict};

use crate::assign::scene::{Scene, stuck, wave};

/// Passes that see what was decided, and nothing written.
fn assert_rests(scene: &Scene) {
    let mut scene = scene.clone();
    let first = scene.decide();
    scene.keep(&first);
    assert_eq!(scene.decide(), first);
}

#[test]
fn r10_a_pass_is_a_fixed_point() {
    let stories: [fn(&mut Scene); 6] = [
        |_| {},
        |scene| {
            scene.template();
        },
        |scene| drop(scene.template().add("e").step()),
        |scene| {
            scene.template().pass();
            scene.policy.on_failure = OnFailure::RollBack;
            scene.set("a", stuck());
        },
        |scene| {
            scene.template().pass();
            scene.policy.abort = true;
        },
        |scene| scene.policy.strategy = Strategy::External,
    ];
    for story in stories {
        let mut soaked = wave("first", "a b");
        soaked.soak = Duration::from_mins(1);
        let mut scene = Scene::new(&[soaked, wave("second", "c d")]);
        story(&mut scene);
        assert_rests(&scene);
        scene.pass();
        assert_rests(&scene);
        scene.settle();
        assert_rests(&scene);
    }
}

#[test]
fn r10_a_restart_in_the_middle_goes_on_from_the_kept_status() {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    scene.template().pass();
    let older = scene.status.clone();
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3");
    // The status of the last pass is lost, what it wrote is not.
    scene.status = older;
    assert_eq!(scene.step(), "a=4 b=4 c=3");
    assert_eq!(scene.states(), "a=Complete b=Updating c=Waiting");
}

#[test]
fn r10_a_status_that_is_lost_moves_nothing() {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    scene.template().pass();
    scene.status = Status::default();
    assert_eq!(scene.step(), "a=4 b=3 c=3");
    assert_eq!(scene.settle(), Verdict::Complete);
}

#[test]
fn r10_the_next_pass_is_at_the_soonest_end() {
    let mut all = wave("all", "a b");
    all.soak = Duration::from_mins(30);
    all.max_concurrent = 2;
    let mut scene = Scene::new(&[all]);
    scene.template().pass();
    scene.wait(Duration::from_mins(4)).set("a", fedhub_rollout::Health::Healthy);
    assert_eq!(scene.pass().next, Some(Duration::from_mins(6)));
    scene.heal().pass();
    assert_eq!(scene.wait(Duration::from_mins(29)).pass().next, Some(Duration::from_mins(1)));
    scene.wait(Duration::from_mins(1));
    assert_eq!(scene.pass().next, None);
}
