//! `WorkloadRollout`s: what shows without their Workload, and whose approvals are.

use fedhub_core::names::APPROVED;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::fault::Faults;
use crate::rollouts::{approvals, spec};

/// The faults of a rollout.
pub fn check(rollout: &Object, faults: &mut Faults) {
    spec::check(rollout, faults);
    approvals::check(rollout, faults);
}

/// The operations of a JSON patch that make approvals those of the user who adds them, and leave those that
/// were there whose they were; none where nothing is to be changed.
pub fn patch(user: &str, old: Option<&Object>, new: &Object) -> Vec<Value> {
    if old.is_some_and(|old| old.annotation(APPROVED) == new.annotation(APPROVED)) {
        return Vec::new();
    }
    let path = format!("/metadata/annotations/{}", APPROVED.replace('/', "~1"));
    let authored = approvals::authored(user, old, new);
    authored.map(|value| json!({"op": "add", "path": path, "value": value})).into_iter().collect()
}
