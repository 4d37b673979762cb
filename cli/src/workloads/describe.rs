//! One Workload in full: what it is to be, and how it is in each city.

use fedhub_core::object::ObjectView;
use fedhub_terminal::plain;
use jiff::Timestamp;
use serde_json::Value;

use super::view::{Row, colour, progress};
use crate::instances::view::what_runs;
use crate::model::status::is_suspended;
use crate::model::{Paused, Site};
use crate::view::condition::{Standing, of_rollout, of_workload, sentence};
use crate::view::labelled::labelled;
use crate::view::object::{age_of, instance_spec};
use crate::view::sheet::Cell;
use crate::view::text::wrapped;
use crate::view::{Look, number, site};

/// The text.
pub fn text(row: &Row<'_>, is_known: bool, look: &Look, now: Timestamp) -> String {
    let width = look.terminal.width;
    let object = row.workload.object;
    let health = row.workload.health();
    let (ready, updated) = progress(&row.workload);
    let paused = Paused::from_workload(object).map(|paused| ("Rollout", Cell::from(paused.words())));
    let head = [
        ("Workload", object.name().into()),
        ("Health", Cell::new(health.to_string(), Some(colour(health)))),
        ("Ready", ready.into()),
        ("Up to date", updated.into()),
        ("URL", row.url.words().into()),
        ("Age", age_of(object, now).into()),
    ];
    let suspended =
        is_suspended(object).then(|| ("Suspended", "its instances are kept, and do not run".into()));
    let head: Vec<_> = head.into_iter().chain(suspended).chain(paused).collect();
    let mut parts = vec![labelled(&head, 0, look)];
    if let Some(finding) = of_workload(object.status()) {
        parts.push(finding.lines(2, width));
    }
    parts.extend(of_rollout(object.status()).map(|finding| finding.lines(2, width)));
    parts.push(format!("Placements\n{}", placements(row, is_known, look)));
    parts.push(format!("Template\n{}", labelled(&what_runs(instance_spec(object)), 2, look)));
    parts.join("\n\n")
}

/// The placements with their scale, and below each its cities; how those are only where that `is_known`.
fn placements(row: &Row<'_>, is_known: bool, look: &Look) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for site in &row.workload.sites {
        if last != Some(site.placement) {
            last = Some(site.placement);
            lines.push(format!(
                "  {}{}",
                plain(site.placement),
                scale(row.workload.object.spec(), site.placement)
            ));
        }
        lines.push(if is_known { city(site, look) } else { format!("    {}: ?", plain(site.city)) });
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

/// Renders one city, with what it waits for.
fn city(site: &Site<'_>, look: &Look) -> String {
    let width = look.terminal.width;
    let (ready, updated) = site::progress(site);
    let left = if site.wanted { "" } else { ", being left" };
    let head = format!("    {}: {ready} ready, {updated} up to date{left}", plain(site.city));
    match site::finding(site) {
        Some(finding) => {
            let what = wrapped(&sentence(&finding.what), 6, width);
            let standing = finding.standing();
            let action = (standing == Standing::Blocked).then(|| wrapped(&finding.action(), 6, width));
            [Some(head), Some(what), action].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        None => head,
    }
}

/// Returns the Workload for `--output json` and `yaml`. `cities` is null if they are not known.
pub fn json(row: &Row<'_>, is_known: bool, now: Timestamp) -> Value {
    let mut value = row.json(now);
    value["cities"] = is_known.then(|| row.workload.sites.iter().map(site::json).collect::<Value>()).into();
    value
}
