//! Instances as a table, as JSON, and one of them in full.

use std::collections::BTreeMap;

use fedhub_api::conditions::said;
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::plain;
use fedhub_terminal::table::counted;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::state::State;
use crate::view::condition::{Finding, of_instance};
use crate::view::labelled::labelled;
use crate::view::object::{
    Address, Place, address, age_of, bare, containers, created, instance_spec, instance_type, is_city,
    ordinal, runtime,
};
use crate::view::sheet::{Cell, Column, Cut, sheet};
use crate::view::text::wrapped;
use crate::view::{Look, UNKNOWN};

/// An Instance with where it belongs.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The Instance.
    pub object: &'a Object,
    /// The workload and city that it belongs to.
    pub place: Place<'a>,
    /// How it is.
    pub state: State,
}

/// Selects Instances.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Selects the Instances of this Workload.
    pub workload: Option<&'a str>,
    /// Selects the Instances in these cities; all of them if empty.
    pub cities: &'a [String],
}

/// The Instances that a filter lets through, by workload, city, placement and ordinal. `deployment` finds one
/// by name.
pub fn rows<'a>(
    instances: &'a [Object],
    deployment: impl Fn(&str) -> Option<&'a Object>,
    filter: Filter<'_>,
) -> Vec<Row<'a>> {
    let row = |object: &'a Object| {
        let place = Place::new(object, &deployment);
        Row { object, place, state: State::from_instance(object) }
    };
    let mut rows: Vec<Row<'a>> = instances.iter().map(row).filter(|row| row.passes(filter)).collect();
    rows.sort_by(|a, b| {
        let key = |row: &Row<'a>| {
            (row.place.workload, row.place.city, row.place.placement, ordinal(row.object), row.object.name())
        };
        key(a).cmp(&key(b))
    });
    rows
}

impl Row<'_> {
    fn passes(&self, filter: Filter<'_>) -> bool {
        let of_workload = filter.workload.is_none_or(|name| self.place.workload == Some(name));
        of_workload
            && (filter.cities.is_empty()
                || filter.cities.iter().any(|typed| self.place.city.is_some_and(|code| is_city(code, typed))))
    }
}

const COLUMNS: [Column; 9] = [
    Column::whole("NAME"),
    Column::cut("WORKLOAD", Cut::End).optional(2),
    Column::whole("CITY"),
    Column::cut("INTERNAL IP", Cut::End).optional(1),
    Column::cut("EXTERNAL IP", Cut::End).wide(),
    Column::whole("TYPE").optional(4),
    Column::cut("INSTANCE TYPE", Cut::End).wide(),
    Column::whole("AGE").optional(3),
    Column::cut("STATUS", Cut::End).at_least(25),
];

/// The table, with totals below it.
pub fn table(rows: &[Row<'_>], look: &Look, now: Timestamp) -> String {
    let known = |text: Option<&str>| Cell::from(text.unwrap_or(UNKNOWN));
    let cells = |row: &Row<'_>| {
        let spec = instance_spec(row.object);
        vec![
            row.object.name().into(),
            known(row.place.workload),
            known(row.place.city),
            address(row.object, Address::Internal).into(),
            address(row.object, Address::External).into(),
            runtime(spec).into(),
            instance_type(spec).into(),
            age_of(row.object, now).into(),
            Cell::new(row.state.to_string(), Some(row.state.standing(row.object).colour())),
        ]
    };
    sheet(&COLUMNS, rows.iter().map(cells).collect(), look)
}

/// `3 instances: 2 available, 1 failed`.
pub fn totals(rows: &[Row<'_>]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.state.word()).or_default() += 1;
    }
    let parts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{}: {}", counted(rows.len(), "instance"), parts.join(", "))
}

