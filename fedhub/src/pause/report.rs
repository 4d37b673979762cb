//! What pausing and resuming change, and how that is said. Pure.

use fedhub_core::names::PlaneName;
use fedhub_planes::pauses::stored::{Pause, PausedPlanes};

use crate::common::MANAGEMENT_NAMESPACE;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is paused now, or resumed.
    Done,
    /// It was paused already, like this.
    Already(Pause),
    /// It was not paused.
    Nothing,
}

impl Change {
    /// Pauses that plane, or all of them. A pause that stands is kept: who was first, and why, is not
    /// forgotten.
    pub fn pause(stored: &mut PausedPlanes, plane: Option<&PlaneName>, new: &Pause) -> Self {
        let stands = match plane {
            Some(plane) => stored.planes.get(plane.as_str()),
            None => stored.all.as_ref(),
        };
        if let Some(stands) = stands {
            return Self::Already(stands.clone());
        }
        match plane {
            Some(plane) => drop(stored.planes.insert(plane.to_string(), new.clone())),
            None => stored.all = Some(new.clone()),
        }
        Self::Done
    }

    /// Ends the pause of that plane, or that of all of them.
    pub fn resume(stored: &mut PausedPlanes, plane: Option<&PlaneName>) -> Self {
        let ended = match plane {
            Some(plane) => stored.planes.remove(plane.as_str()),
            None => stored.all.take(),
        };
        if ended.is_some() { Self::Done } else { Self::Nothing }
    }

    /// Whether there is anything to store.
    pub fn is_news(&self) -> bool {
        *self == Self::Done
    }
}

/// What ends a pause, of one plane or of all, with fedhub in that namespace.
fn resume(plane: Option<&str>, namespace: &str) -> String {
    let plane = plane.map(|plane| format!(" --plane {plane}")).unwrap_or_default();
    if namespace == MANAGEMENT_NAMESPACE {
        return format!("fedhub resume{plane}");
    }
    format!("fedhub resume{plane} --management-namespace {namespace}")
}

/// The output of `fedhub pause`, with fedhub in that namespace.
pub fn paused(plane: Option<&PlaneName>, change: &Change, namespace: &str) -> String {
    let what = plane.map_or_else(|| "all planes are".to_owned(), |plane| format!("plane {plane} is"));
    let resume = resume(plane.map(PlaneName::as_str), namespace);
    let effect = "fedhub reads on and writes nothing for it, neither there nor on the hub: changes and deletions wait.";
    match change {
        Change::Already(pause) => format!("{what} paused already, {pause}\nto resume: {resume}"),
        Change::Done | Change::Nothing => {
            let effect = if plane.is_some() {
                effect.to_owned()
            } else {
                effect.replace("for it, neither there", "for any plane, neither there")
            };
            format!("{what} paused: {effect}\nto resume: {resume}")
        }
    }
}

/// The output of `fedhub resume`, with fedhub in that namespace.
pub fn resumed(plane: Option<&PlaneName>, change: &Change, left: &PausedPlanes, namespace: &str) -> String {
    let (what, verb) = plane.map_or_else(
        || ("the pause of all planes".to_owned(), "has ended"),
        |plane| (format!("plane {plane}"), "is resumed"),
    );
    let first = match (change, plane) {
        (Change::Nothing, Some(plane)) => {
            format!("nothing to resume: plane {plane} is not paused by its name")
        }
        (Change::Nothing, None) => "nothing to resume: the pause of all planes is not on".to_owned(),
        (Change::Done | Change::Already(_), _) => {
            format!("{what} {verb}: fedhub reconciles what has changed meanwhile")
        }
    };
    let all = left
        .all
        .iter()
        .map(|pause| format!("all planes stay paused, {pause}; to resume: {}", resume(None, namespace)));
    let planes = left.planes.iter().filter(|_| plane.is_none()).map(|(name, pause)| {
        format!("plane {name} stays paused, {pause}; to resume: {}", resume(Some(name), namespace))
    });
    std::iter::once(first).chain(all).chain(planes).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use fedhub_testing::{Messages, assert_messages};

    use super::*;

    fn pause(reason: &str) -> Pause {
        Pause {
            reason: Some(reason.to_owned()),
            by: Some("eve".to_owned()),
            since: Some("2026-01-02T03:04:05Z".to_owned()),
        }
    }

    #[test]
    fn i12_pausing_and_resuming_are_idempotent_and_do_not_mix_one_plane_with_all() {
        let a = PlaneName::new("a").unwrap();
        let mut stored = PausedPlanes::default();
        for target in [Some(&a), None] {
            assert_eq!(Change::pause(&mut stored, target, &pause("first")), Change::Done);
            assert_eq!(Change::pause(&mut stored, target, &pause("second")), Change::Already(pause("first")));
        }
        assert_eq!(Change::resume(&mut stored, None), Change::Done);
        assert!(stored.pause("a").is_some() && stored.pause("b").is_none());
        assert_eq!(Change::resume(&mut stored, None), Change::Nothing);
        assert_eq!(Change::resume(&mut stored, Some(&a)), Change::Done);
        assert_eq!(Change::resume(&mut stored, Some(&a)), Change::Nothing);
        assert!(stored.is_empty());
    }

    #[test]
    fn the_outcomes_read_well() {
        let a = PlaneName::new("project-a").unwrap();
        let already = Change::Already(pause("etcd maintenance"));
        let mut left = PausedPlanes { all: Some(pause("hub upgrade")), ..PausedPlanes::default() };
        left.planes.insert("project-b".to_owned(), Pause::default());
        let nothing = PausedPlanes::default();
        let mut messages = Messages::default();
        messages
            .section(
                "fedhub pause",
                [
                    ("one plane", paused(Some(&a), &Change::Done, MANAGEMENT_NAMESPACE)),
                    ("one plane, again", paused(Some(&a), &already, MANAGEMENT_NAMESPACE)),
                    ("one plane, of a fedhub elsewhere", paused(Some(&a), &already, "federation")),
                    ("all planes", paused(None, &Change::Done, MANAGEMENT_NAMESPACE)),
                    ("all planes, again", paused(None, &already, MANAGEMENT_NAMESPACE)),
                ],
            )
            .section(
                "fedhub resume",
                [
                    ("one plane", resumed(Some(&a), &Change::Done, &nothing, MANAGEMENT_NAMESPACE)),
                    (
                        "one plane, while all are paused",
                        resumed(Some(&a), &Change::Done, &left, MANAGEMENT_NAMESPACE),
                    ),
                    ("one plane, again", resumed(Some(&a), &Change::Nothing, &nothing, MANAGEMENT_NAMESPACE)),
                    ("all planes", resumed(None, &Change::Done, &nothing, MANAGEMENT_NAMESPACE)),
                    (
                        "all planes, while one is paused",
                        resumed(None, &Change::Done, &PausedPlanes { all: None, ..left }, "federation"),
                    ),
                    ("all planes, again", resumed(None, &Change::Nothing, &nothing, MANAGEMENT_NAMESPACE)),
                ],
            );
        assert_messages!("pause", messages);
    }
}
