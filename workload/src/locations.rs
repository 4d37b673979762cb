//! The cities that new WDs of a project can be placed in (W7).
//!
//! Where the project plane serves `LocationBinding`s, those are the cities with a Ready one; else those that have a cell, by
//! the labels of the hub's Clusters. A city that stops being one keeps its WDs.
//!
//! Decides W7.

use std::collections::BTreeSet;

use fedhub_api::conditions::is_true;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::Plane;

/// The cities of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locations {
    /// What decides on them.
    pub by: Authority,
    /// The city codes as written there.
    pub cities: BTreeSet<String>,
}

/// What decides on the cities of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// The `LocationBinding`s of the project plane.
    LocationBindings,
    /// The cells of the hub.
    #[default]
    Cells,
}

impl Locations {
    /// Of that project plane, beside that hub.
    pub fn of(project: &Plane, hub: &Plane) -> Self {
        if project.serves(Kind::LocationBinding) {
            let bindings = project.store(Kind::LocationBinding).objects(None);
            let cities = bindings.iter().filter_map(|binding| ready_city(binding));
            return Self { by: Authority::LocationBindings, cities: cities.map(str::to_owned).collect() };
        }
        let clusters = hub.store(Kind::Cluster).objects(None);
        let cities = clusters.iter().filter_map(|cluster| cluster.label(CITY_CODE));
        Self { by: Authority::Cells, cities: cities.map(str::to_owned).collect() }
    }

    /// Whether a new WD can be placed in that city.
    pub fn contain(&self, city: &str) -> bool {
        self.cities.contains(city)
    }
}

/// The city of a binding that is Ready.
pub fn ready_city(binding: &Object) -> Option<&str> {
    let ready = ["Available", "Ready"].iter().any(|kind| is_true(binding.status(), kind));
    let city = binding.spec()["topology"][CITY_CODE].as_str()?;
    (ready && !binding.is_terminating()).then_some(city)
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::bare;
    use serde_json::json;

    use super::*;

    #[test]
    fn w7_a_location_counts_once_it_is_ready() {
        let binding = |status: &str, kind: &str| {
            let mut binding = bare(Kind::LocationBinding, "", "dfw");
            binding.data = json!({
                "spec": {"topology": {CITY_CODE: "DFW"}},
                "status": {"conditions": [{"type": kind, "status": status}]},
            });
            binding
        };
        assert_eq!(ready_city(&binding("True", "Available")), Some("DFW"));
        assert_eq!(ready_city(&binding("True", "Ready")), Some("DFW"));
        assert_eq!(ready_city(&binding("Unknown", "Available")), None);
        assert_eq!(ready_city(&binding("True", "Odd")), None);
        let mut leaving = binding("True", "Ready");
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(ready_city(&leaving), None);
        let mut nowhere = binding("True", "Ready");
        nowhere.data["spec"] = json!({});
        assert_eq!(ready_city(&nowhere), None);
    }
}