/// Returns the rows for `--output json` and `yaml`.
pub fn json(rows: &[Row<'_>]) -> Value {
    rows.iter().map(Row::json).collect()
}

impl Row<'_> {
    /// Returns the row for `--output json` and `yaml`.
    pub fn json(&self) -> Value {
        let spec = instance_spec(self.object);
        let address = |which| Some(address(self.object, which)).filter(|it| it.contains(['.', ':']));
        let finding = of_instance(self.object.status());
        json!({
            "name": self.object.name(),
            "workload": self.place.workload,
            "placement": self.place.placement,
            "location": self.place.city,
            "internalIP": address(Address::Internal),
            "externalIP": address(Address::External),
            "type": runtime(spec),
            "instanceType": Some(instance_type(spec)).filter(|it| *it != UNKNOWN),
            "createdAt": created(self.object).map(fedhub_core::clock::stamp),
            "status": self.state.to_string(),
            "standing": self.state.standing(self.object).to_string(),
            "problem": finding.map(|finding| finding.json()),
            "instance": bare(self.object),
        })
    }
}

/// Describes an Instance in full.
pub fn described(row: &Row<'_>, look: &Look, now: Timestamp) -> String {
    let width = look.terminal.width;
    let spec = instance_spec(row.object);
    let known = |text: Option<&str>| Cell::from(text.unwrap_or(UNKNOWN));
    let colour = row.state.standing(row.object).colour();
    let head = [
        ("Instance", row.object.name().into()),
        ("Workload", known(row.place.workload)),
        ("Placement", known(row.place.placement)),
        ("City", known(row.place.city)),
        ("Age", age_of(row.object, now).into()),
        ("Status", Cell::new(row.state.to_string(), Some(colour))),
    ];
    let mut parts = vec![labelled(&head, 0, look)];
    if let Some(finding) = of_instance(row.object.status()) {
        parts.push(finding.lines(2, width));
    }
    parts.push(format!("Runtime\n{}", labelled(&what_runs(spec), 2, look)));
    let network = [
        ("Internal IP", address(row.object, Address::Internal).into()),
        ("External IP", address(row.object, Address::External).into()),
    ];
    parts.push(format!("Network\n{}", labelled(&network, 2, look)));
    parts.push(format!("Conditions\n{}", conditions(row.object, width)));
    parts.join("\n\n")
}

/// Returns what an Instance, or a template, runs.
pub fn what_runs(spec: &Value) -> Vec<(&'static str, Cell)> {
    let mut lines: Vec<(_, Cell)> =
        vec![("Type", format!("{}, {}", runtime(spec), instance_type(spec)).into())];
    if containers(spec).next().is_none() {
        return lines;
    }
    lines.push((
        "Image",
        containers(spec).filter_map(|it| it["image"].as_str()).collect::<Vec<_>>().join(" ").into(),
    ));
    let ports = containers(spec).flat_map(|it| it["ports"].as_array().into_iter().flatten());
    let port = |it: &Value| {
        let protocol = it["protocol"].as_str().unwrap_or("TCP");
        format!("{} {}/{protocol}", it["name"].as_str().unwrap_or_default(), it["port"])
    };
    let ports: Vec<String> = ports.map(port).collect();
    if !ports.is_empty() {
        lines.push(("Ports", ports.join(", ").into()));
    }
    let env = containers(spec).flat_map(|it| it["env"].as_array().into_iter().flatten());
    let env: Vec<&str> = env.filter_map(|it| it["name"].as_str()).collect();
    if !env.is_empty() {
        lines.push(("Environment", env.join(", ").into()));
    }
    lines
}

/// The conditions of an object, a line each, with their words below where they are not True.
fn conditions(object: &Object, width: Option<usize>) -> String {
    let all = object.status()["conditions"].as_array().into_iter().flatten();
    let line = |condition: &Value| {
        let (status, reason, message) = said(condition);
        let kind = condition["type"].as_str().unwrap_or_default();
        let head = plain(&format!("  {kind}: {status}, {reason}")).into_owned();
        match (status, message) {
            (_, "") => head,
            ("True", message) => format!("{head}\n{}", wrapped(&plain(message), 4, width)),
            _ => format!("{head}\n{}", Finding::from_condition(condition).lines(4, width)),
        }
    };
    let lines: Vec<String> = all.map(line).collect();
    if lines.is_empty() { "  none reported yet".to_owned() } else { lines.join("\n") }
}

/// Whether the labels of an Instance leave open where it belongs.
pub fn needs_deployment(instance: &Object) -> bool {
    Place::new(instance, |_| None).is_partial()
}
