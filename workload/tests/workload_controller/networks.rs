//! What a Workload says of networks that its template names and its namespace does not have (W3).

use fedhub_fake_apiserver::resource::Resource;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_testing::{gap, put_namespace};
use serde_json::json;

use crate::workload_controller::support::*;

const CONDITION: &str = "NetworkNotFound";
const MISSING: &str = "Network \"default\" does not exist in the Workload's namespace";

fn serve(project: &ApiServer) {
    project.register(Resource::custom("networking.datumapis.com", "v1alpha", "Network", "networks"));
}

fn put_network(project: &ApiServer, namespace: &str, name: &str) {
    let metadata = json!({"namespace": namespace, "name": name});
    project
        .put(
            json!({"apiVersion": "networking.datumapis.com/v1alpha", "kind": "Network", "metadata": metadata,
            "spec": {"ipam": {"mode": "Auto"}}}),
        )
        .unwrap();
}

/// Makes the plane answer every list and watch of networks with this status code.
fn refuse(project: &ApiServer, code: u16) {
    for verb in ["list", "watch"] {
        project.fault(Fault::Status(code).on(verb, "networks"));
    }
    gap(project);
}

/// What the condition says; empty where there is none.
fn said(world: &World) -> String {
    let (status, reason, message) = world.said("web", CONDITION);
    assert!(message.is_empty() || (&*status, &*reason) == ("True", CONDITION), "{status} {reason}");
    message
}

fn networks(names: &[&str]) -> serde_json::Value {
    let interfaces: Vec<_> = names.iter().map(|name| json!({"network": {"name": name}})).collect();
    json!({"spec": {"template": {"spec": {"networkInterfaces": interfaces}}}})
}

#[tokio::test(start_paused = true)]
async fn w3_a_workload_names_the_networks_that_do_not_exist_until_they_do() {
    let world = World::new();
    serve(&world.project);
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!(said(&world), MISSING);
    let (status, reason, message) = world.said("web", "Available");
    assert_eq!((&*status, &*reason), ("False", CONDITION));
    assert!(message.starts_with(MISSING) && message.contains("Action required by the user"), "{message}");
    assert_eq!(world.wds(), ["web-us-dfw"], "it is made all the same");

    // It says so where it runs, too.
    world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
    quiet(5).await;
    let (status, _, message) = world.said("web", "Available");
    assert!(status == "True" && message.ends_with(MISSING), "{message}");

    world.patch("web", &networks(&["b", "default", "a", "b"]));
    put_namespace(&world.project, "elsewhere");
    put_network(&world.project, "elsewhere", "b");
    put_network(&world.project, SPACE, "default");
    quiet(5).await;
    assert_eq!(said(&world), "Networks \"a\", \"b\" do not exist in the Workload's namespace");
    put_network(&world.project, SPACE, "a");
    put_network(&world.project, SPACE, "b");
    quiet(5).await;
    assert_eq!(said(&world), "");
    assert!(!world.said("web", "Available").2.contains("Network"));
    world.project.delete("Network", SPACE, "default").unwrap();
    quiet(5).await;
    assert_eq!(said(&world), MISSING);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_i7_a_restart_writes_nothing_and_clears_nothing_whatever_the_plane_answers_at_first() {
    let world = World::new();
    serve(&world.project);
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
    quiet(5).await;
    assert_eq!(said(&world), MISSING);
    run.stop().await;
    let from = position(&world.project);
    for code in [None, Some(404), Some(403), Some(500)] {
        if let Some(code) = code {
            refuse(&world.project, code);
        }
        let run = world.run();
        quiet(30).await;
        assert_eq!(said(&world), MISSING, "{code:?}");
        world.project.clear_faults();
        quiet(3600).await;
        assert_eq!(asked(&world.project, from), Vec::<String>::new(), "{code:?}");
        run.stop().await;
    }
    put_network(&world.project, SPACE, "default");
    let run = world.run();
    quiet(30).await;
    assert_eq!(said(&world), "");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_a_plane_that_does_not_tell_of_networks_changes_nothing_that_was_said() {
    for code in [404, 403, 500] {
        let world = World::new();
        serve(&world.project);
        put_network(&world.project, SPACE, "there");
        let run = world.run();
        world.put("web", &["DFW"]);
        let mut other = workload("other", &["DFW"]);
        other["spec"]["template"]["spec"]["networkInterfaces"] = json!([{"network": {"name": "there"}}]);
        world.project.put(other).unwrap();
        quiet(5).await;
        for wd in ["web-us-dfw", "other-us-dfw"] {
            world.report(wd, 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
        }
        quiet(5).await;
        assert_eq!(said(&world), MISSING);
        refuse(&world.project, code);
        quiet(5).await;
        let from = position(&world.project);
        // The API server of a CRD that goes reports the end of every object of it.
        world.project.delete("Network", SPACE, "there").unwrap();
        quiet(600).await;
        assert_eq!(asked(&world.project, from), Vec::<String>::new(), "{code}");
        assert_eq!((said(&world), world.said("other", CONDITION).2), (MISSING.to_owned(), String::new()));
        // A newer generation is another question.
        world.patch("web", &networks(&["another"]));
        world.put("new", &["ORD"]);
        quiet(60).await;
        assert_eq!((said(&world), world.said("new", CONDITION).2), (String::new(), String::new()), "{code}");
        put_network(&world.project, SPACE, "default");
        world.project.clear_faults();
        quiet(3600).await;
        assert_eq!(said(&world), MISSING.replace("default", "another"), "{code}");
        assert_eq!(world.said("other", CONDITION).2, MISSING.replace("default", "there"), "{code}");
        assert_eq!(world.said("new", CONDITION).2, "");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w3_where_networks_are_not_served_nothing_is_said_of_them() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(600).await;
    assert_eq!((said(&world), &*world.said("web", "Available").1), (String::new(), "NoAvailablePlacements"));
    // They are, by now.
    serve(&world.project);
    quiet(3600).await;
    assert_eq!(said(&world), MISSING);
    // What somebody else wrote there is put right.
    let conditions = json!({"conditions": [condition(CONDITION, "True", "Odd", "words of a tenant")]});
    world.project.patch_status("Workload", SPACE, "web", &conditions).unwrap();
    quiet(5).await;
    assert_eq!(said(&world), MISSING);
    run.stop().await;
}
