//! What is killed, and when: drawn from a seed.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::Error;
use crate::fedhub::Fedhub;
use crate::topology::planes::{Plane, cells};
use crate::topology::{KARMADA_CONTROLLERS, Planes, api_server_process};

/// A process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The fedhub of the hub.
    Hub,
    /// The fedhub of a cell.
    Cell(&'static Plane),
    /// Karmada's controller manager.
    Karmada,
    /// The API server of a cell.
    ApiServer(&'static Plane),
}

/// A kill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kill {
    /// The process to kill.
    pub victim: Victim,
    /// When: at this part of the time that a rollout takes, from 0 to 1.
    pub moment: f64,
}

/// The kills that a seed stands for. Of more kills the first ones are the same; each victim comes once before
/// any comes again, in another order each time.
pub fn plan(seed: u64, kills: usize) -> Vec<Kill> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut plan = Vec::new();
    while plan.len() < kills {
        let mut victims: Vec<_> = Victim::all().collect();
        victims.shuffle(&mut random);
        plan.extend(victims.into_iter().map(|victim| Kill { victim, moment: random.random() }));
    }
    plan.truncate(kills);
    plan
}

impl Victim {
    /// Everything that is killed.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Hub, Self::Karmada]
            .into_iter()
            .chain(cells().flat_map(|(cell, _)| [Self::Cell(cell), Self::ApiServer(cell)]))
    }

    /// Returns the name of the process and its log.
    pub fn name(self) -> String {
        match self {
            Self::Hub => "fedhub".to_owned(),
            Self::Cell(cell) => format!("fedhub-{}", cell.name),
            Self::Karmada => KARMADA_CONTROLLERS.to_owned(),
            Self::ApiServer(cell) => api_server_process(cell.name),
        }
    }

    /// Kills it.
    pub async fn kill(self, planes: &Planes) -> Result<(), Error> {
        match self {
            Self::Hub => Fedhub::load(planes.layout())?.kill().await,
            Self::Cell(cell) => Fedhub::cell(planes.layout(), cell.name)?.kill().await,
            Self::Karmada | Self::ApiServer(_) => planes.kill_process(&self.name()).await,
        }
    }

    /// Starts it again, and waits until it serves, or leads.
    pub async fn start(self, planes: &Planes) -> Result<(), Error> {
        match self {
            Self::Hub => Fedhub::load(planes.layout())?.start_again().await,
            Self::Cell(cell) => Fedhub::cell(planes.layout(), cell.name)?.start_again().await,
            Self::Karmada | Self::ApiServer(_) => planes.start_process(&self.name()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_stands_for_one_plan_and_a_longer_one_begins_with_it() {
        let ten = plan(7, 10);
        let fifty = plan(7, 50);
        assert_eq!((ten.len(), fifty.len()), (10, 50));
        assert_eq!(ten, plan(7, 10));
        assert_eq!(ten, fifty[..10]);
        assert_ne!(ten, plan(8, 10));
        assert!(fifty.iter().all(|kill| (0.0..1.0).contains(&kill.moment)));
    }

    #[test]
    fn everything_is_killed_before_anything_is_killed_again() {
        let all: Vec<_> = Victim::all().collect();
        assert_eq!(all.len(), 6);
        for round in plan(7, 48).chunks(all.len()) {
            assert!(all.iter().all(|victim| round.iter().any(|kill| kill.victim == *victim)), "{round:?}");
        }
    }

    #[test]
    fn victims_are_called_as_their_processes_are() {
        let mut names: Vec<_> = Victim::all().map(Victim::name).collect();
        names.sort();
        let expected = [
            "fedhub",
            "fedhub-cell-dfw",
            "fedhub-cell-ord",
            "karmada-controller-manager",
            "kube-apiserver-cell-dfw",
            "kube-apiserver-cell-ord",
        ];
        assert_eq!(names, expected);
    }
}
