//! Creating, and the rules that every write keeps.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{MAPS, WDS, ask, map, object, plane, refused, version, wd, wds};
use crate::{ApiServer, Resource, resource};

#[tokio::test(start_paused = true)]
async fn a_created_object_has_what_the_server_gives() {
    let server = plane();
    tokio::time::advance(std::time::Duration::from_millis(90_500)).await;
    let mut body = wd("a");
    body["metadata"]["uid"] = json!("mine");
    body["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    body["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z");
    body["metadata"]["generation"] = json!(7);
    body["metadata"]["nonsense"] = json!(1);
    body["status"] = json!({ "replicas": 9 });
    let made = wds(server.client()).create(&PostParams::default(), &object(body)).await.unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(made.uid().unwrap().len(), 36);
    assert_eq!(made.resource_version().unwrap(), server.revision().to_string());
    assert_eq!(made.metadata.deletion_timestamp, None);
    assert_eq!(made.data["status"]["replicas"], 0, "status is written on its subresource only");
    assert_eq!(made.data["status"]["conditions"][2]["type"], "Federated", "what its schema says of it");
    let stored = server.get("WorkloadDeployment", "n", "a").unwrap();
    assert_eq!(stored["metadata"]["creationTimestamp"], "2026-01-01T00:01:30Z");
    assert_eq!(stored["metadata"].get("nonsense"), None);
    let (_, map) = ask(&server, "POST", MAPS, map("m")).await;
    assert_eq!(map["metadata"].get("generation"), None, "built-in resources have none");
}

#[tokio::test(start_paused = true)]
async fn uids_are_the_same_in_every_run_and_differ_between_servers() {
    let uid = |name: &str| {
        let server = ApiServer::project_plane(name);
        server.put(wd("a")).unwrap()["metadata"]["uid"].clone()
    };
    assert_eq!(uid("one"), uid("one"));
    assert_ne!(uid("one"), uid("two"));
    assert_ne!(ApiServer::hub("one").revision(), ApiServer::hub("two").revision());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_what_kube_reads_as_api_errors() {
    let server = plane();
    let api = wds(server.client());
    let post = PostParams::default();
    api.create(&post, &object(wd("a"))).await.unwrap();
    assert_eq!(refused(api.create(&post, &object(wd("a"))).await), (409, "AlreadyExists".into()));
    assert_eq!(refused(api.get("b").await), (404, "NotFound".into()));
    assert_eq!(api.get_opt("b").await.unwrap(), None);
    assert_eq!(refused(api.replace("a", &post, &object(wd("a"))).await), (422, "Invalid".into()));
    let mut stale = wd("a");
    stale["metadata"]["resourceVersion"] = json!("1");
    assert_eq!(refused(api.replace("a", &post, &object(stale)).await), (409, "Conflict".into()));
    let (_, status) = ask(&server, "POST", WDS, wd("a")).await;
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409, "reason": "AlreadyExists",
            "message": "workloaddeployments.compute.datumapis.com \"a\" already exists",
            "details": { "name": "a", "group": "compute.datumapis.com", "kind": "workloaddeployments" },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn bodies_that_cannot_be_stored() {
    let with = |pointer: &str, value: Value| {
        let mut body = wd("a");
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[field] = value;
        body
    };
    let owner = |uid: &str, controller: bool| json!({ "apiVersion": "v1", "kind": "X", "name": "x", "uid": uid, "controller": controller });
    for (what, body, code, reason) in [
        ("no JSON object", json!([1]), 400, "BadRequest"),
        ("no kind", with("/kind", Value::Null), 400, "BadRequest"),
        ("another kind", with("/kind", json!("Instance")), 400, "BadRequest"),
        ("another version", with("/apiVersion", json!("compute.datumapis.com/v1")), 400, "BadRequest"),
        ("another namespace", with("/metadata/namespace", json!("m")), 400, "BadRequest"),
        ("labels of the wrong type", with("/metadata/labels", json!({ "a": 1 })), 400, "BadRequest"),
        ("metadata of the wrong type", with("/metadata", json!("x")), 400, "BadRequest"),
        ("a resourceVersion", with("/metadata/resourceVersion", json!("1")), 500, ""),
        ("no name", with("/metadata/name", json!("")), 422, "Invalid"),
        ("a bad name", with("/metadata/name", json!("New_York")), 422, "Invalid"),
        ("a long name", with("/metadata/name", json!("x".repeat(254))), 422, "Invalid"),
        ("a bad label value", with("/metadata/labels", json!({ "city": "New York" })), 422, "Invalid"),
        ("a long label value", with("/metadata/labels", json!({ "city": "x".repeat(64) })), 422, "Invalid"),
        ("a bad label key", with("/metadata/labels", json!({ "a/b/c": "x" })), 422, "Invalid"),
        (
            "an owner without UID",
            with("/metadata/ownerReferences", json!([owner("", false)])),
            422,
            "Invalid",
        ),
        (
            "two controllers",
            with("/metadata/ownerReferences", json!([owner("1", true), owner("2", true)])),
            422,
            "Invalid",
        ),
    ] {
        let server = plane();
        let (got, status) = ask(&server, "POST", WDS, body).await;
        assert_eq!((got, status["reason"].as_str().unwrap_or_default()), (code, reason), "{what}: {status}");
        assert!(server.list("WorkloadDeployment").is_empty(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn paths_that_are_not_served() {
    let server = plane();
    server.put(wd("a")).unwrap();
    for (method, path, code) in [
        ("GET", "/apis/unserved.example.com/v1/things".to_owned(), 404),
        ("GET", "/api/v1/namespaces/n/things/x".to_owned(), 404),
        ("GET", "/api/v1/namespaces/n/namespaces/x".to_owned(), 404),
        ("GET", format!("{WDS}/a/scale"), 404),
        ("GET", format!("{MAPS}/a/status"), 404),
        ("POST", "/apis/compute.datumapis.com/v1alpha/workloaddeployments".to_owned(), 405),
        ("APPLY", format!("{WDS}/a"), 415),
        ("POST", format!("{WDS}?dryRun=Some"), 400),
    ] {
        assert_eq!(ask(&server, method, &path, wd("a")).await.0, code, "{method} {path}");
    }
    let (_, text) = ask(&server, "GET", "/apis/unserved.example.com/v1/things", Value::Null).await;
    assert_eq!(text, "404 page not found\n", "as for a CRD that is not installed");
    server.register(Resource::custom("unserved.example.com", "v1", "Thing", "things"));
    assert_eq!(ask(&server, "GET", "/apis/unserved.example.com/v1/things", Value::Null).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn generated_names() {
    let server = plane();
    let mut body = wd("");
    body["metadata"]["generateName"] = json!("web-");
    let mut names = Vec::new();
    for _ in 0..3 {
        let (code, made) = ask(&server, "POST", WDS, body.clone()).await;
        assert_eq!(code, 201);
        names.push(made["metadata"]["name"].as_str().unwrap().to_owned());
    }
    names.dedup();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.starts_with("web-") && name.len() == 9), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn dry_runs_answer_in_full_and_store_nothing() {
    let server = plane();
    server.put(wd("old")).unwrap();
    server.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "n", "name": "held", "finalizers": ["a/b"] } }))
        .unwrap();
    let hash = server.objects_hash();
    let revision = server.revision();
    let mark = server.mark();
    let mut put = server.get("WorkloadDeployment", "n", "old").unwrap();
    put["spec"]["replicas"] = json!(5);
    let all = json!({ "dryRun": ["All"] });
    for (method, path, body, pointer, expected) in [
        ("POST", format!("{WDS}?dryRun=All"), wd("new"), "/metadata/generation", json!(1)),
        ("PUT", format!("{WDS}/old?dryRun=All"), put, "/metadata/generation", json!(2)),
        (
            "PATCH",
            format!("{WDS}/old?dryRun=All"),
            json!({ "spec": { "replicas": 7 } }),
            "/spec/replicas",
            json!(7),
        ),
        (
            "PATCH",
            format!("{WDS}/old/status?dryRun=All"),
            json!({ "status": { "x": 1 } }),
            "/status/x",
            json!(1),
        ),
        ("DELETE", format!("{WDS}/old"), all.clone(), "/status", json!("Success")),
        ("DELETE", format!("{WDS}/old?dryRun=All"), Value::Null, "/status", json!("Success")),
        ("DELETE", format!("{MAPS}/held"), all.clone(), "/metadata/deletionGracePeriodSeconds", json!(0)),
        ("DELETE", WDS.to_owned(), all, "/items/0/metadata/name", json!("old")),
    ] {
        let (code, answer) = ask(&server, method, &path, body).await;
        assert!(code < 300, "{method} {path}: {answer}");
        assert_eq!(answer.pointer(pointer), Some(&expected), "{method} {path}: {answer}");
        assert_eq!((server.objects_hash(), server.revision()), (hash, revision), "{method} {path}");
    }
    assert_eq!(ask(&server, "POST", &format!("{WDS}?dryRun=All"), wd("old")).await.0, 409);
    assert!(server.writes_since(mark).is_empty());
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    let answer = wds(server.client()).patch("old", &params, &patch).await.unwrap();
    assert_eq!(answer.data["spec"]["replicas"], 3);
    assert_eq!(server.objects_hash(), hash);
}

#[tokio::test(start_paused = true)]
async fn hooks_prune_and_default_every_write() {
    let custom =
        Resource::custom("compute.datumapis.com", "v1alpha", "WorkloadDeployment", "workloaddeployments")
            .with_status()
            .pruning(|object| {
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.remove("unknown");
                }
            })
            .defaulting(|object| {
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.entry("replicas").or_insert(json!(1));
                }
            });
    let server = ApiServer::builder("p").resources(resource::project_plane()).resource(custom).build();
    server.put(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } })).unwrap();
    let mut body = wd("a");
    body["spec"] = json!({ "cityCode": "DFW", "unknown": 1 });
    let (_, made) = ask(&server, "POST", WDS, body).await;
    assert_eq!(made["spec"], json!({ "cityCode": "DFW", "replicas": 1 }));
    let (_, same) =
        ask(&server, "PATCH", &format!("{WDS}/a"), json!({ "spec": { "unknown": 2, "replicas": null } }))
            .await;
    assert_eq!(version(&same), version(&made), "what is pruned and defaulted away is no change");
}

