//! Decisions about one plane, whichever it is.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::clock::stamp;
use fedhub_planes::discovery::expiry::CredentialEnd;
use jiff::SignedDuration;

use super::super::facts::{Admission, Clocks, Facts, PlaneFacts, Served};
use super::super::finding::{CheckId, Finding, PlaneName, State, some};
use super::super::schema::Ours;
use crate::operator::read::{Failure, Read, ReadError};

/// How much a clock may be off. What fedhub and Karmada compare, such as Leases, is in whole seconds.
const SKEW: SignedDuration = SignedDuration::from_secs(5);
/// The kinds without which nothing of fedhub's fails: users alone make them.
const OPTIONAL: [&str; 2] = ["Workload", "WorkloadRollout"];

/// Everything about a plane.
pub fn decide(facts: &Facts, plane: &PlaneFacts) -> Vec<Finding> {
    let name = &plane.name;
    if let Some(refused) = &plane.refused {
        let remedy = "correct the kubeconfig, or the flag that names it";
        return vec![Finding::failed(CheckId::Kubeconfig, name, refused.clone(), remedy)];
    }
    let mut findings = vec![reachable(plane)];
    findings.push(credentials(facts, plane));
    if !plane.answers() {
        return findings;
    }
    findings.push(clock(name, plane.clocks));
    findings.extend(rights(plane));
    findings.extend(crds(plane));
    findings.extend(admission(plane));
    findings
}

fn reachable(plane: &PlaneFacts) -> Finding {
    const CHECK: CheckId = CheckId::Reachable;
    let name = &plane.name;
    let server = &plane.server;
    match &plane.version {
        Read::Found(version) => Finding::ok(CHECK, name, format!("{server}, {version}")),
        Read::Failed(ReadError { failure: Failure::Forbidden, .. }) => {
            Finding::ok(CHECK, name, format!("{server}, which does not show its version"))
        }
        Read::Failed(error) => {
            let remedy = match error.failure {
                Failure::Unauthorized => "renew the credentials in the kubeconfig",
                _ => "check the server's address in the kubeconfig, the network to it, and that it runs",
            };
            Finding::failed(CHECK, name, format!("{server}: {}", error.message), remedy)
        }
        Read::Skipped | Read::Absent => Finding::skipped(CHECK, name, "the server was not asked", ""),
    }
}

fn clock(name: &PlaneName, clocks: Option<Clocks>) -> Finding {
    const CHECK: CheckId = CheckId::Clock;
    let Some(Clocks { server, sent, answered }) = clocks else {
        return Finding::skipped(CHECK, name, "the server sends no Date", "");
    };
    // It was read at some moment between, and is cut to whole seconds.
    let behind = sent.duration_since(server) - SignedDuration::from_secs(1);
    let ahead = server.duration_since(answered);
    let (off, side) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
    if off <= SKEW {
        return Finding::ok(CHECK, name, "agrees with this machine's");
    }
    let found = format!("the server's clock is {} s {side} this machine's", off.as_secs());
    Finding::warning(
        CHECK,
        name,
        found,
        "synchronise both clocks (NTP): Leases, tokens and ages depend on them",
    )
}

fn credentials(facts: &Facts, plane: &PlaneFacts) -> Finding {
    const CHECK: CheckId = CheckId::Credentials;
    let name = &plane.name;
    let left = |end: &CredentialEnd| end.at.map(|at| at.duration_since(facts.now));
    let all = |is: &dyn Fn(&&CredentialEnd) -> bool| {
        let mut found: Vec<&CredentialEnd> = plane.ends.iter().filter(is).collect();
        found.sort_by_key(|end| end.at);
        // A bundle may hold many of one day.
        found.dedup();
        found
            .into_iter()
            .map(|end| match end.at {
                Some(at) => format!("{} until {}", end.of, stamp(at)),
                None => format!("{} that cannot be parsed", end.of),
            })
            .collect::<Vec<_>>()
    };
    let expired = all(&|end| left(end).is_some_and(|left| left <= SignedDuration::ZERO));
    let soon = all(&|end| left(end).is_some_and(|left| left > SignedDuration::ZERO && left < end.notice()));
    let unreadable = all(&|end| end.at.is_none());
    let remedy = "renew it in the kubeconfig; a running fedhub reads the new one by itself";
    if !expired.is_empty() {
        return Finding::failed(CHECK, name, format!("expired: {}", some(&expired)), remedy);
    }
    if !soon.is_empty() {
        return Finding::warning(CHECK, name, format!("expires soon: {}", some(&soon)), remedy);
    }
    if !unreadable.is_empty() {
        return Finding::warning(CHECK, name, some(&unreadable), "correct it in the kubeconfig");
    }
    let rest = all(&|_| true);
    let found = if rest.is_empty() { "they have no time of expiry".to_owned() } else { some(&rest) };
    Finding::ok(CHECK, name, found)
}

