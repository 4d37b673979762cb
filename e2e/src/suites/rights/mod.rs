//! Whether `deploy/` grants what fedhub requests, and nothing else: the planes' audit logs show what was
//! denied, what was used and in which namespaces, their RBAC what is granted.

mod exceptions;
mod granted;
mod right;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use exceptions::{Exception, NARROW, UNSEEN};
use right::{Grant, Right, RoleId, identity, kind};

use super::writes::{self, Event};
use crate::Error;
use crate::topology::planes::{PLANES, Plane};
use crate::topology::{Holder, Layout, Planes};

/// In how many namespaces at most a right is used that might be granted in each of them instead of in all.
const FEW: usize = 2;
/// How many requests have to show that. Of fewer it is chance in which namespaces they were.
const ENOUGH: usize = 50;

/// Every right that fedhub asked for and never had, a line for each. What it had at another time of the run
/// is not among them: an API server that has just started refuses until it knows its roles.
pub fn missing(instances: &[Layout]) -> Result<Vec<String>, Error> {
    Ok(never_allowed(decisions(instances)?))
}

/// What `deploy/` grants to fedhub, as the planes of an instance have it.
#[derive(Debug)]
pub struct Granted(Vec<Grant>);

impl Granted {
    /// Reads it from planes that run.
    pub async fn on(planes: &Planes) -> Result<Self, Error> {
        let mut grants = Vec::new();
        for plane in planes.cells().planes() {
            grants.extend(granted::on(&planes.client(plane.name).await?, plane).await?);
        }
        Ok(Self(grants))
    }

    /// Every right of it that no request of a whole run used on any of its instances, and every one that is
    /// given in all namespaces and was used in few, a line for each; and every entry of the lists of
    /// exceptions that is not granted so.
    pub fn differences(self, instances: &[Layout]) -> Result<Vec<String>, Error> {
        let mut used = Used::new();
        for decision in decisions(instances)?.into_iter().filter(|decision| decision.allowed) {
            *used.entry(decision.right).or_default().entry(decision.namespace).or_default() += 1;
        }
        Ok(differences(self.0, &used, UNSEEN, NARROW))
    }
}

/// What RBAC decided about a request.
struct Decision {
    /// The right that it needed.
    right: Right,
    /// The namespace that it was about; none where it was about all of them, or about what is in none.
    namespace: Option<String>,
    allowed: bool,
}

/// The rights that were used, each with how many requests needed it in which namespace.
type Used = BTreeMap<Right, BTreeMap<Option<String>, usize>>;

fn decisions(instances: &[Layout]) -> Result<Vec<Decision>, Error> {
    let mut decisions = Vec::new();
    for layout in instances {
        // Planes that did not come up have refused nothing.
        for plane in PLANES.iter().filter(|plane| layout.audit_log(plane.name).is_file()) {
            let events = writes::requests(layout, plane.name, Timestamp::MIN, &[])?;
            decisions.extend(events.into_iter().filter_map(|event| decision(plane, &event)));
        }
    }
    Ok(decisions)
}

fn decision(plane: &Plane, event: &Event) -> Option<Decision> {
    let allowed = event.allowed()?;
    let holder = Holder::all().find(|holder| holder.user() == event.user())?;
    let right = Right {
        plane: kind(plane),
        identity: identity(holder),
        group: event.group().to_owned(),
        resource: event.resource(),
        verb: event.verb.clone(),
    };
    Some(Decision { right, namespace: event.namespace().map(str::to_owned), allowed })
}

fn never_allowed(decisions: Vec<Decision>) -> Vec<String> {
    let (allowed, refused): (Vec<_>, Vec<_>) = decisions.into_iter().partition(|decision| decision.allowed);
    let rights = |decisions: Vec<Decision>| {
        decisions.into_iter().map(|decision| decision.right).collect::<BTreeSet<_>>()
    };
    rights(refused).difference(&rights(allowed)).map(Right::to_string).collect()
}

/// A verb of a role, on whichever planes the role is: where it is given, and where it was used.
#[derive(Default)]
struct Uses<'a> {
    everywhere: bool,
    requests: usize,
    namespaces: BTreeSet<&'a Option<String>>,
}

