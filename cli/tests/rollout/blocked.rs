//! What blocks a rollout is known at once, and words about something older block nothing.

use fedhub_api::facts::workload::available_message;
use fedhub_cli::rollout::display::{Display, Plain};
use fedhub_cli::rollout::judge::{Phase, Verdict};
use fedhub_cli::rollout::view;
use fedhub_cli::view::Look;
use serde_json::json;

use crate::rollout::fixtures::*;

const IMAGE: &str =
    "no such image. Action required by the user: check the image's name and tag, and the pull secrets";

/// A rollout of a new image that is on its way.
fn updating() -> World {
    let mut world = World::done(&["DFW"], "web:2");
    for instance in &mut world.instances {
        say(instance, condition("Ready", "False", "Starting", "it starts"));
    }
    let status = &mut world.deployments[0].data["status"];
    status["updatedReplicas"] = json!(1);
    status["readyReplicas"] = json!(1);
    say(&mut world.workload, of(1, condition("Progressing", "True", "RolloutInProgress", "")));
    world
}

/// What a case changes.
type Change = fn(&mut World);

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn c9_what_blocks_is_known_from_wherever_it_is_said() {
    let cases: [(&str, Change, &str); 8] = [
        (
            "an instance",
            |world| say(&mut world.instances[1], condition("Ready", "False", "ImageUnavailable", IMAGE)),
            IMAGE,
        ),
        (
            "a deployment that still serves",
            |world| {
                let quota = condition(
                    "ReplicasReady",
                    "False",
                    "QuotaExceeded",
                    "1 of 2 desired replicas are pending quota",
                );
                say(&mut world.deployments[0], quota);
            },
            "1 of 2 desired replicas are pending quota",
        ),
        (
            "a deployment under a reason that passes, with whose job it is",
            |world| {
                say(
                    &mut world.deployments[0],
                    condition("ReplicasReady", "False", "InstancesProvisioning", IMAGE),
                );
            },
            IMAGE,
        ),
        (
            "the hub, of a generation that no cell has seen",
            |world| {
                world.deployments[0].metadata.generation = Some(2);
                say(
                    &mut world.deployments[0],
                    of(2, condition("Federated", "False", "NoCellForCity", "no cell serves it")),
                );
                say(
                    &mut world.deployments[0],
                    condition("Available", "False", "NoCellForCity", "no cell serves DFW"),
                );
            },
            "no cell serves DFW",
        ),
        (
            "referenced data",
            |world| {
                let missing =
                    of(1, condition("ReferencedDataReady", "False", "SourceNotFound", "no ConfigMap app"));
                say(&mut world.deployments[0], missing);
            },
            "no ConfigMap app",
        ),
        (
            "the workload, of a city without a deployment",
            |world| {
                world.deployments.clear();
                world.instances.clear();
                let nowhere = condition(
                    "Available",
                    "False",
                    "NoMatchingLocations",
                    "No new deployment in DFW: no cell serves it",
                );
                say(&mut world.workload, of(1, nowhere));
            },
            "No new deployment in DFW: no cell serves it",
        ),
        (
            "the workload, of a city whose newest deployment is refused while the old one serves",
            |world| {
                world.deployments[0].data["spec"]["template"] = template("web:1");
                let words = &available_message(["admission refuses it"].into_iter());
                say(
                    &mut world.workload,
                    of(1, condition("Available", "True", "AvailablePlacementFound", words)),
                );
            },
            "admission refuses it",
        ),
        (
            "an instance that does not go",
            |world| {
                say(
                    &mut world.deployments[0],
                    condition("TerminationOverdue", "True", "TerminationDeadlineExceeded", "web-2 hangs"),
                );
                let hangs = condition("Ready", "False", "TerminationDeadlineExceeded", "held by a finalizer");
                say(&mut world.instances[0], hangs);
            },
            "held by a finalizer",
        ),
    ];
    for (what, edit, words) in cases {
        let mut world = updating();
        edit(&mut world);
        let judgement = world.judge();
        assert_eq!(judgement.verdict, Verdict::Blocked, "{what}: {judgement:#?}");
        let obstacle = judgement.rows.iter().find_map(|row| row.obstacle.clone()).unwrap();
        assert_eq!(obstacle.message, words, "{what}");
    }
}

