//! The loops over simulated planes.

use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_fake_apiserver::{ApiServer, Fault, quiet, until};
use fedhub_simulate::{FAULT, PROVIDER_FINALIZER, Part, QUOTA, TEARDOWN_FAULT, TEARDOWN_TIME, Times, run};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::parts::support::{START, cluster, message, says};
use crate::parts::{network, provider, quota};

fn simulate(parts: Vec<Part>, cluster: &ApiServer) {
    let times = Times { start: START, teardown: Duration::ZERO };
    tokio::spawn(run(parts, times, Clock::from_tokio(cluster.clock().now())));
}

fn said(cluster: &ApiServer, kind: &str, space: &str, name: &str, condition: &str) -> String {
    cluster.get(kind, space, name).map(|object| says(&object["status"], condition)).unwrap_or_default()
}

fn status_writes(cluster: &ApiServer, resource: &str) -> usize {
    cluster
        .audit()
        .iter()
        .filter(|entry| entry.is_write() && entry.resource == resource && entry.code == 200)
        .count()
}

#[tokio::test(start_paused = true)]
async fn an_instance_comes_up_after_its_start_time_with_two_writes() {
    let cell = cluster("cell");
    simulate(vec![Part::Provider(cell.client())], &cell);
    let mut gated = provider::instance();
    gated["spec"]["controller"]["schedulingGates"] = json!([{"name": "Network"}]);
    cell.put(gated).unwrap();
    quiet(5).await;
    assert_eq!(status_writes(&cell, "instances"), 0, "a gate stands");

    let mut open = cell.get("Instance", "ns-a", "web-0").unwrap();
    open["spec"]["controller"] = json!({"templateHash": "h1"});
    let began = Instant::now();
    cell.put(open).unwrap();
    // A conflict is no end.
    cell.fault(Fault::Status(409).on("patch", "instances/status").times(1));
    until("the Instance is available", || {
        said(&cell, "Instance", "ns-a", "web-0", "Available") == "True/Available"
    })
    .await;
    assert!(began.elapsed() >= START && began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    quiet(60).await;
    assert_eq!(status_writes(&cell, "instances"), 2);
    assert!(cell.audit().iter().any(|entry| entry.code == 409));
    let bodies =
        cell.audit().into_iter().filter(|entry| entry.verb == "patch").filter_map(|entry| entry.body);
    for body in bodies {
        assert!(
            body["metadata"]["resourceVersion"].is_string(),
            "what was decided is about one version: {body}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_torn_down_before_it_goes_and_a_fault_ends_with_its_annotation() {
    for (fault, words) in [
        (None, "Instance is being torn down"),
        (Some("Fails"), "Instance could not be torn down: the hypervisor does not answer; trying again"),
        (Some("Hangs"), "Instance is being torn down"),
    ] {
        let cell = cluster("cell");
        simulate(vec![Part::Provider(cell.client())], &cell);
        let mut instance = provider::instance();
        instance["metadata"]["annotations"] = json!({TEARDOWN_TIME: "20s"});
        if let Some(fault) = fault {
            instance["metadata"]["annotations"][TEARDOWN_FAULT] = json!(fault);
        }
        // Our own release is the second stage: it is not the provider's.
        instance["metadata"]["finalizers"] = json!(["test/hold"]);
        cell.put(instance).unwrap();
        let available = || said(&cell, "Instance", "ns-a", "web-0", "Available");
        until("the Instance is available", || available() == "True/Available").await;
        let finalizers = || cell.get("Instance", "ns-a", "web-0").unwrap()["metadata"]["finalizers"].clone();
        assert_eq!(finalizers(), json!(["test/hold", PROVIDER_FINALIZER]));

        cell.delete("Instance", "ns-a", "web-0").unwrap();
        quiet(5).await;
        assert_eq!(available(), "False/Stopping");
        quiet(60).await;
        if fault.is_some() {
            let status = cell.get("Instance", "ns-a", "web-0").unwrap()["status"].clone();
            assert_eq!(
                (available().as_str(), message(&status, "Available").as_str()),
                ("False/Stopping", words)
            );
            assert_eq!(finalizers(), json!(["test/hold", PROVIDER_FINALIZER]));
            let none = json!({"metadata": {"annotations": {TEARDOWN_FAULT: null}}});
            cell.patch("Instance", "ns-a", "web-0", &none).unwrap();
            quiet(5).await;
        }
        assert_eq!(
            (available().as_str(), finalizers()),
            ("False/Stopped", json!(["test/hold"])),
            "{fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_network_is_bound_and_a_lost_context_made_anew() {
    let cell = cluster("cell");
    simulate(vec![Part::Network(cell.client())], &cell);
    let put = |binding: fedhub_core::object::Object, name: &str| {
        let mut binding = serde_json::to_value(binding).unwrap();
        binding["metadata"]["name"] = json!(name);
        cell.put(binding).unwrap();
    };
    put(network::binding("default", json!({})), "web-net-0");
    put(network::binding("default", json!({})), "web-net-1");
    put(network::binding("other", json!({FAULT: "NetworkNotFound"})), "bad-net-0");
    cell.put(json!({
        "apiVersion": "networking.datumapis.com/v1alpha", "kind": "SubnetClaim",
        "metadata": {"namespace": "ns-a", "name": "default-dfw-1-0"},
        "spec": {"ipFamily": "IPv4", "subnetClass": "private"},
    }))
    .unwrap();
    let ready = |name: &str| said(&cell, "NetworkBinding", "ns-a", name, "Ready");
    until("both are bound", || {
        ["web-net-0", "web-net-1"].iter().all(|name| ready(name) == "True/NetworkContextReady")
    })
    .await;
    until("the other is refused", || ready("bad-net-0") == "False/NetworkNotFound").await;
    until("the subnet is there", || {
        said(&cell, "SubnetClaim", "ns-a", "default-dfw-1-0", "Ready") == "True/Ready"
    })
    .await;

    assert_eq!(said(&cell, "Subnet", "ns-a", "default-dfw-1-0", "Ready"), "True/Ready");

    let context = || said(&cell, "NetworkContext", "ns-a", "default-dfw-1", "Ready");
    assert!(cell.delete("NetworkContext", "ns-a", "default-dfw-1").unwrap());
    until("the context is back", || context() == "True/Ready").await;
    quiet(5).await;
    let mark = cell.mark();
    quiet(60).await;
    assert!(cell.writes_since(mark).is_empty());
}

#[tokio::test(start_paused = true)]
async fn claims_are_granted_up_to_the_limit_and_a_refused_one_when_it_is_made_anew() {
    let plane = cluster("project");
    simulate(vec![Part::Quota("project".to_owned(), plane.client())], &plane);
    let namespace = |limit: Value| {
        let annotations = if limit.is_null() { json!({}) } else { json!({QUOTA: limit}) };
        plane
            .put(json!({"apiVersion": "v1", "kind": "Namespace",
                        "metadata": {"name": "shop", "annotations": annotations}}))
            .unwrap();
    };
    namespace(json!("2"));
    let make = |name: &str| {
        plane.delete("ResourceClaim", "shop", name).ok();
        plane.put(serde_json::to_value(quota::claim(name, 1)).unwrap()).unwrap();
    };
    ["a", "b", "c", "d"].into_iter().for_each(make);
    let said = |name: &str| said(&plane, "ResourceClaim", "shop", name, "Granted");
    let all = |expected: [&str; 4]| {
        ["a", "b", "c", "d"].into_iter().zip(expected).all(|(name, expected)| {
            said(name)
                == match expected {
                    "yes" => "True/QuotaAvailable",
                    "no" => "False/QuotaExceeded",
                    _ => "",
                }
        })
    };
    until("two are granted", || all(["yes", "yes", "no", "no"])).await;
    quiet(5).await;
    plane.delete("ResourceClaim", "shop", "a").unwrap();
    quiet(60).await;
    assert!(all(["gone", "yes", "no", "no"]), "a refusal is final");
    make("c");
    until("the next is granted", || all(["gone", "yes", "yes", "no"])).await;
    namespace(Value::Null);
    quiet(60).await;
    assert!(all(["gone", "yes", "yes", "no"]), "a refusal is final");
    make("d");
    until("all are granted", || all(["gone", "yes", "yes", "yes"])).await;
    quiet(5).await;
    let mark = plane.mark();
    quiet(60).await;
    assert!(plane.writes_since(mark).is_empty());
}

/// The younger is being granted while the one that is before it (by name, within one second) comes.
#[tokio::test(start_paused = true)]
async fn claims_that_compete_are_not_granted_the_same_share() {
    let plane = cluster("project");
    simulate(vec![Part::Quota("project".to_owned(), plane.client())], &plane);
    let limited = json!({"name": "shop", "annotations": {QUOTA: "1"}});
    plane.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": limited})).unwrap();
    plane.fault(Fault::Slow(Duration::from_secs(5)).on("patch", "resourceclaims/status").times(1));
    plane.put(serde_json::to_value(quota::claim("z", 1)).unwrap()).unwrap();
    quiet(1).await;
    plane.put(serde_json::to_value(quota::claim("a", 1)).unwrap()).unwrap();
    quiet(30).await;
    let said = ["a", "z"].map(|name| said(&plane, "ResourceClaim", "shop", name, "Granted"));
    assert_eq!(said, ["False/QuotaExceeded", "True/QuotaAvailable"]);
}
