//! DELETE, finalizers, and namespaces on their way out.

use kube::api::{DeleteParams, PostParams, Preconditions};
use serde_json::{Value, json};

use super::{MAPS, WDS, ask, map, object, plane, refused, version, wd, wds};

#[tokio::test(start_paused = true)]
async fn an_object_that_nothing_holds_is_gone_at_once() {
    let server = plane();
    let api = wds(server.client());
    let made = api.create(&PostParams::default(), &object(wd("a"))).await.unwrap();
    let status = api.delete("a", &DeleteParams::default()).await.unwrap().right().expect("a Status");
    assert_eq!(status.details.unwrap().uid, made.metadata.uid.unwrap());
    assert_eq!(refused(api.delete("a", &DeleteParams::default()).await), (404, "NotFound".into()));
}

#[tokio::test(start_paused = true)]
async fn preconditions() {
    let server = plane();
    let api = wds(server.client());
    let made = api.create(&PostParams::default(), &object(wd("a"))).await.unwrap();
    let only = |uid: Option<&str>, version: Option<&str>| {
        DeleteParams::default().preconditions(Preconditions {
            uid: uid.map(Into::into),
            resource_version: version.map(Into::into),
        })
    };
    let uid = made.metadata.uid.unwrap();
    let version = made.metadata.resource_version.unwrap();
    for wrong in [
        only(Some("x"), None),
        only(None, Some("1")),
        only(Some(&uid), Some("1")),
        only(Some("x"), Some(&version)),
    ] {
        assert_eq!(refused(api.delete("a", &wrong).await), (409, "Conflict".into()));
    }
    assert!(api.delete("a", &only(Some(&uid), Some(&version))).await.unwrap().is_right());
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let server = plane();
    let mut held = wd("a");
    held["metadata"]["finalizers"] = json!(["x.io/one", "x.io/two"]);
    ask(&server, "POST", WDS, held).await;
    let path = format!("{WDS}/a");
    let (code, marked) = ask(&server, "DELETE", &path, Value::Null).await;
    assert_eq!(code, 200);
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(marked["metadata"]["generation"], 2, "the mark counts as a generation");
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    let (_, again) = ask(&server, "DELETE", &path, Value::Null).await;
    assert_eq!(again, marked, "a second delete changes nothing");

    let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
    let (code, status) =
        ask(&server, "PATCH", &path, finalizers(json!(["x.io/one", "x.io/two", "x.io/new"]))).await;
    assert_eq!(code, 422);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("no new finalizers can be added if the object is being deleted")
    );
    let (_, written) = ask(&server, "PATCH", &path, json!({ "spec": { "replicas": 9 } })).await;
    assert_eq!(written["spec"]["replicas"], 9, "it can still be written");
    let (_, one) = ask(&server, "PATCH", &path, finalizers(json!(["x.io/two"]))).await;
    assert!(server.get("WorkloadDeployment", "n", "a").is_some());
    let before = server.revision();
    let (code, last) = ask(&server, "PATCH", &path, finalizers(json!([]))).await;
    assert_eq!((code, version(&last)), (200, version(&one)), "the answer is the object as it was sent");
    assert_eq!(server.get("WorkloadDeployment", "n", "a"), None);
    assert_eq!(server.revision(), before + 1, "the removal alone");
}

#[tokio::test(start_paused = true)]
async fn a_collection() {
    let server = plane();
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut object = wd(name);
        object["metadata"]["labels"] = json!({ "l": label });
        server.put(object).unwrap();
    }
    let (code, gone) = ask(&server, "DELETE", &format!("{WDS}?labelSelector=l%3Dx"), Value::Null).await;
    assert_eq!((code, gone["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(server.list("WorkloadDeployment").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn content_needs_a_living_namespace() {
    let server = plane();
    let (code, status) =
        ask(&server, "POST", "/api/v1/namespaces/nowhere/configmaps", json!({ "metadata": { "name": "a" } }))
            .await;
    assert_eq!((code, &status["reason"]), (404, &json!("NotFound")));
    assert_eq!(status["message"], "namespaces \"nowhere\" not found");

    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["x.io/one"]);
    server.put(held).unwrap();
    server.put(map("free")).unwrap();
    let (code, namespace) = ask(&server, "DELETE", "/api/v1/namespaces/n", Value::Null).await;
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));
    assert_eq!(server.get("ConfigMap", "n", "free"), None);
    assert!(server.get("ConfigMap", "n", "held").unwrap()["metadata"]["deletionTimestamp"].is_string());

    let (code, status) = ask(&server, "POST", MAPS, map("new")).await;
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")));
    assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");
    assert_eq!(ask(&server, "POST", &format!("{MAPS}?dryRun=All"), map("new")).await.0, 403);
    assert_eq!(server.put(map("new")).unwrap_err().code, 403);
    assert_eq!(ask(&server, "PATCH", &format!("{MAPS}/held"), json!({ "data": { "k": "w" } })).await.0, 200);

    ask(&server, "PATCH", &format!("{MAPS}/held"), json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(server.get("ConfigMap", "n", "held"), None);
    assert_eq!(server.get("Namespace", "", "n"), None, "it went with the last of its content");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_has_finalizers_of_its_own_too() {
    let server = plane();
    server.patch("Namespace", "", "n", &json!({ "metadata": { "finalizers": ["x.io/one"] } })).unwrap();
    server.put(map("a")).unwrap();
    assert!(!server.delete("Namespace", "", "n").unwrap());
    assert_eq!(server.get("ConfigMap", "n", "a"), None);
    assert_eq!(server.get("Namespace", "", "n").unwrap()["spec"]["finalizers"], json!([]));
    server.patch("Namespace", "", "n", &json!({ "metadata": { "finalizers": [] } })).unwrap();
    assert_eq!(server.get("Namespace", "", "n"), None);
    let old = server.put(map("a")).unwrap();
    assert!(server.delete("Namespace", "", "n").unwrap());
    assert_ne!(server.put(map("a")).unwrap()["metadata"]["uid"], old["metadata"]["uid"]);
}