#[test]
fn c6_words_about_something_older_block_nothing() {
    let cases: [(&str, Change); 6] = [
        ("a deployment of an older generation", |world| {
            world.deployments[0].metadata.generation = Some(2);
            say(&mut world.deployments[0], condition("Available", "False", "ImageUnavailable", IMAGE));
        }),
        ("the hub, of an older generation", |world| {
            world.deployments[0].metadata.generation = Some(2);
            say(&mut world.deployments[0], of(1, condition("Federated", "False", "NoCellForCity", "")));
            say(&mut world.deployments[0], condition("Available", "False", "NoCellForCity", ""));
        }),
        ("an instance of the old template", |world| {
            say(&mut world.instances[0], condition("Ready", "False", "ImageUnavailable", IMAGE));
            world.instances[0].data["spec"]["runtime"]["sandbox"]["containers"][0]["image"] =
                json!("web:typo");
        }),
        ("the workload, of an older generation", |world| {
            world.deployments.clear();
            say(
                &mut world.workload,
                of(0, condition("Available", "False", "NoMatchingLocations", "nowhere")),
            );
        }),
        ("the workload, in the words of another city", |world| {
            world.deployments.clear();
            say(&mut world.workload, of(1, condition("Available", "False", "ImageUnavailable", IMAGE)));
        }),
        ("a schema", |world| {
            let mut default = condition("Available", "Unknown", "QuotaNoBudget", "");
            default["lastTransitionTime"] = json!("1970-01-01T00:00:00Z");
            say(&mut world.deployments[0], default);
        }),
    ];
    for (what, edit) in cases {
        let mut world = updating();
        edit(&mut world);
        let judgement = world.judge();
        assert_eq!(judgement.verdict, Verdict::Progressing, "{what}: {judgement:#?}");
        assert!(judgement.rows.iter().all(|row| row.obstacle.is_none()), "{what}: {judgement:#?}");
    }
}

/// Its deployment lacks what the change adds, and planes prune: the row alone cannot tell.
#[test]
fn c9_a_refused_write_that_no_row_shows_blocks() {
    let words = "The deployment in DFW is refused: admission denies it";
    let available = [
        ("False", "DeploymentsRefused", words.to_owned()),
        ("True", "AvailablePlacementFound", available_message([words].into_iter())),
    ];
    for (status, reason, message) in available {
        let mut world = World::done(&["DFW", "ORD"], "web:2");
        let container =
            &mut world.workload.data["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0];
        container["command"] = json!(["serve"]);
        say(&mut world.workload, of(1, condition("Available", status, reason, &message)));
        // The platform settles it as done: nothing was refused of what counts.
        assert_eq!(world.judge().verdict, Verdict::Done, "{reason}");
        say(&mut world.workload, of(1, condition("Progressing", "True", "RolloutInProgress", "")));
        let judgement = world.judge();
        assert_eq!(judgement.verdict, Verdict::Blocked, "{reason}: {judgement:#?}");
        assert_eq!(judgement.obstacle.unwrap().message, words);
        // What the other city still does is awaited.
        world.deployments[1].data["status"]["readyReplicas"] = json!(1);
        assert_eq!(world.judge().verdict, Verdict::Progressing, "{reason}");
        // Words about an older generation block nothing.
        world.deployments[1].data["status"]["readyReplicas"] = json!(2);
        say(&mut world.workload, of(0, condition("Available", status, reason, &message)));
        assert_eq!(world.judge().verdict, Verdict::Progressing, "{reason}");
    }
}

#[test]
fn one_blocked_city_does_not_end_the_others() {
    let mut world = World::done(&["DFW", "ORD"], "web:2");
    for deployment in &mut world.deployments {
        deployment.data["status"]["readyReplicas"] = json!(1);
    }
    say(&mut world.instances[0], condition("Ready", "False", "ImageUnavailable", IMAGE));
    assert_eq!((world.judge().verdict, world.row("DFW").phase), (Verdict::Progressing, Phase::Blocked));
    // The other is done: nothing goes on any more.
    world.deployments[1].data["status"]["readyReplicas"] = json!(2);
    assert_eq!((world.judge().verdict, world.row("ORD").phase), (Verdict::Blocked, Phase::Done));
}

#[test]
fn blocked_is_shown_though_no_number_changes() {
    let mut world = updating();
    let mut out = Vec::new();
    let mut display = Plain::new(&mut out);
    display.show(&world.judge());
    display.show(&world.judge());
    say(&mut world.instances[1], condition("Ready", "False", "ImageUnavailable", "no such image"));
    let numbers = world.judge().rows[0].counts;
    display.show(&world.judge());
    say(&mut world.instances[1], condition("Ready", "False", "InstanceCrashing", "it ends at once"));
    assert_eq!(world.judge().rows[0].counts, numbers);
    display.show(&world.judge());
    let shown = String::from_utf8(out).unwrap();
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            "DFW (us): updating, 1 of 2 updated, 1 ready",
            "DFW (us): blocked, 1 of 2 updated, 1 ready: no such image. What you can do: check the image's name \
             and tag, and the pull secrets",
            "DFW (us): blocked, 1 of 2 updated, 1 ready: it ends at once. What you can do: find out why the program \
             in the container ends",
        ]
    );
}

