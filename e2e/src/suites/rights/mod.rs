//! Whether `deploy/` grants what fedhub requests, and nothing else: the planes' audit logs show what was denied and what
//! was used, their RBAC what is granted.

mod granted;

use std::collections::{BTreeMap, BTreeSet};
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

/// A right that a binding gives, and the role that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    role: RoleId,
    right: Right,
}

/// A role, on whichever planes it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RoleId {
    /// `Role` or `ClusterRole`, and its name.
    name: String,
    /// What it grants: roles of one name on different planes may be different roles.
    rules: String,
}

/// A right of a role that no request of the suites shows, and why it is granted all the same.
struct Unseen {
    role: &'static str,
    verb: &'static str,
    resource: &'static str,
    why: &'static str,
}

/// The rights that a whole run does not use.
const UNSEEN: &[Unseen] = &[
    Unseen {
        role: "ClusterRole fedhub-cell",
        verb: "update",
        resource: "workloaddeployments/finalizers",
        why: "admission asks for it where owner references block a deletion",
    },
    Unseen {
        role: "ClusterRole fedhub-cell",
        verb: "get",
        resource: "horizontalpodautoscalers",
        why: "a creation that finds one there reads it",
    },
    Unseen {
        role: "ClusterRole fedhub-cell",
        verb: "get",
        resource: "networkbindings",
        why: "a creation that finds one there reads it",
    },
    Unseen {
        role: "ClusterRole fedhub-cell-claims",
        verb: "patch",
        resource: "resourceclaims",
        why: "claims of older versions get the mark of their cell",
    },
    Unseen {
        role: "Role fedhub-cell",
        verb: "create",
        resource: "events",
        why: "an invalid Secret of a project plane gets an Event",
    },
    Unseen {
        role: "Role fedhub-cell",
        verb: "patch",
        resource: "events",
        why: "an Event that is repeated is counted",
    },
    Unseen {
        role: "ClusterRole fedhub-discovery",
        verb: "get",
        resource: "/apis",
        why: "a Milo has no role system:discovery; asked where a kind is not served",
    },
    Unseen {
        role: "ClusterRole fedhub-discovery",
        verb: "get",
        resource: "/apis/*",
        why: "a Milo has no role system:discovery; asked where a kind is not served",
    },
    Unseen {
        role: "ClusterRole fedhub-project",
        verb: "watch",
        resource: "locationbindings",
        why: "the project planes of the suites serve none",
    },
    Unseen {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "propagationpolicies",
        why: "a creation that finds one there reads it",
    },
    Unseen {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "clusterpropagationpolicies",
        why: "a creation that finds one there reads it",
    },
    Unseen {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "instancetypes",
        why: "a creation that finds one there reads it",
    },
];

/// Every right that fedhub asked for and never had, a line for each. What it had at another time of the run is not among
/// them: an API server that has just started refuses until it knows its roles.
pub fn missing(instances: &[Layout]) -> Result<Vec<String>, Error> {
    Ok(never_allowed(answers(instances)?))
}

/// What `deploy/` grants to fedhub, as the planes of an instance have it.
#[derive(Debug)]
pub struct Granted(Vec<Grant>);

impl Granted {
    /// Reads it from planes that run.
    pub async fn on(planes: &Planes) -> Result<Self, Error> {
        let mut grants = Vec::new();
        for plane in &PLANES {
            grants.extend(granted::on(&planes.client(plane.name).await?, plane).await?);
        }
        Ok(Self(grants))
    }

    /// Every right of it that no request of a whole run used on any of its instances, a line for each; and every entry of
    /// the list of exceptions that is not granted.
    pub fn unused(self, instances: &[Layout]) -> Result<Vec<String>, Error> {
        let used = answers(instances)?.into_iter().filter_map(|(right, allowed)| allowed.then_some(right));
        Ok(differences(self.0, &used.collect(), UNSEEN))
    }
}

/// Each request that RBAC decided: which right it needed, and whether it had it.
fn answers(instances: &[Layout]) -> Result<Vec<(Right, bool)>, Error> {
    let mut answers = Vec::new();
    for layout in instances {
        // Planes that did not come up have refused nothing.
        for plane in PLANES.iter().filter(|plane| layout.audit_log(plane.name).is_file()) {
            let events = writes::requests(layout, plane.name, Timestamp::MIN, &[])?;
            answers.extend(events.into_iter().filter_map(|event| answer(plane, &event)));
        }
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

/// What no plane saw used of a role, and entries of `unseen` that no role grants. That one is used now and then is no fault:
/// some paths are taken by chance.
fn differences(grants: Vec<Grant>, used: &BTreeSet<Right>, unseen: &[Unseen]) -> Vec<String> {
    let mut roles: BTreeMap<(RoleId, String, String, String), bool> = BTreeMap::new();
    for Grant { role, right } in grants {
        let is_used = used.contains(&right);
        *roles.entry((role, right.group, right.resource, right.verb)).or_default() |= is_used;
    }
    let excused = |(role, _, resource, verb): &(RoleId, String, String, String), by: &Unseen| {
        (&*role.name, &**verb, &**resource) == (by.role, by.verb, by.resource)
    };
    let unused = roles.iter().filter(|(_, is_used)| !**is_used).map(|(key, _)| key);
    let superfluous =
        unused.filter(|it| !unseen.iter().any(|by| excused(it, by))).map(|(role, group, resource, verb)| {
            let dot = if group.is_empty() { "" } else { "." };
            format!("{verb} {resource}{dot}{group} by {}", role.name)
        });
    let stale = unseen.iter().filter(|by| !roles.keys().any(|it| excused(it, by))).map(
        |Unseen { role, verb, resource, why }| {
            format!("{verb} {resource} by {role} is not granted, but listed as unseen: {why}")
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
    fn what_a_role_grants_and_nobody_used_anywhere_is_unused_and_a_stale_exception_is_reported() {
        let grant = |rules: &str, plane, verb, resource| Grant {
            role: RoleId { name: "Role fedhub".to_owned(), rules: rules.to_owned() },
            right: Right { plane, ..right(verb, resource) },
        };
        let grants = [
            grant("one", "the hub", "list", "secrets"),
            grant("one", "a cell", "list", "secrets"),
            grant("one", "the hub", "update", "x/finalizers"),
            grant("another", "a cell", "list", "secrets"),
        ];
        let used = BTreeSet::from([right("list", "secrets"), right("get", "pods")]);
        let unseen = |verb, resource| Unseen { role: "Role fedhub", verb, resource, why: "admission asks" };
        let found = |unseen: &[Unseen]| differences(grants.to_vec(), &used, unseen);
        let (other, finalizers) = ("list secrets by Role fedhub", "update x/finalizers by Role fedhub");
        assert_eq!(found(&[]), [other, finalizers]);
        assert_eq!(found(&[unseen("update", "x/finalizers")]), [other]);
        let stale = found(&[unseen("update", "x/finalizers"), unseen("get", "pods")]);
        assert!(
            stale.len() == 2 && stale[1].starts_with("get pods by Role fedhub is not granted"),
            "{stale:?}"
        );
        let by_chance = found(&[unseen("update", "x/finalizers"), unseen("list", "secrets")]);
        assert!(by_chance.is_empty(), "one that is used now and then: {by_chance:?}");
    }
}
