//! The resource that Projects are.

use std::sync::LazyLock;

use kube::core::{ApiResource, GroupVersionKind};

pub(super) const GROUP: &str = "resourcemanager.miloapis.com";
pub(super) const VERSION: &str = "v1alpha1";

/// The resource that Projects are.
pub fn resource() -> &'static ApiResource {
    static PROJECT: LazyLock<ApiResource> = LazyLock::new(|| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, "Project"), "projects")
    });
    &PROJECT
}
