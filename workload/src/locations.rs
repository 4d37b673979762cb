//! The cities that new WDs of a project can be placed in (W7).
//!
//! Where the project plane serves `LocationBinding`s, those are the cities with a Ready one; else those that
//! have a cell, by the labels of the hub's Clusters. A city that stops being one keeps its WDs.
//!
//! Decides W7.

use std::collections::BTreeSet;

use fedhub_api::facts::{Change, Digest, DigestExt, Known};
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_planes::Plane;

/// The cities of a project, as far as they are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locations {
    /// The authority on them.
    pub by: Authority,
    /// The city codes as written there.
    pub cities: BTreeSet<String>,
}

/// The authority on the cities of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// The `LocationBinding`s of the project plane.
    LocationBindings,
    /// The cells of the hub.
    #[default]
    Cells,
}

impl Locations {
    /// Finds which of the cities in `named` instances can be placed in, on that project plane beside that
    /// hub.
    pub fn new(project: &Plane, hub: &Plane, named: &BTreeSet<&str>) -> Self {
        let by = Authority::on(project);
        let (plane, kind) = match by {
            Authority::LocationBindings => (project, Kind::LocationBinding),
            Authority::Cells => (hub, Kind::Cluster),
        };
        Self {
            by,
            cities: plane
                .store(kind)
                .select(None, |it| {
                    let city = city(kind, it.digest, it.object)?;
                    named.contains(city).then(|| city.to_owned())
                })
                .into_iter()
                .collect(),
        }
    }

    /// Whether a new WD can be placed in that city.
    pub fn contain(&self, city: &str) -> bool {
        self.cities.contains(city)
    }
}

impl Authority {
    /// Finds the authority on that project plane.
    pub fn on(project: &Plane) -> Self {
        if project.serves(Kind::LocationBinding) { Self::LocationBindings } else { Self::Cells }
    }
}

/// The cities that a change of a `LocationBinding` or of a Cluster gives or takes.
pub fn changed_cities(kind: Kind, change: &Change) -> BTreeSet<String> {
    let city = |known: &Known| city(kind, &known.digest, known.object.as_ref()).map(str::to_owned);
    let before = change.old().and_then(city);
    let now = city(change.known());
    if before == now && matches!(change, Change::Applied { .. }) {
        return BTreeSet::new();
    }
    before.into_iter().chain(now).collect()
}

/// The city that a `LocationBinding` or a Cluster lets be placed in.
fn city<'a>(kind: Kind, digest: &'a Digest, object: Option<&'a ObjectRef>) -> Option<&'a str> {
    if kind == Kind::LocationBinding { digest.location() } else { object?.label(CITY_CODE) }
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::PlaneName;
    use fedhub_core::object::{Object, PlaneId, bare};
    use serde_json::json;

    use super::*;

    fn known(kind: Kind, object: Object) -> Known {
        let plane = PlaneId::Project(PlaneName::new("p").unwrap());
        let digest = Digest::new(&plane, kind, &object);
        Known { namespace: "".into(), name: "dfw".into(), digest, object: Some(object.into()) }
    }

    fn binding(city: &str, status: &str) -> Known {
        let mut binding = bare(Kind::LocationBinding, "", "dfw");
        // It may have the label of a Cluster, too.
        binding.metadata.labels = Some([(CITY_CODE.to_owned(), "DFW".to_owned())].into());
        binding.data = json!({
            "spec": {"topology": {CITY_CODE: city}},
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        });
        known(Kind::LocationBinding, binding)
    }

    fn cluster(city: &str) -> Known {
        let mut cluster = bare(Kind::Cluster, "", "cell");
        cluster.metadata.labels = Some([(CITY_CODE.to_owned(), city.to_owned())].into());
        known(Kind::Cluster, cluster)
    }

    #[test]
    fn w7_a_change_concerns_the_cities_that_it_gives_and_takes() {
        use Kind::{Cluster, LocationBinding};
        let applied = |old: Option<Known>, new: Known| Change::Applied { old, new };
        let deleted = |last: Known| Change::Deleted { last, inferred: true };
        for (kind, change, cities) in [
            (LocationBinding, applied(None, binding("DFW", "True")), &["DFW"][..]),
            (LocationBinding, applied(None, binding("DFW", "False")), &[]),
            (LocationBinding, applied(Some(binding("DFW", "False")), binding("DFW", "True")), &["DFW"]),
            (LocationBinding, applied(Some(binding("DFW", "True")), binding("DFW", "True")), &[]),
            (LocationBinding, applied(Some(binding("DFW", "True")), binding("ORD", "True")), &["DFW", "ORD"]),
            (LocationBinding, deleted(binding("DFW", "True")), &["DFW"]),
            (LocationBinding, deleted(binding("DFW", "False")), &[]),
            (Cluster, applied(None, cluster("DFW")), &["DFW"]),
            (Cluster, applied(Some(cluster("DFW")), cluster("DFW")), &[]),
            (Cluster, applied(Some(cluster("DFW")), cluster("ORD")), &["DFW", "ORD"]),
            (Cluster, deleted(cluster("DFW")), &["DFW"]),
        ] {
            let changed: Vec<_> = changed_cities(kind, &change).into_iter().collect();
            assert_eq!(changed, cities, "{change:?}");
        }
    }
}
