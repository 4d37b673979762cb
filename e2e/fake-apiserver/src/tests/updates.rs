//! PUT and PATCH, on objects and on their status.

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{MAPS, WDS, ask, map, object, plane, refused, version, wd, wds};
use crate::{ApiServer, Resource, resource};

#[tokio::test(start_paused = true)]
async fn who_may_replace_what() {
    let server = plane();
    let (_, stored) = ask(&server, "POST", WDS, wd("a")).await;
    let (_, stored_map) = ask(&server, "POST", MAPS, map("m")).await;
    let changed = |base: &Value, fields: Value| {
        let mut body = base.clone();
        json_patch::merge(&mut body, &fields);
        body
    };
    let wd_path = format!("{WDS}/a");
    let map_path = format!("{MAPS}/m");
    let meta = |field: &str, value: Value| json!({ "metadata": { field: value } });
    for (what, path, body, code) in [
        ("missing", format!("{WDS}/b"), wd("b"), 404),
        (
            "no version on a custom resource",
            wd_path.clone(),
            changed(&stored, meta("resourceVersion", Value::Null)),
            422,
        ),
        ("an old version", wd_path.clone(), changed(&stored, meta("resourceVersion", json!("3"))), 409),
        ("another UID", wd_path.clone(), changed(&stored, meta("uid", json!("other"))), 409),
        ("another name", wd_path.clone(), changed(&stored, meta("name", json!("b"))), 400),
        ("a bad label", wd_path.clone(), changed(&stored, meta("labels", json!({ "a": "b c" }))), 422),
        ("no UID", wd_path.clone(), changed(&stored, meta("uid", Value::Null)), 200),
        ("no version on a ConfigMap", map_path.clone(), map("m"), 200),
        (
            "an old version on a ConfigMap",
            map_path,
            changed(&stored_map, meta("resourceVersion", json!("3"))),
            409,
        ),
        (
            "a missing Event is made",
            "/api/v1/namespaces/n/events/e".to_owned(),
            json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "involvedObject": {} }),
            201,
        ),
    ] {
        let (got, answer) = ask(&server, "PUT", &path, body).await;
        assert_eq!(got, code, "{what}: {answer}");
    }
    assert_eq!(server.get("WorkloadDeployment", "n", "a").unwrap(), stored, "none of it changed anything");
}

#[tokio::test(start_paused = true)]
async fn generation_counts_what_is_neither_metadata_nor_status() {
    let server = plane();
    ask(&server, "POST", WDS, wd("a")).await;
    let path = format!("{WDS}/a");
    let status = format!("{WDS}/a/status");
    let mut last = server.revision();
    for (what, path, patch, generation, written) in [
        ("a label", &path, json!({ "metadata": { "labels": { "a": "b" } } }), 1, true),
        ("the same label", &path, json!({ "metadata": { "labels": { "a": "b" } } }), 1, false),
        ("an empty map", &path, json!({ "metadata": { "annotations": {} } }), 1, false),
        ("nothing", &path, json!({}), 1, false),
        ("the spec", &path, json!({ "spec": { "replicas": 2 } }), 2, true),
        ("a field at the top", &path, json!({ "extra": true }), 3, true),
        ("status on the object", &path, json!({ "status": { "x": 1 } }), 3, false),
        ("generation itself", &path, json!({ "metadata": { "generation": 99 } }), 3, false),
        (
            "timestamps",
            &path,
            json!({ "metadata": { "creationTimestamp": null, "deletionTimestamp": "2001-01-01T00:00:00Z" } }),
            3,
            false,
        ),
        ("status", &status, json!({ "status": { "x": 1 } }), 3, true),
        ("the same status", &status, json!({ "status": { "x": 1 } }), 3, false),
        (
            "spec on the status",
            &status,
            json!({ "spec": { "replicas": 9 }, "metadata": { "labels": { "z": "z" } } }),
            3,
            false,
        ),
        ("no status", &status, json!({ "status": null }), 3, true),
    ] {
        let (code, answer) = ask(&server, "PATCH", path, patch).await;
        assert_eq!((code, &answer["metadata"]["generation"]), (200, &json!(generation)), "{what}");
        assert_eq!(server.revision() > last, written, "{what}");
        last = server.revision();
    }
}

