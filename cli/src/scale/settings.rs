//! What flags change of the scale settings of a placement: one rule for `scale` and `deploy`.

use serde_json::{Value, json};

use crate::deploy::edit::edit_list;

/// What the flags say; what they do not name stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// `--min`: instances that each city has at least.
    pub min: Option<i32>,
    /// `--max`: those that it has at most; 0 turns scaling off.
    pub max: Option<i32>,
    /// `--cpu-percent`: the average use to scale at; 0 removes it.
    pub cpu_percent: Option<i32>,
    /// `--memory-percent`: likewise.
    pub memory_percent: Option<i32>,
}

/// Scaling is turned off and given a measure at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

impl Contradiction {
    /// The flag that it is told of.
    pub const FLAG: &str = "--max";
    /// What is wrong with it.
    pub const RULE: &str =
        "0 turns scaling off: leave --cpu-percent and --memory-percent out, or name a maximum";
}

/// Changes the settings.
pub fn edit(settings: &mut Value, numbers: Numbers) -> Result<(), Contradiction> {
    let percents = [("cpu", numbers.cpu_percent), ("memory", numbers.memory_percent)];
    if numbers.max == Some(0) && percents.iter().any(|(_, percent)| percent.is_some_and(|it| it != 0)) {
        return Err(Contradiction);
    }
    let Some(fields) = settings.as_object_mut() else { return Ok(()) };
    if let Some(min) = numbers.min {
        fields.insert("minReplicas".to_owned(), json!(min));
    }
    match numbers.max {
        // What is measured only moves the number below a maximum.
        Some(0) => ["maxReplicas", "metrics"].into_iter().for_each(|field| drop(fields.remove(field))),
        Some(max) => drop(fields.insert("maxReplicas".to_owned(), json!(max))),
        None => {}
    }
    for (resource, percent) in percents {
        if let Some(percent) = percent {
            edit_list(settings, "metrics", |metrics| metric(metrics, resource, percent));
        }
    }
    Ok(())
}

fn metric(metrics: &mut Vec<Value>, resource: &str, percent: i32) {
    metrics.retain(|metric| percent != 0 || metric["resource"]["name"] != resource);
    let wanted = json!({"resource": {"name": resource, "target": {"averageUtilization": percent}}});
    match metrics.iter_mut().find(|metric| metric["resource"]["name"] == resource) {
        Some(metric) => *metric = wanted,
        None if percent != 0 => metrics.push(wanted),
        None => {}
    }
}
