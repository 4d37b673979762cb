//! C5: neither a newer CRD nor another controller's hashes replace an Instance.

use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_fake_apiserver::Fault;
use fedhub_fake_apiserver::resource::Resource;
use serde_json::{Value, json};

use crate::deployment_controller::support::*;

const CRD: &str = "get customresourcedefinitions/workloaddeployments.compute.datumapis.com";

impl World {
    /// A cell whose CRDs can be read.
    fn with_crds(replicas: u32) -> Self {
        let world = Self::with_replicas(replicas);
        let group = "apiextensions.k8s.io";
        let kind = "CustomResourceDefinition";
        world
            .cell
            .register(Resource::builtin(group, "v1", kind, "customresourcedefinitions").cluster_scoped());
        world
    }

    /// The CRD gains `tier` with the default `standard`, which is read of `web` from now on. What the watch
    /// has shown of Instances before lacks it.
    fn upgrade_crd(&self) {
        let tier = json!({"tier": {"type": "string", "default": "standard"}});
        let template = json!({"properties": {"spec": {"properties": tier}}});
        let schema = json!({"properties": {"spec": {"properties": {"template": template}}}});
        self.cell
            .put(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "workloaddeployments.compute.datumapis.com"},
                "spec": {"versions": [{"name": "v1alpha", "schema": {"openAPIV3Schema": schema}}]},
            }))
            .unwrap();
        self.tier("standard");
    }

    fn tier(&self, tier: &str) {
        self.bend(json!({"spec": {"template": {"spec": {"tier": tier}}}}));
    }

    fn uids(&self) -> Vec<String> {
        self.names().iter().map(|name| uid(&self.instance(name))).collect()
    }

    fn hash(&self, name: &str) -> Value {
        self.instance(name)["spec"]["controller"]["templateHash"].clone()
    }

    /// Requests since then, but for statuses.
    fn steps(&self, from: usize) -> Vec<String> {
        asked(&self.cell, from).into_iter().filter(|asked| !asked.contains("/status/")).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn c5_a_crd_with_one_more_default_rolls_nothing() {
    let world = World::with_crds(2);
    let run = world.run(ALONE);
    world.settle().await;
    let before = world.uids();
    let hash = world.hash("web-0");
    let from = position(&world.cell);
    world.upgrade_crd();
    world.settle().await;
    assert_eq!(world.uids(), before);
    assert_eq!(world.hash("web-0"), hash);
    assert_eq!(world.steps(from), [CRD], "it is asked once, and nothing is written");
    assert_eq!(world.wd()["status"]["updatedReplicas"], 2);
    run.stop().await;

    // A process that does not know it yet asks again; then a change of it is a change like any other.
    let run = world.run(ALONE);
    let from = position(&world.cell);
    world.settle().await;
    assert_eq!((world.uids(), world.steps(from)), (before.clone(), vec![CRD.to_owned()]));
    world.tier("premium");
    world.settle().await;
    assert!(world.uids().iter().all(|uid| !before.contains(uid)));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c5_nothing_is_rolled_while_the_crd_cannot_be_read() {
    let world = World::with_crds(2);
    let run = world.run(ALONE);
    world.settle().await;
    let before = world.uids();
    let fault = world.cell.fault(Fault::Status(503).on("get", "customresourcedefinitions"));
    world.upgrade_crd();
    quiet(120).await;
    assert_eq!(world.uids(), before);
    world.cell.clear_fault(fault);
    quiet(600).await;
    assert_eq!(world.uids(), before);
    run.stop().await;
}

/// A cell whose manifests are older: what users add to their templates must not wait for that.
#[tokio::test(start_paused = true)]
async fn c5_where_crds_may_not_be_read_a_new_field_is_a_change() {
    let world = World::with_crds(1);
    let run = world.run(ALONE);
    world.settle().await;
    let before = world.uids();
    world.cell.fault(Fault::Status(403).on("get", "customresourcedefinitions"));
    world.tier("standard");
    world.settle().await;
    assert_ne!(world.uids(), before);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c5_what_another_controller_made_of_the_template_is_relabelled_and_not_replaced() {
    let world = World::with_crds(2);
    let run = world.run(ALONE);
    world.settle().await;
    run.stop().await;
    let before = world.uids();
    let hash = world.hash("web-0");
    let set = |name: &str, controller: Value| {
        world.cell.patch("Instance", SPACE, name, &json!({"spec": {"controller": controller}})).unwrap();
    };
    set("web-0", json!({"templateHash": "5c7f9b8d6"}));
    set("web-1", Value::Null);
    let run = world.run(ALONE);
    let from = position(&world.cell);
    world.settle().await;
    assert_eq!(world.uids(), before);
    assert_eq!((world.hash("web-0"), world.hash("web-1")), (hash.clone(), hash.clone()));
    // What the provider has observed under the former hash, or under none, counts.
    let former = |name: &str| world.instance(name)["metadata"]["annotations"][FORMER_TEMPLATE_HASH].clone();
    assert_eq!((former("web-0"), former("web-1")), (json!("5c7f9b8d6"), hash.clone()));
    assert_eq!(world.steps(from), [CRD, "patch instances/web-0", "patch instances/web-1"]);
    run.stop().await;

    // One of another template is, and one that is not Ready as well (C4).
    set("web-0", json!({"templateHash": "5c7f9b8d6"}));
    world.release("2");
    let run = world.run(ALONE);
    world.settle().await;
    assert!(world.uids().iter().all(|uid| !before.contains(uid)));
    assert_ne!(world.hash("web-0"), hash);
    run.stop().await;
}
