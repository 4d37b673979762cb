//! Which processes there are beside an instance, and how each is started.

use std::path::PathBuf;

use crate::{
    Error,
    planes::{
        CELLS_NAMESPACE, Layout,
        topology::{HUB, Kind, MANAGEMENT, Plane, cells, projects},
    },
};

/// How long what is played takes to come up: less than [`Fedhub::settled`](super::Fedhub::settled) has all be still for.
const START_TIME: &str = "--start-time=100ms";
/// A short lease: suites kill its holder and wait for the next.
const LEASE: [&str; 2] = ["--lease-duration=5s", "--lease-renew=1s"];

/// One of the processes beside an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// The hub's fedhub: the management role.
    First,
    /// One that a suite starts beside it.
    Second,
    /// A cell's fedhub.
    Cell(&'static Plane),
    /// The provider and the network service of a cell, played.
    Services(&'static Plane),
    /// The quota service of the project planes, played.
    Quota,
}

impl Member {
    /// The two of the management role.
    pub const REPLICAS: [Self; 2] = [Self::First, Self::Second];

    /// What makes the chain whole: what runs in the cells and beside the project planes.
    pub fn chain() -> impl Iterator<Item = Self> {
        let cells = cells().flat_map(|(cell, _)| [Self::Services(cell), Self::Cell(cell)]);
        std::iter::once(Self::Quota).chain(cells)
    }

    /// All that there can be.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::REPLICAS.into_iter().chain(Self::chain())
    }

    /// The fedhub of a cell, by the cell's name or by what comes after `cell-`.
    pub fn cell(name: &str) -> Result<Self, Error> {
        plane(name).map(Self::Cell)
    }

    /// What plays the services of a cell, likewise.
    pub fn services(name: &str) -> Result<Self, Error> {
        plane(name).map(Self::Services)
    }

    /// What the process, its log and its port are called.
    pub fn name(self) -> String {
        match self {
            Self::First => "fedhub".to_owned(),
            Self::Second => "fedhub-2".to_owned(),
            Self::Cell(cell) => format!("fedhub-{}", cell.name),
            Self::Services(cell) => format!("simulate-{}", cell.name),
            Self::Quota => "simulate-quota".to_owned(),
        }
    }

    /// Where it is written down: beside fedhub's kubeconfigs, for it goes with the instance.
    pub fn file(self, layout: &Layout) -> PathBuf {
        layout.fedhub_kubeconfig(HUB).with_file_name(format!("{}.json", self.name()))
    }

    /// Whether it has a page with its readiness and its metrics.
    pub fn has_page(self) -> bool {
        matches!(self, Self::First | Self::Second | Self::Cell(_))
    }

    /// What it is told when it is started.
    pub fn arguments(self, layout: &Layout, port: u16) -> Vec<String> {
        let mut arguments = match self {
            Self::First | Self::Second => super::flags(layout, port),
            Self::Cell(cell) => cell_flags(layout, cell, port),
            Self::Services(cell) => vec![
                "simulate".to_owned(),
                "--provider".to_owned(),
                "--network".to_owned(),
                format!("--cell-kubeconfig={}", layout.kubeconfig(cell.name).display()),
                START_TIME.to_owned(),
            ],
            Self::Quota => {
                let plane = |plane: &Plane| {
                    format!(
                        "--project-kubeconfig={0}={1}",
                        plane.name,
                        layout.kubeconfig(plane.name).display()
                    )
                };
                let start = ["simulate".to_owned(), "--quota".to_owned()];
                start.into_iter().chain(projects().map(plane)).collect()
            }
        };
        if self.has_page() {
            arguments.extend(LEASE.map(str::to_owned));
        }
        arguments
    }
}

fn plane(name: &str) -> Result<&'static Plane, Error> {
    let named = |plane: &&Plane| plane.name == name || plane.name.strip_prefix("cell-") == Some(name);
    cells().map(|(plane, _)| plane).find(named).ok_or_else(|| Error::Unknown {
        kind: "cell",
        name: name.to_owned(),
        known: cells().map(|(plane, _)| plane.name).collect::<Vec<_>>().join(", "),
    })
}

/// What every fedhub of a cell is told. Networking and quota are off.
fn cell_flags(layout: &Layout, cell: &Plane, port: u16) -> Vec<String> {
    let city = match cell.kind {
        Kind::Cell { city } => city,
        _ => "",
    };
    vec![
        "run".to_owned(),
        "--enable-cell-controllers".to_owned(),
        format!("--cell-kubeconfig={}", layout.cell_role_kubeconfig(cell.name).display()),
        format!("--hub-kubeconfig={}", layout.cell_role_kubeconfig(HUB).display()),
        format!("--cell-name={}", cell.name),
        format!("--cell-city={city}"),
        format!("--namespace={CELLS_NAMESPACE}"),
        format!("--admin-address=127.0.0.1:{port}"),
    ]
}

/// What every fedhub of the management role is told.
pub(crate) fn flags(layout: &Layout, port: u16) -> Vec<String> {
    vec![
        "run".to_owned(),
        "--enable-management-controllers".to_owned(),
        "--discovery=kubeconfigs".to_owned(),
        format!("--hub-kubeconfig={}", layout.fedhub_kubeconfig(HUB).display()),
        format!("--management-kubeconfig={}", layout.fedhub_kubeconfig(MANAGEMENT).display()),
        format!("--admin-address=127.0.0.1:{port}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_a_name_of_its_own() {
        let mut names: Vec<_> = Member::all().map(Member::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 7);
    }

    #[test]
    fn a_cell_is_known_by_its_short_name_too() {
        assert_eq!(Member::cell("dfw").unwrap(), Member::cell("cell-dfw").unwrap());
        assert_eq!(Member::cell("dfw").unwrap().name(), "fedhub-cell-dfw");
        assert!(Member::cell("hub").unwrap_err().to_string().contains("cell-ord"));
    }
}
