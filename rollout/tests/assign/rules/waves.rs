//! R3: how many cities are in flight, and which wave may begin.

use std::time::Duration;

use fedhub_rollout::{Approval, Gate, Health, Verdict};

use crate::assign::scene::{Scene, wave};

#[test]
fn r3_as_many_as_the_wave_allows() {
    for (max_concurrent, expected) in [(0, "a=4 b=3 c=3 d=3"), (2, "a=4 b=4 c=3 d=3"), (9, "a=4 b=4 c=4 d=4")]
    {
        let mut all = wave("all", "a b c d");
        all.max_concurrent = max_concurrent;
        assert_eq!(Scene::new(&[all]).template().step(), expected, "{max_concurrent}");
    }
}

#[test]
fn r3_no_wave_overtakes() {
    let mut first = wave("first", "a b");
    first.max_concurrent = 2;
    let mut scene = Scene::new(&[first, wave("second", "c"), wave("third", "d")]);
    assert_eq!(scene.template().step(), "a=4 b=4 c=3 d=3");
    assert_eq!(scene.set("a", Health::Healthy).step(), "a=4 b=4 c=3 d=3");
    assert_eq!(scene.set("b", Health::Healthy).step(), "a=4 b=4 c=4 d=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=4 d=4");
}

#[test]
fn r3_a_wave_waits_for_the_soak_time_of_the_one_before() {
    let mut canary = wave("canary", "a");
    canary.soak = Duration::from_mins(5);
    let mut scene = Scene::new(&[canary, wave("rest", "b")]);
    scene.template().pass();
    let decision = scene.heal().pass();
    assert_eq!(
        (decision.next, scene.states().as_str()),
        (Some(Duration::from_mins(5)), "a=Soaking b=Waiting")
    );
    assert_eq!(scene.wait(Duration::from_secs(299)).step(), "a=4 b=3");
    assert_eq!(scene.wait(Duration::from_secs(1)).step(), "a=4 b=4");
}

fn awaiting(wave: &str, gate: Gate) -> Verdict {
    Verdict::AwaitingApproval { wave: wave.into(), gate }
}

#[test]
fn r3_a_wave_waits_for_approval_before_it() {
    let mut rest = wave("rest", "b");
    rest.approval = Approval::Before;
    let mut scene = Scene::new(&[wave("canary", "a"), rest]);
    assert_eq!(scene.template().pass().verdict, Verdict::Progressing);
    assert_eq!(scene.heal().pass().verdict, awaiting("rest", Gate::Before));
    assert_eq!(scene.approve("rest", Gate::After).step(), "a=4 b=3");
    assert_eq!(scene.approve("rest", Gate::Before).step(), "a=4 b=4");
}

#[test]
fn r3_a_wave_waits_for_approval_after_the_one_before() {
    let mut canary = wave("canary", "a");
    canary.approval = Approval::After;
    let mut scene = Scene::new(&[canary, wave("rest", "b")]);
    scene.template().pass();
    assert_eq!(scene.heal().pass().verdict, awaiting("canary", Gate::After));
    assert_eq!(scene.approve("canary", Gate::After).step(), "a=4 b=4");
}

#[test]
fn r3_approvals_of_one_target_are_none_of_the_next() {
    let mut all = wave("all", "a b");
    all.approval = Approval::Before;
    let mut scene = Scene::new(&[all]);
    scene.template().pass();
    scene.approve("all", Gate::Before);
    assert_eq!(scene.settle(), Verdict::Complete);
    assert_eq!(scene.template().pass().verdict, awaiting("all", Gate::Before));
}

#[test]
fn r3_a_city_that_turned_unhealthy_takes_a_slot() {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    scene.template().pass();
    scene.heal().pass();
    scene.set("a", Health::Progressing).set("b", Health::Healthy);
    assert_eq!(scene.step(), "a=4 b=4 c=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=4");
}

#[test]
fn r3_a_pause_starts_nothing() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.policy.paused = true;
    assert_eq!(scene.heal().pass().verdict, Verdict::Paused);
    assert_eq!(scene.carried(), "a=4 b=3");
    scene.policy.paused = false;
    assert_eq!(scene.step(), "a=4 b=4");
}

#[test]
fn r3_a_wave_asks_for_its_approval_whatever_has_become_of_its_cities() {
    for (approval, gate) in [(Approval::Before, Gate::Before), (Approval::After, Gate::After)] {
        for is_gone in [true, false] {
            let mut canary = wave("canary", "a");
            canary.approval = approval;
            let mut scene = Scene::new(&[canary, wave("rest", "b")]);
            if is_gone {
                scene.remove("a");
            } else {
                scene.set("a", Health::Unreachable);
            }
            let decision = scene.template().pass();
            assert_eq!(decision.verdict, awaiting("canary", gate), "{approval:?} {is_gone}");
            assert!(scene.carried().ends_with("b=3"), "{approval:?} {is_gone}");
            scene.approve("canary", gate).pass();
            assert!(scene.carried().ends_with("b=4"), "{approval:?} {is_gone}");
        }
    }
}

#[test]
fn r3_a_city_that_is_back_waits_for_the_approval_before_its_wave() {
    let mut rest = wave("rest", "b");
    rest.approval = Approval::Before;
    let mut scene = Scene::new(&[wave("canary", "a"), rest, wave("last", "c")]);
    scene.set("b", Health::Unreachable).template().pass();
    assert_eq!(scene.set("a", Health::Healthy).pass().verdict, awaiting("rest", Gate::Before));
    assert_eq!(scene.set("b", Health::Healthy).step(), "a=4 b=3 c=3");
    assert_eq!(scene.approve("rest", Gate::Before).step(), "a=4 b=4 c=3");
}

#[test]
fn r3_a_city_that_a_replaced_rollout_left_unhealthy_goes_first() {
    for mut scene in [Scene::new(&[wave("all", "a b c")]), Scene::stateless("a b c")] {
        scene.template().pass();
        scene.heal().pass();
        assert_eq!(scene.carried(), "a=4 b=4 c=3");
        // With `a` in flight beside it, two cities would be down.
        assert_eq!(scene.template().step(), "a=4 b=5 c=3");
        assert_eq!(scene.step(), "a=4 b=5 c=3");
        assert_eq!(scene.heal().step(), "a=5 b=5 c=3");
    }
}

#[test]
fn r3_a_city_that_was_unhealthy_before_any_rollout_keeps_its_turn() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.set("b", Health::Progressing).template();
    assert_eq!(scene.step(), "a=4 b=3");
}
