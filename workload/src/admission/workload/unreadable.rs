//! A spec that the schema of a plane admits and this version cannot read: which part of it that is.

use std::fmt;

use fedhub_api::{InstanceRuntime, NetworkInterface, TemplateMetadata, Volume, WorkloadPlacement};
use fedhub_core::message::excerpt;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The faults of such a spec: its parts that cannot be read, or where each can, the spec itself with that
/// error.
pub fn check(spec: &Value, error: &serde_json::Error, at: &Path, faults: &mut Faults) {
    let (template, here) = (&spec["template"], at.field("template"));
    let instance = &template["spec"];
    let inside = here.field("spec");
    let found = [
        part::<TemplateMetadata>(&template["metadata"], here.field("metadata"), faults),
        part::<InstanceRuntime>(&instance["runtime"], inside.field("runtime"), faults),
        parts::<NetworkInterface>(&instance["networkInterfaces"], &inside.field("networkInterfaces"), faults),
        parts::<Volume>(&instance["volumes"], &inside.field("volumes"), faults),
        parts::<WorkloadPlacement>(&spec["placements"], &at.field("placements"), faults),
    ];
    if !found.contains(&true) {
        refuse(at.clone(), error, faults);
    }
}

/// Whether a part that is there cannot be read, which is a fault.
fn part<T: DeserializeOwned>(value: &Value, at: Path, faults: &mut Faults) -> bool {
    let error = Some(value).filter(|value| !value.is_null()).and_then(|value| T::deserialize(value).err());
    error.map(|error| refuse(at, &error, faults)).is_some()
}

/// Whether any item of a list cannot be read; each such item is a fault.
fn parts<T: DeserializeOwned>(list: &Value, at: &Path, faults: &mut Faults) -> bool {
    let items = list.as_array().into_iter().flatten().enumerate().take(limits::VOLUMES);
    items.fold(false, |found, (i, item)| {
        let name = item["name"].as_str().unwrap_or_default();
        part::<T>(item, at.item(i, name), faults) | found
    })
}

/// The error is cut: it may quote anything.
fn refuse(at: Path, error: &impl fmt::Display, faults: &mut Faults) {
    faults.forbidden(at, None, &format!("it cannot be read: {}", excerpt(&error.to_string())));
}
