//! The Pods of Instances, and what they use.

use fedhub_core::object::{Object, ObjectView};
use fedhub_fake_apiserver::{quiet, until};
use fedhub_simulate::metrics::{Asked, CPU, MEMORY, asked, usage};
use fedhub_simulate::pods::{self, pod};
use serde_json::{Value, json};

use crate::parts::provider;
use crate::parts::support::{cluster, condition, now, object};

const OF: &str = "compute.datumapis.com/workload-deployment-name";

/// An Instance that runs.
fn running() -> Value {
    let mut instance = provider::instance();
    instance["metadata"]["labels"] = json!({OF: "web"});
    instance["status"] = json!({"conditions": [condition("Available", "True", "Available")]});
    instance
}

#[test]
fn what_runs_is_a_pod_with_the_labels_of_its_instance() {
    let made = pod(&object(running())).unwrap();
    assert_eq!((made.name(), made.label(OF)), ("web-0", Some("web")));
    assert_eq!(made.metadata.owner_references.as_ref().unwrap()[0].uid, object(running()).uid());
    assert_eq!(made.status()["phase"], "Running");
    assert!(made.spec()["nodeName"].is_null(), "no kubelet would release it");
    let mut stopped = running();
    stopped["status"]["conditions"][0]["status"] = json!("False");
    let mut dying = running();
    dying["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for instance in [provider::instance(), stopped, dying] {
        assert_eq!(pod(&object(instance.clone())), None, "{instance}");
    }
}

fn deployment(annotations: Value) -> Object {
    object(json!({"metadata": {"namespace": "ns-a", "name": "web", "annotations": annotations}}))
}

/// Names of Pods with what they use.
fn used(pods: &[Object], deployments: &[Object]) -> Vec<Value> {
    let list = usage(pods, deployments, now());
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("PodMetricsList"), &json!("metrics.k8s.io/v1beta1"))
    );
    let items = list["items"].as_array().unwrap();
    items.iter().map(|i| json!([i["metadata"]["name"], i["containers"][0]["usage"]])).collect()
}

#[test]
fn the_use_of_a_deployment_is_shared_out_among_its_pods_that_run() {
    let pods: Vec<_> = ["web-0", "web-1", "web-2"]
        .map(|name| {
            let mut pod = pod(&object(running())).unwrap();
            pod.metadata.name = Some(name.to_owned());
            pod
        })
        .into();
    let all = deployment(json!({CPU: "1000", MEMORY: "30"}));
    let each = json!({"cpu": "334m", "memory": "10Mi"});
    assert_eq!(used(&pods, &[all]), ["web-0", "web-1", "web-2"].map(|name| json!([name, each])));
    let mut pending = pods.clone();
    pending[2].data["status"]["phase"] = json!("Pending");
    let half = json!({"cpu": "500m"});
    assert_eq!(
        used(&pending, &[deployment(json!({CPU: "1000", MEMORY: "a lot"}))]),
        ["web-0", "web-1"].map(|name| json!([name, half]))
    );
    assert!(used(&pods, &[deployment(json!({}))]).is_empty() && used(&pods, &[]).is_empty());
}

#[test]
fn requests_are_read_as_the_autoscaler_writes_them() {
    let pods = |namespace: &str, selector: &str| Asked::Pods {
        namespace: namespace.to_owned(),
        selector: selector.to_owned(),
    };
    for (uri, expected) in [
        ("/apis/metrics.k8s.io/v1beta1", Asked::Resources),
        ("/apis/metrics.k8s.io/v1beta1/", Asked::Resources),
        ("/apis/metrics.k8s.io/v1beta1/namespaces/ns-a/pods", pods("ns-a", "")),
        (
            "/apis/metrics.k8s.io/v1beta1/namespaces/a/pods?limit=5&labelSelector=x%2Fy%3Dweb",
            pods("a", "x/y=web"),
        ),
        ("/apis/metrics.k8s.io/v1beta1/nodes", Asked::Nothing),
        ("/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/web-0", Asked::Nothing),
        ("/apis/metrics.k8s.io/v1", Asked::Nothing),
        ("/apis", Asked::Nothing),
        ("/openapi/v2", Asked::Nothing),
    ] {
        assert_eq!(asked(&uri.parse().unwrap()), expected, "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_comes_and_goes_with_what_its_instance_runs() {
    let cell = cluster("cell");
    tokio::spawn(pods::run(cell.client()));
    cell.put(running()).unwrap();
    let stands = || cell.get("Pod", "ns-a", "web-0");
    until("the Pod runs", || stands().is_some_and(|pod| pod["status"]["phase"] == "Running")).await;
    let first = stands().unwrap();
    let revision = cell.revision();
    quiet(60).await;
    assert_eq!(cell.revision(), revision, "nothing more is written");

    let stopped = json!({"conditions": [condition("Available", "False", "Stopped")]});
    cell.patch_status("Instance", "ns-a", "web-0", &stopped).unwrap();
    until("the Pod is gone", || stands().is_none()).await;
    cell.patch_status("Instance", "ns-a", "web-0", &running()["status"]).unwrap();
    until("it is back", || stands().is_some_and(|pod| pod["status"]["phase"] == "Running")).await;
    assert_ne!(stands().unwrap()["metadata"]["uid"], first["metadata"]["uid"]);

    // One of that name that is another's is left, and waited for.
    cell.delete("Instance", "ns-a", "web-0").unwrap();
    until("it is gone again", || stands().is_none()).await;
    let other =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ns-a", "name": "web-0"}});
    cell.put(other).unwrap();
    cell.put(running()).unwrap();
    quiet(60).await;
    assert!(stands().unwrap()["status"].is_null());
    cell.delete("Pod", "ns-a", "web-0").unwrap();
    until("its own runs", || stands().is_some_and(|pod| pod["status"]["phase"] == "Running")).await;
}
