//! Preflight check of the hub beside its CRDs (specification, section 8): without the interpreter Karmada
//! aggregates no status, and reports no error.

use std::time::Duration;

use fedhub_core::errors;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use tokio_util::sync::CancellationToken;

/// The interval at which a hub without the interpreter is checked again.
const AGAIN: Duration = Duration::from_mins(1);

/// Checks the hub until the interpreter is installed, and warns while it is not.
pub async fn interpreter(hub: kube::Client, stop: CancellationToken) {
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("config.karmada.io", "v1alpha1", "ResourceInterpreterCustomization"),
        "resourceinterpretercustomizations",
    );
    let api: Api<DynamicObject> = Api::all_with(hub, &resource);
    loop {
        match api.list(&ListParams::default()).await {
            Ok(all) if all.items.iter().any(interprets) => return,
            Ok(_) => tracing::warn!(
                "no ResourceInterpreterCustomization for WorkloadDeployment on the hub, so Karmada aggregates no status: \
                 apply deploy/components/hub"
            ),
            Err(error) => tracing::warn!(
                error = errors::chain(&error),
                "failed to check the hub for the resource interpreter"
            ),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

fn interprets(customization: &DynamicObject) -> bool {
    let target = &customization.data["spec"]["target"];
    target["kind"] == "WorkloadDeployment"
        && target["apiVersion"].as_str().is_some_and(|v| v.starts_with("compute.datumapis.com/"))
}
