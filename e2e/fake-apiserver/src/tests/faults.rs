//! Faults, and the record of requests.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{MAPS, WDS, ask, map, object, plane, refused, wd, wds};
use crate::Fault;

#[tokio::test(start_paused = true)]
async fn each_fault_does_what_it_says() {
    let server = plane();
    server.put(map("a")).unwrap();
    let api: Api<ConfigMap> = Api::namespaced(server.client(), "n");
    let patch = Patch::Merge(json!({ "data": { "k": "w" } }));
    let params = PatchParams::default();

    let id = server.fault(Fault::Hang);
    assert!(timeout(Duration::from_mins(1), api.get("a")).await.is_err());
    assert!(timeout(Duration::from_mins(1), api.patch("a", &params, &patch)).await.is_err());
    server.clear_fault(id);

    for code in [400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504] {
        server.fault(Fault::Status(code).times(1));
        assert_eq!(refused(api.patch("a", &params, &patch).await).0, code);
    }
    for fault in [Fault::Garbage, Fault::Disconnect] {
        server.fault(fault.times(1));
        assert!(
            !matches!(api.patch("a", &params, &patch).await, Ok(_) | Err(kube::Error::Api(_))),
            "{fault:?}"
        );
    }
    assert_eq!(server.get("ConfigMap", "n", "a").unwrap()["data"]["k"], "v", "nothing was changed so far");

    server.fault(Fault::LostAnswer.times(1));
    assert!(api.patch("a", &params, &patch).await.is_err());
    assert_eq!(
        server.get("ConfigMap", "n", "a").unwrap()["data"]["k"],
        "w",
        "done, though the client cannot know"
    );

    server.fault(Fault::EmptyList);
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    assert!(api.get("a").await.is_ok());
    server.clear_faults();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn faults_match_as_access_rules_do() {
    let server = plane();
    server.put(wd("a")).unwrap();
    let status = format!("{WDS}/a/status");
    let path = format!("{WDS}/a");
    server.fault(Fault::Status(503).on("patch", "workloaddeployments"));
    for (method, path, code) in [("PATCH", &path, 503), ("GET", &path, 200), ("PATCH", &status, 200)] {
        assert_eq!(ask(&server, method, path, json!({})).await.0, code, "{method} {path}");
    }
    server.clear_faults();
    server.fault(Fault::Status(500).on("*", "workloaddeployments/status").times(2));
    for code in [500, 500, 200] {
        assert_eq!(ask(&server, "PATCH", &status, json!({})).await.0, code);
    }
    server.fault(Fault::Status(500));
    server.fault(Fault::Status(429).times(1));
    assert_eq!(ask(&server, "GET", &path, Value::Null).await.0, 429, "the last one goes first");
    assert_eq!(ask(&server, "GET", &path, Value::Null).await.0, 500);
}

#[tokio::test(start_paused = true)]
async fn every_request_is_recorded() {
    let server = plane();
    let api = wds(server.client_as("fedhub/1"));
    let mark = server.mark();
    api.create(&PostParams::default(), &object(wd("a"))).await.unwrap();
    api.get("a").await.unwrap();
    let patch = Patch::Merge(json!({ "status": { "x": 1 } }));
    api.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    api.patch_status("a", &dry, &patch).await.unwrap();
    assert_eq!(refused(api.delete("b", &kube::api::DeleteParams::default()).await).0, 404);
    api.list(&ListParams::default()).await.unwrap();
    let entries = server.audit();
    let said: Vec<String> = entries
        .iter()
        .map(|e| {
            let at = |part: &Option<String>| part.clone().unwrap_or_default();
            format!(
                "{} {}/{} {}/{} {} {}",
                e.verb,
                e.resource,
                at(&e.subresource),
                at(&e.namespace),
                at(&e.name),
                e.dry_run,
                e.code
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            "create workloaddeployments/ n/ false 201",
            "get workloaddeployments/ n/a false 200",
            "patch workloaddeployments/status n/a false 200",
            "patch workloaddeployments/status n/a true 200",
            "delete workloaddeployments/ n/b false 404",
            "list workloaddeployments/ n/ false 200",
        ]
    );
    assert!(
        entries
            .iter()
            .all(|e| e.user_agent.as_deref() == Some("fedhub/1") && e.group == "compute.datumapis.com")
    );
    assert_eq!(entries[2].body, Some(json!({ "status": { "x": 1 } })));
    let verbs: Vec<&str> = server.writes_since(mark).iter().map(|e| e.verb).collect();
    assert_eq!(verbs, ["create", "patch", "delete"]);
    let mark = server.mark();
    server.clear_audit();
    assert!(server.writes_since(mark).is_empty());
    ask(&server, "DELETE", MAPS, Value::Null).await;
    assert_eq!(server.writes_since(mark).len(), 1, "marks stay good when the record is cleared");
}
