//! What has to stand on the hub besides its CRDs (specification, section 8): without the interpreter Karmada carries
//! no status back, and nothing says so.

use std::time::Duration;

use fedhub_core::errors;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use tokio_util::sync::CancellationToken;

/// How often a hub without the interpreter is looked at again.
const AGAIN: Duration = Duration::from_mins(1);

/// Looks for the interpreter until it is there, and says so while it is not.
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
                "the hub has no ResourceInterpreterCustomization for WorkloadDeployment: Karmada will carry no status back; \
                 install deploy/components/hub"
            ),
            Err(error) => tracing::warn!(
                cause = errors::chain(&error),
                "cannot tell whether the hub has the interpreter"
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
