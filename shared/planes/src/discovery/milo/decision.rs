//! What becomes of a project's plane: a pure function of what is known.

use crate::marks::Held;

/// How a project stands on the discovery API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectState {
    /// Its condition `Ready` is True.
    Ready,
    /// Its condition `Ready` is anything else, or is not there.
    NotReady,
    /// Its deletion was asked for, whatever its conditions say.
    Deleting,
    /// It is gone: seen deleted, or missing from a list after a gap.
    Absent,
}

/// What is known of a project.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// How it stands.
    pub standing: ProjectState,
    /// What its plane's store and the writes under way there tell, while the plane is engaged.
    pub plane: Option<Held>,
    /// The plane is engaged only until its WDs are free.
    pub leaving: bool,
    /// It is told of by the first list since this process began, or a term has begun: another process may have engaged
    /// it.
    pub first: bool,
    /// The plane was engaged for another Project of that name, which is gone.
    pub remade: bool,
    /// For minutes by now its server says that there is no such plane.
    pub unserved: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Engage the plane, in place of what is engaged under its name.
    Engage,
    /// Engage the plane to see whether its WDs hold our finalizer.
    Look,
    /// It is engaged and stays so.
    Stay,
    /// It stays engaged until its WDs are free, and is judged again when one of them is.
    Hold,
    /// Let the plane go.
    PlaneDisengaged,
    /// Let the plane go: what the hub has of it is orphaned (F11).
    Abandon,
    /// It is not engaged and stays so.
    Pass,
}

/// The decision. A plane is let go only when its own store is known and names no WD that waits for us, and none is being
/// marked (I3): what is not known holds it.
pub fn decide(facts: Facts) -> Verdict {
    let Facts { standing, plane, leaving, first, remade, unserved } = facts;
    match (standing, plane) {
        (ProjectState::Ready, None) => Verdict::Engage,
        // What its store tells is about another plane.
        (ProjectState::Ready, Some(_)) if remade => Verdict::Engage,
        (ProjectState::NotReady | ProjectState::Deleting, Some(_)) if remade => Verdict::Look,
        // Its watches may have failed for as long as it was not ready: fresh ones begin without their back-off.
        (ProjectState::Ready, Some(Held::Unknown)) if leaving => Verdict::Engage,
        (ProjectState::Ready, Some(_)) => Verdict::Stay,
        (ProjectState::Absent, Some(_)) if unserved => Verdict::Abandon,
        (_, None) if first => Verdict::Look,
        (_, None) => Verdict::Pass,
        (_, Some(Held::Yes | Held::Marking | Held::Unknown)) => Verdict::Hold,
        (_, Some(Held::No)) => Verdict::PlaneDisengaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_a_plane_goes_only_when_no_wd_of_it_waits_for_us() {
        use Held::{Marking, No, Unknown, Yes};
        use ProjectState::{Absent, Deleting, NotReady, Ready};
        use Verdict::{Abandon, Engage, Hold, Look, Pass, PlaneDisengaged, Stay};
        for (standing, plane, leaving, first, expected) in [
            (Ready, None, false, false, Engage),
            (Ready, None, false, true, Engage),
            (Ready, Some(Unknown), false, false, Stay),
            (Ready, Some(Unknown), true, false, Engage),
            (Ready, Some(Yes), true, false, Stay),
            (Ready, Some(No), true, false, Stay),
            (Ready, Some(Yes), false, true, Stay),
            (NotReady, None, false, false, Pass),
            (NotReady, None, false, true, Look),
            (NotReady, Some(Unknown), false, false, Hold),
            (NotReady, Some(Unknown), true, true, Hold),
            (NotReady, Some(Yes), false, false, Hold),
            (NotReady, Some(Marking), false, false, Hold),
            (NotReady, Some(No), false, false, PlaneDisengaged),
            (Deleting, None, false, false, Pass),
            (Deleting, None, false, true, Look),
            (Deleting, Some(Unknown), true, false, Hold),
            (Deleting, Some(Yes), true, false, Hold),
            (Deleting, Some(No), true, false, PlaneDisengaged),
            (Absent, None, false, false, Pass),
            (Absent, None, false, true, Look),
            (Absent, Some(Unknown), false, false, Hold),
            (Absent, Some(Marking), false, false, Hold),
            (Absent, Some(Yes), false, false, Hold),
            (Absent, Some(No), false, false, PlaneDisengaged),
        ] {
            let facts = Facts { standing, plane, leaving, first, remade: false, unserved: false };
            assert_eq!(decide(facts), expected, "{facts:?}");
            let facts = Facts { remade: true, ..facts };
            let anew = match (standing, plane) {
                (Ready, Some(_)) => Engage,
                (NotReady | Deleting, Some(_)) => Look,
                _ => expected,
            };
            assert_eq!(decide(facts), anew, "{facts:?}");
            // Only of a Project that is gone is it final that nothing answers.
            let facts = Facts { remade: false, unserved: true, ..facts };
            let left = if standing == Absent && plane.is_some() { Abandon } else { expected };
            assert_eq!(decide(facts), left, "{facts:?}");
        }
    }
}
