//! R2: what was deleted or edited by hand comes back at the revision that its city is allowed.

use fedhub_rollout::{Assignment, Carries, OnFailure, Revision, Verdict};

use crate::assign::scene::{Scene, stuck, wave};

/// A rollout to 4 that has reached `a`.
fn midway() -> Scene {
    let mut scene = Scene::new(&[wave("all", "a b c")]);
    scene.template().pass();
    scene
}

#[test]
fn r2_a_deleted_deployment_comes_back_at_its_revision() {
    let mut scene = midway();
    scene.carry("a", Carries::Nothing).carry("b", Carries::Nothing);
    assert_eq!(scene.step(), "a=4 b=3 c=3");
}

#[test]
fn r2_an_edited_deployment_is_put_back() {
    let mut scene = midway();
    scene.carry("a", Carries::Edited(Revision(4))).carry("b", Carries::Edited(Revision(3)));
    assert_eq!(scene.step(), "a=4 b=3 c=3");
}

#[test]
fn r2_another_revision_or_a_removed_mark_is_put_back() {
    let mut scene = midway();
    scene.carry("b", Carries::Known(Revision(2))).carry("c", Carries::Unknown);
    assert_eq!(scene.step(), "a=4 b=3 c=3");
}

#[test]
fn r2_also_while_paused() {
    let mut scene = midway();
    scene.policy.paused = true;
    scene.carry("a", Carries::Nothing).carry("b", Carries::Nothing).carry("c", Carries::Edited(Revision(3)));
    assert_eq!(scene.pass().verdict, Verdict::Paused);
    assert_eq!(scene.carried(), "a=4 b=3 c=3");
}

#[test]
fn r2_also_after_a_failure() {
    let mut scene = midway();
    scene.set("a", stuck()).pass();
    scene.carry("b", Carries::Nothing).carry("c", Carries::Edited(Revision(3)));
    assert!(matches!(scene.pass().verdict, Verdict::Stalled { .. }));
    assert_eq!(scene.carried(), "a=4 b=3 c=3");
}

#[test]
fn r2_also_after_a_roll_back() {
    let mut scene = midway();
    scene.policy.on_failure = OnFailure::RollBack;
    scene.set("a", stuck()).settle();
    scene.carry("a", Carries::Nothing).carry("b", Carries::Nothing);
    assert_eq!(scene.step(), "a=3 b=3 c=3");
}

#[test]
fn r2_an_unreachable_city_is_put_back_after_an_edit() {
    let mut scene = midway();
    scene.set("b", fedhub_rollout::Health::Unreachable).carry("b", Carries::Edited(Revision(3)));
    assert_eq!(scene.pass().assignments[1], Assignment::Carry(Revision(3)));
}

#[test]
fn r2_without_a_status_by_what_the_others_carry() {
    let mut scene = Scene::stateless("a b c");
    scene.template().pass();
    scene.carry("c", Carries::Nothing);
    assert_eq!(scene.step(), "a=4 b=3 c=3");
    scene.carry("b", Carries::Edited(Revision(3)));
    assert_eq!(scene.step(), "a=4 b=3 c=3");
}
