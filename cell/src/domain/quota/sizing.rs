//! How much CPU and memory an Instance counts for.

use fedhub_api::instance_types::{self, BadSize, DEFAULT, Size};
use fedhub_core::message::Quoted;
use fedhub_core::object::Object;
use serde_json::Value;

/// The size of an Instance, from its `spec`: its type's, by the `InstanceType` that `catalog` has under that
/// name, or else the one that there is without a catalogue (W8). Limits and requests say nothing: admission
/// refuses them. Without a size, as while Karmada is bringing the type to the cell, there is no claim: what
/// is said is why.
pub fn size<T: AsRef<Object>>(spec: &Value, catalog: impl Fn(&str) -> Option<T>) -> Result<Size, String> {
    let name = spec["runtime"]["resources"]["instanceType"].as_str().filter(|name| !name.is_empty());
    let name = name.unwrap_or(DEFAULT);
    match instance_types::find(name, catalog) {
        Some(found) => Size::from_instance_type(found.as_ref()).map_err(|BadSize { resource, value }| {
            format!("instance type {}: {resource} {} is not a valid quantity", Quoted(name), Quoted(&value))
        }),
        None => instance_types::built_in(name)
            .ok_or_else(|| format!("instance type {} is not in the cell", Quoted(name))),
    }
}
