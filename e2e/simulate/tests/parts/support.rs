//! Objects and clusters.

use std::time::Duration;

use fedhub_api::conditions::find;
use fedhub_core::object::Object;
use fedhub_fake_apiserver::{ApiServer, Resource, resource};
use fedhub_simulate::Step;
use jiff::Timestamp;
use serde_json::{Value, json};

pub const START: Duration = Duration::from_millis(500);
pub const NONE: Duration = Duration::ZERO;

pub fn now() -> Timestamp {
    Timestamp::from_second(1_700_000_000).unwrap()
}

pub fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

/// `status/reason` of a condition.
pub fn says(status: &Value, kind: &str) -> String {
    let found = find(status, kind).cloned().unwrap_or_default();
    format!("{}/{}", found["status"].as_str().unwrap_or("-"), found["reason"].as_str().unwrap_or("-"))
}

pub fn message(status: &Value, kind: &str) -> String {
    find(status, kind).unwrap()["message"].as_str().unwrap().to_owned()
}

/// The object after the step, as a server stores it.
pub fn after(object: &Object, step: &Step) -> Object {
    let mut object = object.clone();
    if let Some(status) = &step.status {
        object.data["status"] = status.clone();
    }
    object
}

pub fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "as it was",
           "lastTransitionTime": "1970-01-01T00:00:00Z"})
}

/// A cluster with all kinds that parts look at.
pub fn cluster(name: &str) -> ApiServer {
    let admission = |kind: &str, plural: &str| {
        Resource::builtin("admissionregistration.k8s.io", "v1", kind, plural).cluster_scoped()
    };
    let network = |kind: &str, plural: &str| {
        Resource::custom("networking.datumapis.com", "v1alpha", kind, plural).with_status()
    };
    let mut builder = ApiServer::builder(name);
    for resource in resource::project_plane() {
        builder = builder.resource(resource);
    }
    builder
        .resource(Resource::builtin("", "v1", "Pod", "pods").with_status())
        .resource(admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies"))
        .resource(admission("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"))
        .resource(network("NetworkBinding", "networkbindings"))
        .resource(network("NetworkContext", "networkcontexts"))
        .resource(network("SubnetClaim", "subnetclaims"))
        .resource(network("Subnet", "subnets"))
        .resource(
            Resource::custom("quota.miloapis.com", "v1alpha1", "ResourceClaim", "resourceclaims")
                .with_status(),
        )
        .build()
}
