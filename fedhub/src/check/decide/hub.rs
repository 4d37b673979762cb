//! Decisions about what is on the hub: Karmada, the interpreter, the policies, cities and cells.

use std::collections::BTreeMap;

use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Object, ObjectView};
use serde_json::Value;

use super::super::carried::{KARMADA, SINCE_1_14, subset};
use super::super::facts::{Facts, HubFacts};
use super::super::finding::{CheckId, Finding, PlaneName, some};
use crate::operator::read::{Failure, Read, ReadError};

/// The Karmada that the suites run.
const TESTED: &str = "1.16";

/// Everything about the hub.
pub fn decide(facts: &Facts, name: &PlaneName, hub: &HubFacts) -> Vec<Finding> {
    let mut findings = vec![karmada(name, hub), cities(facts, name, hub)];
    if !facts.pre {
        findings.extend(interpreter(name, hub));
        findings.push(policies(name, hub));
    }
    findings
}

/// What is said of a check whose facts could not be read.
pub fn unread(check: CheckId, name: &PlaneName, error: &ReadError) -> Finding {
    let remedy = match error.failure {
        Failure::Forbidden => "run it with a kubeconfig that may read this, such as an administrator's",
        Failure::NotServed => "see the check karmada",
        _ => "see the check reachable",
    };
    Finding::skipped(check, name, error.message.clone(), remedy)
}

fn karmada(name: &PlaneName, hub: &HubFacts) -> Finding {
    const CHECK: CheckId = CheckId::Karmada;
    if let Some(error) = hub.karmada.iter().find_map(|(_, read)| read.failure()) {
        return unread(CHECK, name, error);
    }
    let serves = |version: &str, plural: &str| {
        let of = hub.karmada.iter().find(|(served, _)| served == version);
        of.and_then(|(_, read)| read.found()).is_some_and(|all| all.iter().any(|it| it == plural))
    };
    let missing: Vec<String> = KARMADA
        .iter()
        .filter(|(version, plural)| !serves(version, plural))
        .map(|(version, plural)| format!("{plural} of {version}"))
        .collect();
    if !missing.is_empty() {
        let remedy = format!(
            "name Karmada's API server in --hub-kubeconfig, of a Karmada as fedhub needs it ({TESTED})"
        );
        return Finding::failed(CHECK, name, format!("does not serve {}", some(&missing)), remedy);
    }
    if !serves(SINCE_1_14.0, SINCE_1_14.1) {
        let found =
            format!("serves all kinds that fedhub uses, but is older than 1.14: it has no {}", SINCE_1_14.1);
        return Finding::warning(
            CHECK,
            name,
            found,
            format!("upgrade Karmada: fedhub is tested with {TESTED}"),
        );
    }
    Finding::ok(CHECK, name, "1.14 or later, by the kinds that it serves")
}

/// Without the interpreter Karmada carries no status back, and reports no error.
fn interpreter(name: &PlaneName, hub: &HubFacts) -> Vec<Finding> {
    const CHECK: CheckId = CheckId::Interpreter;
    const REMEDY: &str = "kubectl apply -k deploy/components/hub --server-side, of this version, on the hub";
    let all = match &hub.interpreters {
        Read::Found(all) => all,
        Read::Failed(error) if error.failure != Failure::NotServed => {
            return vec![unread(CHECK, name, error)];
        }
        // That Karmada's kinds are missing is said already.
        Read::Failed(_) | Read::Absent | Read::Skipped => return Vec::new(),
    };
    let ours = &hub.interpreter;
    let carried = hub.interpreter["metadata"]["name"].as_str().unwrap_or_default();
    let target =
        |it: &Value| (it["spec"]["target"]["kind"].clone(), it["spec"]["target"]["apiVersion"].clone());
    let of_deployments: Vec<&Object> = all.iter().filter(|it| target(&it.data) == target(ours)).collect();
    let Some(theirs) = of_deployments.iter().find(|it| it.name() == carried) else {
        let others: Vec<String> = of_deployments.iter().map(|it| it.name().to_owned()).collect();
        if others.is_empty() {
            let found =
                "no ResourceInterpreterCustomization for WorkloadDeployment: Karmada carries no status back";
            return vec![Finding::failed(CHECK, name, found, REMEDY)];
        }
        let found = format!("only another's ResourceInterpreterCustomization: {}", some(&others));
        return vec![Finding::warning(CHECK, name, found, REMEDY)];
    };
    let customizations = ours["spec"]["customizations"].as_object();
    let differs = |(key, value): (&String, &Value)| {
        (!subset(value, &theirs.data["spec"]["customizations"][key])).then(|| key.clone())
    };
    let different: Vec<String> = customizations.into_iter().flatten().filter_map(differs).collect();
    if !different.is_empty() {
        let found = format!("{carried} differs from this version's in {}", some(&different));
        return vec![Finding::failed(CHECK, name, found, REMEDY)];
    }
    if of_deployments.len() > 1 {
        let others = of_deployments.iter().map(|it| it.name().to_owned()).filter(|it| it != carried);
        let found = format!("others customise WorkloadDeployment too: {}", some(&others.collect::<Vec<_>>()));
        return vec![Finding::warning(
            CHECK,
            name,
            found,
            "remove them: Karmada takes one script of each kind",
        )];
    }
    vec![Finding::ok(CHECK, name, format!("{carried}, as this version has it"))]
}

