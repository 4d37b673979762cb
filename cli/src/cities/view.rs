//! Cities: those that the project's locations offer, and those that its Workloads name.

use std::collections::BTreeMap;

use fedhub_api::conditions::{find, is_default};
use fedhub_api::facts::ready_city;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::Colour;
use serde_json::{Value, json};

use crate::model::Index;
use crate::view::sheet::{Cell, Column, Cut, sheet};
use crate::view::{Look, NONE, UNKNOWN};

/// The cities of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cities {
    /// The cities, ordered by code.
    pub rows: Vec<City>,
    /// Whether the project says which there are; else there may be more.
    pub is_complete: bool,
}

/// A city.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct City {
    /// Its code, as a Workload names it.
    pub code: String,
    /// Whether it takes new instances; `None` where that is not known.
    pub ready: Option<bool>,
    /// The names of the locations in it.
    pub locations: Vec<String>,
    /// The names of the Workloads that name it; `None` where they are not known.
    pub workloads: Option<Vec<String>>,
}

/// Returns the cities of the project's locations and Workloads; `None` stands for what could not be read.
pub fn cities(bindings: Option<&[Object]>, workloads: Option<&[Object]>) -> Cities {
    let mut all: BTreeMap<String, City> = BTreeMap::new();
    let mut city = |code: &str, change: &mut dyn FnMut(&mut City)| {
        let new =
            || City { code: code.to_owned(), workloads: workloads.map(|_| Vec::new()), ..City::default() };
        change(all.entry(code.to_owned()).or_insert_with(new));
    };
    for binding in bindings.into_iter().flatten() {
        if let Some(code) = binding.spec()["topology"][CITY_CODE].as_str() {
            city(code, &mut |it| {
                it.ready = [it.ready, readiness(binding)].into_iter().flatten().reduce(|a, b| a || b);
                it.locations.push(binding.name().to_owned());
            });
        }
    }
    for workload in workloads.into_iter().flatten() {
        for code in Index::default().workload(workload).cities() {
            // A city that no location is in is offered by none.
            let offered = bindings.map(|_| false);
            city(code, &mut |it| {
                it.ready = it.ready.or(offered.filter(|_| it.locations.is_empty()));
                it.workloads.get_or_insert_default().push(workload.name().to_owned());
            });
        }
    }
    Cities { rows: all.into_values().collect(), is_complete: bindings.is_some() }
}

/// Whether a location takes new instances; `None` until it has said so.
fn readiness(binding: &Object) -> Option<bool> {
    let said = ["Available", "Ready"].iter().filter_map(|kind| find(binding.status(), kind));
    let said = said.filter(|it| it["status"] != "Unknown" && !is_default(it)).count();
    (said > 0 || binding.is_terminating()).then(|| ready_city(binding).is_some())
}

const COLUMNS: [Column; 4] = [
    Column::whole("CITY"),
    Column::whole("READY"),
    Column::cut("WORKLOADS", Cut::End),
    Column::cut("LOCATIONS", Cut::End).wide(),
];

/// The table.
pub fn table(rows: &[City], look: &Look) -> String {
    let listed = |names: &[String]| if names.is_empty() { NONE.to_owned() } else { names.join(", ") };
    let cells = |city: &City| {
        let ready = match city.ready {
            Some(true) => Cell::new("yes", Some(Colour::Green)),
            Some(false) => Cell::new("no", Some(Colour::Red)),
            None => UNKNOWN.into(),
        };
        let workloads = city.workloads.as_deref().map_or_else(|| UNKNOWN.to_owned(), listed);
        vec![city.code.clone().into(), ready, workloads.into(), listed(&city.locations).into()]
    };
    sheet(&COLUMNS, rows.iter().map(cells).collect(), look)
}

/// Returns the cities for `--output json` and `yaml`.
pub fn json(rows: &[City]) -> Value {
    rows.iter()
        .map(|city| {
            let City { code, ready, locations, workloads } = city;
            json!({"city": code, "ready": ready, "locations": locations, "workloads": workloads})
        })
        .collect()
}
