//! A simulated cell. In the demonstration the cells' API servers and Karmada are real, but nothing runs instances in
//! them; this plays the part of the controllers that would.

use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::objects::{Kind, NAME, object};
use crate::Error;

/// Who writes in the place of a cell's controllers.
const FIELD_MANAGER: &str = "fedhub-demo-simulated-cell";

/// Plays the controllers of one cell.
pub struct SimulatedCell {
    /// The cell's name.
    pub name: &'static str,
    /// The cell's API server.
    pub cell: Client,
    /// The hub, which a cell writes its Instances back to.
    pub hub: Client,
}

impl SimulatedCell {
    /// Reports on a deployment in the cell as if one instance of it ran: the whole status.
    pub async fn report(&self, deployment: &DynamicObject) -> Result<(), Error> {
        let (space, name) = (deployment.namespace().unwrap_or_default(), deployment.name_any());
        let status = json!({
            "observedGeneration": deployment.metadata.generation,
            "replicas": 1, "currentReplicas": 1, "updatedReplicas": 1, "desiredReplicas": 1, "readyReplicas": 1,
            "conditions": [
                condition("Available", "StableInstanceFound", "one instance is ready"),
                condition("ReplicasReady", "AllReady", "1 of 1 is ready"),
            ],
        });
        patch_status(&self.cell, self.name, Kind::Deployment, &space, &name, status).await.map(drop)
    }

    /// Makes the Instance in the cell and writes a copy of it to the hub, owned by the hub's deployment.
    pub async fn write_back(
        &self,
        deployment: &DynamicObject,
        hub_deployment: &DynamicObject,
        hub_namespace: &DynamicObject,
    ) -> Result<DynamicObject, Error> {
        let space = deployment.namespace().unwrap_or_default();
        let spec = &deployment.data["spec"];
        let mut labels = json!({
            "compute.datumapis.com/workload-uid": spec["workloadRef"]["uid"],
            "compute.datumapis.com/workload-name": spec["workloadRef"]["name"],
            "compute.datumapis.com/workload-deployment-uid": deployment.uid(),
            "compute.datumapis.com/workload-deployment-name": deployment.name_any(),
            "compute.datumapis.com/placement-name": spec["placementName"],
            "compute.datumapis.com/city-code": spec["cityCode"],
            "compute.datumapis.com/instance-index": "0",
        });
        let name = format!("{NAME}-0");
        let mut instance = json!({
            "apiVersion": "compute.datumapis.com/v1alpha",
            "kind": "Instance",
            "metadata": { "namespace": space, "name": name, "labels": labels },
            "spec": spec["template"]["spec"],
        });
        let in_cell = create(&self.cell, self.name, &space, &instance).await?;

        for upstream in ["meta.datumapis.com/upstream-cluster-name", "meta.datumapis.com/upstream-namespace"]
        {
            labels[upstream] = json!(hub_namespace.labels().get(upstream));
        }
        instance["metadata"]["labels"] = labels;
        let source = format!("{}/{}", self.name, in_cell.uid().unwrap_or_default());
        instance["metadata"]["annotations"] = json!({ "federation.datumapis.com/cell-source": source });
        instance["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "compute.datumapis.com/v1alpha",
            "kind": "WorkloadDeployment",
            "name": hub_deployment.name_any(),
            "uid": hub_deployment.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        }]);
        create(&self.hub, "hub", &space, &instance).await
    }

    /// Reports, in the cell and on the hub, that the Instance runs.
    pub async fn report_instance(&self, instance: &DynamicObject) -> Result<(), Error> {
        let (space, name) = (instance.namespace().unwrap_or_default(), instance.name_any());
        let status = json!({
            "conditions": [
                condition("Programmed", "Programmed", "simulated"),
                condition("Available", "Available", "simulated"),
                condition("Ready", "Ready", "simulated"),
                condition("QuotaGranted", "QuotaGranted", "simulated"),
            ],
            "networkInterfaces": [{ "name": "eth0", "assignments": { "networkIP": "10.0.0.5" } }],
        });
        patch_status(&self.cell, self.name, Kind::Instance, &space, &name, status.clone()).await?;
        patch_status(&self.hub, "hub", Kind::Instance, &space, &name, status).await.map(drop)
    }
}

fn condition(kind: &str, reason: &str, message: &str) -> Value {
    // The API's time stamps have whole seconds.
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
    json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now.to_string() })
}

async fn create(
    client: &Client,
    plane: &str,
    namespace: &str,
    instance: &Value,
) -> Result<DynamicObject, Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &Kind::Instance.resource());
    let object = object(instance.clone())?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let action = format!("create Instance {namespace}/{} on {plane}", object.name_any());
    api.create(&params, &object).await.map_err(Error::api(action))
}

async fn patch_status(
    client: &Client,
    plane: &str,
    kind: Kind,
    namespace: &str,
    name: &str,
    status: Value,
) -> Result<DynamicObject, Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.resource());
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let action = format!("patch the status of {kind} {namespace}/{name} on {plane}");
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &params, &patch).await.map_err(Error::api(action))
}
