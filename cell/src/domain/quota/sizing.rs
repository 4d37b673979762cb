//! How much CPU and memory an Instance counts for.

use fedhub_api::instance_types::{self, BadSize, Size};
use fedhub_core::message::Quoted;
use fedhub_core::object::Object;
use serde_json::Value;

/// The size of an Instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// The size is known.
    Known(Size),
    /// The size is unknown, for this reason: the Instance is counted, its size is not.
    Unknown(String),
}

/// The size of an Instance, from its `spec`: the sum of its containers' limits, if every container has one for both CPU
/// and memory; else the requests of its runtime, if both; else its type's size, by the `InstanceType` that `catalog` has under
/// that name, or else the one that there is without a catalogue (W8). A value that is not a quantity makes the size unknown.
pub fn of<T: AsRef<Object>>(spec: &Value, catalog: impl Fn(&str) -> Option<T>) -> Sizing {
    let runtime = &spec["runtime"];
    let containers = runtime["sandbox"]["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let limits: Vec<_> = containers.iter().map_while(|c| both(&c["resources"]["limits"])).collect();
    let given = if !containers.is_empty() && limits.len() == containers.len() {
        limits
    } else {
        both(&runtime["resources"]["requests"]).into_iter().collect()
    };
    if !given.is_empty() {
        return Size::sum(given).map_or_else(|bad| Sizing::Unknown(words(&bad)), Sizing::Known);
    }
    let name = runtime["resources"]["instanceType"].as_str().unwrap_or_default();
    if let Some(found) = instance_types::find(name, catalog) {
        let unreadable = |bad| format!("instance type {}: {}", Quoted(name), words(&bad));
        return Size::of(found.as_ref()).map_or_else(|bad| Sizing::Unknown(unreadable(bad)), Sizing::Known);
    }
    match instance_types::built_in(name) {
        Some(size) => Sizing::Known(size),
        None if name.is_empty() => Sizing::Unknown("the instance has no type".to_owned()),
        None => Sizing::Unknown(format!("instance type {} is not in the catalog", Quoted(name))),
    }
}

fn both(resources: &Value) -> Option<(&Value, &Value)> {
    let there = |name: &str| resources.get(name).filter(|v| !v.is_null());
    there("cpu").zip(there("memory"))
}

fn words(bad: &BadSize) -> String {
    match bad {
        BadSize::NotAQuantity { resource, value } => {
            format!("{resource} {} is not a valid quantity", Quoted(value))
        }
        BadSize::TooLarge(resource) => format!("{resource} is too large to count"),
    }
}
