//! Events as a table, as lines, and as JSON.

use fedhub_api::reason::{Reason, is_attributed};
use fedhub_core::clock::stamp;
use fedhub_terminal::output::Colour;
use fedhub_terminal::plain;
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::join::{About, Entry};
use crate::view::condition::Finding;
use crate::view::sheet::{Cell, Column, Cut, annotated};
use crate::view::{Look, UNKNOWN};

const COLUMNS: [Column; 5] = [
    Column::whole("LAST SEEN"),
    Column::whole("TYPE").optional(1),
    Column::cut("ABOUT", Cut::Start).at_least(14),
    Column::whole("REASON"),
    Column::whole("COUNT").wide(),
];

/// The table.
pub fn table(entries: &[Entry], look: &Look, now: Timestamp) -> String {
    let cells = |entry: &Entry| {
        let cells = vec![
            entry.at.map_or_else(|| UNKNOWN.to_owned(), |at| age(at, now)).into(),
            kind(entry),
            about(&entry.about).into(),
            reason(entry).into(),
            entry.count.to_string().into(),
        ];
        (cells, note(entry))
    };
    annotated(&COLUMNS, "MESSAGE", entries.iter().map(cells).collect(), look)
}

fn kind(entry: &Entry) -> Cell {
    if entry.is_warning { Cell::new("Warning", Some(Colour::Yellow)) } else { "Normal".into() }
}

/// A reason as users say it: how a deployment comes to its city is the platform's own business.
fn reason(entry: &Entry) -> &str {
    match Reason::parse(&entry.reason) {
        Some(Reason::Federated) => "Placed",
        Some(Reason::FederationFailed) => "PlacementFailed",
        Some(Reason::FederationRecovered) => "PlacementRecovered",
        _ => &entry.reason,
    }
}

/// The words, likewise.
fn note(entry: &Entry) -> String {
    match (Reason::parse(&entry.reason), &entry.about.city) {
        (Some(Reason::Federated | Reason::FederationRecovered), Some(city)) => format!("placed in {city}"),
        _ if is_attributed(&entry.note) => Finding::from_condition(
            &json!({"status": "False", "reason": entry.reason, "message": entry.note}),
        )
        .line(),
        _ => entry.note.clone(),
    }
}

/// Formats the subject of an event: an instance, a workload in a city, a workload.
fn about(about: &About) -> String {
    let workload = about.workload.as_deref().unwrap_or(UNKNOWN);
    match (&about.instance, &about.city) {
        (Some(instance), _) => instance.clone(),
        (None, Some(city)) => format!("{workload} in {city}"),
        (None, None) => workload.to_owned(),
    }
}

/// Formats an event as a line, for a list that grows.
pub fn line(entry: &Entry, look: &Look) -> String {
    let kind = kind(entry);
    let colour = kind.colour.filter(|_| look.terminal.colours);
    let kind = colour.map_or_else(|| kind.text.clone(), |colour| colour.paint(&kind.text, true));
    let at = entry.at.map_or_else(|| UNKNOWN.to_owned(), stamp);
    let times = if entry.count > 1 { format!(" ({} times)", entry.count) } else { String::new() };
    let said = format!("{}  {}: {}{times}", about(&entry.about), reason(entry), note(entry));
    format!("{at}  {kind}  {}", plain(&said))
}

/// Returns an event for `--output json` and `yaml`.
pub fn value(entry: &Entry) -> Value {
    let About { workload, city, instance } = &entry.about;
    json!({
        "time": entry.at.map(stamp),
        "type": if entry.is_warning { "Warning" } else { "Normal" },
        "workload": workload,
        "location": city,
        "instance": instance,
        "reason": entry.reason,
        "message": entry.note,
        "count": entry.count,
    })
}

/// Returns the events for `--output json` and `yaml`.
pub fn json(entries: &[Entry]) -> Value {
    entries.iter().map(value).collect()
}