#[tokio::test(start_paused = true)]
async fn a_merge_patch_may_hold_an_optimistic_lock() {
    let server = plane();
    let api = wds(server.client());
    let made = api.create(&PostParams::default(), &object(wd("a"))).await.unwrap();
    let patch = |version: &str, replicas: u32| {
        Patch::Merge(json!({ "metadata": { "resourceVersion": version }, "spec": { "replicas": replicas } }))
    };
    let seen = made.metadata.resource_version.unwrap();
    let params = PatchParams::default();
    api.patch("a", &params, &patch(&seen, 2)).await.unwrap();
    assert_eq!(refused(api.patch("a", &params, &patch(&seen, 3)).await), (409, "Conflict".into()));
    assert_eq!(refused(api.patch_status("a", &params, &patch(&seen, 3)).await), (409, "Conflict".into()));
    let uid = Patch::Merge(json!({ "metadata": { "uid": "other" } }));
    assert_eq!(refused(api.patch("a", &params, &uid).await), (422, "Invalid".into()));
    assert_eq!(refused(api.patch("b", &params, &uid).await), (404, "NotFound".into()));
    assert_eq!(server.get("WorkloadDeployment", "n", "a").unwrap()["spec"]["replicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn json_patches() {
    let server = plane();
    ask(&server, "POST", WDS, wd("a")).await;
    let path = format!("{WDS}/a");
    for (patch, code) in [
        (
            json!([{ "op": "test", "path": "/spec/replicas", "value": 1 }, { "op": "replace", "path": "/spec/replicas", "value": 2 }]),
            200,
        ),
        (
            json!([{ "op": "test", "path": "/spec/replicas", "value": 1 }, { "op": "replace", "path": "/spec/replicas", "value": 3 }]),
            422,
        ),
        (json!([{ "op": "remove", "path": "/spec/nothing" }]), 422),
        (json!([{ "op": "test", "path": "/metadata/resourceVersion", "value": "1" }]), 422),
        (json!([{ "op": "replace", "path": "/metadata/resourceVersion", "value": "1" }]), 409),
        (json!([{ "op": "add", "path": "/metadata/labels", "value": { "a": "b" } }]), 200),
        (json!([{ "op": "add", "path": "/metadata/labels/x.io~1y", "value": "b" }]), 200),
        (json!([{ "op": "dance", "path": "/spec" }]), 400),
        (json!({ "spec": {} }), 400),
    ] {
        let (got, answer) = ask(&server, "JSONPATCH", &path, patch.clone()).await;
        assert_eq!(got, code, "{patch}: {answer}");
    }
    let stored = server.get("WorkloadDeployment", "n", "a").unwrap();
    assert_eq!(stored["spec"]["replicas"], 2);
    assert_eq!(stored["metadata"]["labels"], json!({ "a": "b", "x.io/y": "b" }));
}

#[tokio::test(start_paused = true)]
async fn a_status_is_replaced_alone_and_from_a_minimal_body() {
    let server = plane();
    let (_, made) = ask(&server, "POST", WDS, wd("a")).await;
    let api = wds(server.client());
    let minimal = |version: &str| {
        object(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": { "name": "a", "resourceVersion": version, "labels": { "ignored": "yes" } },
            "status": { "replicas": 3 },
        }))
    };
    let seen = version(&made);
    let after = api.replace_status("a", &PostParams::default(), &minimal(&seen)).await.unwrap();
    assert_eq!(after.data["status"]["replicas"], 3);
    assert_eq!(after.data["spec"], made["spec"]);
    assert_eq!(after.metadata.labels, None);
    assert_eq!(refused(api.replace_status("a", &PostParams::default(), &minimal(&seen)).await).0, 409);

    let mut whole = server.get("WorkloadDeployment", "n", "a").unwrap();
    whole["spec"]["replicas"] = json!(4);
    whole["status"] = json!({ "replicas": 0 });
    let (code, after) = ask(&server, "PUT", &format!("{WDS}/a"), whole).await;
    assert_eq!((code, &after["status"]["replicas"], &after["spec"]["replicas"]), (200, &json!(3), &json!(4)));
    let (_, read) = ask(&server, "GET", &format!("{WDS}/a/status"), Value::Null).await;
    assert_eq!(read, after);
}

#[tokio::test(start_paused = true)]
async fn immutable_fields() {
    let custom =
        Resource::custom("compute.datumapis.com", "v1alpha", "WorkloadDeployment", "workloaddeployments")
            .with_status()
            .immutable(&["/spec/cityCode", "/spec/template/name"]);
    let server = ApiServer::builder("p").resources(resource::project_plane()).resource(custom).build();
    server.put(wd("a")).unwrap();
    let path = format!("{WDS}/a");
    for (patch, code) in [
        (json!({ "spec": { "cityCode": "ORD" } }), 422),
        (json!({ "spec": { "cityCode": null } }), 422),
        (json!({ "spec": { "template": { "name": "x" } } }), 422),
        (json!({ "spec": { "cityCode": "DFW", "replicas": 2 } }), 200),
    ] {
        let (got, answer) = ask(&server, "PATCH", &path, patch.clone()).await;
        assert_eq!(got, code, "{patch}: {answer}");
    }
    let (_, answer) = ask(&server, "PATCH", &path, json!({ "spec": { "cityCode": "ORD" } })).await;
    assert_eq!(
        answer["message"],
        "WorkloadDeployment.compute.datumapis.com \"a\" is invalid: spec.cityCode: Invalid value: \"ORD\": field is immutable"
    );
    assert_eq!(answer["details"]["causes"][0]["field"], "spec.cityCode");
    server.patch("WorkloadDeployment", "n", "a", &json!({ "spec": { "cityCode": "ORD" } })).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_in_a_namespace_that_was_taken_away_by_force_cannot_be_changed() {
    let server = plane();
    let mut held = wd("a");
    held["metadata"]["finalizers"] = json!(["x.io/one"]);
    server.put(held).unwrap();
    server.delete("WorkloadDeployment", "n", "a").unwrap();
    server.remove_namespace("n").unwrap();
    let path = format!("{WDS}/a");
    assert_eq!(ask(&server, "GET", &path, Value::Null).await.0, 200);
    for path in [&path, &format!("{path}/status")] {
        let (code, refusal) =
            ask(&server, "PUT", path, server.get("WorkloadDeployment", "n", "a").unwrap()).await;
        assert_eq!(
            (code, &refusal["details"]["kind"], &refusal["details"]["name"]),
            (404, &json!("namespaces"), &json!("n"))
        );
    }
    assert_eq!(ask(&server, "DELETE", &path, Value::Null).await.0, 200);
}
