//! Fake API servers as processes meet them, and what stands on each kind of plane.

use std::time::Duration;

use fedhub_core::names::{PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE};
use fedhub_fake_apiserver::{ApiServer, Resource};
use fedhub_planes::transport::HeaderTimeoutLayer;
use kube::Client;
use serde_json::json;
use tower::Layer;

/// How long the clients here wait for the headers of a response.
pub const HEADERS: Duration = Duration::from_secs(9);

/// A client as the transport makes them: with a limit on the time to headers.
pub fn client(server: &ApiServer) -> Client {
    Client::new(HeaderTimeoutLayer::new(HEADERS).layer(server.service()), "default")
}

/// The name of a project plane.
pub fn plane_name(name: &str) -> PlaneName {
    PlaneName::new(name).unwrap()
}

/// Makes a server forget what watches may resume from, and ends them: a gap.
pub fn gap(server: &ApiServer) {
    server.compact();
    server.break_watches();
}

/// Puts a namespace.
pub fn put_namespace(server: &ApiServer, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    server.put(namespace).unwrap();
}

/// Puts the namespace that stands on the hub, and in cells, for the namespace `of` of a project.
pub fn put_hub_namespace(server: &ApiServer, name: &str, project: &str, of: &str) {
    let labels = json!({UPSTREAM_CLUSTER: format!("cluster-{project}"), UPSTREAM_NAMESPACE: of});
    let metadata = json!({"name": name, "labels": labels});
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
}

/// A cell as Kubernetes makes it: with the namespace that it is known by.
pub fn cell(name: &str) -> ApiServer {
    let cell = ApiServer::cell(name);
    put_kube_system(&cell);
    cell
}

/// Puts the namespace that a cell is known by.
pub fn put_kube_system(server: &ApiServer) {
    put_namespace(server, "kube-system");
}

/// The UID that a cell is known by.
pub fn cell_uid(cell: &ApiServer) -> String {
    crate::uid(&cell.get("Namespace", "", "kube-system").unwrap())
}

/// Instances of a plane whose schema lacks `unknown` in spec and status, and has these defaults (I1, I7):
/// part, field and value.
pub fn normalized_instances(defaults: &'static [(&str, &str, &str)]) -> Resource {
    Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances")
        .with_status()
        .pruning(|instance| {
            for part in ["spec", "status"] {
                if let Some(fields) = instance[part].as_object_mut() {
                    fields.remove("unknown");
                }
            }
        })
        .defaulting(move |instance| {
            for (part, field, default) in defaults {
                if instance[*part].is_object() && instance[*part][*field].is_null() {
                    instance[*part][*field] = json!(default);
                }
            }
        })
}
