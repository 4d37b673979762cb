//! Which planes there are and what runs for each.

use serde::{Deserialize, Serialize};

use crate::Error;

/// What a plane is in the federation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Where fedhub itself would run: its lease, its events, the list of projects.
    Management,
    /// A tenant's API server.
    Project,
    /// The Karmada API server.
    Hub,
    /// A Karmada member at the city with this code.
    Cell {
        /// The value of the label `topology.datum.net/city-code`.
        city: &'static str,
    },
}

/// One API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plane {
    /// Its name, which is also its kubeconfig's.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The etcd that it keeps its state in, under a prefix of its own.
    pub etcd: &'static str,
}

/// The hub's name.
pub const HUB: &str = "hub";
/// The management plane's name.
pub const MANAGEMENT: &str = "management";

/// Every plane that an instance may have; [`Cells`] says which of the cells it has. The hub and one project
/// plane have an etcd of their own: losing and restoring the state of one plane cannot be tested otherwise.
pub const PLANES: [Plane; 8] = [
    Plane { name: HUB, kind: Kind::Hub, etcd: "hub" },
    Plane { name: "cell-dfw", kind: Kind::Cell { city: "DFW" }, etcd: "shared" },
    Plane { name: "cell-ord", kind: Kind::Cell { city: "ORD" }, etcd: "shared" },
    Plane { name: "project-a", kind: Kind::Project, etcd: "project-a" },
    Plane { name: "project-b", kind: Kind::Project, etcd: "shared" },
    Plane { name: MANAGEMENT, kind: Kind::Management, etcd: "shared" },
    Plane { name: "cell-ams", kind: Kind::Cell { city: "AMS" }, etcd: "shared" },
    Plane { name: "cell-sjc", kind: Kind::Cell { city: "SJC" }, etcd: "shared" },
];

/// How many cells an instance has. Each costs an API server and a controller manager, so that only what needs
/// four has them.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
pub enum Cells {
    /// In DFW and ORD.
    #[default]
    #[value(name = "2")]
    Two,
    /// In AMS and SJC, too.
    #[value(name = "4")]
    Four,
}

impl Cells {
    /// How many these are.
    pub const fn count(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// These cells with their city codes, in the order in which they are listed.
    pub fn iter(self) -> impl Iterator<Item = (&'static Plane, &'static str)> {
        PLANES.iter().filter_map(|plane| Some((plane, plane.city()?))).take(self.count())
    }

    /// The planes of an instance with these cells.
    pub fn planes(self) -> impl Iterator<Item = &'static Plane> {
        PLANES
            .iter()
            .filter(move |plane| plane.city().is_none() || self.iter().any(|(cell, _)| cell == *plane))
    }
}

/// The etcds, each once.
pub const ETCDS: [&str; 3] = ["hub", "project-a", "shared"];

impl Plane {
    /// The plane of that name.
    pub fn named(name: &str) -> Result<&'static Self, Error> {
        PLANES.iter().find(|plane| plane.name == name).ok_or_else(|| Error::Unknown {
            kind: "plane",
            name: name.to_owned(),
            known: PLANES.map(|plane| plane.name).join(", "),
        })
    }

    /// The code of its city, if it is a cell.
    pub fn city(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Cell { city } => Some(city),
            Kind::Management | Kind::Project | Kind::Hub => None,
        }
    }

    /// Whether the compute CRDs belong here. They are installed before any controller starts: Karmada's
    /// detector looks for new kinds only every 30 s.
    pub fn serves_compute(&self) -> bool {
        !matches!(self.kind, Kind::Management)
    }

    /// Whether a kube-controller-manager runs for it: namespace, garbage collector, in cells autoscaling too.
    pub fn has_controller_manager(&self) -> bool {
        !matches!(self.kind, Kind::Management)
    }

    /// Whether the management role has an identity here. Cells are Karmada's, and the cell role's.
    pub fn knows_fedhub(&self) -> bool {
        !matches!(self.kind, Kind::Cell { .. })
    }
}

/// The cells of an instance that asks for no others, with their city codes.
pub fn cells() -> impl Iterator<Item = (&'static Plane, &'static str)> {
    Cells::default().iter()
}

/// The project planes.
pub fn projects() -> impl Iterator<Item = &'static Plane> {
    PLANES.iter().filter(|plane| plane.kind == Kind::Project)
}

/// When a process is ended: controllers first, for an API server waits for its clients, and etcd last, for an
/// API server that lost its etcd hangs for twenty seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Ended first.
    Controller,
    /// Ended second.
    ApiServer,
    /// Ended last, and at once: its state is thrown away.
    Etcd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plane_has_an_etcd_that_exists_and_a_name_of_its_own() {
        for (at, plane) in PLANES.iter().enumerate() {
            assert!(ETCDS.contains(&plane.etcd), "{}", plane.name);
            assert!(!PLANES[..at].iter().any(|other| other.name == plane.name), "{}", plane.name);
        }
    }

    #[test]
    fn the_hub_and_one_project_keep_their_state_apart() {
        for alone in ["hub", "project-a"] {
            assert_eq!(PLANES.iter().filter(|plane| plane.etcd == alone).count(), 1);
        }
    }

    #[test]
    fn only_an_instance_of_four_cells_has_more_than_two() {
        let cities = |cells: Cells| cells.iter().map(|(_, city)| city).collect::<Vec<_>>();
        assert_eq!(cities(Cells::Two), ["DFW", "ORD"]);
        assert_eq!(cities(Cells::Four), ["DFW", "ORD", "AMS", "SJC"]);
        for cells in [Cells::Two, Cells::Four] {
            assert_eq!(cells.planes().filter_map(Plane::city).count(), cells.count());
            assert_eq!(cells.planes().filter(|plane| plane.city().is_none()).count(), 4);
        }
        assert!(Cells::Two < Cells::Four);
    }

    #[test]
    fn controllers_end_before_api_servers_and_those_before_etcd() {
        assert!(Role::Controller < Role::ApiServer && Role::ApiServer < Role::Etcd);
    }
}
