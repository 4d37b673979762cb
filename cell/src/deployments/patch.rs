//! What is to be put right of one Instance.

use std::collections::BTreeMap;

use fedhub_api::LocationReference;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use crate::status::gates::{self, Opens};

/// All that is to be put right of an Instance, in one merge patch: labels, the location, the hash of its template, and,
/// where the gate `Network` opens, every gate that does by then. `None` where nothing is.
pub fn patch(
    instance: &Object,
    labels: Option<&BTreeMap<&'static str, String>>,
    place: Option<&LocationReference>,
    hash: Option<&str>,
    opens: Opens,
) -> Option<Value> {
    let held = gates::of(instance).contains(&gates::NETWORK);
    let mut patch =
        (opens.network && held).then(|| gates::opening(instance, opens)).flatten().unwrap_or_default();
    if let Some(labels) = labels {
        patch["metadata"]["labels"] = json!(labels);
    }
    if let Some(place) = place {
        patch["spec"]["location"] = json!(place);
    }
    if let Some(hash) = hash.filter(|hash| instance.spec()["controller"]["templateHash"] != **hash) {
        patch["spec"]["controller"]["templateHash"] = json!(hash);
    }
    (!patch.is_null()).then_some(patch)
}
