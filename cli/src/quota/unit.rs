//! The units that quota is counted in, and those that people count in.

use fedhub_core::object::{Object, ObjectView};

use crate::view::UNKNOWN;
use crate::view::number::Number;

/// The prefix of the names of compute's resources.
pub const PREFIX: &str = "compute.datumapis.com/";

/// The units that the platform registers for compute, for resources whose registration cannot be read.
pub const KNOWN_UNITS: [(&str, &str, i64); 3] =
    [("instances", "instance", 1), ("vcpus", "vCPU", 1000), ("memory", "MiB", 1)];

/// A unit for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The name of the unit.
    pub name: String,
    /// How many base units it is.
    pub factor: i64,
}

impl Unit {
    /// Returns the unit of a resource, as it is registered; the base unit if the resource is not known.
    pub fn new(resource: &str, registrations: &[Object]) -> Self {
        let registered = registrations.iter().map(ObjectView::spec);
        let registered =
            registered.into_iter().find(|it| it["resourceType"].as_str().map(short) == Some(resource));
        let known = KNOWN_UNITS.iter().find(|(name, ..)| *name == resource);
        let name = registered.and_then(|it| it["displayUnit"].as_str()).filter(|it| !it.is_empty());
        let factor = registered.and_then(|it| it["unitConversionFactor"].as_i64()).filter(|it| *it > 0);
        Self {
            name: name.or(known.map(|it| it.1)).unwrap_or("base unit").to_owned(),
            factor: factor.or(known.map(|it| it.2)).unwrap_or(1),
        }
    }

    /// An amount in it, such as `1.5`.
    pub fn shown(&self, amount: Number) -> String {
        let Some(amount) = amount else { return UNKNOWN.to_owned() };
        let whole = amount / self.factor;
        let rest = amount % self.factor;
        if rest == 0 {
            return whole.to_string();
        }
        let thousandths = i128::from(rest.abs()) * 1000 / i128::from(self.factor);
        let sign = if amount < 0 && whole == 0 { "-" } else { "" };
        let text = format!("{sign}{whole}.{thousandths:03}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// Formats an amount with the name of the unit: `1.5 vCPU`.
    pub fn with_name(&self, amount: Number) -> String {
        format!("{} {}", self.shown(amount), self.name)
    }
}

/// A resource without the group of compute.
pub fn short(resource: &str) -> &str {
    resource.strip_prefix(PREFIX).unwrap_or(resource)
}
