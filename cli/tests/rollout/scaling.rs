//! What `scale` changes, and what it leaves.

use fedhub_cli::exit::Exit;
use fedhub_cli::restart::{self, RestartArgs};
use fedhub_cli::rollout::WaitArgs;
use fedhub_cli::scale;
use fedhub_cli::scale::args::ScaleArgs;
use fedhub_cli::scale::plan::{Refusal, plan};
use fedhub_core::object::ObjectView;
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::rollout::fixtures::*;

pub fn args() -> ScaleArgs {
    let wait = WaitArgs { no_wait: true, timeout: std::time::Duration::ZERO };
    ScaleArgs {
        name: NAME.to_owned(),
        min: None,
        max: None,
        cpu_percent: None,
        memory_percent: None,
        placement: Vec::new(),
        wait,
    }
}

fn cpu(percent: i64) -> Value {
    json!({"resource": {"name": "cpu", "target": {"averageUtilization": percent}}})
}

/// What the changes are for scale settings with these fields.
fn lines(settings: Value, args: &ScaleArgs) -> Vec<String> {
    let mut workload = workload(&["DFW"], "web:1");
    for (field, value) in settings.as_object().unwrap() {
        workload.data["spec"]["placements"][0]["scaleSettings"][field] = value.clone();
    }
    plan(&workload, args).unwrap().changes.iter().map(fedhub_cli::changes::Change::line).collect()
}

#[test]
fn any_flag_changes_what_it_names_and_nothing_else() {
    let with = |edit: fn(&mut ScaleArgs)| {
        let mut args = args();
        edit(&mut args);
        args
    };
    for (settings, args, expected) in [
        (json!({}), with(|args| args.min = Some(2)), vec![]),
        (
            json!({"other": 1}),
            with(|args| args.min = Some(3)),
            vec!["~ spec.placements[us].scaleSettings.minReplicas: 2 -> 3"],
        ),
        (
            json!({"maxReplicas": 5, "metrics": [cpu(50)]}),
            with(|args| args.max = Some(9)),
            vec!["~ spec.placements[us].scaleSettings.maxReplicas: 5 -> 9"],
        ),
        (
            json!({"maxReplicas": 5, "metrics": [cpu(50)]}),
            with(|args| args.max = Some(0)),
            vec![
                "- spec.placements[us].scaleSettings.maxReplicas",
                "- spec.placements[us].scaleSettings.metrics",
            ],
        ),
        // No percentage, no measure: not one of zero.
        (
            json!({"maxReplicas": 5, "metrics": [cpu(50)]}),
            with(|args| args.cpu_percent = Some(0)),
            vec!["- spec.placements[us].scaleSettings.metrics"],
        ),
        (json!({"maxReplicas": 5}), with(|args| args.memory_percent = Some(0)), vec![]),
    ] {
        assert_eq!(lines(settings, &args), expected);
    }
    let both = with(|args| (args.cpu_percent, args.memory_percent) = (Some(70), Some(80)));
    let mut measured = workload(&["DFW"], "web:1");
    measured.data["spec"]["placements"][0]["scaleSettings"]["metrics"] = json!([cpu(50)]);
    let patch = plan(&measured, &both).unwrap().patch(&measured);
    let metrics = &patch[1]["value"]["metrics"];
    assert_eq!((&metrics[0], &metrics[1]["resource"]["name"]), (&cpu(70), &json!("memory")));
    assert_eq!(patch[0]["value"], measured.version());
}

#[test]
fn placements_can_be_chosen_and_have_to_exist() {
    let mut workload = workload(&["DFW"], "web:1");
    let mut other = workload.data["spec"]["placements"][0].clone();
    other["name"] = json!("eu");
    workload.data["spec"]["placements"].as_array_mut().unwrap().push(other);
    let chosen = ScaleArgs { min: Some(4), placement: vec!["eu".to_owned()], ..args() };
    let scale = plan(&workload, &chosen).unwrap();
    assert_eq!(scale.changes.len(), 1);
    assert_eq!(scale.patch(&workload)[1]["path"], "/spec/placements/1/scaleSettings");
    let missing = ScaleArgs { placement: vec!["asia".to_owned()], ..chosen };
    let refused = plan(&workload, &missing).unwrap_err();
    assert_eq!(refused, Refusal::NoPlacement("asia".to_owned(), vec!["us".to_owned(), "eu".to_owned()]));
    assert_eq!(
        refused.problem(NAME).text(false),
        "Error: \"web\" has no placement \"asia\".\nIt has us, eu."
    );
}

