//! The catalogue of instance types: the types that there are without one, and what an `InstanceType` of one
//! says.

use fedhub_core::object::{Object, ObjectView};
use fedhub_core::quantity::{self, BadQuantity};

use crate::InstanceTypePhase;

/// How much a type of instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// CPU in thousandths of a core.
    pub millicores: i64,
    /// Memory in MiB, rounded up.
    pub mebibytes: i64,
}

/// Why what should be a size is none: a value that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSize {
    /// `cpu` or `memory`.
    pub resource: &'static str,
    /// The value.
    pub value: String,
}

impl Size {
    /// What an `InstanceType` says.
    pub fn from_instance_type(instance_type: &Object) -> Result<Self, BadSize> {
        const MEBIBYTE: i64 = 1 << 20;
        let resources = &instance_type.spec()["resources"];
        let bad = |resource| move |BadQuantity(value)| BadSize { resource, value };
        let millicores = quantity::millicores(&resources["cpu"]).map_err(bad("cpu"))?;
        let bytes = quantity::bytes(&resources["memory"]).map_err(bad("memory"))?;
        Ok(Self { millicores, mebibytes: bytes / MEBIBYTE + i64::from(bytes % MEBIBYTE != 0) })
    }
}

/// The type of a template that names none.
pub const DEFAULT: &str = "datumcloud/d1-standard-2";

/// The names of all types that there are without a catalogue: the API whose placements have `cityCodes` has
/// one, under the names that its versions gave it.
pub const NAMES: [&str; 3] = [DEFAULT, "datumcloud-d1-standard-2", "d1-standard-2"];

/// The size of a type of that name that there is without a catalogue.
pub fn built_in(name: &str) -> Option<Size> {
    NAMES.contains(&name).then_some(Size { millicores: 1000, mebibytes: 2048 })
}

/// What a catalogue has under a name that a template gives, or under another name of the same type:
/// [`DEFAULT`] is not a name that an object can have.
pub fn find<T>(name: &str, get: impl Fn(&str) -> Option<T>) -> Option<T> {
    let others = NAMES.into_iter().filter(|other| NAMES.contains(&name) && *other != name);
    std::iter::once(name).chain(others).find_map(get)
}

/// The phase of an `InstanceType`; `None` where it has none that is known.
pub fn phase(instance_type: &Object) -> Option<InstanceTypePhase> {
    serde::Deserialize::deserialize(&instance_type.spec()["lifecycle"]["phase"]).ok()
}

/// The type that an `InstanceType` names in its place.
pub fn replacement(instance_type: &Object) -> Option<&str> {
    let name = instance_type.spec()["lifecycle"]["replacementInstanceType"].as_str();
    name.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare, set_field};
    use serde_json::json;

    use super::*;

    #[test]
    fn w8_a_type_is_found_under_each_name_that_it_ever_had() {
        let has = |there: &'static str| move |name: &str| (name == there).then_some(there);
        for name in NAMES {
            assert_eq!(find(name, has("d1-standard-2")), Some("d1-standard-2"), "{name}");
        }
        assert_eq!(find("d2", has("d2")), Some("d2"));
        assert_eq!(find("d2", has("d1-standard-2")), None, "another type");
        assert_eq!(find("d1-standard-2", has("d2")), None);
    }

    #[test]
    fn w8_an_instance_type_says_its_size_and_its_phase() {
        let mut object = bare(Kind::InstanceType, "", "d2");
        set_field(
            &mut object,
            "spec",
            json!({
                "resources": {"cpu": "1500m", "memory": "1M"},
                "lifecycle": {"phase": "Deprecated", "replacementInstanceType": "d3"},
            }),
        );
        assert_eq!(Size::from_instance_type(&object), Ok(Size { millicores: 1500, mebibytes: 1 }));
        assert_eq!(phase(&object), Some(InstanceTypePhase::Deprecated));
        assert_eq!(replacement(&object), Some("d3"));
        set_field(&mut object, "spec", json!({"resources": {"cpu": 2}, "lifecycle": {"phase": "Retired"}}));
        assert!(matches!(Size::from_instance_type(&object), Err(BadSize { resource: "memory", .. })));
        assert_eq!((phase(&object), replacement(&object)), (None, None));
    }
}
