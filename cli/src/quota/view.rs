//! Limits and use, in the units that people count in.

use std::collections::BTreeMap;

use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::Colour;
use serde_json::{Value, json};

use super::refusal::{self, Refusal};
use super::unit::{KNOWN_UNITS, PREFIX, Unit};
use crate::view::number::{Number, number};
use crate::view::sheet::{Cell, Column, annotated, sheet};
use crate::view::{Look, UNKNOWN};

/// The allowance of a project for one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The resource, such as `vcpus`.
    pub resource: String,
    /// Its unit.
    pub unit: Unit,
    /// The most that may be used, in base units, as the other two.
    pub limit: Number,
    /// The amount that is used.
    pub used: Number,
    /// The amount that is left.
    pub available: Number,
}

/// Returns the allowances of a project for compute, by its buckets: one for each resource.
pub fn allowances(buckets: &[Object], registrations: &[Object]) -> Vec<Allowance> {
    let mut all: BTreeMap<usize, BTreeMap<&str, Allowance>> = BTreeMap::new();
    for bucket in buckets {
        let consumer = bucket.spec()["consumerRef"]["kind"].as_str();
        let Some(resource) = bucket.spec()["resourceType"].as_str().and_then(|it| it.strip_prefix(PREFIX))
        else {
            continue;
        };
        if consumer.is_some_and(|kind| kind != "Project") {
            continue;
        }
        let of = |field| number(bucket.status(), field);
        let limit = of("limit");
        let used = of("allocated");
        let allowance = Allowance {
            resource: resource.to_owned(),
            unit: Unit::new(resource, registrations),
            limit,
            used,
            available: of("available").or_else(|| Some(limit?.saturating_sub(used?))),
        };
        let order = KNOWN_UNITS.iter().position(|(name, ..)| *name == resource).unwrap_or(KNOWN_UNITS.len());
        all.entry(order).or_default().insert(resource, allowance);
    }
    all.into_values().flat_map(BTreeMap::into_values).collect()
}

impl Allowance {
    /// Whether nothing of it is left.
    pub fn is_used_up(&self) -> bool {
        self.available.is_some_and(|left| left <= 0)
    }

    /// How much of it is used, in percent.
    fn usage(&self) -> Option<i128> {
        let used = self.used?;
        let limit = self.limit?;
        (limit > 0).then(|| i128::from(used) * 100 / i128::from(limit))
    }
}

const COLUMNS: [Column; 6] = [
    Column::whole("RESOURCE"),
    Column::whole("UNIT"),
    Column::whole("LIMIT"),
    Column::whole("USED"),
    Column::whole("AVAILABLE"),
    Column::whole("USAGE"),
];

const REFUSED: [Column; 4] = [
    Column::whole("REFUSED"),
    Column::whole("CITY").optional(1),
    Column::whole("RESOURCE"),
    Column::whole("ASKED").optional(2),
];

/// Renders the tables that have rows, and what to do about refusals.
pub fn text(allowances: &[Allowance], refused: &[Refusal], look: &Look) -> String {
    let limits = |it: &Allowance| {
        let colour = it.is_used_up().then_some(Colour::Red);
        let usage = it.usage().map_or_else(|| UNKNOWN.to_owned(), |percent| format!("{percent}%"));
        vec![
            it.resource.clone().into(),
            it.unit.name.clone().into(),
            it.unit.shown(it.limit).into(),
            it.unit.shown(it.used).into(),
            Cell::new(it.unit.shown(it.available), colour),
            usage.into(),
        ]
    };
    let refusals = |it: &Refusal| {
        let cells = vec![
            it.instance.clone().into(),
            it.city.clone().unwrap_or_else(|| UNKNOWN.to_owned()).into(),
            it.resource.clone().into(),
            it.asked.clone().into(),
        ];
        (cells, it.why.clone())
    };
    let mut parts = Vec::new();
    if !allowances.is_empty() {
        parts.push(sheet(&COLUMNS, allowances.iter().map(limits).collect(), look));
    }
    if !refused.is_empty() {
        parts.push(annotated(&REFUSED, "WHY", refused.iter().map(refusals).collect(), look));
        parts.push(refusal::advice(refused, look.terminal.width));
    }
    parts.join("\n\n")
}

/// Limits for programs, in units for people and in base units.
pub fn json(allowances: &[Allowance]) -> Value {
    let one = |it: &Allowance| {
        json!({
            "resource": it.resource,
            "resourceType": format!("{PREFIX}{}", it.resource),
            "unit": it.unit.name,
            "unitFactor": it.unit.factor,
            "limit": it.limit,
            "used": it.used,
            "available": it.available,
        })
    };
    allowances.iter().map(one).collect()
}
