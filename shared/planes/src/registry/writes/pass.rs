//! A pass: what its requests may do, and what it hears of the planes that it speaks to, the evidence by which
//! circuits open and close.

use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::errors::{ApiError, Category, NotSent};
use fedhub_core::object::PlaneId;

/// What a pass has learned from the responses of planes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaneResponses {
    /// The plane by whose failure the pass ended, see [`fedhub_core::errors::Error::unhealthy`].
    pub unhealthy: Option<PlaneId>,
    /// Whether the hub answered a request.
    pub hub: bool,
    /// Whether the cell answered one.
    pub cell: bool,
    /// Whether the project plane answered one: a pass speaks to one only, that of its lane.
    pub project: bool,
    /// Whether a request to the hub was held back, see [`NotSent::CircuitOpen`].
    pub held_back: bool,
    /// Whether a write was sent, stored or not.
    pub wrote: bool,
}

impl PlaneResponses {
    /// Whether the plane of the pass's own lane answered.
    pub fn answered(&self, lane: &PlaneId) -> bool {
        match lane {
            PlaneId::Management => false,
            PlaneId::Hub => self.hub,
            PlaneId::Cell => self.cell,
            PlaneId::Project(_) => self.project,
        }
    }
}

/// The reconcile of one key, as seen by the planes that it makes requests to. Each request is made in one.
#[derive(Debug)]
pub struct Pass {
    /// The term of leadership that it belongs to; none where there is no election.
    epoch: Option<i32>,
    /// Whether it may ask the hub: while that fails, one pass may every half second.
    asks_hub: bool,
    held_back: AtomicBool,
    hub: AtomicBool,
    cell: AtomicBool,
    project: AtomicBool,
    wrote: AtomicBool,
}

impl Pass {
    /// A pass that belongs to `epoch`: in a later one its writes are refused, for what it has read may be
    /// old.
    pub fn new(epoch: i32, asks_hub: bool) -> Self {
        Self { epoch: Some(epoch), asks_hub, ..Self::unbound() }
    }

    /// A pass that belongs to no term, and that may ask the hub: it writes whenever the process leads.
    pub fn unbound() -> Self {
        Self {
            epoch: None,
            asks_hub: true,
            held_back: AtomicBool::default(),
            hub: AtomicBool::default(),
            cell: AtomicBool::default(),
            project: AtomicBool::default(),
            wrote: AtomicBool::default(),
        }
    }

    /// The term of leadership that it belongs to.
    pub fn epoch(&self) -> Option<i32> {
        self.epoch
    }

    /// Whether it may ask the hub.
    pub fn asks_hub(&self) -> bool {
        self.asks_hub
    }

    /// Returns what the pass has learned so far.
    pub fn responses(&self) -> PlaneResponses {
        PlaneResponses {
            unhealthy: None,
            hub: self.hub.load(Ordering::Relaxed),
            cell: self.cell.load(Ordering::Relaxed),
            project: self.project.load(Ordering::Relaxed),
            held_back: self.held_back.load(Ordering::Relaxed),
            wrote: self.wrote.load(Ordering::Relaxed),
        }
    }

    /// Whether a request may be sent to `plane`.
    pub(crate) fn admit(&self, plane: &PlaneId) -> Result<(), NotSent> {
        if *plane != PlaneId::Hub || self.asks_hub {
            return Ok(());
        }
        self.held_back.store(true, Ordering::Relaxed);
        Err(NotSent::CircuitOpen)
    }

    /// Notes that a write is sent.
    pub(crate) fn note_write(&self) {
        self.wrote.store(true, Ordering::Relaxed);
    }

    /// Notes what became of a request to `plane`. A refusal (403, 404, 409, 422) is an answer like another;
    /// silence, 5xx, garbage and 429 are none.
    pub(crate) fn note<T>(&self, plane: &PlaneId, answer: &Result<T, ApiError>) {
        let refused = |error: &ApiError| {
            matches!(error.category(), Category::Conflict | Category::Forbidden | Category::Invalid)
        };
        if !answer.as_ref().err().is_none_or(refused) {
            return;
        }
        match plane {
            PlaneId::Management => return,
            PlaneId::Hub => &self.hub,
            PlaneId::Cell => &self.cell,
            PlaneId::Project(_) => &self.project,
        }
        .store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::PlaneName;

    use super::*;

    #[test]
    fn i8_an_answer_speaks_for_the_plane_that_gave_it() {
        let planes = [PlaneId::Hub, PlaneId::Cell, PlaneId::Project(PlaneName::new("p").unwrap())];
        for plane in &planes {
            let pass = Pass::new(0, true);
            pass.note(plane, &Ok(()));
            for lane in &planes {
                assert_eq!(pass.responses().answered(lane), lane == plane, "{plane} answered, not {lane}");
            }
        }
    }

    #[test]
    fn i8_a_pass_that_may_not_ask_the_hub_may_ask_everybody_else() {
        let project = PlaneId::Project(PlaneName::new("p").unwrap());
        for (asks_hub, plane, held_back) in [
            (false, &PlaneId::Hub, true),
            (true, &PlaneId::Hub, false),
            (false, &PlaneId::Cell, false),
            (false, &project, false),
        ] {
            let pass = Pass::new(0, asks_hub);
            let admitted = pass.admit(plane);
            assert_eq!((admitted.is_err(), pass.responses().held_back), (held_back, held_back), "{plane}");
        }
    }
}
