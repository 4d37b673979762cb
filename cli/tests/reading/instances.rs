//! `instances`: status words, joining by name, filters in every format, and what cannot be read.

use fedhub_cli::instances::state::State;
use fedhub_cli::instances::view::{Filter, json, rows};
use fedhub_core::object::Object;
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{
    condition, counts, deployment, image_missing, instance, object, over_quota, ready, serving, unreported,
    with,
};

fn all() -> Vec<Value> {
    vec![
        instance("web", "DFW", 10, ready()),
        instance("web", "DFW", 9, ready()),
        instance("web", "ORD", 0, image_missing()),
        instance("api", "DFW", 0, over_quota()),
    ]
}

#[test]
fn the_status_of_an_instance_is_said_in_words() {
    let one = |reason: &str| json!([condition("Ready", "False", reason, "words")]);
    let waiting = json!([
        condition("Ready", "False", "SchedulingGatesPresent", "Scheduling gates present: Quota"),
        condition("QuotaGranted", "Unknown", "QuotaNoBudget", "Quota has not been evaluated"),
    ]);
    let lost = json!([condition("Ready", "Unknown", "CellUnreachable", "since 11:00")]);
    for (conditions, words) in [
        (ready(), "Available"),
        (unreported(), "Pending"),
        (json!([]), "Pending"),
        (image_missing(), "Failed (image unavailable)"),
        (one("InstanceCrashing"), "Failed (crashing)"),
        (one("ConfigurationError"), "Failed (configuration error)"),
        (over_quota(), "Pending (quota exceeded)"),
        (waiting, "Pending (no quota)"),
        (one("SchedulingGatesPresent"), "Pending (scheduling gates)"),
        (one("NetworkProvisioning"), "Pending (network provisioning)"),
        (one("NetworkNotFound"), "Pending (network not found)"),
        (one("PendingProgramming"), "Starting"),
        (one("Terminating"), "Stopping"),
        (one("Suspended"), "Suspended"),
        (one("Stopped"), "Stopped"),
        (one("Stopping"), "Stopping"),
        (lost, "Unknown (city unreachable)"),
        (one("SomethingOdd"), "Pending (something odd)"),
    ] {
        let instance = object(instance("web", "DFW", 0, conditions.clone()));
        assert_eq!(State::from_instance(&instance).to_string(), words, "{conditions}");
    }
    let mut going = object(instance("web", "DFW", 0, ready()));
    going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
    assert_eq!(State::from_instance(&going), State::Stopping, "what is being deleted is not available (C12)");
}

#[test]
fn a_city_is_never_unknown_because_uids_differ_per_plane() {
    let mut unlabelled = object(instance("web", "DFW", 0, ready()));
    unlabelled.metadata.labels = None;
    let all = [unlabelled];
    let deployment: Object = object(deployment("web", "DFW", with(counts(1, 1, 1), serving())));
    let found = rows(&all, |name| (name == "web-us-dfw").then_some(&deployment), Filter::default());
    assert_eq!((found[0].place.workload, found[0].place.city), (Some("web"), Some("DFW")));
    let unknown = rows(&all, |_| None, Filter::default());
    assert_eq!(json(&unknown)[0]["location"], Value::Null, "not known, and not an empty one");
}

#[test]
fn instances_are_in_the_order_of_their_ordinals() {
    let all: Vec<Object> = all().into_iter().map(object).collect();
    let rows = rows(&all, |_| None, Filter::default());
    let names: Vec<&str> = rows.iter().map(|row| row.object.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["api-us-dfw-0", "web-us-dfw-9", "web-us-dfw-10", "web-us-ord-0"]);
}

#[tokio::test]
async fn json_obeys_the_filters_as_the_table_does() {
    let plane = Plane::with(all()).await;
    let names = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    for (flags, expected) in [
        ("", 4),
        ("--city DFW", 3),
        ("--city dfw", 3),
        ("--location ORD", 1),
        ("--workload web", 3),
        ("--workload web --city DFW,ORD", 3),
        ("--city AMS", 0),
    ] {
        let ended = plane.run(&format!("instances {flags} -o json")).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let found = names(&ended.json());
        assert_eq!(found.len(), expected, "{flags}: {found:?}");
        let table = plane.run(&format!("instances {flags} --no-headers")).await;
        assert_eq!(table.out.lines().count(), expected, "{flags}: {table:?}");
    }
    let one = plane.run("instances --city ORD -o json").await.json();
    assert_eq!(one[0]["problem"]["responsible"], "user");
    assert_eq!(one[0]["instance"]["kind"], "Instance");
}

#[tokio::test]
async fn data_is_on_standard_output_and_the_rest_is_not() {
    let plane = Plane::with(all()).await;
    let ended = plane.run("instances").await;
    assert!(ended.out.starts_with("NAME") && ended.out.lines().count() == 5, "{ended:?}");
    assert!(ended.err.contains("4 instances: 2 available, 1 failed, 1 pending"), "{ended:?}");
    let described = plane.run("instances describe web-us-ord-0").await;
    for words in [
        "Failed (image unavailable)",
        "見つかりません",
        "What you can do: check the image's name",
        "10.0.0.2",
    ] {
        assert!(described.out.contains(words), "{words}: {described:?}");
    }
    assert!(!described.out.contains("not to be shown"), "values of variables may be secret: {described:?}");
    let missing = plane.run("instances describe nope").await;
    assert!(missing.code == 1 && missing.err.contains("There is no instance \"nope\""), "{missing:?}");
}

#[tokio::test]
async fn what_may_not_be_read_is_said_and_never_shown_as_none() {
    let plane = Plane::with(all()).await;
    plane.server.fault(Fault::Status(403).on("list", "instances"));
    let ended = plane.run("instances").await;
    assert!(ended.code == 1 && ended.out.is_empty(), "{ended:?}");
    assert!(ended.err.contains("lacks the right"), "{ended:?}");
    assert!(!ended.err.contains("no instances"), "{ended:?}");
    plane.server.clear_faults();
    // Only an instance without labels needs the deployments.
    plane.server.fault(Fault::Status(403).on("list", "workloaddeployments"));
    assert_eq!(plane.run("instances").await.err.lines().count(), 2);
    let mut unlabelled = instance("old", "DFW", 0, ready());
    unlabelled["metadata"]["labels"] = json!({});
    plane.server.put(unlabelled).unwrap();
    let ended = plane.run("instances").await;
    assert_eq!((ended.code, ended.out.lines().count()), (0, 6), "{ended:?}");
    let line = ended.out.lines().find(|line| line.starts_with("old")).unwrap();
    assert_eq!(line.split_whitespace().take(3).collect::<Vec<_>>(), ["old-us-dfw-0", "?", "?"]);
    assert!(ended.err.contains("Not everything is known here"), "{ended:?}");
}

#[tokio::test]
async fn an_expired_login_is_said_and_not_swallowed() {
    let plane = Plane::with(all()).await;
    plane.server.fault(Fault::Status(401));
    for command in
        ["instances", "workloads", "status", "quota", "cities", "instance-types", "events", "explain web"]
    {
        let ended = plane.run(command).await;
        assert!(ended.code != 0, "{command}: {ended:?}");
        assert!(ended.err.contains("login has expired"), "{command}: {ended:?}");
    }
}
