//! Types of instances: the fields that have to be there, and the phases of their life.

use fedhub_core::names::{INSTANCE_TYPE_NAME_RULE, travelling_name_max};
use fedhub_core::object::{Object, ObjectView};
use fedhub_core::quantity;
use serde_json::Value;

use super::fault::{Fault, Faults};
use super::path::Path;

/// The phases, in the one order that they are gone through.
const PHASES: [&str; 3] = ["Active", "Deprecated", "Disabled"];

/// The faults of a type.
pub fn check(object: &Object, faults: &mut Faults) {
    let name = object.name();
    let travels = name.len() <= travelling_name_max("InstanceType");
    faults.check(travels, Path::from_field("metadata").field("name"), name, INSTANCE_TYPE_NAME_RULE);
    let (spec, at) = (object.spec(), Path::from_field("spec"));
    for resource in ["cpu", "memory"] {
        let value = &spec["resources"][resource];
        let path = at.field("resources").field(resource);
        if value.is_null() {
            faults.required(path, "it must be a quantity greater than 0");
        } else {
            let counts = quantity::thousandths(value).is_ok_and(|counted| counted > 0);
            faults.check(counts, path, shown(value), "it must be a quantity greater than 0");
        }
    }
    match phase(object) {
        "" => faults.required(phase_path(), "it must be one of Active, Deprecated, Disabled"),
        phase => faults.supported(phase_path(), phase, &PHASES),
    }
    let replacement = &spec["lifecycle"]["replacementInstanceType"];
    if replacement.as_str() == Some(object.name()) {
        let path = at.field("lifecycle").field("replacementInstanceType");
        faults.invalid(path, object.name(), "a type cannot replace itself");
    }
}

/// The fault of a type that goes back in its life, or leaves a phase out.
pub fn backwards(old: &Object, new: &Object) -> Option<Fault> {
    let at = |object| PHASES.iter().position(|known| *known == phase(object));
    let from = at(old)?;
    let to = at(new)?;
    let mut faults = Faults::default();
    let rule = match PHASES[from] {
        "Active" => "a type that is Active can become Deprecated, and nothing else",
        "Deprecated" => "a type that is Deprecated can become Disabled, and nothing else",
        _ => "a type that is Disabled stays Disabled",
    };
    faults.check(to == from || to == from + 1, phase_path(), PHASES[to], rule);
    faults.into_vec().pop()
}

fn phase_path() -> Path {
    Path::from_field("spec").field("lifecycle").field("phase")
}

fn phase(object: &Object) -> &str {
    object.spec()["lifecycle"]["phase"].as_str().unwrap_or_default()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
