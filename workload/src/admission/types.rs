//! The types of instances that templates may have: those of the catalogue, or without one the built-in type
//! (W8).

use fedhub_api::{InstanceTypePhase, RuntimeResources, instance_types};
use fedhub_core::message::{Quoted, named};
use fedhub_core::object::{Object, ObjectRef, ObjectView};

use super::fault::Faults;
use super::path::Path;

/// The types to choose from.
#[derive(Clone, Copy)]
pub enum Types<'a> {
    /// The built-in type: there is no catalogue.
    BuiltIn,
    /// The types of the catalogue.
    Catalog(&'a dyn TypeCatalog),
    /// A catalogue that is not known yet: no type is held to be wrong. Who sets one is not to be admitted,
    /// see [`sets_type`].
    Unknown,
}

/// A catalogue of types.
pub trait TypeCatalog: Sync {
    /// The type of that name.
    fn get(&self, name: &str) -> Option<ObjectRef>;

    /// All types, in the order of their names.
    fn all(&self) -> Vec<ObjectRef>;
}

/// The type of a template that says none, unless there is none of that name which it may have.
pub fn default(types: Types<'_>) -> Option<&'static str> {
    match types {
        Types::Catalog(catalog) => {
            let found = instance_types::find(instance_types::DEFAULT, |name| catalog.get(name))?;
            (!is_disabled(&found)).then_some(instance_types::DEFAULT)
        }
        Types::BuiltIn | Types::Unknown => Some(instance_types::DEFAULT),
    }
}

fn is_disabled(found: &Object) -> bool {
    instance_types::phase(found) == Some(InstanceTypePhase::Disabled)
}

/// Lists the types to choose from in a message.
fn offer(types: Types<'_>) -> String {
    let names: Vec<String> = match types {
        Types::BuiltIn => instance_types::NAMES.map(str::to_owned).into(),
        Types::Catalog(catalog) => catalog
            .all()
            .iter()
            .filter(|found| !is_disabled(found))
            .map(|found| found.name().to_owned())
            .collect(),
        Types::Unknown => Vec::new(),
    };
    named(&names).map(|names| format!("; there are {names}")).unwrap_or_default()
}

/// The fault of a type that a template may not have.
pub fn check(resources: &RuntimeResources, at: Path, types: Types<'_>, faults: &mut Faults) {
    match (&*resources.instance_type, types) {
        ("", _) => {
            let rule = format!("it says how much CPU and memory an instance has{}", offer(types));
            faults.required(at, &rule);
        }
        (name, Types::BuiltIn) => faults.supported(at, name, &instance_types::NAMES),
        (name, Types::Catalog(catalog)) => match instance_types::find(name, |name| catalog.get(name)) {
            None => faults.not_found(at, name, "the catalog of instance types has none of that name"),
            Some(found) if is_disabled(&found) => {
                faults.forbidden(at, Some(name), &format!("the type is disabled{}", instead(&found)));
            }
            Some(_) => {}
        },
        (_, Types::Unknown) => {}
    }
}

/// Returns the warning for the user of a type.
pub fn warning(resources: &RuntimeResources, types: Types<'_>) -> Option<String> {
    let Types::Catalog(catalog) = types else { return None };
    let name = &*resources.instance_type;
    let found = instance_types::find(name, |name| catalog.get(name))?;
    (instance_types::phase(&found) == Some(InstanceTypePhase::Deprecated))
        .then(|| format!("instance type {} is deprecated{}", Quoted(name), instead(&found)))
}

fn instead(found: &Object) -> String {
    instance_types::replacement(found)
        .map(|name| format!(": use {} instead", Quoted(name)))
        .unwrap_or_default()
}

/// Whether the template of a Workload or a WD gets a type that it did not have.
pub fn sets_type(old: Option<&Object>, new: &Object) -> bool {
    let of = |object: &Object| {
        object.spec()["template"]["spec"]["runtime"]["resources"]["instanceType"].as_str().map(str::to_owned)
    };
    old.is_none_or(|old| of(old) != of(new))
}
