//! Cities whose turn has not come: they wait for those before them, and go nowhere while those are blocked.

use fedhub_cli::rollout::conclude;
use fedhub_cli::rollout::judge::{Phase, Verdict};
use fedhub_cli::rollout::view::{line, report, table};
use fedhub_cli::view::Look;
use fedhub_core::names::DEPLOYMENT_REVISION;
use serde_json::json;

use crate::rollout::fixtures::*;

const IMAGE: &str =
    "no such image. Action required by the user: check the image's name and tag, and the pull secrets";

/// Revision 2 in the first of these cities, where its instances are not ready, and revision 1 in the others.
pub fn turns(cities: &[&str]) -> World {
    let mut world = World::done(cities, "web:1");
    world.workload.data["spec"]["template"] = template("web:2");
    world.workload = recorded(world.workload, 2);
    say(&mut world.workload, of(1, condition("Progressing", "True", "RolloutInProgress", "")));
    for (i, deployment) in world.deployments.iter_mut().enumerate() {
        let mark = if i == 0 { "2/new" } else { "1/old" };
        let annotations = deployment.metadata.annotations.get_or_insert_default();
        annotations.insert(DEPLOYMENT_REVISION.to_owned(), mark.to_owned());
    }
    let first = &mut world.deployments[0];
    first.data["spec"]["template"] = template("web:2");
    first.data["status"]["readyReplicas"] = json!(1);
    for ordinal in 0..2 {
        world.instances[ordinal] = instance(&world.deployments[0], u32::try_from(ordinal).unwrap());
    }
    say(&mut world.instances[1], condition("Ready", "False", "Starting", "it starts"));
    world
}

/// The first city is blocked by its image.
pub fn blocked() -> World {
    let mut world = turns(&["DFW", "ORD"]);
    say(&mut world.instances[1], condition("Ready", "False", "ImageUnavailable", IMAGE));
    world
}

#[test]
fn r1_a_city_waits_for_those_before_it() {
    let world = turns(&["DFW", "ORD", "NRT"]);
    let phases = ["DFW", "ORD", "NRT"].map(|city| world.row(city).phase);
    assert_eq!(phases, [Phase::Updating, Phase::Waiting, Phase::Waiting]);
    assert_eq!(world.judge().verdict, Verdict::Progressing);
    assert_eq!(line(&world.row("ORD")), "ORD (us): waiting, 0 of 2 updated, 2 ready");
    let shown = table(&world.judge(), &Look::default());
    assert!(shown.contains("Waiting") && shown.contains("gets the new template when DFW is done"));
    let report = report(NAME, "progressing", &world.judge());
    let city = report["cities"].as_array().unwrap().iter().find(|city| city["city"] == "ORD").unwrap();
    assert_eq!(city["state"], "waiting");
    assert_eq!(city["message"], "gets the new template when DFW is done");
}

/// The platform has not marked the city, or the city has the newest revision already.
#[test]
fn r1_a_city_without_an_earlier_revision_does_not_wait_for_its_turn() {
    for mark in [None, Some("2/new"), Some("of an editor")] {
        let mut world = turns(&["DFW", "ORD"]);
        let annotations = world.deployments[1].metadata.annotations.get_or_insert_default();
        annotations.remove(DEPLOYMENT_REVISION);
        annotations.extend(mark.map(|mark| (DEPLOYMENT_REVISION.to_owned(), mark.to_owned())));
        assert_eq!(world.row("ORD").phase, Phase::Pending, "{mark:?}");
    }
}

#[tokio::test]
async fn r1_a_blocked_city_blocks_those_that_wait_for_it() {
    let judgement = blocked().judge();
    assert_eq!(judgement.verdict, Verdict::Blocked);
    let session = session(&server());
    let problem = conclude::at_once(&session, NAME, &judgement).unwrap_err();
    assert_eq!(problem.exit.code(), 4);
    // A city that is on its way may still come up: the rollout goes on.
    let mut world = blocked();
    world.deployments[1] = deployment("us", "ORD", &template("web:2"));
    world.deployments[1].data["status"]["readyReplicas"] = json!(1);
    assert_eq!(world.row("ORD").phase, Phase::Updating);
    assert_eq!(world.judge().verdict, Verdict::Progressing);
}
