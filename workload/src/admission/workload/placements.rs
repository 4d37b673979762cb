//! Placements: their names, their cities, their numbers.

use std::collections::BTreeSet;

use fedhub_api::{WorkloadPlacement, WorkloadSpec};
use fedhub_core::message::Quoted;
use fedhub_core::names::{DNS_LABEL_RULE, LABEL_VALUE_RULE, deployment_name, is_dns_label, is_label_value};

use super::scale;
use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The faults of the placements.
pub fn check(workload: &str, placements: &[WorkloadPlacement], at: &Path, faults: &mut Faults) {
    if placements.is_empty() {
        faults.required(at.clone(), "a Workload has at least one placement");
    }
    let placements = faults.within(placements, limits::PLACEMENTS, at);
    let items = || placements.iter().enumerate().map(|(i, p)| (at.item(i, &p.name), p));
    faults.names(items().map(|(at, p)| (at.field("name"), &*p.name)), is_dns_label, DNS_LABEL_RULE);
    let mut deployments = BTreeSet::new();
    for (at, placement) in items() {
        cities((workload, placement), &at.field("cityCodes"), &mut deployments, faults);
        scale::check(&placement.scale_settings, &at.field("scaleSettings"), faults);
    }
}

/// The longest name that a WD's is made of.
const NAMES_WITHIN: usize = 253;

/// Each city once, and no two with WDs of one name.
fn cities(
    (workload, placement): (&str, &WorkloadPlacement),
    at: &Path,
    deployments: &mut BTreeSet<String>,
    faults: &mut Faults,
) {
    if placement.city_codes.is_empty() {
        faults.required(at.clone(), "a placement has at least one city");
    }
    let mut own = BTreeSet::new();
    let all = faults.within(&placement.city_codes, limits::CITIES, at);
    for (i, city) in all.iter().enumerate() {
        let path = at.item(i, city);
        faults.name(path.clone(), city, is_label_value, LABEL_VALUE_RULE);
        if !own.insert(city.to_lowercase()) {
            faults.duplicate(path, city, "a city stands once in a placement, in whatever case");
        } else if [workload, &placement.name, city].into_iter().any(|name| name.len() > NAMES_WITHIN) {
            // A fault already, and too long to be worth a name.
        } else if !deployments.insert(deployment_name(workload, &placement.name, city)) {
            let rule = "another placement has a WorkloadDeployment of the same name in this city";
            faults.duplicate(path, city, rule);
        }
    }
}

/// Settings that change nothing.
pub fn warnings(spec: &WorkloadSpec) -> Vec<String> {
    spec.placements
        .iter()
        .take(limits::PLACEMENTS)
        .filter(|placement| {
            let settings = &placement.scale_settings;
            settings.max_replicas.is_none() && settings.metrics.as_ref().is_some_and(|all| !all.is_empty())
        })
        .map(|placement| {
            let name = Quoted(&placement.name);
            format!("placement {name} has metrics and no maxReplicas: it stays at minReplicas")
        })
        .collect()
}