impl Uses<'_> {
    /// The namespaces that it might be granted in instead of in all, for it is used nowhere else.
    fn few(&self) -> Option<String> {
        let names: Option<Vec<&str>> = self.namespaces.iter().map(|namespace| namespace.as_deref()).collect();
        let is_shown = self.everywhere && self.requests >= ENOUGH;
        let few = names.filter(|names| is_shown && (1..=FEW).contains(&names.len()));
        few.map(|names| names.join(", "))
    }
}

/// What no plane saw used of a role, what is given in all namespaces and was used in few, and entries of the
/// exceptions that no role grants so. That one of them is used now and then, or in more namespaces, is no
/// fault: some paths are taken by chance.
fn differences(grants: Vec<Grant>, used: &Used, unseen: &[Exception], narrow: &[Exception]) -> Vec<String> {
    let mut verbs: BTreeMap<(RoleId, String, String, String), Uses<'_>> = BTreeMap::new();
    for Grant { role, right, everywhere } in grants {
        let namespaces = used.get(&right).into_iter().flatten();
        let verb = verbs.entry((role, right.group, right.resource, right.verb)).or_default();
        verb.everywhere |= everywhere;
        for (namespace, requests) in namespaces {
            verb.requests += requests;
            verb.namespaces.insert(namespace);
        }
    }
    let excused = |(role, _, resource, verb): &(RoleId, String, String, String), by: &Exception| {
        (&*role.name, &**verb, &**resource) == (by.role, by.verb, by.resource)
    };
    let mut lines = Vec::new();
    for (verb_of_role, uses) in &verbs {
        let (role, group, resource, verb) = verb_of_role;
        let dot = if group.is_empty() { "" } else { "." };
        let named = format!("{verb} {resource}{dot}{group} by {}", role.name);
        if uses.namespaces.is_empty() {
            if !unseen.iter().any(|by| excused(verb_of_role, by)) {
                lines.push(format!("{named}: nothing used it"));
            }
        } else if let Some(few) = uses.few()
            && !narrow.iter().any(|by| excused(verb_of_role, by))
        {
            lines.push(format!("{named}, in all namespaces: used in {few} alone"));
        }
    }
    let stale = |by: &Exception, fault: &str| {
        let Exception { role, verb, resource, why } = by;
        format!("{verb} {resource} by {role}: {fault}: {why}")
    };
    for by in unseen {
        if !verbs.keys().any(|it| excused(it, by)) {
            lines.push(stale(by, "not granted, but listed as unseen"));
        }
    }
    for by in narrow {
        if !verbs.iter().any(|(it, uses)| uses.everywhere && excused(it, by)) {
            lines.push(stale(by, "not granted in all namespaces, but listed as used in few"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(verb: &str, resource: &str) -> Right {
        let verb = verb.to_owned();
        let resource = resource.to_owned();
        Right { plane: "the hub", identity: "fedhub", group: String::new(), resource, verb }
    }

    fn exception(verb: &'static str, resource: &'static str) -> Exception {
        Exception { role: "Role fedhub", verb, resource, why: "admission asks" }
    }

    #[test]
    fn what_was_refused_once_and_granted_at_another_time_is_not_missing() {
        let decisions = [
            ("list", "secrets", false),
            ("list", "pods", true),
            ("patch", "leases", false),
            ("patch", "leases", true),
            ("list", "secrets", false),
        ];
        let decisions = decisions.map(|(verb, resource, allowed)| Decision {
            right: right(verb, resource),
            namespace: None,
            allowed,
        });
        assert_eq!(never_allowed(decisions.into()), ["list secrets on the hub for fedhub"]);
        assert!(never_allowed(Vec::new()).is_empty());
    }

    #[test]
    fn what_a_role_grants_and_nobody_used_anywhere_is_unused_and_a_stale_exception_is_reported() {
        let grant = |rules: &str, plane, verb, resource| Grant {
            role: RoleId { name: "Role fedhub".to_owned(), rules: rules.to_owned() },
            right: Right { plane, ..right(verb, resource) },
            everywhere: false,
        };
        let grants = [
            grant("one", "the hub", "list", "secrets"),
            grant("one", "a cell", "list", "secrets"),
            grant("one", "the hub", "update", "x/finalizers"),
            grant("another", "a cell", "list", "secrets"),
        ];
        let used = Used::from([
            (right("list", "secrets"), BTreeMap::from([(None, 1)])),
            (right("get", "pods"), BTreeMap::from([(None, 1)])),
        ]);
        let found = |unseen: &[Exception]| differences(grants.to_vec(), &used, unseen, &[]);
        let other = "list secrets by Role fedhub: nothing used it";
        assert_eq!(found(&[]), [other, "update x/finalizers by Role fedhub: nothing used it"]);
        assert_eq!(found(&[exception("update", "x/finalizers")]), [other]);
        let stale = found(&[exception("update", "x/finalizers"), exception("get", "pods")]);
        assert_eq!(
            stale,
            [other, "get pods by Role fedhub: not granted, but listed as unseen: admission asks"]
        );
        let by_chance = found(&[exception("update", "x/finalizers"), exception("list", "secrets")]);
        assert!(by_chance.is_empty(), "one that is used now and then: {by_chance:?}");
    }

    #[test]
    fn what_is_granted_in_all_namespaces_and_used_in_few_is_reported() {
        let all = [Some("a"), Some("b"), Some("c")];
        for (everywhere, namespaces, requests, expected) in [
            (true, &all[..1], ENOUGH, Some("a")),
            (true, &all[..1], ENOUGH - 1, None),
            (true, &all[..2], ENOUGH, Some("a, b")),
            (true, &all[..], ENOUGH, None),
            // A list over all of them needs the right in each.
            (true, &[None][..], ENOUGH, None),
            (true, &[None, Some("a")][..], ENOUGH, None),
            (false, &all[..1], ENOUGH, None),
        ] {
            let role = RoleId { name: "Role fedhub".to_owned(), rules: String::new() };
            // The planes of a role count together: on one of them it is bound within a namespace, and not
            // used.
            let grants = [
                Grant { role: role.clone(), right: right("get", "secrets"), everywhere },
                Grant {
                    role,
                    right: Right { plane: "a cell", ..right("get", "secrets") },
                    everywhere: false,
                },
            ];
            let namespaces =
                namespaces.iter().map(|namespace| (namespace.map(str::to_owned), requests)).collect();
            let used = Used::from([(right("get", "secrets"), namespaces)]);
            let found = |narrow: &[Exception]| differences(grants.to_vec(), &used, &[], narrow);
            let line = expected
                .map(|few| format!("get secrets by Role fedhub, in all namespaces: used in {few} alone"));
            assert_eq!(found(&[]), Vec::from_iter(line), "{everywhere} {used:?}");
            let listed = found(&[exception("get", "secrets")]);
            assert_eq!(listed.len(), usize::from(!everywhere), "{listed:?}");
            assert!(listed.iter().all(|line| line.contains("not granted in all namespaces")), "{listed:?}");
        }
    }

    #[test]
    fn a_request_is_told_by_its_namespace() {
        let decided = |object: &str| {
            let user = Holder::Fedhub.user();
            let event = serde_json::from_str::<Event>(&format!(
                r#"{{"requestURI":"/api/v1/x","verb":"get","user":{{"username":"{user}"}},"objectRef":{{{object}}},"requestReceivedTimestamp":"2026-01-02T03:04:05Z","annotations":{{"authorization.k8s.io/decision":"allow"}}}}"#
            ));
            decision(&PLANES[0], &event.unwrap()).unwrap().namespace
        };
        assert_eq!(decided(r#""resource":"secrets","namespace":"a","name":"b""#).as_deref(), Some("a"));
        assert_eq!(decided(r#""resource":"secrets""#), None);
        // An API server says that a Namespace is in itself; no binding within it grants its creation.
        assert_eq!(decided(r#""resource":"namespaces","namespace":"a","name":"a""#), None);
    }
}