/// A message of a server is no row, no colour and no title of the terminal, wherever it is shown.
#[test]
fn what_a_condition_says_draws_no_row_of_its_own() {
    let mut world = updating();
    let words = "\u{1b}[31mno\u{1b}]52;c;eA==\u{7}\nDFW (us): done";
    let escaped = "\\u{1b}[31mno\\u{1b}]52;c;eA==\\u{7}\\u{a}DFW (us): done";
    let action = "What you can do: check the image's name and tag, and the pull secrets";
    let shown = format!("{escaped}. {action}");
    say(&mut world.instances[1], condition("Ready", "False", "ImageUnavailable", words));
    let judgement = world.judge();
    let mut out = Vec::new();
    Plain::new(&mut out).show(&judgement);
    let line = format!("DFW (us): blocked, 1 of 2 updated, 1 ready: {shown}");
    assert_eq!(String::from_utf8(out).unwrap(), format!("{line}\n"));
    assert_eq!(view::line(&judgement.rows[0]), line);
    assert_eq!(view::remarks(&judgement), [format!("DFW (us): {shown}")]);
    assert_eq!(
        view::blocked(NAME, &judgement),
        format!("The rollout of \"web\" is blocked: DFW (us): {shown}")
    );
    assert!(!view::table(&judgement, &Look::default()).contains('\u{1b}'));
    // The same of the workload as a whole.
    let mut world = World::done(&["DFW"], "web:1");
    (world.deployments, world.instances) = (Vec::new(), Vec::new());
    world.workload.data["spec"]["placements"] = json!([]);
    say(&mut world.workload, of(1, condition("Available", "False", "NoMatchingLocations", words)));
    let judgement = world.judge();
    let mut out = Vec::new();
    Plain::new(&mut out).show(&judgement);
    let action = "What you can do: choose another city, or ask the platform operator to serve this one";
    let shown = format!("{escaped}. {action}");
    assert_eq!(String::from_utf8(out).unwrap(), format!("blocked: {shown}\n"));
    assert_eq!(view::remarks(&judgement), [shown]);
}

#[test]
fn what_several_cities_say_is_said_once() {
    let mut world = World::done(&["LAX", "DFW", "dfw"], "web:1");
    (world.deployments, world.instances) = (Vec::new(), Vec::new());
    let words = "No new deployment in \"DFW\", \"LAX\", \"dfw\": no cell serves them";
    say(&mut world.workload, of(1, condition("Available", "False", "NoMatchingLocations", words)));
    let said = format!(
        "DFW (us), LAX (us), dfw (us): {words}. What you can do: choose another city, or ask the platform operator to \
         serve this one"
    );
    assert_eq!(view::remarks(&world.judge()), [&*said]);
    assert_eq!(view::blocked(NAME, &world.judge()), format!("The rollout of \"web\" is blocked: {said}"));
}
