//! What an Instance waits for before it may start, and what it need not wait for any longer (C6).
//!
//! Decides C6.

use fedhub_api::conditions::holds_for;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::{QUOTA_GRANTED, REFERENCED_DATA_READY};

/// Gate: the deployment's networking stands.
pub const NETWORK: &str = "Network";
/// Gate: quota is granted.
pub const QUOTA: &str = "Quota";
/// Gate: what the template refers to is there.
pub const REFERENCED_DATA: &str = "ReferencedData";
/// Gate: the deployment is not suspended. An Instance gets it that is made while it is, so that it cannot
/// boot.
pub const SUSPENDED: &str = "Suspended";

/// The conditions of its deployment that open gates of an Instance, besides those of the Instance itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opens {
    /// The deployment's networking stands.
    pub network: bool,
    /// The deployment is not suspended. While it is, no gate opens at all: what has not booted must not.
    pub resumed: bool,
}

/// The names of an Instance's gates, in its order.
pub fn of(instance: &Object) -> Vec<&str> {
    list(instance).iter().filter_map(|gate| gate.get("name")?.as_str()).collect()
}

fn list(instance: &Object) -> &[Value] {
    instance
        .spec()
        .pointer("/controller/schedulingGates")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A merge patch that takes off, in one, every gate that the status *stored* with the Instance satisfies,
/// under the resourceVersion of that; `None` where there is none. Gates of other names belong to others (I9).
pub fn opening(instance: &Object, opens: Opens) -> Option<Value> {
    if !opens.resumed {
        return None;
    }
    // Without a generation or a version no server has seen it: nothing can hold for it (C6).
    let generation = instance.metadata.generation?;
    let version = instance.metadata.resource_version.as_deref()?;
    let holds = |kind| holds_for(instance.status(), kind, generation);
    let all = list(instance);
    let mut left = Vec::new();
    for gate in all {
        let open = match gate.get("name").and_then(Value::as_str) {
            Some(NETWORK) => opens.network,
            Some(SUSPENDED) => true,
            Some(QUOTA) => holds(QUOTA_GRANTED),
            Some(REFERENCED_DATA) => holds(REFERENCED_DATA_READY),
            _ => false,
        };
        if !open {
            left.push(gate.clone());
        }
    }
    (left.len() < all.len()).then(|| {
        let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
        json!({
            "metadata": {"resourceVersion": version},
            "spec": {"controller": {"schedulingGates": left}},
        })
    })
}
