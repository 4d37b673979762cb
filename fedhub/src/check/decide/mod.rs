//! What the facts mean. Pure.

mod cells;
mod hub;
mod plane;

use std::collections::BTreeMap;

use super::facts::Facts;
use super::finding::{CheckId, Finding, Part, PlaneName, some};
use crate::operator::read::Read;

/// All findings, by plane as those were asked.
pub fn decide(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for plane in facts.planes.iter().filter(|plane| !plane.name.part.is_project()) {
        findings.extend(plane::decide(facts, plane));
        if plane.name.part == Part::Hub
            && let Some(hub) = &facts.hub
        {
            findings.extend(hub::decide(facts, &plane.name, hub));
            if !facts.pre {
                findings.push(cells::decide(facts, &plane.name, hub));
            }
        }
    }
    for (server, planes) in &facts.discovered {
        findings.push(match planes {
            Read::Found(0) if !facts.pre => Finding::warning(
                CheckId::Discovery,
                server,
                "no project plane is found",
                "label a Secret federation.datumapis.com/plane=project for each (--discovery=kubeconfigs), or see that \
                 the Projects are Ready (--discovery=milo)",
            ),
            Read::Found(count) => Finding::ok(CheckId::Discovery, server, format!("project planes: {count}")),
            Read::Failed(error) => Finding::failed(
                CheckId::Discovery,
                server,
                error.message.clone(),
                "let fedhub list what names the project planes, see the check rights",
            ),
            Read::Absent | Read::Skipped => {
                Finding::skipped(CheckId::Discovery, server, "the server was not asked", "")
            }
        });
    }
    for plane in facts.planes.iter().filter(|plane| plane.name.part.is_project()) {
        findings.extend(plane::decide(facts, plane));
    }
    findings.extend(identities(facts));
    findings.extend(paused(facts));
    findings
}

/// Whether operators paused anything (I12): where that is not read, fedhub writes nothing at all.
fn paused(facts: &Facts) -> Option<Finding> {
    const CHECK: CheckId = CheckId::Paused;
    let management = PlaneName::from_part(Part::Management);
    Some(match &facts.paused {
        Read::Skipped | Read::Absent => return None,
        Read::Found(paused) if paused.is_empty() => Finding::ok(CHECK, &management, "no plane is paused"),
        Read::Found(paused) => {
            let all = paused.all.iter().map(|pause| format!("all planes ({pause})"));
            let planes = paused.planes.iter().map(|(name, pause)| format!("{name} ({pause})"));
            let found = format!("nothing is written for {}", some(&all.chain(planes).collect::<Vec<_>>()));
            Finding::warning(
                CHECK,
                &management,
                found,
                "run fedhub resume, once what it was paused for is done",
            )
        }
        Read::Failed(error) => {
            let remedy = "let fedhub get ConfigMaps in its namespace: until it has read what is paused, it writes nothing";
            Finding::failed(CHECK, &management, error.message.clone(), remedy)
        }
    })
}

/// Whether project planes are the clusters that fedhub remembers, each under one name.
fn identities(facts: &Facts) -> Vec<Finding> {
    const CHECK: CheckId = CheckId::PlaneIdentities;
    let mut clusters: BTreeMap<&str, &str> = BTreeMap::new();
    let mut findings = Vec::new();
    let nothing = BTreeMap::new();
    let remembered = facts.remembered.found().unwrap_or(&nothing);
    for plane in facts.planes.iter().filter(|plane| plane.name.part == Part::Project) {
        let Some(identity) = plane.identities.first() else { continue };
        let name = &plane.name;
        let other = clusters.get(identity.as_str()).copied();
        clusters.entry(identity).or_insert(&name.name);
        let known = remembered.get(&name.name);
        findings.push(if let Some(other) = other {
            let found = format!("the cluster {identity} is the plane {other} already");
            Finding::failed(CHECK, name, found, "name each cluster once: remove one of the two")
        } else if let Some(known) = known.filter(|known| !plane.identities.contains(known)) {
            let found = format!("the cluster {identity} answers, and {known} is remembered for the name");
            let remedy = "correct the kubeconfig; if the plane was rebuilt, see Plane identities in docs/operations.md";
            Finding::failed(CHECK, name, found, remedy)
        } else if let Read::Failed(error) = &facts.remembered {
            Finding::skipped(CHECK, name, error.message.clone(), "let fedhub list ConfigMaps in its namespace")
        } else {
            let found = if known.is_some() { "the cluster that is remembered" } else { "not remembered yet" };
            Finding::ok(CHECK, name, found)
        });
    }
    findings
}

#[cfg(test)]
mod tests;
