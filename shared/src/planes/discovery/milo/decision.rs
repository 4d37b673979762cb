//! What becomes of a project's plane: a pure function of what is known.

/// How a project stands on the discovery API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its condition `Ready` is True.
    Ready,
    /// Its condition `Ready` is anything else, or is not there.
    NotReady,
    /// Its deletion was asked for, whatever its conditions say.
    Deleting,
    /// It is gone: seen deleted, or missing from a list after a gap.
    Absent,
}

/// Whether WDs of an engaged plane hold our finalizer, as its own store tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Its WDs were never listed: nobody knows.
    Unknown,
    /// Some do.
    Yes,
    /// None does.
    No,
}

/// What is known of a project.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// How it stands.
    pub standing: Standing,
    /// What its plane's store tells, while the plane is engaged.
    pub plane: Option<Held>,
    /// The plane is engaged only until its WDs are free.
    pub leaving: bool,
    /// It is told of by the first list since this process began: an earlier process may have engaged it.
    pub first: bool,
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
    LetGo,
    /// It is not engaged and stays so.
    Pass,
}

/// The decision. A plane is let go only when its own store is known and names no WD that waits for us (I3): what is
/// not known holds it.
pub fn decide(facts: Facts) -> Verdict {
    let Facts { standing, plane, leaving, first } = facts;
    match (standing, plane) {
        (Standing::Ready, None) => Verdict::Engage,
        // Its watches may have failed for as long as it was not ready: fresh ones begin without their back-off.
        (Standing::Ready, Some(Held::Unknown)) if leaving => Verdict::Engage,
        (Standing::Ready, Some(_)) => Verdict::Stay,
        (Standing::NotReady | Standing::Deleting, None) if first => Verdict::Look,
        (_, None) => Verdict::Pass,
        (_, Some(Held::Yes | Held::Unknown)) => Verdict::Hold,
        (_, Some(Held::No)) => Verdict::LetGo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_a_plane_goes_only_when_no_wd_of_it_waits_for_us() {
        use Held::{No, Unknown, Yes};
        use Standing::{Absent, Deleting, NotReady, Ready};
        use Verdict::{Engage, Hold, LetGo, Look, Pass, Stay};
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
            (NotReady, Some(No), false, false, LetGo),
            (Deleting, None, false, false, Pass),
            (Deleting, None, false, true, Look),
            (Deleting, Some(Unknown), true, false, Hold),
            (Deleting, Some(Yes), true, false, Hold),
            (Deleting, Some(No), true, false, LetGo),
            (Absent, None, false, false, Pass),
            (Absent, None, false, true, Pass),
            (Absent, Some(Unknown), false, false, Hold),
            (Absent, Some(Yes), false, false, Hold),
            (Absent, Some(No), false, false, LetGo),
        ] {
            let facts = Facts { standing, plane, leaving, first };
            assert_eq!(decide(facts), expected, "{facts:?}");
        }
    }
}
