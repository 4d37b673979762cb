//! The network contexts that an Instance is attached to.

use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::interface::{Interface, context};
use crate::domain::instances::Instance;
use crate::domain::status::gates;

/// `status.networkContexts` of an Instance as it should stand: of each of its interfaces the context that a
/// binding of its WD names for that network in the Instance's location, or else the one that was known
/// before. `None` where nothing is known. `bindings` are those of its namespace.
pub fn contexts<'a>(instance: &Object, bindings: impl Iterator<Item = &'a Object>) -> Option<Value> {
    let old = instance.status()["networkContexts"].as_array();
    let known = |name: &str| old.into_iter().flatten().find(|entry| entry["interface"] == name);
    // Before that it is attached to nothing.
    let attached = !gates::of(instance).contains(&gates::NETWORK);
    let owner = Instance::from_object(instance).owner;
    let mut own: Vec<_> =
        bindings.filter(|b| attached && owner.is_some() && Instance::from_object(b).owner == owner).collect();
    own.sort_by_key(|binding| (binding.is_terminating(), binding.name().len(), binding.name()));
    let entry = |interface: Interface<'_>| {
        let mut serving = own.iter().filter(|binding| {
            // No binding of its WD is to a network of another namespace.
            binding.spec()["network"]["name"] == interface.network["name"]
                && binding.spec()["location"]["name"] == instance.spec()["location"]["name"]
        });
        match serving.find_map(|binding| context(binding)) {
            Some((space, name)) => {
                Some(json!({"interface": interface.name, "namespace": space, "name": name}))
            }
            None => known(interface.name).cloned(),
        }
    };
    let all: Vec<_> = Interface::all(instance.spec()).filter_map(entry).collect();
    (!all.is_empty()).then_some(Value::Array(all))
}
