//! What keeps a provider away from an Instance (V9).
//!
//! Decides V9.

use fedhub_core::object::{Object, ObjectView};

/// Whether neither a gate nor denied quota keeps the provider away (V9).
pub fn may_begin(instance: &Object) -> bool {
    let gates = instance.spec()["controller"]["schedulingGates"].as_array();
    let denied = fedhub_api::conditions::find(instance.status(), "QuotaGranted")
        .is_some_and(|granted| granted["status"] == "False");
    gates.is_none_or(Vec::is_empty) && !denied
}
