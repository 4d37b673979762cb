//! Conformance: what a kube-apiserver does, and this server too, seen through kube or by the bare request.

mod deletes;
mod faults;
mod lists;
mod owners;
mod schemas;
mod updates;
mod watcher;
mod watches;
mod writes;

use http::Request;
use http_body_util::BodyExt;
use kube::api::{ApiResource, DynamicObject};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::ApiServer;

/// The path of the `WorkloadDeployments` of namespace `n`.
const WDS: &str = "/apis/compute.datumapis.com/v1alpha/namespaces/n/workloaddeployments";
/// The path of the `ConfigMaps` of namespace `n`.
const MAPS: &str = "/api/v1/namespaces/n/configmaps";

/// A project plane with a namespace `n`.
fn plane() -> ApiServer {
    let server = ApiServer::project_plane("plane");
    server.put(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } })).unwrap();
    server
}

/// A WorkloadDeployment in namespace `n`.
fn wd(name: &str) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": { "namespace": "n", "name": name }, "spec": { "cityCode": "DFW", "replicas": 1 },
    })
}

/// A `ConfigMap` in namespace `n`.
fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "n", "name": name }, "data": { "k": "v" } })
}

/// kube's untyped Api for `WorkloadDeployments` in namespace `n`.
fn wds(client: Client) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "compute.datumapis.com".into(),
        version: "v1alpha".into(),
        api_version: "compute.datumapis.com/v1alpha".into(),
        kind: "WorkloadDeployment".into(),
        plural: "workloaddeployments".into(),
    };
    Api::namespaced_with(client, "n", &resource)
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

/// The code and reason of kube's API error.
fn refused<T: std::fmt::Debug>(result: kube::Result<T>) -> (u16, String) {
    match result {
        Err(kube::Error::Api(status)) => (status.code, status.reason.clone()),
        other => panic!("not refused: {other:?}"),
    }
}

/// One bare request; `PATCH` is a merge patch, and `JSONPATCH` the other one.
async fn ask(server: &ApiServer, method: &str, path: &str, body: Value) -> (u16, Value) {
    let (method, content_type) = match method {
        "PATCH" => ("PATCH", "application/merge-patch+json"),
        "JSONPATCH" => ("PATCH", "application/json-patch+json"),
        "APPLY" => ("PATCH", "application/apply-patch+yaml"),
        other => (other, "application/json"),
    };
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.service().oneshot(request.body(Body::from(bytes)).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// An object's resourceVersion.
fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}
