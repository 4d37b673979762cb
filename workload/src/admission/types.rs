//! The types of instances that templates may have: those of the catalogue, or without one the built-in type (W8).

use fedhub_api::{InstanceTypePhase, RuntimeResources, instance_types};
use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectRef, ObjectView};

use super::fault::Faults;
use super::path::Path;

/// What there is to choose from.
#[derive(Clone, Copy)]
pub enum Types<'a> {
    /// The built-in type: there is no catalogue.
    BuiltIn,
    /// What the catalogue has under a name.
    Catalog(&'a (dyn Fn(&str) -> Option<ObjectRef> + Sync)),
    /// A catalogue that is not known yet: no type is held to be wrong. Who sets one is not to be admitted, see [`sets_type`].
    Unknown,
}

/// The fault of a type that a template may not have.
pub fn check(resources: &RuntimeResources, at: Path, types: Types<'_>, faults: &mut Faults) {
    match (&*resources.instance_type, types) {
        ("", _) => faults.required(at, "it says how much CPU and memory an instance has"),
        (name, Types::BuiltIn) => faults.supported(at, name, &instance_types::NAMES),
        (name, Types::Catalog(get)) => match instance_types::find(name, get) {
            None => faults.not_found(at, name, "the catalog of instance types has none of that name"),
            Some(found) if instance_types::phase(&found) == Some(InstanceTypePhase::Disabled) => {
                faults.forbidden(at, Some(name), &format!("the type is disabled{}", instead(&found)));
            }
            Some(_) => {}
        },
        (_, Types::Unknown) => {}
    }
}

/// What the user of a type should know.
pub fn warning(resources: &RuntimeResources, types: Types<'_>) -> Option<String> {
    let Types::Catalog(get) = types else { return None };
    let name = &*resources.instance_type;
    let found = instance_types::find(name, get)?;
    (instance_types::phase(&found) == Some(InstanceTypePhase::Deprecated))
        .then(|| format!("instance type {} is deprecated{}", Quoted(name), instead(&found)))
}

fn instead(found: &Object) -> String {
    instance_types::replacement(found)
        .map(|name| format!(": use {} instead", Quoted(name)))
        .unwrap_or_default()
}

/// Whether a Workload gets a type that it did not have.
pub fn sets_type(old: Option<&Object>, new: &Object) -> bool {
    let of = |object: &Object| {
        object.spec()["template"]["spec"]["runtime"]["resources"]["instanceType"].as_str().map(str::to_owned)
    };
    old.is_none_or(|old| of(old) != of(new))
}
