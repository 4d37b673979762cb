//! What is seen of a Workload and its deployments.

use jiff::Timestamp;

use super::{Cause, Policy, Revision, Status};

/// The revision that a deployment carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// The deployment does not exist.
    Nothing,
    /// Its template is of no known revision: it was written before revisions were marked.
    Unknown,
    /// This one.
    Known(Revision),
    /// It is marked with this one, and its template was edited by hand.
    Edited(Revision),
}

/// The health of a deployment on the revision that it carries (R4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its newest generation is observed, and all wanted instances are updated and ready.
    Healthy,
    /// It is on its way, or nothing was reported of its newest generation yet.
    Progressing,
    /// It makes no progress until somebody acts.
    Stuck(Cause),
    /// Its cell cannot be reached: what it reported is old.
    Unreachable,
}

/// A deployment: one placement of the Workload in one city.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct City {
    /// The name of the deployment.
    pub deployment: Box<str>,
    /// The code of the city.
    pub city: Box<str>,
    /// The revision that it carries.
    pub carries: Carries,
    /// Its health on it.
    pub health: Health,
}

impl City {
    /// Whether it does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        self.carries == Carries::Nothing
    }

    /// Whether it exists and cannot be reached. One that does not exist is created all the same.
    pub(crate) fn is_away(&self) -> bool {
        !self.is_missing() && self.health == Health::Unreachable
    }

    /// The revision that it carries as that was written.
    pub(crate) fn carried(&self) -> Option<Revision> {
        match self.carries {
            Carries::Known(revision) => Some(revision),
            Carries::Nothing | Carries::Unknown | Carries::Edited(_) => None,
        }
    }

    /// The revision that it is marked with.
    pub(crate) fn marked(&self) -> Option<Revision> {
        match self.carries {
            Carries::Known(revision) | Carries::Edited(revision) => Some(revision),
            Carries::Nothing | Carries::Unknown => None,
        }
    }

    /// Whether it is healthy on what it carries.
    pub(crate) fn is_healthy(&self) -> bool {
        self.health == Health::Healthy
    }

    /// The revision that it carries, where it is healthy on it.
    pub(crate) fn good(&self) -> Option<Revision> {
        if self.is_healthy() { self.carried() } else { None }
    }
}

/// What is seen of a rollout.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// What the user asks for.
    pub policy: &'a Policy,
    /// The newest revision.
    pub newest: Revision,
    /// All wanted deployments, in the order of the placements.
    pub cities: &'a [City],
    /// The revision that a deployment is created at whose turn has not come, where neither the status nor
    /// another deployment tells.
    pub held: Option<Revision>,
    /// What was decided before; the default where nothing was, or where nothing is kept.
    pub status: &'a Status,
    /// The time now.
    pub now: Timestamp,
}
