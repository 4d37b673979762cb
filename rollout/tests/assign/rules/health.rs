//! R4: a city is complete that was healthy for all of the soak time.

use std::time::Duration;

use fedhub_rollout::{CityState, Health, Verdict};
use jiff::Timestamp;

use crate::assign::scene::{Scene, stuck, wave};

const SOAK: Duration = Duration::from_mins(5);

fn soaking() -> Scene {
    let mut all = wave("all", "a b");
    all.soak = SOAK;
    let mut scene = Scene::new(&[all]);
    scene.template().pass();
    scene.heal().pass();
    assert_eq!(scene.states(), "a=Soaking b=Waiting");
    scene
}

#[test]
fn r4_no_report_is_no_health() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template().pass();
    scene.wait(Duration::from_mins(9)).pass();
    assert_eq!(scene.states(), "a=Updating b=Waiting");
}

#[test]
fn r4_the_soak_time_begins_again_when_a_city_is_unhealthy_in_between() {
    let mut scene = soaking();
    scene.wait(Duration::from_secs(299)).set("a", Health::Progressing).pass();
    assert_eq!(scene.state("a"), CityState::Updating);
    scene.wait(Duration::from_secs(1)).heal().pass();
    scene.wait(Duration::from_secs(299)).pass();
    assert_eq!(scene.states(), "a=Soaking b=Waiting");
    scene.wait(Duration::from_secs(1)).pass();
    assert_eq!(scene.states(), "a=Complete b=Updating");
}

#[test]
fn r4_health_on_another_revision_is_none() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    scene.template();
    // The status is kept, the write of the deployment failed.
    let decision = scene.decide();
    scene.keep(&decision);
    scene.pass();
    assert_eq!(scene.states(), "a=Updating b=Waiting");
}

#[test]
fn r4_an_ended_rollout_looks_at_nobodys_health() {
    let mut scene = Scene::new(&[wave("all", "a b")]);
    for health in [Health::Progressing, stuck(), Health::Unreachable] {
        scene.set("a", health).wait(Duration::from_hours(1));
        assert_eq!(scene.pass().verdict, Verdict::Complete);
        assert_eq!(scene.states(), "a=Complete b=Complete");
    }
}

#[test]
fn r4_a_clock_that_is_set_back_does_not_hold_a_city_for_ever() {
    let mut scene = soaking();
    scene.now = Timestamp::UNIX_EPOCH;
    scene.pass();
    scene.wait(SOAK).pass();
    assert_eq!(scene.states(), "a=Complete b=Updating");
}