#[tokio::test(start_paused = true)]
async fn secrets_and_namespaces_have_their_own_defaults() {
    let server = plane();
    let secrets: Api<Secret> = Api::namespaced(server.client(), "n");
    let mut secret: Secret = serde_json::from_value(json!({ "metadata": { "name": "s" } })).unwrap();
    secret.string_data = Some([("kubeconfig".to_owned(), "text".to_owned())].into());
    let stored = secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(stored.data.unwrap()["kubeconfig"].0, b"text");
    assert_eq!(stored.type_.as_deref(), Some("Opaque"));
    let namespace = server.get("Namespace", "", "n").unwrap();
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "n");
}

#[tokio::test(start_paused = true)]
async fn discovery_tells_what_is_served() {
    let server = plane();
    let client = server.client();
    assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    let groups = client.list_api_groups().await.unwrap();
    assert!(groups.groups.iter().any(|group| group.name == "compute.datumapis.com"));
    let resources = client.list_api_group_resources("compute.datumapis.com/v1alpha").await.unwrap();
    let names: Vec<&str> = resources.resources.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["workloaddeployments", "workloaddeployments/status", "instances", "instances/status"]);
    assert_eq!(refused(client.list_api_group_resources("policy.karmada.io/v1alpha1").await).0, 404);
    assert!(
        client.list_core_api_resources("v1").await.unwrap().resources.iter().any(|r| r.name == "secrets")
    );
}

