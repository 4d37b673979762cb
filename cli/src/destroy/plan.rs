//! The decision whether a workload may be deleted. Pure.

use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::table::counted;
use serde_json::Value;

/// How it is known that a workload is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The user consented on the command line.
    Given,
    /// The user can be asked on a terminal.
    Question,
    /// The user neither consented nor can be asked.
    Missing,
}

/// Decides that. Without a terminal nothing is deleted that was not asked for with `--yes`.
pub fn consent(yes: bool, can_ask: bool) -> Consent {
    match (yes, can_ask) {
        (true, _) => Consent::Given,
        (false, true) => Consent::Question,
        (false, false) => Consent::Missing,
    }
}

/// A workload that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The cities that its placements name.
    pub cities: Vec<String>,
    /// How many instances it has; `None` where that is not known.
    pub instances: Option<i64>,
    /// Whether it is on its way out already.
    pub is_going: bool,
}

impl Target {
    /// Reads a Workload.
    pub fn from_workload(workload: &Object) -> Self {
        let placements = workload.spec()["placements"].as_array().into_iter().flatten();
        let codes = placements.flat_map(|placement| placement["cityCodes"].as_array().into_iter().flatten());
        let mut cities: Vec<String> = codes.filter_map(Value::as_str).map(str::to_owned).collect();
        cities.sort();
        cities.dedup();
        Self {
            name: workload.name().to_owned(),
            cities,
            instances: workload.status()["replicas"].as_i64(),
            is_going: workload.is_terminating(),
        }
    }

    /// Describes what is deleted: `workload "api" with 4 instances in DFW, LHR`.
    pub fn in_words(&self) -> String {
        let instances = match self.instances.map(usize::try_from) {
            Some(Ok(count)) => format!(" with {}", counted(count, "instance")),
            _ => " with its instances".to_owned(),
        };
        let cities =
            if self.cities.is_empty() { String::new() } else { format!(" in {}", self.cities.join(", ")) };
        format!("workload {:?}{instances}{cities}", self.name)
    }
}
