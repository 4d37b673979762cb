//! Which processes there are beside an instance, and how each is started.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::topology::Layout;
use crate::topology::planes::{Cells, HUB, Plane, projects};

/// How long what is simulated takes to come up: less than [`Fedhub::settled`](super::Fedhub::settled) has all
/// be still for.
const START_TIME: &str = "--start-time=100ms";

/// The name of the program that simulates services.
const SIMULATE: &str = "fedhub-simulate";
/// The name of the program that simulates a region service.
const REGION: &str = "fedhub-region";
/// The name of the program that runs Instances as processes.
const PROCESSES: &str = "fedhub-processes";
/// The programs that stand in for what others provide.
pub const SIMULATED: [&str; 3] = [SIMULATE, REGION, PROCESSES];

/// A program of the workspace, beside that of the hub or else beside the running one.
pub fn beside(fedhub: &Path, name: &str) -> PathBuf {
    let beside = fedhub.with_file_name(name);
    if beside.exists() { beside } else { std::env::current_exe().unwrap_or_default().with_file_name(name) }
}

/// A process beside an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// The hub's fedhub: the management role.
    First,
    /// A process that a suite starts besides.
    Second,
    /// A cell's fedhub.
    Cell(&'static Plane),
    /// The provider and the network service of a cell, simulated.
    Services(&'static Plane),
    /// The quota service of the project planes, simulated.
    Quota,
    /// The region service of a cell, simulated: only where a suite starts it.
    Region(&'static Plane),
    /// The provider of a cell whose servers are processes of this machine: only where a suite starts it.
    Processes(&'static Plane),
}

impl Member {
    /// The two of the management role.
    pub const REPLICAS: [Self; 2] = [Self::First, Self::Second];

    /// Returns the members of the whole chain: those in these cells and beside the project planes.
    pub fn chain(cells: Cells) -> impl Iterator<Item = Self> {
        let cells = cells.iter().flat_map(|(cell, _)| [Self::Services(cell), Self::Cell(cell)]);
        std::iter::once(Self::Quota).chain(cells)
    }

    /// All that there can be.
    pub fn all() -> impl Iterator<Item = Self> {
        let besides = Cells::Four.iter().flat_map(|(cell, _)| [Self::Region(cell), Self::Processes(cell)]);
        Self::REPLICAS.into_iter().chain(Self::chain(Cells::Four)).chain(besides)
    }

    /// The fedhub of a cell, by the cell's name or by what comes after `cell-`.
    pub fn cell(name: &str) -> Result<Self, Error> {
        plane(name).map(Self::Cell)
    }

    /// The simulated services of a cell, likewise.
    pub fn services(name: &str) -> Result<Self, Error> {
        plane(name).map(Self::Services)
    }

    /// The simulated region service of a cell, likewise.
    pub fn region(name: &str) -> Result<Self, Error> {
        plane(name).map(Self::Region)
    }

    /// The provider of a cell that runs processes, likewise.
    pub fn processes(name: &str) -> Result<Self, Error> {
        plane(name).map(Self::Processes)
    }

    /// Returns the name of the process, its log and its port.
    pub fn name(self) -> String {
        match self {
            Self::First => "fedhub".to_owned(),
            Self::Second => "fedhub-2".to_owned(),
            Self::Cell(cell) => format!("fedhub-{}", cell.name),
            Self::Services(cell) => format!("simulate-{}", cell.name),
            Self::Quota => "simulate-quota".to_owned(),
            Self::Region(cell) => format!("simulate-region-{}", cell.name),
            Self::Processes(cell) => format!("processes-{}", cell.name),
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

    /// Its program, where `fedhub` is that of the hub.
    pub fn program(self, fedhub: &Path) -> PathBuf {
        match self {
            Self::First | Self::Second | Self::Cell(_) => fedhub.to_owned(),
            Self::Services(_) | Self::Quota => beside(fedhub, SIMULATE),
            Self::Region(_) => beside(fedhub, REGION),
            Self::Processes(_) => beside(fedhub, PROCESSES),
        }
    }

    /// The arguments of simulated services; those of the others come from `deploy/`.
    pub fn arguments(self, layout: &Layout, port: u16) -> Vec<String> {
        match self {
            Self::First | Self::Second | Self::Cell(_) => Vec::new(),
            Self::Services(cell) => vec![
                "--provider".to_owned(),
                "--network".to_owned(),
                format!("--cell-kubeconfig={}", layout.kubeconfig(cell.name).display()),
                START_TIME.to_owned(),
            ],
            Self::Region(_) => vec![format!("--listen=127.0.0.1:{port}")],
            Self::Processes(cell) => vec![
                format!("--cell-kubeconfig={}", layout.kubeconfig(cell.name).display()),
                format!("--state={}", self.file(layout).with_extension("state").display()),
            ],
            Self::Quota => {
                let plane = |plane: &Plane| {
                    format!(
                        "--project-kubeconfig={0}={1}",
                        plane.name,
                        layout.kubeconfig(plane.name).display()
                    )
                };
                std::iter::once("--quota".to_owned()).chain(projects().map(plane)).collect()
            }
        }
    }
}

fn plane(name: &str) -> Result<&'static Plane, Error> {
    Cells::Four
        .iter()
        .map(|(plane, _)| plane)
        .find(|plane| plane.name == name || plane.name.strip_prefix("cell-") == Some(name))
        .ok_or_else(|| Error::Unknown {
            kind: "cell",
            name: name.to_owned(),
            known: Cells::Four.iter().map(|(plane, _)| plane.name).collect::<Vec<_>>().join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_a_name_of_its_own() {
        let mut names: Vec<_> = Member::all().map(Member::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 19);
    }

    #[test]
    fn a_cell_is_known_by_its_short_name_too() {
        assert_eq!(Member::cell("dfw").unwrap(), Member::cell("cell-dfw").unwrap());
        assert_eq!(Member::cell("dfw").unwrap().name(), "fedhub-cell-dfw");
        assert!(Member::cell("hub").unwrap_err().to_string().contains("cell-ord"));
    }
}
