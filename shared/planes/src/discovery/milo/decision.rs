//! The decision whether a project's plane is engaged: a pure function of what is known.

use crate::registry::plane::marks::FinalizersHeld;

/// The state of a Project on the discovery API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectState {
    /// Its condition `Ready` is True.
    Ready,
    /// Its condition `Ready` is anything else, or is not there.
    NotReady,
    /// Its deletion was asked for, whatever its conditions say.
    Deleting,
    /// The Project is gone: it was seen deleted, or is missing from a list after a gap.
    Absent,
}

/// The facts about a Project that decide about its plane.
#[derive(Clone, Copy, Debug)]
pub struct ProjectFacts {
    /// Its state.
    pub state: ProjectState,
    /// Whether the plane's store, and the writes under way there, show our finalizer, while the plane is
    /// engaged.
    pub plane: Option<FinalizersHeld>,
    /// The plane is engaged only until its WDs are free.
    pub leaving: bool,
    /// Whether the Project was reported by the first list since this process began, or a term has begun:
    /// another process may have engaged its plane.
    pub first: bool,
    /// The plane was engaged for another Project of that name, which is gone.
    pub remade: bool,
    /// Its server has answered for minutes that there is no such plane.
    pub unserved: bool,
}

/// The decision about the plane of a Project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneAction {
    /// Engage the plane, in place of what is engaged under its name.
    Engage,
    /// Engage the plane to check whether its WDs hold our finalizer.
    Inspect,
    /// The plane is engaged and stays so.
    Stay,
    /// The plane stays engaged until its WDs are free, and is decided about again when one of them is.
    Hold,
    /// Disengage the plane.
    Disengage,
    /// Disengage the plane: what the hub has of it is orphaned (F11).
    Abandon,
    /// The plane is not engaged and stays so.
    Ignore,
}

/// Decides what to do with a plane. It is disengaged only when its own store is known and names no WD that
/// waits for us, and none is being marked (I3): what is not known holds it.
pub fn decide(facts: ProjectFacts) -> PlaneAction {
    let ProjectFacts { state, plane, leaving, first, remade, unserved } = facts;
    match (state, plane) {
        (ProjectState::Ready, None) => PlaneAction::Engage,
        // Its store is about another plane.
        (ProjectState::Ready, Some(_)) if remade => PlaneAction::Engage,
        (ProjectState::NotReady | ProjectState::Deleting, Some(_)) if remade => PlaneAction::Inspect,
        // Its watches may have failed for as long as it was not ready: fresh ones begin without their
        // back-off.
        (ProjectState::Ready, Some(FinalizersHeld::Unknown)) if leaving => PlaneAction::Engage,
        (ProjectState::Ready, Some(_)) => PlaneAction::Stay,
        (ProjectState::Absent, Some(_)) if unserved => PlaneAction::Abandon,
        (_, None) if first => PlaneAction::Inspect,
        (_, None) => PlaneAction::Ignore,
        (_, Some(FinalizersHeld::Yes | FinalizersHeld::Marking | FinalizersHeld::Unknown)) => {
            PlaneAction::Hold
        }
        (_, Some(FinalizersHeld::No)) => PlaneAction::Disengage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_a_plane_goes_only_when_no_wd_of_it_waits_for_us() {
        use FinalizersHeld::{Marking, No, Unknown, Yes};
        use PlaneAction::{Abandon, Disengage, Engage, Hold, Ignore, Inspect, Stay};
        use ProjectState::{Absent, Deleting, NotReady, Ready};
        for (state, plane, leaving, first, expected) in [
            (Ready, None, false, false, Engage),
            (Ready, None, false, true, Engage),
            (Ready, Some(Unknown), false, false, Stay),
            (Ready, Some(Unknown), true, false, Engage),
            (Ready, Some(Yes), true, false, Stay),
            (Ready, Some(No), true, false, Stay),
            (Ready, Some(Yes), false, true, Stay),
            (NotReady, None, false, false, Ignore),
            (NotReady, None, false, true, Inspect),
            (NotReady, Some(Unknown), false, false, Hold),
            (NotReady, Some(Unknown), true, true, Hold),
            (NotReady, Some(Yes), false, false, Hold),
            (NotReady, Some(Marking), false, false, Hold),
            (NotReady, Some(No), false, false, Disengage),
            (Deleting, None, false, false, Ignore),
            (Deleting, None, false, true, Inspect),
            (Deleting, Some(Unknown), true, false, Hold),
            (Deleting, Some(Yes), true, false, Hold),
            (Deleting, Some(No), true, false, Disengage),
            (Absent, None, false, false, Ignore),
            (Absent, None, false, true, Inspect),
            (Absent, Some(Unknown), false, false, Hold),
            (Absent, Some(Marking), false, false, Hold),
            (Absent, Some(Yes), false, false, Hold),
            (Absent, Some(No), false, false, Disengage),
        ] {
            let facts = ProjectFacts { state, plane, leaving, first, remade: false, unserved: false };
            assert_eq!(decide(facts), expected, "{facts:?}");
            let facts = ProjectFacts { remade: true, ..facts };
            let anew = match (state, plane) {
                (Ready, Some(_)) => Engage,
                (NotReady | Deleting, Some(_)) => Inspect,
                _ => expected,
            };
            assert_eq!(decide(facts), anew, "{facts:?}");
            // Only of a Project that is gone is it final that nothing answers.
            let facts = ProjectFacts { remade: false, unserved: true, ..facts };
            let left = if state == Absent && plane.is_some() { Abandon } else { expected };
            assert_eq!(decide(facts), left, "{facts:?}");
        }
    }
}
