//! The warning that a new template waits for the consent of its user (V5).

use std::collections::BTreeMap;

use fedhub_api::disruption::{consents, disks};
use fedhub_core::message::excerpt;
use fedhub_core::object::{Object, ObjectView};
use serde_json::Value;

/// The maximum number of disks that a message names.
const NAMED: usize = 3;

/// Returns the warning for the user of a Workload whose new template would destroy what instances of the old
/// one have stored; `None` where it destroys nothing, or is allowed to. The cells decide, which know what
/// their instances run.
pub fn warning(old: &Object, new: &Object) -> Option<String> {
    let [before, after] = [old, new].map(|object| &object.spec()["template"]);
    let spec = &before["spec"];
    if parts(before) == parts(after) || consents(&after["spec"], spec) {
        return None;
    }
    let disks: Vec<_> = disks(spec).collect();
    let named: Vec<_> = disks.iter().take(NAMED).map(|disk| excerpt(disk)).collect();
    let lost = match disks.len().saturating_sub(NAMED) {
        _ if disks.is_empty() => "replace instances".to_owned(),
        0 => format!("destroy the disks of instances ({})", named.join(", ")),
        more => format!("destroy the disks of instances ({} and {more} more)", named.join(", ")),
    };
    Some(format!(
        "the new template would {lost}: those that run keep the earlier one, unless spec.template.spec.disruption is \
         Allow"
    ))
}

/// What of a template makes another instance: all but its `disruption`.
fn parts(template: &Value) -> BTreeMap<&str, &Value> {
    let metadata = ["labels", "annotations"].map(|field| (field, &template["metadata"][field]));
    let spec = template["spec"].as_object().into_iter().flatten().map(|(field, value)| (&**field, value));
    metadata
        .into_iter()
        .chain(spec)
        .filter(|(field, value)| *field != "disruption" && !value.is_null())
        .collect()
}
