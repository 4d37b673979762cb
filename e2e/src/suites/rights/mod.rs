//! Whether `deploy/` grants what fedhub requests, and nothing else: the planes' audit logs show what was denied and what
//! was used, their RBAC what is granted.

mod granted;

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use jiff::Timestamp;

use super::writes::{self, Event};
use crate::Error;
use crate::planes::topology::{Kind, PLANES, Plane};
use crate::planes::{Holder, Layout, Planes};

/// What an identity may do on the planes of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    /// On what.
    plane: &'static str,
    /// Whose.
    identity: &'static str,
    /// The API group; empty for the core group, and for what is no resource.
    group: String,
    /// The resource with its subresource, or the path of what is no resource.
    resource: String,
    verb: String,
}

impl Display for Right {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { plane, identity, group, resource, verb } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{verb} {resource}{dot}{group} on {plane} for {identity}")
    }
}

/// A right that no request shows, and why it is granted all the same.
struct Unseen {
    identity: &'static str,
    verb: &'static str,
    resource: &'static str,
    why: &'static str,
}

/// The rights that a whole run does not use.
const UNSEEN: [Unseen; 0] = [];

/// Every right that fedhub asked for and never had, a line for each. What it had at another time of the run is not among
/// them: an API server that has just started refuses until it knows its roles.
pub fn missing(layout: &Layout) -> Result<Vec<String>, Error> {
    Ok(never_allowed(answers(layout)?))
}

/// Every right that `deploy/` grants and no request of a whole run used, a line for each; and every entry of the list of
/// exceptions that is none.
pub async fn unused(planes: &Planes) -> Result<Vec<String>, Error> {
    let mut granted = BTreeSet::new();
    for plane in &PLANES {
        granted.extend(granted::on(&planes.client(plane.name).await?, plane).await?);
    }
    let used = answers(planes.layout())?.into_iter().filter_map(|(right, allowed)| allowed.then_some(right));
    Ok(differences(&granted, &used.collect(), &UNSEEN))
}

/// Each request that RBAC decided: which right it needed, and whether it had it.
fn answers(layout: &Layout) -> Result<Vec<(Right, bool)>, Error> {
    let mut answers = Vec::new();
    // Planes that did not come up have refused nothing.
    for plane in PLANES.iter().filter(|plane| layout.audit_log(plane.name).is_file()) {
        let events = writes::requests(layout, plane.name, Timestamp::MIN, &[])?;
        answers.extend(events.into_iter().filter_map(|event| answer(plane, &event)));
    }
    Ok(answers)
}

fn answer(plane: &Plane, event: &Event) -> Option<(Right, bool)> {
    let allowed = event.allowed()?;
    let holder = Holder::all().find(|holder| holder.user() == event.user())?;
    let (group, resource) = (event.group().to_owned(), event.resource());
    let (plane, identity) = (kind(plane), identity(holder));
    Some((Right { plane, identity, group, resource, verb: event.verb.clone() }, allowed))
}

fn kind(plane: &Plane) -> &'static str {
    match plane.kind {
        Kind::Management => "the management plane",
        Kind::Project => "a project plane",
        Kind::Hub => "the hub",
        Kind::Cell { .. } => "a cell",
    }
}

/// The cells are alike: what one of them used, all of them may.
fn identity(holder: Holder) -> &'static str {
    match holder {
        Holder::Fedhub => "fedhub",
        Holder::Cell => "fedhub-cell",
        Holder::CellOnHub(_) => "cells",
    }
}

fn never_allowed(answers: Vec<(Right, bool)>) -> Vec<String> {
    let (allowed, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, allowed)| *allowed);
    let rights =
        |answers: Vec<(Right, bool)>| answers.into_iter().map(|(right, _)| right).collect::<BTreeSet<_>>();
    rights(refused).difference(&rights(allowed)).map(Right::to_string).collect()
}

fn differences(granted: &BTreeSet<Right>, used: &BTreeSet<Right>, unseen: &[Unseen]) -> Vec<String> {
    let excused = |right: &Right, by: &Unseen| {
        (right.identity, &*right.verb, &*right.resource) == (by.identity, by.verb, by.resource)
    };
    let unused: Vec<_> = granted.difference(used).collect();
    let superfluous =
        unused.iter().filter(|right| !unseen.iter().any(|by| excused(right, by))).map(ToString::to_string);
    let stale = unseen.iter().filter(|by| !unused.iter().any(|right| excused(right, by))).map(
        |Unseen { identity, verb, resource, why }| {
            format!("{verb} {resource} for {identity} is used or not granted, but listed as unseen: {why}")
        },
    );
    superfluous.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(verb: &str, resource: &str) -> Right {
        let (verb, resource) = (verb.to_owned(), resource.to_owned());
        Right { plane: "the hub", identity: "fedhub", group: String::new(), resource, verb }
    }

    #[test]
    fn what_was_refused_once_and_granted_at_another_time_is_not_missing() {
        let answers = vec![
            (right("list", "secrets"), false),
            (right("list", "pods"), true),
            (right("patch", "leases"), false),
            (right("patch", "leases"), true),
            (right("list", "secrets"), false),
        ];
        assert_eq!(never_allowed(answers), ["list secrets on the hub for fedhub"]);
        assert!(never_allowed(Vec::new()).is_empty());
    }

    #[test]
    fn what_is_granted_and_neither_used_nor_excused_is_unused_and_a_stale_excuse_is_reported() {
        let granted = [right("list", "secrets"), right("patch", "leases"), right("update", "x/finalizers")];
        let used = [right("list", "secrets"), right("get", "pods")];
        let unseen = |verb, resource| Unseen { identity: "fedhub", verb, resource, why: "admission asks" };
        let found = |unseen: &[Unseen]| {
            differences(&granted.clone().into_iter().collect(), &used.clone().into_iter().collect(), unseen)
        };
        let leases = "patch leases on the hub for fedhub";
        assert_eq!(found(&[]), [leases, "update x/finalizers on the hub for fedhub"]);
        assert_eq!(found(&[unseen("update", "x/finalizers")]), [leases]);
        let stale = found(&[unseen("update", "x/finalizers"), unseen("list", "secrets")]);
        assert!(stale.len() == 2 && stale[1].starts_with("list secrets for fedhub is used"), "{stale:?}");
    }
}
