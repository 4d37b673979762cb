//! `cities` and `instance-types`: what there is, and what cannot be told.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{condition, workload};

fn binding(name: &str, city: &str, ready: Option<&str>) -> Value {
    let conditions: Vec<Value> = ready.map(|it| condition("Ready", it, "Ready", "")).into_iter().collect();
    json!({
        "apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding", "metadata": {"name": name},
        "spec": {"topology": {"topology.datum.net/city-code": city}}, "status": {"conditions": conditions},
    })
}

fn project() -> Vec<Value> {
    vec![
        binding("dfw-a", "DFW", Some("True")),
        binding("dfw-b", "DFW", Some("False")),
        binding("ord", "ORD", Some("False")),
        binding("ams", "AMS", None),
        workload("web", &["DFW", "LHR"], json!({})),
    ]
}

fn ready(value: &Value) -> Vec<(String, Value)> {
    let cities = value["cities"].as_array().unwrap();
    cities.iter().map(|it| (it["city"].as_str().unwrap().to_owned(), it["ready"].clone())).collect()
}

#[tokio::test]
async fn w7_cities_are_those_of_the_projects_locations() {
    let plane = Plane::with(project()).await;
    let value = plane.run("cities -o json").await.json();
    let expected = [("AMS", Value::Null), ("DFW", json!(true)), ("LHR", json!(false)), ("ORD", json!(false))];
    assert_eq!(ready(&value), expected.map(|(city, ready)| (city.to_owned(), ready)));
    assert_eq!((&value["complete"], &value["cities"][1]["workloads"]), (&json!(true), &json!(["web"])));
    assert_eq!(plane.run("cities --ready --no-headers").await.out.lines().count(), 1);
}

#[tokio::test]
async fn where_locations_are_not_known_no_city_is_said_to_be_unready() {
    let plane = Plane::with(project()).await;
    plane.server.fault(Fault::Status(403).on("list", "locationbindings"));
    let ended = plane.run("cities -o json").await;
    let value = ended.json();
    assert_eq!(ready(&value), ["DFW", "LHR"].map(|city| (city.to_owned(), Value::Null)));
    assert!(value["complete"] == json!(false) && ended.err.contains("lacks the right"), "{ended:?}");
    plane.server.clear_faults();
    plane.server.unregister("locationbindings.networking.datumapis.com");
    let ended = plane.run("cities").await;
    assert!(ended.code == 0 && ended.err.contains("no list of its cities"), "{ended:?}");
    plane.server.fault(Fault::Status(403).on("list", "workloads"));
    let ended = plane.run("cities").await;
    assert!(ended.out.is_empty() && !ended.err.contains("There are no cities"), "{ended:?}");
}

fn offer(name: &str, phase: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "InstanceType", "metadata": {"name": name},
        "spec": {
            "displayName": format!("{name} 型"),
            "lifecycle": {"phase": phase, "replacementInstanceType": "d1-standard-4"},
            "resources": {"cpu": cpu, "memory": "4Gi"},
        },
    })
}

#[tokio::test]
async fn w8_instance_types_are_the_catalogues_or_the_built_in_one() {
    let catalogue = [
        offer("d1-standard-4", "Active", "2"),
        offer("d1-standard-2", "Deprecated", "500m"),
        offer("d0-old", "Disabled", "1"),
    ];
    let plane = Plane::with(catalogue).await;
    let ended = plane.run("instance-types --no-headers").await;
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("d1-standard-2   0.5   4 GiB   Deprecated"),
        "{ended:?}"
    );
    let all = plane.run("instance-types --all -o json").await.json();
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert_eq!((&all[0]["default"], &all[1]["replacement"]), (&json!(true), &json!("d1-standard-4")));
    plane.server.fault(Fault::Status(403).on("list", "instancetypes"));
    let ended = plane.run("instance-types").await;
    assert!(ended.code == 1 && ended.out.is_empty(), "unread is not the built-in one: {ended:?}");
    plane.server.clear_faults();
    plane.server.unregister("instancetypes.compute.datumapis.com");
    let ended = plane.run("instance-types -o json").await;
    assert_eq!(ended.json()[0]["name"], "datumcloud/d1-standard-2");
    assert!(ended.err.contains("whether its platform has others is not known"), "{ended:?}");
}
