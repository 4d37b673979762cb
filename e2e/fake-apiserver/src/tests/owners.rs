//! Garbage collection by ownerReferences.

use serde_json::{Value, json};

use super::{WDS, ask, map, plane, wd};
use crate::ApiServer;

fn owned(name: &str, namespace: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({
                "apiVersion": owner["apiVersion"], "kind": owner["kind"],
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            })
        })
        .collect();
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
        "metadata": { "namespace": namespace, "name": name, "ownerReferences": references }, "spec": {},
    })
}

#[tokio::test(start_paused = true)]
async fn what_has_lost_all_owners_goes_too() {
    let server = plane();
    let a = server.put(wd("a")).unwrap();
    let b = server.put(wd("b")).unwrap();
    let child = server.put(owned("of-a", "n", &[&a])).unwrap();
    server.put(owned("of-child", "n", &[&child])).unwrap();
    server.put(owned("of-both", "n", &[&a, &b])).unwrap();
    server.put(owned("of-none", "n", &[])).unwrap();
    let names = |server: &ApiServer| -> Vec<String> {
        server.list("Instance").iter().map(|i| i["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&server), ["of-a", "of-both", "of-child", "of-none"]);
    assert_eq!(ask(&server, "DELETE", &format!("{WDS}/a"), Value::Null).await.0, 200);
    assert_eq!(names(&server), ["of-both", "of-none"]);
    let left = server.get("Instance", "n", "of-both").unwrap();
    assert_eq!(
        left["metadata"]["ownerReferences"].as_array().unwrap().len(),
        1,
        "the gone owner is taken off"
    );
    assert!(server.writes_since(server.mark()).is_empty());
    assert_eq!(
        server.audit().iter().filter(|e| e.is_write()).count(),
        1,
        "only the client's own write is recorded"
    );
    server.delete("WorkloadDeployment", "n", "b").unwrap();
    assert_eq!(names(&server), ["of-none"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_not_gone_while_a_finalizer_holds_it() {
    let server = plane();
    let mut held = wd("a");
    held["metadata"]["finalizers"] = json!(["x.io/one"]);
    let owner = server.put(held).unwrap();
    let mut child = owned("c", "n", &[&owner]);
    child["metadata"]["finalizers"] = json!(["x.io/two"]);
    server.put(child).unwrap();
    server.delete("WorkloadDeployment", "n", "a").unwrap();
    assert!(server.get("Instance", "n", "c").unwrap()["metadata"]["deletionTimestamp"].is_null());
    server.patch("WorkloadDeployment", "n", "a", &json!({ "metadata": { "finalizers": [] } })).unwrap();
    assert!(
        server.get("Instance", "n", "c").unwrap()["metadata"]["deletionTimestamp"].is_string(),
        "its own finalizer holds it"
    );
    server.patch("Instance", "n", "c", &json!({ "metadata": { "finalizers": [] } })).unwrap();
    assert_eq!(server.get("Instance", "n", "c"), None);
}

#[tokio::test(start_paused = true)]
async fn owners_that_never_were_and_owners_in_another_namespace_do_not_count() {
    let server = plane();
    let owner = server.put(wd("a")).unwrap();
    let mut ghost = owner.clone();
    ghost["metadata"]["uid"] = json!("of-yesterday");
    let mut renamed = owner.clone();
    renamed["metadata"]["name"] = json!("b");
    for (what, namespace, reference) in
        [("another UID", "n", &ghost), ("another name", "n", &renamed), ("another namespace", "m", &owner)]
    {
        server.put(owned("i", namespace, &[reference])).unwrap();
        assert_eq!(server.get("Instance", namespace, "i"), None, "{what}");
    }
    let mut namespaced = map("c");
    let namespace = server.get("Namespace", "", "n").unwrap();
    namespaced["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Namespace", "name": "n", "uid": namespace["metadata"]["uid"] }]);
    server.put(namespaced).unwrap();
    assert!(server.get("ConfigMap", "n", "c").is_some(), "a cluster-scoped owner counts everywhere");
}

#[tokio::test(start_paused = true)]
async fn an_owner_made_anew_under_its_name_is_another_one() {
    let server = plane();
    let old = server.put(wd("a")).unwrap();
    server.delete("WorkloadDeployment", "n", "a").unwrap();
    let new = server.put(wd("a")).unwrap();
    server.put(owned("of-old", "n", &[&old])).unwrap();
    server.put(owned("of-new", "n", &[&new])).unwrap();
    assert_eq!(server.get("Instance", "n", "of-old"), None);
    assert!(server.get("Instance", "n", "of-new").is_some());
}

#[tokio::test(start_paused = true)]
async fn collection_can_be_switched_off() {
    let server = plane();
    server.set_garbage_collection(false);
    let owner = server.put(wd("a")).unwrap();
    server.put(owned("i", "n", &[&owner])).unwrap();
    server.delete("WorkloadDeployment", "n", "a").unwrap();
    assert!(server.get("Instance", "n", "i").is_some());
    server.set_garbage_collection(true);
    assert_eq!(server.get("Instance", "n", "i"), None, "switched on, it catches up");
}
