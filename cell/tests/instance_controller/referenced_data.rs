//! The gate `ReferencedData`: an Instance waits until what its template refers to is in the cell, and says
//! for what.

use fedhub_api::conditions::said;
use fedhub_cell::domain::referenced_data::{refers, verdict};
use fedhub_core::names::{
    EXPECTED_REFERENCED_DATA, REFERENCED_DATA, REFERENCED_DATA_ERROR, SOURCE_GENERATION,
};
use fedhub_core::object::{Kind, bare};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::instance_controller::support::*;

fn companion(kind: &str, name: &str, label: &str) -> Value {
    let metadata = json!({"namespace": NS, "name": name, "labels": {REFERENCED_DATA: label}});
    json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"k": "dg=="}})
}

fn annotate(world: &World, key: &str, value: Option<&str>) {
    world
        .cell
        .patch("WorkloadDeployment", NS, "wd", &json!({"metadata": {"annotations": {key: value}}}))
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn c6_the_gate_goes_once_all_that_is_expected_is_there() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", &["Quota", "ReferencedData"]);
    quiet(60).await;
    let said = |kind| {
        let (status, reason, _) = world.says("wd-0", kind);
        format!("{status} {reason}")
    };
    assert_eq!(said("ReferencedDataReady"), "Unknown Resolving");
    assert_eq!(said("Ready"), "Unknown Resolving");
    assert_eq!(gates(&world.instance("wd-0")), ["ReferencedData"], "quota does not wait for data");

    annotate(&world, EXPECTED_REFERENCED_DATA, Some(r#"["ConfigMap/app","Secret/db"]"#));
    quiet(60).await;
    assert_eq!(said("Ready"), "False AwaitingPropagation");
    assert!(world.says("wd-0", "Ready").2.contains("ConfigMap/app, Secret/db"));
    // Of the other kind, without the label, elsewhere: none of them is what is waited for.
    world.cell.put(companion("ConfigMap", "db", "true")).unwrap();
    world.cell.put(companion("Secret", "db", "false")).unwrap();
    let mut elsewhere = companion("Secret", "db", "true");
    elsewhere["metadata"]["namespace"] = json!("ns-b");
    world.cell.put(elsewhere).unwrap();
    world.cell.put(companion("ConfigMap", "app", "true")).unwrap();
    quiet(60).await;
    assert!(
        world.says("wd-0", "Ready").2.contains("Waiting for Secret/db to"),
        "{:?}",
        world.says("wd-0", "Ready")
    );
    assert_eq!(gates(&world.instance("wd-0")), ["ReferencedData"]);

    let from = position(&world.cell);
    world.cell.put(companion("Secret", "db", "true")).unwrap();
    quiet(60).await;
    assert_eq!(said("ReferencedDataReady"), "True Ready");
    assert!(gates(&world.instance("wd-0")).is_empty());
    // The generation that its end brings is no news (I7).
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0", "patch instances/wd-0"]);
    let stored = run.cell.anchor().store(Kind::Secret).object(NS, "db").unwrap();
    assert!(stored.data.is_null(), "a Secret's content stays with its server");
    run.stop().await;
    let run = world.run();
    let from = position(&world.cell);
    quiet(60).await;
    assert!(asked(&world.cell, from).is_empty(), "I7");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_what_is_wrong_with_a_source_is_said_and_taken_back() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", &["ReferencedData"]);
    annotate(&world, EXPECTED_REFERENCED_DATA, Some("[]"));
    annotate(&world, REFERENCED_DATA_ERROR, Some(r#"{"reason":"SourceNotFound","message":"no Secret db"}"#));
    quiet(60).await;
    let (status, reason, message) = world.says("wd-0", "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "SourceNotFound"));
    assert!(
        message.starts_with("no Secret db. Action required by the user: create the ConfigMap or Secret"),
        "{message}"
    );
    annotate(&world, REFERENCED_DATA_ERROR, None);
    quiet(60).await;
    assert_eq!(world.says("wd-0", "ReferencedDataReady").0, "True");
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_was_expected_of_an_older_generation_opens_no_gate() {
    let world = World::new();
    annotate(&world, SOURCE_GENERATION, Some("4"));
    annotate(&world, EXPECTED_REFERENCED_DATA, Some(r#"{"generation":3,"expected":[]}"#));
    let run = world.run();
    world.put_instance("wd-0", &["ReferencedData"]);
    quiet(60).await;
    assert_eq!(gates(&world.instance("wd-0")), ["ReferencedData"]);
    let (status, reason, message) = world.says("wd-0", "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "Resolving"));
    assert!(message.contains("generation 4") && message.contains("for generation 3"), "C9: {message}");

    // What is newer is as good: the WD of that generation is on its way.
    annotate(&world, EXPECTED_REFERENCED_DATA, Some(r#"{"generation":5,"expected":[]}"#));
    quiet(60).await;
    assert!(gates(&world.instance("wd-0")).is_empty());

    // What has passed has what it needed: a newer generation alone is no news of it (I7).
    let from = position(&world.cell);
    annotate(&world, SOURCE_GENERATION, Some("6"));
    quiet(60).await;
    assert!(asked(&world.cell, from).iter().all(|asked| !asked.contains("instances")));
    // But what is made now waits, until the generation alone is right again.
    world.put_instance("wd-1", &["ReferencedData"]);
    quiet(60).await;
    assert_eq!(gates(&world.instance("wd-1")), ["ReferencedData"]);
    annotate(&world, SOURCE_GENERATION, Some("5"));
    quiet(60).await;
    assert!(gates(&world.instance("wd-1")).is_empty());
    run.stop().await;
}

/// An older project's side names no generation: that the list is of an earlier template shows in what it
/// lacks.
#[tokio::test(start_paused = true)]
async fn w5_a_list_that_lacks_what_the_instance_refers_to_opens_no_gate() {
    let world = World::new();
    for (kind, name) in [("ConfigMap", "app"), ("Secret", "db")] {
        world.cell.put(companion(kind, name, "true")).unwrap();
    }
    annotate(&world, EXPECTED_REFERENCED_DATA, Some(r#"["ConfigMap/app"]"#));
    let refers = json!({"spec": {
        "runtime": {"sandbox": {
            "containers": [{"name": "a", "env": [
                {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db"}}},
                {"name": "EXTRA", "valueFrom": {"secretKeyRef": {"name": "extra", "optional": true}}},
            ], "envFrom": [{"configMapRef": {"name": "app"}}]}],
            "imagePullSecrets": [{"name": "pull"}],
        }},
        "volumes": [{"name": "v", "configMap": {"name": "app"}}, {"name": "w", "secret": {"secretName": "Not A Name"}}],
    }});
    world.put_instance("wd-0", &["ReferencedData"]);
    world.cell.patch("Instance", NS, "wd-0", &refers).unwrap();
    let run = world.run();
    quiet(60).await;
    assert_eq!(gates(&world.instance("wd-0")), ["ReferencedData"]);
    let (_, reason, message) = world.says("wd-0", "Ready");
    assert!(reason == "Resolving" && message.contains("Secret/db"), "C9: {message}");
    annotate(&world, EXPECTED_REFERENCED_DATA, Some(r#"["ConfigMap/app","Secret/db"]"#));
    quiet(60).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[test]
fn a_template_refers_by_variables_volumes_and_pull_secrets() {
    let container = |c: Value| json!({"runtime": {"sandbox": {"containers": [{"name": "a"}, c]}}});
    for (spec, expected) in [
        (json!({}), false),
        (container(json!({"env": [{"name": "A", "value": "b"}]})), false),
        (container(json!({"env": [{"valueFrom": {"fieldRef": {}}}]})), false),
        (container(json!({"env": [{"valueFrom": {"configMapKeyRef": {"name": "a"}}}]})), true),
        (container(json!({"env": [{"valueFrom": {"secretKeyRef": {"name": "a"}}}]})), true),
        (container(json!({"envFrom": [{"configMapRef": {"name": "a"}}]})), true),
        (container(json!({"envFrom": [{"prefix": "A"}, {"secretRef": {"name": "a"}}]})), true),
        (json!({"volumes": [{"name": "d", "disk": {}}]}), false),
        (json!({"volumes": [{"name": "d", "disk": {}}, {"configMap": {"name": "a"}}]}), true),
        (json!({"volumes": [{"secret": {"secretName": "a"}}]}), true),
        (json!({"runtime": {"sandbox": {"imagePullSecrets": []}}}), false),
        (json!({"runtime": {"sandbox": {"imagePullSecrets": [{"name": "a"}]}}}), true),
    ] {
        assert_eq!(refers(&spec), expected, "{spec}");
    }
}

#[test]
fn what_cannot_be_read_is_waited_for() {
    let instance = bare(Kind::Instance, NS, "wd-0");
    let judged = |expected: Option<&str>| {
        let mut wd = bare(Kind::WorkloadDeployment, NS, "wd");
        wd.metadata.annotations =
            expected.map(|text| [(EXPECTED_REFERENCED_DATA.to_owned(), text.to_owned())].into());
        let condition = verdict(&instance, Some(&wd), |_, _| true, Timestamp::UNIX_EPOCH);
        let (status, reason, _) = said(&condition);
        format!("{status} {reason}")
    };
    for (expected, verdict) in [
        (None, "Unknown Resolving"),
        (Some("app"), "Unknown Resolving"),
        (Some(r#"["app"]"#), "Unknown Resolving"),
        (Some(r#"["Pod/app"]"#), "Unknown Resolving"),
        (Some(r#"["Secret/"]"#), "Unknown Resolving"),
        (Some(r#"{"expected":[]}"#), "Unknown Resolving"),
        (Some(r#"{"generation":"3","expected":[]}"#), "Unknown Resolving"),
        (Some(r#"{"generation":3}"#), "Unknown Resolving"),
        (Some(r#"{"generation":3,"expected":["app"]}"#), "Unknown Resolving"),
        (Some(r#"{"generation":3,"expected":["Secret/a"]}"#), "True Ready"),
        (Some("[]"), "True Ready"),
        (Some(r#"["Secret/a"]"#), "True Ready"),
    ] {
        assert_eq!(judged(expected), verdict, "{expected:?}");
    }
    let orphan = verdict(&instance, None, |_, _| true, Timestamp::UNIX_EPOCH);
    assert_eq!(said(&orphan).0, "Unknown", "without its WD it is unknown what it needs");
}
