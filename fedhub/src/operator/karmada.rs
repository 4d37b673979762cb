//! Karmada's objects that commands read and fedhub does not watch.

use std::sync::LazyLock;

use kube::core::{ApiResource, GroupVersionKind};

/// Karmada's Work: a WD as it is sent to a cell.
pub static WORK: LazyLock<ApiResource> = LazyLock::new(|| {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("work.karmada.io", "v1alpha1", "Work"), "works")
});
/// Karmada's label that a `ResourceBinding` and its Works share.
pub const BINDING_ID: &str = "resourcebinding.karmada.io/permanent-id";
