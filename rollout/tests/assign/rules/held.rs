//! R1: only changes of a template are held.

use fedhub_rollout::{Approval, Assignment, Carries, Revision, Strategy, Verdict};

use crate::assign::scene::{Scene, wave};

#[test]
fn r1_a_template_reaches_one_city_after_the_other() {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    assert_eq!(scene.template().step(), "a=4 b=3 c=3");
    assert_eq!(scene.step(), "a=4 b=3 c=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=3");
    assert_eq!(scene.heal().step(), "a=4 b=4 c=4");
    assert_eq!(scene.pass().verdict, Verdict::Progressing);
    assert_eq!(scene.heal().pass().verdict, Verdict::Complete);
}

#[test]
fn r1_a_creation_is_not_held() {
    let mut gated = wave("all", "a b c");
    gated.approval = Approval::Before;
    let mut scene = Scene::new(&[gated]);
    scene.status = fedhub_rollout::Status::default();
    for name in ["a", "b", "c"] {
        scene.carry(name, Carries::Nothing);
    }
    assert_eq!(scene.step(), "a=3 b=3 c=3");
    scene.heal().add("d");
    assert_eq!(scene.step(), "a=3 b=3 c=3 d=3");
}

#[test]
fn r1_a_creation_is_not_held_by_a_pause() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.paused = true;
    assert_eq!(scene.add("c").step(), "a=3 b=3 c=3");
}

#[test]
fn r1_the_only_deployment_goes_on_at_once() {
    let mut scene = Scene::stateless("a");
    assert_eq!(scene.template().step(), "a=4");
    assert_eq!(scene.template().step(), "a=5");
}

#[test]
fn r1_all_at_once_holds_nothing() {
    let mut scene = Scene::new(&[wave("one", "a"), wave("two", "b c")]);
    scene.policy.strategy = Strategy::AllAtOnce;
    scene.set("c", fedhub_rollout::Health::Unreachable).template();
    let decision = scene.pass();
    assert_eq!(decision.assignments, [Assignment::Carry(Revision(4)); 3]);
    assert_eq!(decision.verdict, Verdict::Progressing);
    assert_eq!(scene.heal().pass().verdict, Verdict::Complete);
    assert_eq!(scene.states(), "a=Complete b=Complete c=Skipped");
}

#[test]
fn r1_unmarked_deployments_stand_until_their_turn() {
    let mut scene = Scene::stateless("a b");
    scene.carry("a", Carries::Unknown).carry("b", Carries::Unknown);
    let decision = scene.pass();
    assert_eq!(decision.assignments, [Assignment::Carry(Revision(3)), Assignment::Keep]);
    assert_eq!(scene.heal().step(), "a=3 b=3");
}
