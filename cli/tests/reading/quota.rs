//! `quota`: in use, limit, available; what is refused, which quota it is, and why.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{condition, granted, instance, over_quota, ready};

fn bucket(resource: &str, status: Value) -> Value {
    json!({
        "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "AllowanceBucket",
        "metadata": {"namespace": "milo-system", "name": format!("b-{}", resource.replace('/', "-"))},
        "spec": {"consumerRef": {"kind": "Project", "name": "p"}, "resourceType": resource},
        "status": status,
    })
}

fn claim(instance: &str, denied: &str) -> Value {
    let requests = [("instances", 1), ("vcpus", 1500), ("memory", 2048)];
    let kind = |name: &str| format!("compute.datumapis.com/{name}");
    let allocation = |(name, _): &(&str, i64)| {
        let is_denied = *name == denied;
        json!({
            "resourceType": kind(name), "status": if is_denied { "Denied" } else { "Granted" },
            "message": if is_denied { "1500 asked, 0 left of 4000" } else { "" },
            "lastTransitionTime": "2026-11-23T11:00:00Z",
        })
    };
    json!({
        "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
        "metadata": {"namespace": "default", "name": format!("instance-{instance}-uid-of-a-cell")},
        "spec": {
            "consumerRef": {"kind": "Project", "name": "p"}, "resourceRef": {"kind": "Instance", "name": instance},
            "requests": requests.iter().map(|(name, amount)| json!({"resourceType": kind(name), "amount": amount}))
                .collect::<Value>(),
        },
        "status": {
            "conditions": [condition("Granted", "False", "QuotaExceeded", "")],
            "allocations": requests.iter().map(allocation).collect::<Value>(),
        },
    })
}

fn project() -> Vec<Value> {
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "milo-system"}}),
        bucket("compute.datumapis.com/vcpus", json!({"limit": 4000, "allocated": 4000, "available": 0})),
        bucket("compute.datumapis.com/instances", json!({"limit": 10, "allocated": 3, "available": 7})),
        bucket("compute.datumapis.com/memory", json!({"limit": 81920})),
        bucket("dns.networking.miloapis.com/zones", json!({"limit": 1, "allocated": 1, "available": 0})),
        instance("web", "DFW", 0, ready()),
        instance("web", "DFW", 1, over_quota()),
        claim("web-us-dfw-1", "vcpus"),
    ]
}

fn line<'a>(out: &'a str, first: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.starts_with(first)).unwrap();
    line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[tokio::test]
async fn limits_are_in_units_of_people_and_unknown_numbers_are_not_zero() {
    let plane = Plane::with(project()).await;
    let ended = plane.run("quota").await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(line(&ended.out, "RESOURCE"), ["RESOURCE", "UNIT", "LIMIT", "USED", "AVAILABLE", "USAGE"]);
    assert_eq!(line(&ended.out, "instances"), ["instances", "instance", "10", "3", "7", "30%"]);
    assert_eq!(line(&ended.out, "vcpus"), ["vcpus", "vCPU", "4", "4", "0", "100%"]);
    assert_eq!(line(&ended.out, "memory"), ["memory", "MiB", "81920", "?", "?", "?"]);
    assert!(!ended.out.contains("zones"), "another service's: {ended:?}");
}

#[tokio::test]
async fn a_refusal_names_the_quota_and_why() {
    let plane = Plane::with(project()).await;
    let ended = plane.run("quota").await;
    let refused = line(&ended.out, "web-us-dfw-1");
    assert_eq!(refused, ["web-us-dfw-1", "DFW", "vcpus", "1.5 vCPU", "1500 asked, 0 left of 4000"]);
    assert!(ended.out.contains("What you can do: ask for more quota"), "{ended:?}");
    let value = plane.run("quota --constrained -o json").await.json();
    assert_eq!(value["quota"].as_array().unwrap().len(), 1);
    assert_eq!(value["refused"][0]["resource"], "vcpus");
    assert_eq!(plane.run("quota --city ORD -o json").await.json()["refused"], json!([]));
}

#[tokio::test]
async fn what_may_not_be_read_is_said() {
    let plane = Plane::with(project()).await;
    plane.server.fault(Fault::Status(403).on("list", "resourceclaims"));
    let ended = plane.run("quota").await;
    let refused = line(&ended.out, "web-us-dfw-1");
    assert_eq!(&refused[..4], ["web-us-dfw-1", "DFW", "?", "?"], "which quota is not known: {ended:?}");
    assert!(ended.code == 0 && ended.err.contains("lacks the right"), "{ended:?}");
    plane.server.fault(Fault::Status(403).on("list", "allowancebuckets"));
    let ended = plane.run("quota").await;
    assert!(!ended.err.contains("No quota for compute") && ended.out.contains("web-us-dfw-1"), "{ended:?}");
    let value = plane.run("quota -o json").await.json();
    assert_eq!((&value["quota"], value["unknown"].as_array().unwrap().len()), (&Value::Null, 2));
    plane.server.clear_faults();
    plane.server.unregister("allowancebuckets.quota.miloapis.com");
    let ended = plane.run("quota").await;
    assert!(ended.err.contains("shows no quota"), "{ended:?}");
}

#[tokio::test]
async fn a_project_without_a_grant_is_told_so() {
    let waiting = json!([
        condition("Ready", "False", "SchedulingGatesPresent", "Scheduling gates present: Quota"),
        condition("QuotaGranted", "Unknown", "QuotaNoBudget", "Quota has not been evaluated"),
    ]);
    let plane =
        Plane::with([instance("web", "DFW", 0, waiting), instance("web", "DFW", 1, json!([granted()]))])
            .await;
    let ended = plane.run("quota").await;
    assert!(ended.err.contains("No quota for compute was granted"), "{ended:?}");
    assert_eq!(line(&ended.out, "web-us-dfw-0")[2..4], ["?", "?"]);
    assert!(ended.out.contains("ask for quota for the project"), "{ended:?}");
}
