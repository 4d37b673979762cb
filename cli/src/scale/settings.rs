//! The changes of flags to the scale settings of a placement: one rule for `scale` and `deploy`.

use serde_json::{Value, json};

use crate::deploy::edit::edit_list;

/// The values of the flags; values that are not given are left unchanged.
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

/// Flags that contradict each other, or what stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The flag that it is told of.
    pub flag: &'static str,
    /// The rule that is violated.
    pub rule: String,
}

/// The rule for a measure that is given while scaling is turned off.
const OFF: &str = "0 turns scaling off: leave --cpu-percent and --memory-percent out, or name a maximum";

/// Changes the settings.
pub fn edit(settings: &mut Value, numbers: Numbers) -> Result<(), Contradiction> {
    let percents = [("cpu", numbers.cpu_percent), ("memory", numbers.memory_percent)];
    if numbers.max == Some(0) && percents.iter().any(|(_, percent)| percent.is_some_and(|it| it != 0)) {
        return Err(Contradiction { flag: "--max", rule: OFF.to_owned() });
    }
    let Some(fields) = settings.as_object_mut() else { return Ok(()) };
    if let Some(min) = numbers.min {
        fields.insert("minReplicas".to_owned(), json!(min));
    }
    match numbers.max {
        // Metrics only change the number of instances below a maximum.
        Some(0) => ["maxReplicas", "metrics"].into_iter().for_each(|field| drop(fields.remove(field))),
        Some(max) => drop(fields.insert("maxReplicas".to_owned(), json!(max))),
        None => {}
    }
    for (resource, percent) in percents {
        if let Some(percent) = percent {
            edit_list(settings, "metrics", |metrics| metric(metrics, resource, percent));
        }
    }
    in_order(settings, numbers)
}

/// The minimum and the maximum of settings, where that is below the minimum: the API stores it, and no cell
/// scales by it.
fn inverted(settings: &Value) -> Option<(i64, i64)> {
    let min = settings["minReplicas"].as_i64()?;
    let max = settings["maxReplicas"].as_i64()?;
    (max < min).then_some((min, max))
}

/// Returns the fault of settings whose maximum is below the minimum.
pub fn maximum_fault(settings: &Value) -> Option<String> {
    inverted(settings).map(|(min, max)| format!("{max} is less than the minimum, {min}"))
}

/// Checks that flags do not set a maximum below the minimum. One that is stored already is left alone.
fn in_order(settings: &Value, numbers: Numbers) -> Result<(), Contradiction> {
    let wrong = match (numbers.max, numbers.min) {
        (Some(_), _) => maximum_fault(settings).map(|rule| Contradiction { flag: "--max", rule }),
        (None, Some(_)) => inverted(settings).map(|(min, max)| Contradiction {
            flag: "--min",
            rule: format!("{min} is more than the maximum, {max}"),
        }),
        (None, None) => None,
    };
    wrong.map_or(Ok(()), Err)
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
