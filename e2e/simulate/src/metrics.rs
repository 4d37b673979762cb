//! The resource metrics API of a cell, `metrics.k8s.io`: how much CPU and memory the Pods of [`crate::pods`]
//! use. It is an API server of its own behind the cell's, registered there by an `APIService` for as long as
//! it runs.
//!
//! What a WD's Instances use together is asked for on the cell's WD, by [`CPU`] and [`MEMORY`], and shared
//! out among those that run: the more there are, the less each uses. Of a WD that asks for nothing there are
//! no metrics.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::WorkloadDeployment;
use fedhub_core::clock::{Clock, stamp};
use fedhub_core::errors;
use fedhub_core::names::WORKLOAD_DEPLOYMENT_NAME;
use fedhub_core::object::{Object, ObjectView};
use fedhub_fake_apiserver::AnswerBody;
use fedhub_fake_apiserver::http::{Census, Identity, Settings, serve};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::BoxError;

use crate::drive::{FIELD_MANAGER, kind};

/// On a cell's WD: how much CPU its Instances use together, in thousandths of a core.
pub const CPU: &str = "simulate.fedhub.dev/cpu-millicores";
/// On a cell's WD: how much memory its Instances use together, in MiB.
pub const MEMORY: &str = "simulate.fedhub.dev/memory-mebibytes";

/// Group and version.
const API: &str = "metrics.k8s.io/v1beta1";
/// The name of the API in the cell.
const API_SERVICE: &str = "v1beta1.metrics.k8s.io";
/// The service that leads to it.
const SERVICE: (&str, &str) = ("kube-system", "fedhub-simulate-metrics");
/// When to try again what the cell did not take.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Simulates the resource metrics API of a cell.
pub async fn run(client: Client, clock: Clock) {
    if let Err(error) = simulate(client, clock).await {
        tracing::error!(error = errors::chain(error.as_ref()), "the metrics cannot be served");
    }
}

async fn simulate(client: Client, clock: Clock) -> Result<(), BoxError> {
    let (namespace, name) = SERVICE;
    let identity = Identity::generate(&[format!("{name}.{namespace}.svc")])?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    let service = tower::service_fn({
        let client = client.clone();
        move |request: Request<_>| {
            let client = client.clone();
            let now = clock.now();
            async move { Ok::<_, BoxError>(answer(&client, request.uri(), now).await) }
        }
    });
    let census = Arc::new(Census::default());
    tokio::join!(
        serve(listener, &identity, Settings::default(), service, census),
        register(&client, port, identity.ca()),
    );
    Ok(())
}

