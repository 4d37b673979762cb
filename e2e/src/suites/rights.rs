//! Whether `deploy/` grants what fedhub requests: the planes' audit logs show what was denied.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::writes::{self, Event};
use crate::Error;
use crate::planes::Layout;
use crate::planes::topology::{Kind, PLANES, Plane};

/// Every right that fedhub asked for and never had, a line for each. What it had at another time of the run is not among
/// them: an API server that has just started refuses until it knows its roles.
pub fn missing(layout: &Layout) -> Result<Vec<String>, Error> {
    let mut answers = Vec::new();
    // Planes that did not come up have refused nothing.
    for plane in PLANES.iter().filter(|plane| layout.audit_log(plane.name).is_file()) {
        let events = writes::requests(layout, plane.name, Timestamp::MIN, &[])?;
        answers.extend(events.into_iter().filter_map(|event| answer(plane, &event)));
    }
    Ok(never_allowed(answers))
}

/// Which right a request needed on which kind of plane, and whether it had it.
fn answer(plane: &Plane, event: &Event) -> Option<(String, bool)> {
    let kind = match plane.kind {
        Kind::Management => "the management plane",
        Kind::Project => "a project plane",
        Kind::Hub => "the hub",
        Kind::Cell { .. } => "a cell",
    };
    let right = format!("{} {} on {kind} for {}", event.verb, event.resource(), event.user());
    event.allowed().map(|allowed| (right, allowed))
}

fn never_allowed(answers: Vec<(String, bool)>) -> Vec<String> {
    let (allowed, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, allowed)| *allowed);
    let names =
        |rights: Vec<(String, bool)>| rights.into_iter().map(|(right, _)| right).collect::<BTreeSet<_>>();
    names(refused).difference(&names(allowed)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_once_and_granted_at_another_time_is_not_missing() {
        let answer = |right: &str, allowed| (right.to_owned(), allowed);
        let answers = vec![
            answer("list secrets", false),
            answer("list pods", true),
            answer("patch leases", false),
            answer("patch leases", true),
            answer("list secrets", false),
        ];
        assert_eq!(never_allowed(answers), ["list secrets"]);
        assert!(never_allowed(Vec::new()).is_empty());
    }
}
