//! What a rollout looks like.

use fedhub_cli::rollout::display::{Display, Plain};
use fedhub_cli::rollout::paused;
use fedhub_cli::rollout::view::{blocked, done, line, report, table};
use fedhub_cli::view::Look;
use fedhub_terminal::Terminal;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::rollout::fixtures::*;

/// Two cities of one placement and one of another: done, blocked, and not yet reported.
fn world() -> World {
    let mut world = World::done(&["DFW", "ORD"], "web:2");
    let other = json!({"name": "東京", "cityCodes": ["NRT"], "scaleSettings":
        {"minReplicas": 2, "instanceManagementPolicy": "OrderedReady"}});
    world.workload.data["spec"]["placements"].as_array_mut().unwrap().push(other);
    world.add("東京", "NRT");
    let status = &mut world.deployments[1].data["status"];
    status["updatedReplicas"] = json!(1);
    status["readyReplicas"] = json!(1);
    let image = "Image \"web:2\" was not found. Action required by the user: check the image's name and tag, and the pull \
                 secrets";
    let at =
        world.instances.iter().position(|it| it.metadata.name.as_deref() == Some("web-us-ord-1")).unwrap();
    say(&mut world.instances[at], condition("Ready", "False", "ImageUnavailable", image));
    world.deployments[2].data["status"] = fedhub_api::deployment::unreported();
    world
}

#[test]
fn a_table_has_a_row_for_each_placement_and_city_and_words_below() {
    for width in [60, 80, 120] {
        let terminal = Terminal { width: Some(width), ..Terminal::default() };
        let shown = table(&world().judge(), &Look { terminal, ..Look::default() });
        assert!(shown.lines().all(|line| line.width() <= width), "{shown}");
        insta::assert_snapshot!(format!("rollout_{width}"), shown);
    }
}

#[test]
fn programs_get_the_same() {
    let report = report(NAME, "blocked", &world().judge());
    insta::assert_snapshot!("rollout_json", format!("{report:#}"));
}

/// While it scales down, more are up to date than are wanted.
#[test]
fn no_more_are_updated_than_are_wanted() {
    let mut world = World::done(&["DFW"], "web:1");
    world.workload.data["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(1);
    world.deployments[0].data["spec"]["scaleSettings"]["minReplicas"] = json!(1);
    world.deployments[0].data["status"]["desiredReplicas"] = json!(1);
    let row = world.row("DFW");
    assert_eq!(line(&row), "DFW (us): updating, 1 of 1 updated, 2 ready, 1 old");
    let shown = table(&world.judge(), &Look::default());
    assert!(shown.contains("1/1") && !shown.contains("2/1       2/1"), "{shown}");
    // Nothing is reported of the newest generation yet.
    let row = fedhub_cli::rollout::judge::Row { counts: None, ..row };
    assert!(line(&row).ends_with(", nothing reported yet, 1 old"), "{}", line(&row));
}

#[tokio::test]
async fn ends_are_said_in_sentences() {
    let judgement = world().judge();
    let all_done = World::done(&["ORD", "DFW"], "web:2").judge();
    let session = session(&server());
    let held = crate::rollout::pausing::held().judge().paused.unwrap();
    let texts = [
        done(NAME, &all_done),
        blocked(NAME, &judgement),
        paused::problem(&session, NAME, &held).text(false),
    ];
    insta::assert_snapshot!("ends", texts.join("\n\n"));
}

#[test]
fn a_city_in_two_placements_has_two_lines_and_one_that_goes_is_said() {
    let mut world = World::done(&["DFW"], "web:1");
    let other = json!({"name": "eu", "cityCodes": ["DFW"], "scaleSettings":
        {"minReplicas": 2, "instanceManagementPolicy": "OrderedReady"}});
    world.workload.data["spec"]["placements"].as_array_mut().unwrap().push(other);
    world.add("eu", "DFW");
    let mut out = Vec::new();
    let mut display = Plain::new(&mut out);
    display.show(&world.judge());
    display.show(&world.judge());
    world.workload.data["spec"]["placements"].as_array_mut().unwrap().pop();
    display.show(&world.judge());
    world.deployments.pop();
    display.show(&world.judge());
    let shown = String::from_utf8(out).unwrap();
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            "DFW (us): done, 2 of 2 updated, 2 ready",
            "DFW (eu): done, 2 of 2 updated, 2 ready",
            "DFW (eu): draining, 2 of 2 updated, 2 ready, 2 old",
            "DFW (eu): removed",
        ]
    );
}
