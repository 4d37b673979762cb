//! Servers from their creation to their end, and what is refused.

use fedhub_region::known::{IMAGE, LARGE, NETWORK, NEW_IMAGE, OTHER_NETWORK, SMALL};
use fedhub_region::{Options, Timing, server_id};
use serde_json::{Value, json};

use crate::client::{Client, NOBODYS, millis, path, server};

#[tokio::test(start_paused = true)]
async fn a_server_is_provisioned_before_it_runs() {
    let client = Client::new(Options::default()).await;
    let created = client.post("/api/v2/servers", &server("web-0", "uid-0")).await;
    assert_eq!(created.status, 201);
    assert_eq!(created.body["metadata"]["id"].as_str(), server_id(NETWORK, "web-0").as_deref());
    assert_eq!(created.body["metadata"]["provisioningStatus"], "pending");
    assert_eq!(created.body["status"]["powerState"], Value::Null);
    let id = created.body["metadata"]["id"].as_str().unwrap();
    let mut seen = Vec::new();
    for _ in 0..6 {
        let shown = client.get(&path(id)).await.body;
        let state = [&shown["metadata"]["provisioningStatus"], &shown["status"]["powerState"]]
            .map(|it| it.as_str().unwrap_or("-").to_owned());
        let complete = [&shown["status"]["privateIP"], &shown["status"]["macAddress"]].map(Value::is_string);
        if seen.last() != Some(&(state.clone(), complete)) {
            seen.push((state, complete));
        }
        millis(100).await;
    }
    let expected = [
        ("pending", "-", [false, false]),
        ("provisioning", "Pending", [false, false]),
        ("provisioned", "Building", [true, false]),
        ("provisioned", "Running", [true, true]),
    ];
    let expected = expected.map(|(status, power, has)| ([status.to_owned(), power.to_owned()], has));
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn a_name_is_given_once_on_a_network() {
    let client = Client::new(Options::default()).await;
    client.create("web-0", "uid-0").await;
    let again = client.post("/api/v2/servers", &server("web-0", "uid-1")).await;
    assert_eq!([again.status.into(), again.body["error"].clone()], [json!(409), json!("conflict")]);
    let mut elsewhere = server("web-0", "uid-2");
    elsewhere["spec"]["networkId"] = json!(OTHER_NETWORK);
    assert_eq!(client.post("/api/v2/servers", &elsewhere).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn a_server_is_listed_while_it_is_being_deleted_and_its_name_is_not_free() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    millis(600).await;
    assert_eq!(client.delete(&path(&id)).await.status, 202);
    let listed = client.get("/api/v2/servers").await.body;
    assert!(listed[0]["metadata"]["deletionTime"].is_string(), "{listed}");
    assert_eq!(listed[0]["metadata"]["provisioningStatus"], "deprovisioning");
    assert_eq!(client.post("/api/v2/servers", &server("web-0", "uid-0")).await.status, 409);
    let change = client.put(&path(&id), &server("web-0", "uid-0")).await;
    assert_eq!(change.status, 400, "{change:?}");
    assert_eq!(client.delete(&path(&id)).await.status, 202);
    millis(600).await;
    assert_eq!(client.get(&path(&id)).await.status, 404);
    assert_eq!(client.delete(&path(&id)).await.status, 404);
    assert_eq!(client.get("/api/v2/servers").await.body, json!([]));
    assert_eq!(client.create("web-0", "uid-0").await, id);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_had_is_refused() {
    let client = Client::new(Options::default()).await;
    for (what, pointer, value, status) in [
        ("no UUID", "/spec/flavorId", json!("small"), 400),
        ("no name", "/metadata/name", json!("a b"), 400),
        ("a long name", "/metadata/name", json!("a".repeat(64)), 400),
        ("no image", "/spec/imageId", json!(NOBODYS), 404),
        ("no flavor", "/spec/flavorId", json!(NOBODYS), 422),
        ("no network", "/spec/networkId", json!(NOBODYS), 404),
        ("no cloud-init", "/spec", with(json!({"userData": "aGVsbG8="})), 422),
        ("no base64", "/spec", with(json!({"userData": "?"})), 400),
        ("no CIDR", "/spec", with(json!({"networking": {"allowedSourceAddresses": ["10.0.0.1"]}})), 422),
        ("no group", "/spec", with(json!({"networking": {"securityGroups": [NOBODYS]}})), 404),
        ("no way in", "/spec", with(json!({"sshInjection": "ca"})), 422),
        ("nothing", "/spec", json!({}), 400),
    ] {
        let mut body = server("web-0", "uid-0");
        *body.pointer_mut(pointer).unwrap() = value;
        let answer = client.post("/api/v2/servers", &body).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        for part in ["error", "error_description", "trace_id"] {
            assert!(answer.body[part].is_string(), "{what}: {answer:?}");
        }
    }
    assert_eq!(client.region.servers(), []);
}

fn with(more: Value) -> Value {
    let mut spec = json!({"flavorId": SMALL, "imageId": IMAGE, "networkId": NETWORK});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

#[tokio::test(start_paused = true)]
async fn a_change_replaces_all_and_another_image_is_another_disk() {
    let client = Client::new(Options::default()).await;
    let mut body = server("web-0", "uid-0");
    body["spec"]["networking"] = json!({"publicIP": true});
    body["metadata"]["description"] = json!("of tests");
    let created = client.post("/api/v2/servers", &body).await.body;
    let id = created["metadata"]["id"].as_str().unwrap();
    millis(600).await;
    let address = client.get(&path(id)).await.body["status"]["publicIP"].clone();
    assert!(address.is_string());

    for (pointer, value) in [("/metadata/name", "web-1"), ("/spec/flavorId", LARGE)] {
        let mut other = body.clone();
        *other.pointer_mut(pointer).unwrap() = json!(value);
        assert_eq!(client.put(&path(id), &other).await.status, 422, "{pointer}");
    }

    let bare = json!({"metadata": {"name": "web-0"}, "spec": {"flavorId": SMALL, "imageId": NEW_IMAGE}});
    let changed = client.put(&path(id), &bare).await;
    assert_eq!(changed.status, 202);
    assert_eq!(changed.body["metadata"]["provisioningStatus"], "provisioning");
    for part in ["/metadata/tags", "/metadata/description", "/spec/networking"] {
        assert_eq!(changed.body.pointer(part), None, "{part}");
    }
    millis(200).await;
    let rebuilding = client.get(&path(id)).await.body;
    assert_eq!(rebuilding["status"]["powerState"], "Rebuilding");
    assert_eq!(rebuilding["metadata"]["provisioningStatus"], "provisioned");
    millis(400).await;
    let rebuilt = client.get(&path(id)).await.body;
    assert_eq!(rebuilt["status"]["powerState"], "Running");
    assert_eq!(rebuilt["status"]["publicIP"], Value::Null);
    assert_eq!(client.region.servers()[0].root_disks, 2);
}

#[tokio::test(start_paused = true)]
async fn power_has_to_be_in_the_state_for_it() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    let order = async |what: &str| client.post(&format!("{}/{what}", path(&id)), &json!(null)).await.status;
    let state = async || client.get(&path(&id)).await.body["status"]["powerState"].clone();
    assert_eq!(order("stop").await, 400);
    millis(600).await;
    assert_eq!(order("start").await, 400);
    assert_eq!(order("softreboot").await, 202);
    assert_eq!(order("stop").await, 202);
    assert_eq!(state().await, "Stopping");
    assert_eq!(order("start").await, 400);
    millis(600).await;
    assert_eq!(state().await, "Stopped");
    assert_eq!(order("softreboot").await, 400);
    assert_eq!(order("start").await, 202);
    assert_eq!(state().await, "Pending");
    millis(600).await;
    assert_eq!(state().await, "Running");
    assert_eq!(client.region.servers()[0].restarts, 1);
}

#[tokio::test(start_paused = true)]
async fn an_order_makes_void_what_the_one_before_it_would_have_come_to() {
    let client = Client::new(Options::default()).await;
    client.region.set_timing(Timing { rebuild: 200, ..Timing::default() });
    let id = client.create("web-0", "uid-0").await;
    millis(600).await;
    assert_eq!(client.post(&format!("{}/stop", path(&id)), &json!(null)).await.status, 202);
    let mut body = server("web-0", "uid-0");
    body["spec"]["imageId"] = json!(NEW_IMAGE);
    assert_eq!(client.put(&path(&id), &body).await.status, 202);
    millis(600).await;
    assert_eq!(client.get(&path(&id)).await.body["status"]["powerState"], "Running");
}
