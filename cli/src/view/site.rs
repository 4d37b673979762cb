//! A city of a workload, as its deployment reports it.

use fedhub_core::object::ObjectView;
use serde_json::{Value, json};

use super::condition::{Finding, of_deployment, unreported};
use super::number;
use crate::model::Site;

/// Ready and up-to-date Instances of those that are wanted. What is said of an older generation is not about
/// this one.
pub fn progress(site: &Site<'_>) -> (String, String) {
    let counts = site.counts();
    let desired = counts.map(|it| it.desired);
    let updated = counts.filter(|_| site.is_observed()).map(|it| it.updated);
    (number::of(counts.map(|it| it.ready), desired), number::of(updated, desired))
}

/// Returns why a city is not as it should be.
pub fn finding(site: &Site<'_>) -> Option<Finding> {
    match site.deployment {
        Some(deployment) => of_deployment(deployment.status()),
        None => Some(unreported()),
    }
}

/// The city for programs.
pub fn json(site: &Site<'_>) -> Value {
    let counts = site.counts();
    json!({
        "placement": site.placement,
        "location": site.city,
        "wanted": site.wanted,
        "desired": counts.map(|it| it.desired),
        "ready": counts.map(|it| it.ready),
        "upToDate": counts.filter(|_| site.is_observed()).map(|it| it.updated),
        "problem": finding(site).map(|finding| finding.json()),
    })
}