fn policies(name: &PlaneName, hub: &HubFacts) -> Finding {
    const CHECK: CheckId = CheckId::AdmissionPolicies;
    const REMEDY: &str = "kubectl apply -k deploy/components/hub --server-side, and deploy/components/hub-for-cells, of this version, on the hub";
    if let Some(error) = hub.policies.iter().find_map(|(_, read)| read.failure()) {
        return unread(CHECK, name, error);
    }
    let words = |ours: &Value| {
        format!(
            "{} {}",
            ours["kind"].as_str().unwrap_or_default(),
            ours["metadata"]["name"].as_str().unwrap_or_default()
        )
    };
    let mut missing = Vec::new();
    let mut different = Vec::new();
    for (ours, read) in &hub.policies {
        match read.found() {
            None => missing.push(words(ours)),
            Some(theirs) if !subset(&ours["spec"], theirs.spec()) => different.push(words(ours)),
            Some(_) => {}
        }
    }
    if !missing.is_empty() {
        let found = format!("missing: {}; what they refuse is allowed", some(&missing));
        return Finding::failed(CHECK, name, found, REMEDY);
    }
    if !different.is_empty() {
        return Finding::failed(
            CHECK,
            name,
            format!("they differ from this version's: {}", some(&different)),
            REMEDY,
        );
    }
    Finding::ok(CHECK, name, "as this version has them")
}

/// One Cluster for each city, and for each city in use one.
fn cities(facts: &Facts, name: &PlaneName, hub: &HubFacts) -> Finding {
    const CHECK: CheckId = CheckId::Cities;
    let clusters = match &hub.clusters {
        Read::Found(clusters) => clusters,
        Read::Failed(error) => return unread(CHECK, name, error),
        Read::Absent | Read::Skipped => return Finding::skipped(CHECK, name, "no Clusters were read", ""),
    };
    let (mut cities, mut bare): (BTreeMap<&str, Vec<String>>, Vec<String>) = Default::default();
    for cluster in clusters {
        match cluster.label(CITY_CODE).filter(|city| !city.is_empty()) {
            Some(city) => cities.entry(city).or_default().push(cluster.name().to_owned()),
            None => bare.push(cluster.name().to_owned()),
        }
    }
    let ambiguous: Vec<String> = cities
        .iter()
        .filter(|(_, names)| names.len() > 1)
        .map(|(city, names)| format!("{city} has {}", names.join(" and ")))
        .collect();
    if !ambiguous.is_empty() {
        let found = format!("more than one cell in a city: {}", some(&ambiguous));
        return Finding::failed(
            CHECK,
            name,
            found,
            format!("leave the label {CITY_CODE} on one Cluster of each city"),
        );
    }
    if let Some(finding) = own_city(facts, name, clusters) {
        return finding;
    }
    let in_use = hub.cities.found();
    let empty: Vec<String> = in_use
        .into_iter()
        .flatten()
        .filter(|(city, _)| !cities.contains_key(city.as_str()))
        .map(|(city, count)| format!("{city} ({count} WDs)"))
        .collect();
    if !empty.is_empty() {
        let found = format!("cities in use without a cell: {}", some(&empty));
        let remedy = format!("label a Cluster {CITY_CODE}=<city>, or have the users choose another city");
        return Finding::warning(CHECK, name, found, remedy);
    }
    if !bare.is_empty() {
        let found = format!("Clusters without a city, which no WD reaches: {}", some(&bare));
        return Finding::warning(
            CHECK,
            name,
            found,
            format!("label them {CITY_CODE}=<city> if they are cells"),
        );
    }
    if cities.is_empty() {
        let remedy = format!("join a cell to Karmada, and label its Cluster {CITY_CODE}=<city>");
        return Finding::warning(CHECK, name, "no Cluster: there is no cell yet", remedy);
    }
    let found: Vec<String> =
        cities.iter().map(|(city, names)| format!("{city}: {}", names.join(", "))).collect();
    Finding::ok(CHECK, name, some(&found))
}

/// What is wrong with the Cluster of the cell that the process is.
fn own_city(facts: &Facts, name: &PlaneName, clusters: &[Object]) -> Option<Finding> {
    let own = facts.cell.as_ref()?;
    let Some(cluster) = clusters.iter().find(|cluster| cluster.name() == own.name) else {
        let found = format!("no Cluster has the name of this cell, {}", own.name);
        let remedy = "correct --cell-name, or join the cell to Karmada under that name";
        return Some(Finding::failed(CheckId::Cities, name, found, remedy));
    };
    let labelled = cluster.label(CITY_CODE).unwrap_or_default();
    let city = own.city.as_deref().filter(|city| *city != labelled)?;
    let found = format!("Cluster {} has the city {labelled:?}, and --cell-city is {city:?}", own.name);
    Some(Finding::failed(CheckId::Cities, name, found, "make the two agree"))
}