/// Registers its address with the cell's API server. An API of that name that another server provides is left
/// alone.
async fn register(client: &Client, port: u16, ca: &str) {
    let (namespace, name) = SERVICE;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name},
        "spec": {"type": "ExternalName", "externalName": Ipv4Addr::LOCALHOST},
    });
    let registration = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API_SERVICE},
        "spec": {
            "group": "metrics.k8s.io", "version": "v1beta1",
            "service": {"namespace": namespace, "name": name, "port": port},
            "caBundle": ByteString(ca.into()), "groupPriorityMinimum": 100, "versionPriority": 100,
        },
    });
    let services: Api<Object> = Api::namespaced_with(client.clone(), namespace, &kind::<Service>());
    let registrations: Api<Object> = Api::all_with(client.clone(), &kind::<APIService>());
    // Not forced: what another has said stands.
    let params = PatchParams::apply(FIELD_MANAGER);
    loop {
        let registered = async {
            services.patch(name, &params, &Patch::Apply(&service)).await?;
            registrations.patch(API_SERVICE, &params, &Patch::Apply(&registration)).await
        };
        match registered.await {
            Ok(_) => return tracing::info!(part = "metrics", plane = "cell", port, "simulating"),
            Err(error) => {
                tracing::warn!(error = errors::chain(&error), "the cell does not take {API_SERVICE}");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Removes the registration: an API that is not served would block the deletion of the cell's namespaces.
pub async fn withdraw(client: &Client) -> kube::Result<()> {
    let registrations: Api<Object> = Api::all_with(client.clone(), &kind::<APIService>());
    let Some(standing) = registrations.get_opt(API_SERVICE).await? else { return Ok(()) };
    if standing.spec()["service"]["name"] == SERVICE.1 {
        registrations.delete(API_SERVICE, &DeleteParams::default()).await?;
    }
    Ok(())
}

async fn answer(client: &Client, uri: &http::Uri, now: Timestamp) -> Response<AnswerBody> {
    let (code, body) = match asked(uri) {
        Asked::Resources => (200, resources()),
        Asked::Pods { namespace, selector } => match look(client, &namespace, &selector, now).await {
            Ok(list) => (200, list),
            Err(error) => (503, failure(503, &errors::chain(&error))),
        },
        Asked::Nothing => (404, failure(404, "the server could not find the requested resource")),
    };
    let body = Full::from(body.to_string()).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

/// The subject of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Which resources there are.
    Resources,
    /// The usage of the Pods in a namespace that a label selector finds.
    Pods {
        /// The namespace.
        namespace: String,
        /// The selector; empty where all are meant.
        selector: String,
    },
    /// The path is not served.
    Nothing,
}

/// Reads the address of a request.
pub fn asked(uri: &http::Uri) -> Asked {
    let path = uri.path().trim_matches('/').strip_prefix("apis/").and_then(|path| path.strip_prefix(API));
    let parts: Vec<_> = path.into_iter().flat_map(|path| path.trim_start_matches('/').split('/')).collect();
    match parts[..] {
        [""] => Asked::Resources,
        ["namespaces", namespace, "pods"] => {
            let mut query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
            let selector = query.find(|(key, _)| key == "labelSelector");
            let selector = selector.map(|(_, value)| value.into_owned()).unwrap_or_default();
            Asked::Pods { namespace: namespace.to_owned(), selector }
        }
        _ => Asked::Nothing,
    }
}

fn resources() -> Value {
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API,
        "resources": [{"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": ["get", "list"]}],
    })
}

fn failure(code: u16, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message})
}

async fn look(client: &Client, namespace: &str, selector: &str, now: Timestamp) -> kube::Result<Value> {
    let pods: Api<Object> = Api::namespaced_with(client.clone(), namespace, &kind::<Pod>());
    let deployments: Api<Object> =
        Api::namespaced_with(client.clone(), namespace, &kind::<WorkloadDeployment>());
    let pods = pods.list(&ListParams::default().labels(selector)).await?.items;
    let deployments = deployments.list(&ListParams::default()).await?.items;
    Ok(usage(&pods, &deployments, now))
}

/// Returns the usage of those Pods: `pods` are all that a WD of `deployments` has.
pub fn usage(pods: &[Object], deployments: &[Object], now: Timestamp) -> Value {
    let mut by_deployment: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.is_terminating() && pod.status()["phase"] == "Running") {
        by_deployment.entry(pod.label(WORKLOAD_DEPLOYMENT_NAME).unwrap_or_default()).or_default().push(pod);
    }
    let mut items = Vec::new();
    for (name, pods) in by_deployment {
        let Some(deployment) = deployments.iter().find(|deployment| deployment.name() == name) else {
            continue;
        };
        let share = |annotation: &str| {
            let all: usize = deployment.annotation(annotation)?.parse().ok()?;
            Some(all.div_ceil(pods.len()))
        };
        let cpu = share(CPU).map(|millicores| ("cpu", json!(format!("{millicores}m"))));
        let memory = share(MEMORY).map(|mebibytes| ("memory", json!(format!("{mebibytes}Mi"))));
        let usage: BTreeMap<_, _> = cpu.into_iter().chain(memory).collect();
        if usage.is_empty() {
            continue;
        }
        items.extend(pods.iter().map(|pod| {
            json!({
                "metadata": {"name": pod.name(), "namespace": pod.namespace(), "labels": pod.metadata.labels},
                "timestamp": stamp(now), "window": "1s",
                "containers": [{"name": pod.spec()["containers"][0]["name"], "usage": usage}],
            })
        }));
    }
    json!({"kind": "PodMetricsList", "apiVersion": API, "metadata": {}, "items": items})
}
