//! GET and LIST.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{ListParams, VersionMatch};
use serde_json::{Value, json};

use super::{MAPS, WDS, ask, map, plane, refused, version, wd};
use crate::ApiServer;

fn filled() -> ApiServer {
    let server = plane();
    for (namespace, name, app) in [("n", "a", "web"), ("n", "b", "db"), ("m", "a", "web"), ("m", "c", "api")]
    {
        let mut object = map(name);
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["labels"] = json!({ "app": app });
        server.put(object).unwrap();
    }
    server
}

#[tokio::test(start_paused = true)]
async fn selections() {
    let server = filled();
    let all: Api<ConfigMap> = Api::all(server.client());
    let one: Api<ConfigMap> = Api::namespaced(server.client(), "n");
    for (api, labels, fields, expected) in [
        (&all, "", "", "m/a m/c n/a n/b"),
        (&one, "", "", "n/a n/b"),
        (&all, "app=web", "", "m/a n/a"),
        (&all, "app in (db,api)", "", "m/c n/b"),
        (&all, "app notin (db,api)", "", "m/a n/a"),
        (&all, "app,app!=web", "", "m/c n/b"),
        (&all, "!app", "", ""),
        (&all, "", "metadata.name=a", "m/a n/a"),
        (&all, "app=web", "metadata.namespace=m", "m/a"),
        (&one, "", "metadata.name=c", ""),
    ] {
        let list = api.list(&ListParams::default().labels(labels).fields(fields)).await.unwrap();
        let names: Vec<String> = list
            .items
            .iter()
            .map(|o| {
                format!(
                    "{}/{}",
                    o.metadata.namespace.as_deref().unwrap(),
                    o.metadata.name.as_deref().unwrap()
                )
            })
            .collect();
        assert_eq!(names.join(" "), expected, "{labels} {fields}");
        assert_eq!(list.metadata.resource_version.unwrap(), server.revision().to_string());
    }
    assert_eq!(refused(all.list(&ListParams::default().labels("a b")).await), (400, "BadRequest".into()));
    assert_eq!(
        refused(all.list(&ListParams::default().fields("data.k=v")).await),
        (400, "BadRequest".into())
    );
    let namespaces: Api<Namespace> = Api::all(server.client());
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 3, "default, n and m");
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_revision_until_it_is_compacted() {
    let server = filled();
    let api: Api<ConfigMap> = Api::all(server.client());
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(2));
    let token = first.metadata.continue_.unwrap();
    server.delete("ConfigMap", "n", "a").unwrap();
    server.patch("ConfigMap", "n", "b", &json!({ "data": { "k": "later" } })).unwrap();
    let mut fresh = map("aa");
    fresh["metadata"]["namespace"] = json!("n");
    server.put(fresh).unwrap();
    let second = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    let names: Vec<&str> = second.items.iter().filter_map(|o| o.metadata.name.as_deref()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(second.items[1].data.as_ref().unwrap()["k"], "v");
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
    assert_eq!(second.metadata.continue_, None);
    server.compact();
    let late = api.list(&ListParams::default().limit(2).continue_token(&token)).await;
    assert_eq!(refused(late), (410, "Expired".into()));
    assert_eq!(refused(api.list(&ListParams::default().continue_token("x")).await).0, 400);
}

#[tokio::test(start_paused = true)]
async fn resource_versions() {
    let server = filled();
    let api: Api<ConfigMap> = Api::all(server.client());
    let now = server.revision();
    server.delete("ConfigMap", "n", "a").unwrap();
    let at = |version: u64, matching| ListParams::default().at(&version.to_string()).matching(matching);
    let exact = api.list(&at(now, VersionMatch::Exact)).await.unwrap();
    assert_eq!((exact.items.len(), exact.metadata.resource_version.unwrap()), (4, now.to_string()));
    assert_eq!(api.list(&at(now, VersionMatch::NotOlderThan)).await.unwrap().items.len(), 3);
    assert_eq!(refused(api.list(&at(now + 99, VersionMatch::NotOlderThan)).await), (504, "Timeout".into()));
    let path = format!("{MAPS}/b?resourceVersion={}", now + 99);
    assert_eq!(ask(&server, "GET", &path, Value::Null).await.0, 504);
    server.compact();
    assert_eq!(refused(api.list(&at(now, VersionMatch::Exact)).await), (410, "Expired".into()));
}

#[tokio::test(start_paused = true)]
async fn items_of_built_in_resources_do_not_say_their_type() {
    let server = filled();
    server.put(wd("w")).unwrap();
    let (_, maps) = ask(&server, "GET", MAPS, Value::Null).await;
    assert_eq!(
        (&maps["kind"], &maps["apiVersion"], maps["items"][0].get("kind")),
        (&json!("ConfigMapList"), &json!("v1"), None)
    );
    let (_, custom) = ask(&server, "GET", WDS, Value::Null).await;
    assert_eq!(custom["items"][0]["kind"], "WorkloadDeployment");
    let (_, single) = ask(&server, "GET", &format!("{MAPS}/a"), Value::Null).await;
    assert_eq!(single["kind"], "ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn metadata_only() {
    let server = filled();
    let api: Api<ConfigMap> = Api::all(server.client());
    let list = api.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 4);
    let api: Api<ConfigMap> = Api::namespaced(server.client(), "n");
    let one = api.get_metadata("a").await.unwrap();
    assert_eq!(one.metadata.labels.unwrap()["app"], "web");
    assert_eq!(one.types.unwrap().kind, "PartialObjectMetadata");
}

#[tokio::test(start_paused = true)]
async fn history_is_bounded() {
    let server = ApiServer::builder("small").resources(crate::resource::base()).history(3).build();
    let first = server.put(map("a")).unwrap();
    let path = |version: &str| format!("{MAPS}?resourceVersionMatch=Exact&resourceVersion={version}");
    for i in 0..3 {
        server.patch("ConfigMap", "n", "a", &json!({ "data": { "k": i.to_string() } })).unwrap();
    }
    assert_eq!(ask(&server, "GET", &path(&version(&first)), Value::Null).await.0, 200, "three changes back");
    server.patch("ConfigMap", "n", "a", &json!({ "data": { "k": "x" } })).unwrap();
    assert_eq!(ask(&server, "GET", &path(&version(&first)), Value::Null).await.0, 410);
}