#[tokio::test]
async fn a_change_at_the_same_time_is_met_by_deciding_anew() {
    let server = server();
    put(&server, &workload(&["DFW"], "web:1"));
    server.fault(Fault::Status(409).on("patch", "workloads").times(2));
    scale::run(&session(&server), &ScaleArgs { min: Some(4), ..args() }).await.unwrap();
    let stored = server.get("Workload", SPACE, NAME).unwrap();
    assert_eq!(stored["spec"]["placements"][0]["scaleSettings"]["minReplicas"], 4);
    assert_eq!(stored["spec"]["template"], template("web:1"));
    let mark = server.mark();
    scale::run(&session(&server), &ScaleArgs { min: Some(4), ..args() }).await.unwrap();
    assert!(server.writes_since(mark).is_empty(), "it is scaled like that already");
    server.fault(Fault::Status(409).on("patch", "workloads"));
    let refused = scale::run(&session(&server), &ScaleArgs { min: Some(5), ..args() }).await.unwrap_err();
    assert!(refused.sentence.contains("changed by another client"), "{refused:?}");
}

/// Repeats a command whose first run ended before its rollout did.
#[tokio::test(start_paused = true)]
async fn what_is_scaled_already_is_waited_for() {
    let server = server();
    let mut world = World::done(&["DFW"], "web:1");
    world.deployments[0].data["status"]["readyReplicas"] = json!(1);
    say(&mut world.instances[0], condition("Ready", "False", "ImageUnavailable", "no such image"));
    world.put(&server);
    let wait = WaitArgs { no_wait: false, timeout: std::time::Duration::from_mins(1) };
    let again = ScaleArgs { min: Some(2), wait, ..args() };
    let mark = server.mark();
    let blocked = scale::run(&session(&server), &again).await.unwrap_err();
    assert_eq!(blocked.exit, Exit::Blocked, "{blocked:?}");
    assert!(server.writes_since(mark).is_empty(), "nothing changes");
    World::done(&["DFW"], "web:1").put(&server);
    scale::run(&session(&server), &again).await.unwrap();
}

#[test]
fn a_maximum_below_the_minimum_is_refused() {
    let both = ScaleArgs { min: Some(3), max: Some(2), ..args() };
    let refused = plan(&workload(&["DFW"], "web:1"), &both).unwrap_err().problem(NAME);
    assert_eq!((refused.exit, &*refused.sentence), (Exit::Usage, "--max: 2 is less than the minimum, 3."));
}

#[test]
fn scaling_is_not_turned_off_and_given_a_measure_at_once() {
    let both = ScaleArgs { max: Some(0), cpu_percent: Some(70), ..args() };
    let refused = plan(&workload(&["DFW"], "web:1"), &both).unwrap_err();
    assert!(matches!(refused, Refusal::Contradiction(_)));
    let problem = refused.problem(NAME);
    assert_eq!(problem.exit, Exit::Usage);
    assert_eq!(
        problem.sentence,
        "--max: 0 turns scaling off: leave --cpu-percent and --memory-percent out, or name a maximum."
    );
    let neither = ScaleArgs { max: Some(0), cpu_percent: Some(0), ..args() };
    assert!(plan(&workload(&["DFW"], "web:1"), &neither).unwrap().changes.is_empty());
}

#[tokio::test]
async fn a_workload_that_does_not_exist_is_said_alike_by_all() {
    let server = server();
    let session = session(&server);
    let restarted = RestartArgs { name: NAME.to_owned(), city: Vec::new(), wait: args().wait };
    for problem in [
        scale::run(&session, &ScaleArgs { min: Some(4), ..args() }).await.unwrap_err(),
        restart::run(&session, &restarted).await.unwrap_err(),
    ] {
        assert_eq!(
            problem.text(false),
            "Error: There is no workload \"web\" in namespace \"default\" of this project.\n`datumctl compute workloads` lists those that there are."
        );
    }
}
