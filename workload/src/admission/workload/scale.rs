//! How many instances a placement has, and what moves that number: what a cell can follow (C13).

use fedhub_api::{MOST_REPLICAS, Metric, MetricTarget, Quantity, ScaleSettings};
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
    let ScaleSettings { instance_management_policy: policy, max_replicas, metrics, min_replicas: min } =
        settings;
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
