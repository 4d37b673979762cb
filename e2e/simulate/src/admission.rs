//! What the API server of a project plane refuses to store, as a Milo's admission does: a claim of a resource
//! that is not registered, or for an object of a kind that may not claim it.
//!
//! A policy of the plane's own API server says so, for whoever makes the claim.
//! `deploy/components/milo-service` has the registrations.

use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::object::Object;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::api::{ApiResource, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::drive::{FIELD_MANAGER, kind};

/// The resources that are registered.
pub const REGISTERED: [&str; 3] =
    ["compute.datumapis.com/instances", "compute.datumapis.com/vcpus", "compute.datumapis.com/memory"];

/// The name of the policy, and of its binding.
const NAME: &str = "quota.simulate.fedhub.dev";
/// When to try again what the plane did not take.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The policy.
pub fn policy() -> Value {
    let rule = |expression: String, message: &str| json!({"expression": expression, "message": message, "reason": "Forbidden"});
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["quota.miloapis.com"], "apiVersions": ["*"], "operations": ["CREATE"],
                "resources": ["resourceclaims"],
            }]},
            "validations": [
                rule(
                    format!("object.spec.requests.all(r, r.resourceType in {})", json!(REGISTERED)),
                    "a requested resource type is not registered",
                ),
                rule("object.spec.requests.all(r, r.amount > 0)".to_owned(), "amount must be greater than 0"),
                rule(
                    "object.spec.requests.all(r, object.spec.requests.exists_one(o, o.resourceType == r.resourceType))"
                        .to_owned(),
                    "a resource type is requested twice",
                ),
                rule(
                    is("consumerRef", "resourcemanager.miloapis.com", "Project"),
                    "the resource types are not registered for that consumer",
                ),
                rule(
                    is("resourceRef", "compute.datumapis.com", "Instance"),
                    "resourceRef does not satisfy the claiming rules: compute.datumapis.com/Instance may claim",
                ),
            ],
        },
    })
}

/// Returns the CEL expression that a reference of a claim is to that kind.
fn is(reference: &str, group: &str, kind: &str) -> String {
    let at = format!("object.spec.{reference}");
    format!("has({at}.apiGroup) && {at}.apiGroup == '{group}' && {at}.kind == '{kind}'")
}

fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    })
}

/// Puts the policy in force, however long the plane takes to take it.
pub async fn enforce(plane: &str, client: &Client) {
    loop {
        let stored = async {
            put(client, &kind::<ValidatingAdmissionPolicy>(), &policy()).await?;
            put(client, &kind::<ValidatingAdmissionPolicyBinding>(), &binding()).await
        };
        match stored.await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(plane, error = errors::chain(&error), "the plane does not take {NAME}");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

async fn put(client: &Client, resource: &ApiResource, wanted: &Value) -> kube::Result<()> {
    let api: Api<Object> = Api::all_with(client.clone(), resource);
    let object = serde_json::from_value(wanted.clone()).map_err(kube::Error::SerdeError)?;
    match api.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(answer)) if answer.code == 409 => {
            let params =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            api.patch(NAME, &params, &Patch::Merge(wanted)).await.map(drop)
        }
        answer => answer.map(drop),
    }
}
