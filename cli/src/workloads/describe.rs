//! One Workload in full: what it is to be, and how it is in each city.

use fedhub_core::object::ObjectView;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::view::{Row, colour};
use crate::instances::view::what_runs;
use crate::model::Site;
use crate::view::condition::{Standing, of_deployment, of_workload, unreported};
use crate::view::object::{age_of, instance_spec};
use crate::view::text::{labelled, wrapped};
use crate::view::{Look, number};

/// The text.
pub fn text(row: &Row<'_>, look: &Look, now: Timestamp) -> String {
    let width = look.terminal.width;
    let object = row.workload.object;
    let health = row.workload.health();
    let (ready, updated) = row.progress();
    let head = [
        ("Workload", object.name().to_owned()),
        ("Health", colour(health).paint(&health.to_string(), look.terminal.colours)),
        ("Ready", ready),
        ("Up to date", updated),
        ("URL", row.url.words()),
        ("Age", age_of(object, now)),
    ];
    let mut parts = vec![labelled(&head, 0, width)];
    if let Some(finding) = of_workload(object.status()) {
        parts.push(finding.lines(2, width));
    }
    parts.push(format!("Placements\n{}", placements(row, look)));
    parts.push(format!("Template\n{}", labelled(&what_runs(instance_spec(object)), 2, width)));
    parts.join("\n\n")
}

/// The placements with their scale, and below each its cities.
fn placements(row: &Row<'_>, look: &Look) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for site in &row.workload.sites {
        if last != Some(site.placement) {
            last = Some(site.placement);
            lines.push(format!("  {}{}", site.placement, scale(row.workload.object.spec(), site.placement)));
        }
        lines.push(city(site, look));
    }
    if lines.is_empty() { "  none: it runs nowhere".to_owned() } else { lines.join("\n") }
}

/// `, 1 to 3 instances in each city`.
fn scale(spec: &Value, placement: &str) -> String {
    let placements = spec["placements"].as_array().into_iter().flatten();
    let settings = placements.into_iter().find(|it| it["name"] == placement).map(|it| &it["scaleSettings"]);
    let Some(settings) = settings else { return String::new() };
    let least = number::shown(settings["minReplicas"].as_i64());
    match settings["maxReplicas"].as_i64() {
        Some(most) => format!(", {least} to {most} instances in each city"),
        None => format!(", {least} in each city"),
    }
}

/// One city, with what it waits for.
fn city(site: &Site<'_>, look: &Look) -> String {
    let width = look.terminal.width;
    let (ready, updated) = progress(site);
    let left = if site.wanted { "" } else { ", being left" };
    let head = format!("    {}: {ready} ready, {updated} up to date{left}", site.city);
    match finding(site) {
        Some(finding) => {
            let what = wrapped(&crate::view::condition::sentence(&finding.what), 6, width);
            let standing = finding.standing();
            let action = (standing == Standing::Blocked).then(|| wrapped(&finding.action(), 6, width));
            [Some(head), Some(what), action].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        None => head,
    }
}

/// Ready and up-to-date Instances of a city.
pub fn progress(site: &Site<'_>) -> (String, String) {
    let counts = site.counts();
    let desired = counts.map(|it| it.desired);
    let updated = counts.filter(|_| site.is_observed()).map(|it| it.updated);
    (number::of(counts.map(|it| it.ready), desired), number::of(updated, desired))
}

/// What a city says that it is not as it should be.
pub fn finding(site: &Site<'_>) -> Option<crate::view::condition::Finding> {
    match site.deployment {
        Some(deployment) => of_deployment(deployment.status()),
        None => Some(unreported()),
    }
}

/// The same for programs.
pub fn json(row: &Row<'_>, now: Timestamp) -> Value {
    let mut value = row.json(now);
    let city = |site: &Site<'_>| {
        let (ready, updated) = progress(site);
        json!({
            "placement": site.placement,
            "location": site.city,
            "wanted": site.wanted,
            "ready": ready,
            "upToDate": updated,
            "problem": finding(site).map(|finding| finding.json()),
        })
    };
    value["cities"] = row.workload.sites.iter().map(city).collect();
    value
}
