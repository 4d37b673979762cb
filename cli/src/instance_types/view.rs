//! Instance types: what the catalogue offers, or what there is without one.

use fedhub_api::InstanceTypePhase;
use fedhub_api::instance_types::{DEFAULT, NAMES, built_in as built_in_size, phase, replacement};
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::Colour;
use serde_json::{Value, json};

use crate::view::object::{cores, memory};
use crate::view::sheet::{Cell, Column, Cut, sheet};
use crate::view::{Look, NONE, UNKNOWN};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name, as `deploy --instance-type` takes it.
    pub name: String,
    /// CPU in cores.
    pub cpu: String,
    /// Memory.
    pub memory: String,
    /// Whether new workloads may have it; `None` where that is not known.
    pub phase: Option<InstanceTypePhase>,
    /// The type to use in its place.
    pub replacement: Option<String>,
    /// Whether it is the one of a workload that names none.
    pub is_default: bool,
    /// The name that is shown to people.
    pub title: Option<String>,
}

impl Offer {
    /// Whether new workloads may have it, as far as is known.
    pub fn is_offered(&self) -> bool {
        self.phase != Some(InstanceTypePhase::Disabled)
    }
}

/// Returns the types that a catalogue offers, smallest first.
pub fn offers(types: &[Object]) -> Vec<Offer> {
    let default = NAMES.iter().find(|name| types.iter().any(|it| it.name() == **name));
    let size = |it: &Object| {
        fedhub_api::instance_types::Size::from_instance_type(it).ok().map(|it| (it.millicores, it.mebibytes))
    };
    let mut types: Vec<&Object> = types.iter().collect();
    types.sort_by_key(|it| (size(it), it.name()));
    let offer = |it: &Object| {
        let spec = it.spec();
        let resources = &it.spec()["resources"];
        let quantity = |value: &Value, shown: fn(&Value) -> String| match value {
            Value::Null => UNKNOWN.to_owned(),
            value => shown(value),
        };
        Offer {
            name: it.name().to_owned(),
            cpu: quantity(&resources["cpu"], cores),
            memory: quantity(&resources["memory"], memory),
            phase: phase(it),
            // One that is as it should be needs none.
            replacement: replacement(it)
                .filter(|_| phase(it) != Some(InstanceTypePhase::Active))
                .map(str::to_owned),
            is_default: default == Some(&it.name()),
            title: spec["displayName"].as_str().map(str::to_owned),
        }
    };
    types.into_iter().map(offer).collect()
}

/// The type that there is without a catalogue.
pub fn built_in() -> Offer {
    let size = built_in_size(DEFAULT);
    Offer {
        name: DEFAULT.to_owned(),
        cpu: size.map_or_else(|| UNKNOWN.to_owned(), |it| cores(&json!(format!("{}m", it.millicores)))),
        memory: size.map_or_else(|| UNKNOWN.to_owned(), |it| memory(&json!(format!("{}Mi", it.mebibytes)))),
        phase: Some(InstanceTypePhase::Active),
        replacement: None,
        is_default: true,
        title: None,
    }
}

const COLUMNS: [Column; 6] = [
    Column::whole("NAME"),
    Column::whole("CPU"),
    Column::whole("MEMORY"),
    Column::whole("PHASE"),
    Column::cut("USE INSTEAD", Cut::End).optional(1),
    Column::cut("TITLE", Cut::End).wide(),
];

/// The table; the default one is marked.
pub fn table(rows: &[Offer], look: &Look) -> String {
    let cells = |offer: &Offer| {
        let (phase, colour) = match offer.phase {
            Some(InstanceTypePhase::Active) if offer.is_default => ("Active (default)", Some(Colour::Green)),
            Some(InstanceTypePhase::Active) => ("Active", Some(Colour::Green)),
            Some(InstanceTypePhase::Deprecated) => ("Deprecated", Some(Colour::Yellow)),
            Some(InstanceTypePhase::Disabled) => ("Disabled", Some(Colour::Red)),
            None => (UNKNOWN, None),
        };
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
        vec![
            offer.name.clone().into(),
            offer.cpu.clone().into(),
            offer.memory.clone().into(),
            Cell::new(phase, colour),
            or_none(&offer.replacement).into(),
            or_none(&offer.title).into(),
        ]
    };
    sheet(&COLUMNS, rows.iter().map(cells).collect(), look)
}

/// Returns the instance types for `--output json` and `yaml`.
pub fn json(rows: &[Offer]) -> Value {
    let one = |offer: &Offer| {
        json!({
            "name": offer.name,
            "cpu": offer.cpu,
            "memory": offer.memory,
            "phase": offer.phase,
            "replacement": offer.replacement,
            "default": offer.is_default,
            "title": offer.title,
        })
    };
    rows.iter().map(one).collect()
}
