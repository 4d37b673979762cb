//! How many instances a placement has, what moves that number, and how many are replaced at once: what a cell
//! can follow (C2, C13).

use fedhub_api::{IntOrPercent, MOST_REPLICAS, Metric, MetricTarget, Quantity, RollingUpdate, ScaleSettings};
use fedhub_core::quantity;

use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The most instances of a placement in one city.
const MOST: i32 = MOST_REPLICAS.cast_signed();
/// The resources that may be measured.
const MEASURED: [&str; 2] = ["cpu", "memory"];

/// The faults of the settings.
pub fn check(settings: &ScaleSettings, at: &Path, faults: &mut Faults) {
    let ScaleSettings {
        instance_management_policy: policy,
        max_replicas,
        metrics,
        min_replicas: min,
        rolling_update,
    } = settings;
    replicas((*min).into(), at.field("minReplicas"), faults);
    faults.supported(at.field("instanceManagementPolicy"), policy, &["OrderedReady"]);
    let metrics = metrics.as_deref().unwrap_or_default();
    if let Some(max) = max_replicas {
        let path = at.field("maxReplicas");
        let range = "it must be a number from 1 to 1000";
        faults.check((1..=MOST).contains(max), path.clone(), max, range);
        faults.check(max >= min, path.clone(), max, "it must not be below minReplicas");
        let rule = "it needs at least one metric in metrics: without one nothing scales";
        faults.check(!metrics.is_empty(), path, max, rule);
    }
    let list = at.field("metrics");
    for (i, metric) in faults.within(metrics, limits::METRICS, &list).iter().enumerate() {
        let name = metric.resource.as_ref().map_or("", |resource| &resource.name);
        measure(metric, &list.item(i, name), faults);
    }
    if let Some(update) = rolling_update {
        rolling(update, &at.field("rollingUpdate"), faults);
    }
}

/// The faults of how many instances are replaced at once.
fn rolling(update: &RollingUpdate, at: &Path, faults: &mut Faults) {
    let RollingUpdate { max_surge: surge, max_unavailable: unavailable } = update;
    for (field, value) in [("maxSurge", surge), ("maxUnavailable", unavailable)] {
        if let Some(value) = value {
            let rule = "it must be a number from 0 to 1000, or a percentage from 0% to 100%";
            faults.check(value.rounded_up(MOST_REPLICAS).is_some(), at.field(field), value, rule);
        }
    }
    if let Some(value) = unavailable.as_ref().filter(|value| is_zero(value)) {
        let surges = surge.as_ref().is_some_and(|surge| !is_zero(surge));
        let rule = "it must not be 0 where maxSurge is: no instance could be replaced";
        faults.check(surges, at.field("maxUnavailable"), value, rule);
    }
}

fn is_zero(value: &IntOrPercent) -> bool {
    value.rounded_up(MOST_REPLICAS) == Some(0)
}

/// The fault of a number of instances: none are wanted of one that rests.
pub fn replicas(wanted: i64, at: Path, faults: &mut Faults) {
    let rule = "it must be a number from 0 to 1000";
    faults.check((0..=i64::from(MOST)).contains(&wanted), at, wanted, rule);
}

fn measure(metric: &Metric, at: &Path, faults: &mut Faults) {
    let at = at.field("resource");
    let Some(resource) = &metric.resource else {
        return faults.required(at, "it is the one kind of metric that there is");
    };
    faults.supported(at.field("name"), &resource.name, &MEASURED);
    target(&resource.target, &at.field("target"), faults);
}

fn target(target: &MetricTarget, at: &Path, faults: &mut Faults) {
    let MetricTarget { average_utilization, average_value, value } = target;
    let given = [average_utilization.is_some(), average_value.is_some(), value.is_some()];
    match given.into_iter().filter(|given| *given).count() {
        0 => faults.required(at.clone(), "it must be averageUtilization or averageValue"),
        1 => {}
        _ => faults.forbidden(at.clone(), None, "it must be one of averageUtilization and averageValue"),
    }
    if let Some(percent) = average_utilization {
        faults.check(*percent >= 1, at.field("averageUtilization"), percent, "it must be 1 or more");
    }
    if let Some(average) = average_value {
        let rule = "it must be a quantity greater than 0";
        faults.check(is_positive(average), at.field("averageValue"), shown(average), rule);
    }
    if value.is_some() {
        let rule = "the use of all instances together is not measured: set averageValue";
        faults.forbidden(at.field("value"), None, rule);
    }
}

fn is_positive(given: &Quantity) -> bool {
    serde_json::to_value(given).is_ok_and(|value| quantity::thousandths(&value).is_ok_and(|n| n > 0))
}

/// A quantity as it was written.
pub fn shown(given: &Quantity) -> String {
    match given {
        Quantity::Int(number) => number.to_string(),
        Quantity::String(text) => text.clone(),
    }
}
