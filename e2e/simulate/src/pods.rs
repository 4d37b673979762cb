//! The Pods that a cell's provider runs Instances as. fedhub does not need them, an autoscaler does: it
//! measures Pods, those that have the labels of their Instances.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::Instance;
use fedhub_api::conditions;
use fedhub_core::names::UPSTREAM_CLUSTER;
use fedhub_core::object::{Object, ObjectView};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::drive::{ConstantBackoff, drive, kind, retry};
use crate::step::holds;

/// The resource requests of a Pod, those of the only instance type. An autoscaler counts in percent of them.
const REQUESTS: [(&str, &str); 2] = [("cpu", "1"), ("memory", "2Gi")];
/// When to look again for whether a Pod is gone that is in the way.
const IN_THE_WAY: Duration = Duration::from_millis(200);

/// The Pod of an Instance that runs, with its status; none of one that does not. It is on no node: no kubelet
/// has to release it, and nothing runs.
pub fn pod(instance: &Object) -> Option<Object> {
    if instance.is_terminating() || holds(instance.status(), "Available") != "True" {
        return None;
    }
    let mut pod = Object::new(instance.name(), &kind::<Pod>());
    pod.metadata.namespace = Some(instance.namespace().to_owned());
    pod.metadata.labels.clone_from(&instance.metadata.labels);
    let of = kind::<Instance>();
    pod.metadata.owner_references = Some(vec![OwnerReference {
        api_version: of.api_version,
        kind: of.kind,
        name: instance.name().to_owned(),
        uid: instance.uid().to_owned(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    let container = &instance.spec()["runtime"]["sandbox"]["containers"][0];
    let requests: Value = REQUESTS.iter().map(|(name, much)| ((*name).to_owned(), json!(much))).collect();
    let since = conditions::find(instance.status(), "Available").map(|c| c["lastTransitionTime"].clone());
    pod.data = json!({
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{
                "name": container["name"].as_str().unwrap_or("instance"),
                "image": container["image"].as_str().unwrap_or("instance"),
                "resources": {"requests": requests},
            }],
        },
        "status": {
            "phase": "Running",
            "startTime": since,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}],
        },
    });
    Some(pod)
}

/// Simulates the Pods of a cell's Instances.
pub async fn run(client: Client) {
    let instances = Api::all_with(client.clone(), &kind::<Instance>());
    let selects = watcher::Config::default().labels(&format!("!{UPSTREAM_CLUSTER}"));
    let controller =
        Controller::new_with(instances, selects, kind::<Instance>()).trigger_backoff(ConstantBackoff);
    drive("pods", "cell", controller.run(pass, |object, error, _| retry(&object, error), Arc::new(client)))
        .await;
}

async fn pass(instance: Arc<Object>, client: Arc<Client>) -> kube::Result<Action> {
    let api: Api<Object> = Api::namespaced_with((*client).clone(), instance.namespace(), &kind::<Pod>());
    let name = instance.name();
    let standing = api.get_opt(name).await?;
    let ours = |pod: &Object| pod.metadata.owner_references.iter().flatten().any(|o| o.uid == instance.uid());
    match (pod(&instance), standing) {
        (None, Some(standing)) if ours(&standing) => {
            api.delete(name, &DeleteParams::default()).await?;
        }
        (None, _) => {}
        // Of the Instance that had the name before.
        (Some(_), Some(standing)) if !ours(&standing) => return Ok(Action::requeue(IN_THE_WAY)),
        (Some(pod), standing) => {
            if standing.is_none() {
                api.create(&PostParams::default(), &pod).await?;
            }
            if standing.is_none_or(|pod| pod.status()["phase"] != "Running") {
                let status = json!({"status": pod.status()});
                api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
            }
        }
    }
    Ok(Action::await_change())
}
