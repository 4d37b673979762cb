//! What a pass hears of the planes that it speaks to: the evidence by which circuits open and close.

use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::errors::{ApiError, Category, NotSent};
use fedhub_core::object::PlaneId;

/// What one pass responses.
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

#[derive(Default)]
struct Answers {
    /// Whether the pass may ask the hub.
    asks_hub: bool,
    held_back: AtomicBool,
    hub: AtomicBool,
    cell: AtomicBool,
    project: AtomicBool,
    wrote: AtomicBool,
}

tokio::task_local! {
    /// The answers to the requests of the pass under way.
    static ANSWERS: Answers;
}

/// Runs a pass, which may ask the hub or not, and says which planes answered it.
pub async fn recording<T>(asks_hub: bool, pass: impl Future<Output = T>) -> (T, PlaneResponses) {
    let both = async {
        let ended = pass.await;
        let responses = ANSWERS.with(|answers| PlaneResponses {
            unhealthy: None,
            hub: answers.hub.load(Ordering::Relaxed),
            cell: answers.cell.load(Ordering::Relaxed),
            project: answers.project.load(Ordering::Relaxed),
            held_back: answers.held_back.load(Ordering::Relaxed),
            wrote: answers.wrote.load(Ordering::Relaxed),
        });
        (ended, responses)
    };
    ANSWERS.scope(Answers { asks_hub, ..Answers::default() }, both).await
}

/// Whether a request of the pass under way may be sent to `plane`.
pub(crate) fn admit(plane: &PlaneId) -> Result<(), NotSent> {
    // Outside of a pass nothing is held back.
    let held_back = ANSWERS.try_with(|answers| {
        let held_back = *plane == PlaneId::Hub && !answers.asks_hub;
        answers.held_back.fetch_or(held_back, Ordering::Relaxed);
        held_back
    });
    if held_back.unwrap_or(false) { Err(NotSent::CircuitOpen) } else { Ok(()) }
}

/// Notes that a write is sent.
pub(crate) fn note_write() {
    // Outside of a pass nothing is recorded.
    let _ = ANSWERS.try_with(|answers| answers.wrote.store(true, Ordering::Relaxed));
}

/// Notes what became of a request to `plane`. A refusal (403, 404, 409, 422) is an answer like another;
/// silence, 5xx, garbage and 429 are none.
pub(crate) fn note<T>(plane: &PlaneId, answer: &Result<T, ApiError>) {
    let answered = match answer {
        Ok(_) => true,
        Err(error) => {
            matches!(error.category(), Category::Conflict | Category::Forbidden | Category::Invalid)
        }
    };
    if answered {
        // Outside of a pass nothing is recorded.
        let _ = ANSWERS.try_with(|answers| {
            match plane {
                PlaneId::Management => return,
                PlaneId::Hub => &answers.hub,
                PlaneId::Cell => &answers.cell,
                PlaneId::Project(_) => &answers.project,
            }
            .store(true, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::PlaneName;

    use super::*;

    #[tokio::test]
    async fn i8_an_answer_speaks_for_the_plane_that_gave_it() {
        let planes = [PlaneId::Hub, PlaneId::Cell, PlaneId::Project(PlaneName::new("p").unwrap())];
        for plane in &planes {
            let ((), responses) = recording(true, async { note(plane, &Ok(())) }).await;
            for lane in &planes {
                assert_eq!(responses.answered(lane), lane == plane, "{plane} answered, not {lane}");
            }
        }
    }

    #[tokio::test]
    async fn i8_a_pass_that_may_not_ask_the_hub_may_ask_everybody_else() {
        let project = PlaneId::Project(PlaneName::new("p").unwrap());
        for (asks_hub, plane, held_back) in [
            (false, &PlaneId::Hub, true),
            (true, &PlaneId::Hub, false),
            (false, &PlaneId::Cell, false),
            (false, &project, false),
        ] {
            let (admitted, responses) = recording(asks_hub, async { admit(plane) }).await;
            assert_eq!((admitted.is_err(), responses.held_back), (held_back, held_back), "{plane}");
        }
        assert!(admit(&PlaneId::Hub).is_ok(), "outside of a pass");
    }
}
