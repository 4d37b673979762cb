//! R9: another controller assigns.

use fedhub_rollout::{Assignment, Carries, Health, Revision, Strategy, Verdict};

use crate::assign::scene::{Scene, stuck, wave};

#[test]
fn r9_what_is_carried_stands_and_is_shown() {
    let mut scene = Scene::new(&[wave("all", "a b c d")]);
    scene.policy.strategy = Strategy::External;
    scene.policy.abort = true;
    scene.template().carry("b", Carries::Known(Revision(4))).carry("c", Carries::Known(Revision(4)));
    scene.set("c", stuck()).set("d", Health::Unreachable);
    let decision = scene.pass();
    assert_eq!(decision.assignments, [Assignment::Keep; 4]);
    assert_eq!((decision.verdict, decision.next), (Verdict::Progressing, None));
    assert_eq!(scene.states(), "a=Waiting b=Complete c=Failed d=Skipped");
    assert_eq!(scene.status.cities[0].revision, Some(Revision(3)));
}

#[test]
fn r9_what_is_missing_or_edited_is_put_back() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.strategy = Strategy::External;
    scene.template().carry("a", Carries::Nothing).carry("b", Carries::Edited(Revision(2))).add("c");
    assert_eq!(scene.step(), "a=3 b=2 c=4");
    assert_eq!(scene.settle(), Verdict::Progressing);
    assert_eq!(scene.carried(), "a=3 b=2 c=4");
}

#[test]
fn r9_a_rollout_goes_on_from_what_another_controller_left() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.policy.strategy = Strategy::External;
    scene.template().carry("b", Carries::Known(Revision(4))).pass();
    scene.policy.strategy = Strategy::InOrder;
    assert_eq!(scene.step(), "a=4 b=4");
    assert_eq!(scene.settle(), Verdict::Complete);
}