/// A finding for what the roles grant: which rights are missing, and which roles grant those.
fn rights(plane: &PlaneFacts) -> Option<Finding> {
    const CHECK: CheckId = CheckId::Rights;
    let name = &plane.name;
    if plane.rights.is_empty() {
        return None;
    }
    if let Some(error) = plane.rights.iter().find_map(|(_, read)| read.failure()) {
        let remedy = "let the credentials create SelfSubjectAccessReviews (ClusterRole system:basic-user)";
        return Some(Finding::skipped(CHECK, name, error.message.clone(), remedy));
    }
    let denied = plane.rights.iter().filter(|(_, read)| read.found() != Some(&true)).map(|(right, _)| right);
    // Verbs of one object on one line.
    let mut verbs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut roles = BTreeSet::new();
    let mut silence = "";
    for right in denied {
        if right.creates_events() {
            silence = "; without Events nobody there is told of what fedhub refuses and what it holds";
        }
        let words = right.words();
        let object = words.split_once(' ').map_or(words.as_str(), |(_, object)| object).to_owned();
        verbs.entry(object).or_default().push(&right.verb);
        roles.insert(right.role);
    }
    if verbs.is_empty() {
        return Some(Finding::ok(CHECK, name, format!("all {} that deploy/ grants", plane.rights.len())));
    }
    let denied: Vec<String> =
        verbs.into_iter().map(|(object, verbs)| format!("{} {object}", verbs.join("/"))).collect();
    let roles = roles.into_iter().collect::<Vec<_>>().join(" and ");
    let remedy = format!("apply {roles} of this version, and bind it to the user of the kubeconfig");
    Some(Finding::failed(CHECK, name, format!("may not {}{silence}", some(&denied)), remedy))
}

/// Our CRDs, before an installation not at all.
fn crds(plane: &PlaneFacts) -> Option<Finding> {
    const CHECK: CheckId = CheckId::Crds;
    let name = &plane.name;
    match &plane.served {
        Read::Skipped | Read::Absent => None,
        Read::Failed(error) => {
            let remedy = "let the credentials get /apis and /openapi (ClusterRole system:discovery)";
            Some(Finding::skipped(CHECK, name, error.message.clone(), remedy))
        }
        Read::Found(served) => Some(served_crds(&plane.ours, name, served)),
    }
}

/// Whether the webhooks exempt fedhub and no other user: an exempt user may write what only fedhub may (W4).
fn admission(plane: &PlaneFacts) -> Option<Finding> {
    const CHECK: CheckId = CheckId::Admission;
    let name = &plane.name;
    let Admission { user, exempt } = match &plane.admission {
        Read::Skipped => return None,
        Read::Found(admission) => admission,
        Read::Absent => {
            let found = "nothing is reviewed: there is no ValidatingWebhookConfiguration fedhub-admission";
            return Some(Finding::warning(
                CHECK,
                name,
                found,
                "register the webhooks: Install in docs/admission.md",
            ));
        }
        Read::Failed(error) => {
            let remedy = "let fedhub get the ValidatingWebhookConfiguration fedhub-admission and create SelfSubjectReviews";
            return Some(Finding::skipped(CHECK, name, error.message.clone(), remedy));
        }
    };
    let others: Vec<String> = exempt
        .iter()
        .map(|expression| {
            let user = expression.strip_prefix("request.userInfo.username != '");
            user.and_then(|user| user.strip_suffix('\'')).unwrap_or(expression).to_owned()
        })
        .filter(|other| other != user)
        .collect();
    Some(if others.is_empty() {
        let found = if exempt.is_empty() {
            "no user is exempt from review"
        } else {
            "fedhub alone is exempt from review"
        };
        Finding::ok(CHECK, name, format!("{found}; it is {user} there"))
    } else {
        let found = format!("{} is exempt from review, and fedhub is {user} there", some(&others));
        let remedy = format!(
            "name {user} in the condition is-not-fedhub of the ValidatingWebhookConfiguration fedhub-admission"
        );
        Finding::failed(CHECK, name, found, remedy)
    })
}

fn served_crds(ours: &Ours, name: &PlaneName, served: &Served) -> Finding {
    const CHECK: CheckId = CheckId::Crds;
    const REMEDY: &str = "fedhub crds | kubectl apply --server-side -f - (on that plane)";
    if !served.versions.contains(&ours.version) {
        let found = if served.versions.is_empty() {
            format!("no CRD of {}", ours.group)
        } else {
            format!("{} is served in {}, not in {}", ours.group, served.versions.join(", "), ours.version)
        };
        return Finding::failed(CHECK, name, found, REMEDY);
    }
    let mut faults = Vec::new();
    let mut worst = State::Ok;
    let mut unread = 0;
    for kind in &ours.kinds {
        let crd = format!("{}.{}", kind.plural, ours.group);
        if !served.resources.contains(&kind.plural) {
            faults.push(format!("{crd} is missing"));
            worst = worst.max(if OPTIONAL.contains(&&*kind.kind) { State::Warning } else { State::Failed });
            continue;
        }
        let Some(lacking) = served.lacking.found().and_then(|all| all.get(&kind.kind)) else {
            unread += 1;
            continue;
        };
        if !lacking.is_empty() {
            faults.push(format!("{crd} would prune {}", some(lacking)));
            worst = State::Failed;
        }
    }
    match worst {
        State::Failed => Finding::failed(CHECK, name, faults.join("; "), REMEDY),
        State::Warning => Finding::warning(CHECK, name, faults.join("; "), REMEDY),
        State::Ok | State::Skipped if unread > 0 => {
            let remedy = "let the credentials get /openapi/v3 (ClusterRole system:discovery)";
            Finding::skipped(
                CHECK,
                name,
                format!("{} is served; its schemas cannot be read", ours.version),
                remedy,
            )
        }
        State::Ok | State::Skipped => {
            Finding::ok(CHECK, name, format!("{}/{}, with all fields", ours.group, ours.version))
        }
    }
}