#[tokio::test(start_paused = true)]
async fn direct_access_may_do_all_things() {
    let server = ApiServer::project_plane("p");
    let mut object = wd("a");
    object["metadata"]["uid"] = json!("my-uid");
    object["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    object["status"] = json!({ "replicas": 1 });
    let made = server.put(object).unwrap();
    assert_eq!(made["metadata"]["uid"], "my-uid");
    assert_eq!(made["metadata"]["creationTimestamp"], "2020-01-01T00:00:00Z");
    assert_eq!(made["status"]["replicas"], 1);
    assert!(server.get("Namespace", "", "n").is_some(), "the namespace was made");
    assert_eq!(server.put(wd("a")).unwrap(), made, "a status that is not said stays, and nothing is written");
    let changed = server.patch_status("WorkloadDeployment", "n", "a", &json!({ "ready": 1 })).unwrap();
    assert_eq!(changed["status"], json!({ "replicas": 1, "ready": 1 }));
    assert_eq!(changed["metadata"]["generation"], 1);
    let changed =
        server.patch("workloaddeployments", "n", "a", &json!({ "spec": { "replicas": 2 } })).unwrap();
    assert_eq!(changed["metadata"]["generation"], 2);
    assert_eq!(server.patch("Instance", "n", "a", &json!({})).unwrap_err().code, 404);
    assert_eq!(server.put(json!({ "apiVersion": "v1", "kind": "Pod" })).unwrap_err().code, 404);
    assert!(server.delete("WorkloadDeployment", "n", "a").unwrap());
    assert!(server.audit().is_empty(), "none of it is recorded");
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    assert!(maps.list(&kube::api::ListParams::default()).await.unwrap().items.is_empty());
}
