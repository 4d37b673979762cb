//! How long a generation takes from its first sight on the project plane until its status is back there, by
//! one clock, and which share of that is Karmada's (U5).
//!
//! In memory only: what was on its way when the process started is not measured.
//!
//! Decides U5.

use std::time::Duration;

use fedhub_core::object::Key;
use indexmap::IndexMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::shrink::shrink;

/// How many WDs are followed at once. More are on their way only where the hub or all cells are down, and
/// then others show it.
const MAX_WDS: usize = 65_536;
/// How many generations of one WD are. Newer ones count with the last of them, from the time that it was
/// seen.
const MAX_GENERATIONS: usize = 8;

/// A generation on its way.
#[derive(Clone, Copy, Debug)]
struct Generation {
    number: i64,
    /// When it was first seen on the project plane.
    seen: Instant,
    /// When the hub acknowledged the write that brought it, or the one that superseded it.
    federated: Option<Instant>,
    /// Whether its status was seen on the hub.
    reported: bool,
}

/// The generations of one WD that are on their way, oldest first.
#[derive(Debug, Default)]
struct InFlight {
    city: Box<str>,
    /// Almost always one, and in room for no more: with a cell that is down there is one of each of its WDs.
    generations: Vec<Generation>,
}

/// The measurements of a city.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// `spec.cityCode` of the WD.
    pub city: Box<str>,
    /// How long each generation took.
    pub took: Vec<Duration>,
}

/// The WDs with generations on their way.
#[derive(Debug, Default)]
pub struct Convergence(IndexMap<Key, InFlight>);

impl Convergence {
    /// A generation was seen on the project plane for the first time.
    pub fn seen(&mut self, key: &Key, generation: i64, city: &str, now: Instant) {
        if self.0.len() >= MAX_WDS && !self.0.contains_key(key) {
            return;
        }
        let wd = self.0.entry(key.clone()).or_default();
        if wd.generations.last().is_some_and(|last| last.number >= generation) {
            return;
        }
        if *wd.city != *city {
            wd.city = city.into();
        }
        let new = Generation { number: generation, seen: now, federated: None, reported: false };
        if wd.generations.len() < MAX_GENERATIONS {
            wd.generations.reserve_exact(1);
            wd.generations.push(new);
        } else if let Some(last) = wd.generations.last_mut() {
            *last = Generation { seen: last.seen, ..new };
        }
    }

    /// The hub acknowledged a write of that generation, which carries what it supersedes too. `since`: the
    /// event that the write answers, where the generation itself was not seen.
    pub fn federated(&mut self, key: &Key, generation: i64, city: &str, since: Instant, now: Instant) {
        self.seen(key, generation, city, since);
        let Some(wd) = self.0.get_mut(key) else { return };
        for carried in wd.generations.iter_mut().filter(|it| it.number <= generation) {
            carried.federated.get_or_insert(now);
        }
    }

    /// The hub's status says that generation; measures Karmada's share, and the cell's, once.
    pub fn reported(&mut self, key: &Key, observed: i64, now: Instant) -> Measured {
        let Some(wd) = self.0.get_mut(key) else { return Measured::default() };
        let news = wd.generations.iter_mut().filter(|it| it.number <= observed && !it.reported);
        let took = news.filter_map(|it| {
            it.reported = true;
            it.federated.map(|at| now.saturating_duration_since(at))
        });
        Measured { took: took.collect(), city: wd.city.clone() }
    }

    /// The project WD's status says that generation: it has converged, and so has what it superseded.
    pub fn returned(&mut self, key: &Key, observed: i64, now: Instant) -> Measured {
        let Some(wd) = self.0.get_mut(key) else { return Measured::default() };
        let arrived = wd.generations.extract_if(.., |it| it.number <= observed);
        let took = arrived.map(|it| now.saturating_duration_since(it.seen)).collect();
        let measured = Measured { took, city: wd.city.clone() };
        if wd.generations.is_empty() {
            self.forget(key);
        }
        measured
    }

    /// Forgets a WD.
    pub fn forget(&mut self, key: &Key) {
        self.0.swap_remove(key);
        shrink(&mut self.0);
    }

    /// Forgets what is not kept.
    pub fn retain(&mut self, keep: impl Fn(&Key) -> bool) {
        self.0.retain(|key, _| keep(key));
        shrink(&mut self.0);
    }

    /// How many WDs have generations on their way.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// [`Convergence`], shared by the passes and the watches of a process.
#[derive(Debug, Default)]
pub struct SharedConvergence(Mutex<Convergence>);

impl SharedConvergence {
    /// Locks it.
    pub fn lock(&self) -> MutexGuard<'_, Convergence> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests;
