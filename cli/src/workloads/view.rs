//! Workloads as a table and as JSON.

use fedhub_api::facts::workload::is_paused;
use fedhub_core::object::ObjectView;
use fedhub_terminal::output::Colour;
use fedhub_terminal::table::counted;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::url::Url;
use crate::model::status::{is_observed, is_suspended};
use crate::model::{Health, Workload};
use crate::view::object::{age_of, bare, containers, image, instance_spec, instance_type, is_city};
use crate::view::sheet::{Cell, Column, Cut, sheet};
use crate::view::{Look, NONE, UNKNOWN, number};

/// A Workload with its URL.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The Workload and what belongs to it.
    pub workload: Workload<'a>,
    /// Its URL.
    pub url: Url,
}

/// Selects Workloads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Selects the Workloads of this health.
    pub health: Option<Health>,
    /// Selects the Workloads that name one of these cities; all of them if empty.
    pub cities: &'a [String],
}

impl Row<'_> {
    /// Whether a filter lets it through.
    pub fn passes(&self, filter: Filter<'_>) -> bool {
        let cities = self.workload.cities();
        filter.health.is_none_or(|health| health == self.workload.health())
            && (filter.cities.is_empty()
                || filter.cities.iter().any(|typed| cities.iter().any(|code| is_city(code, typed))))
    }

    /// The names of its placements, each once.
    fn placements(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.workload.sites.iter().filter(|it| it.wanted).map(|it| it.placement).collect();
        names.dedup();
        names
    }
}

/// Ready and up-to-date Instances of those that are wanted. What an older generation says of how many are up
/// to date is not about this one.
pub fn progress(workload: &Workload<'_>) -> (String, String) {
    let counts = workload.counts();
    let desired = counts.map(|it| it.desired);
    let updated = counts.filter(|_| is_observed(workload.object)).map(|it| it.updated);
    (number::of(counts.map(|it| it.ready), desired), number::of(updated, desired))
}

/// The colour of a health.
pub fn colour(health: Health) -> Colour {
    match health {
        Health::Available => Colour::Green,
        Health::Degraded | Health::Unknown => Colour::Yellow,
        Health::Unavailable => Colour::Red,
    }
}

const COLUMNS: [Column; 10] = [
    Column::whole("NAME"),
    Column::cut("CITIES", Cut::End).optional(3),
    Column::whole("HEALTH"),
    Column::whole("READY"),
    Column::whole("UP-TO-DATE").optional(1),
    Column::cut("PLACEMENTS", Cut::End).optional(6),
    Column::cut("IMAGE", Cut::Start).at_least(12).optional(4),
    Column::whole("AGE").optional(5),
    Column::cut("INSTANCE TYPE", Cut::End).wide(),
    Column::cut("URL", Cut::End).optional(2),
];

/// The table.
pub fn table(rows: &[Row<'_>], look: &Look, now: Timestamp) -> String {
    let listed = |names: Vec<&str>| if names.is_empty() { NONE.to_owned() } else { names.join(",") };
    let cells = |row: &Row<'_>| {
        let object = row.workload.object;
        let spec = instance_spec(object);
        let health = row.workload.health();
        let (ready, updated) = progress(&row.workload);
        vec![
            object.name().into(),
            listed(row.workload.cities()).into(),
            Cell::new(health.to_string(), Some(colour(health))),
            ready.into(),
            updated.into(),
            listed(row.placements()).into(),
            image(spec).into(),
            age_of(object, now).into(),
            instance_type(spec).into(),
            row.url.cell().into(),
        ]
    };
    sheet(&COLUMNS, rows.iter().map(cells).collect(), look)
}

/// `3 workloads: 2 Available, 1 Degraded`.
pub fn totals(rows: &[Row<'_>]) -> String {
    let all = [Health::Available, Health::Degraded, Health::Unavailable, Health::Unknown];
    let parts = all.into_iter().filter_map(|health| {
        let count = rows.iter().filter(|row| row.workload.health() == health).count();
        (count > 0).then(|| format!("{count} {health}"))
    });
    format!("{}: {}", counted(rows.len(), "workload"), parts.collect::<Vec<_>>().join(", "))
}

/// Returns the rows for `--output json` and `yaml`.
pub fn json(rows: &[Row<'_>], now: Timestamp) -> Value {
    rows.iter().map(|row| row.json(now)).collect()
}

impl Row<'_> {
    /// Returns the row for `--output json` and `yaml`.
    pub fn json(&self, now: Timestamp) -> Value {
        let object = self.workload.object;
        let spec = instance_spec(object);
        let (url, url_error) = self.url.json();
        let (ready, updated) = progress(&self.workload);
        let known = |text: &str| Some(text.to_owned()).filter(|it| it != UNKNOWN);
        json!({
            "name": object.name(),
            "health": self.workload.health().to_string(),
            "ready": ready,
            "upToDate": updated,
            "paused": is_paused(object),
            "suspended": is_suspended(object),
            "placements": self.placements(),
            "locations": self.workload.cities(),
            "image": containers(spec).find_map(|it| it["image"].as_str()),
            "instanceType": known(instance_type(spec)),
            "age": age_of(object, now),
            "url": url,
            "urlError": url_error,
            "workload": bare(object),
        })
    }
}
