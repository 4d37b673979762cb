//! The types of instances that every cell knows.

/// How much a type of instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// CPU in thousandths of a core.
    pub millicores: i64,
    /// Memory in MiB.
    pub mebibytes: i64,
}

/// The type of a template that names none.
pub const DEFAULT: &str = "datumcloud/d1-standard-2";

/// The names of all types: the API whose placements have `cityCodes` has one, under the names that its versions gave it.
pub const NAMES: [&str; 3] = [DEFAULT, "datumcloud-d1-standard-2", "d1-standard-2"];

/// The size of a type of that name, if there is one.
pub fn built_in(name: &str) -> Option<Size> {
    NAMES.contains(&name).then_some(Size { millicores: 1000, mebibytes: 2048 })
}
