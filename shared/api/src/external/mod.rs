//! The parts of other services' API groups that fedhub uses.
//!
//! The CRDs of these kinds belong to those services and are installed with them. What is generated from here
//! is for clusters that lack them (tests, demonstrations): it has the fields that fedhub reads or writes, not
//! all that there are.

pub mod networking;
pub mod quota;

use serde_json::{Value, json};

use crate::reason::Reason;

/// A condition of which nothing is known yet, as the services' schemas default it.
fn unset(type_: &str, status: &str, reason: Reason, message: &str) -> Value {
    json!({
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    })
}

/// A status that no controller has written yet, with conditions of these types.
fn pending(types: &[&str]) -> Value {
    let conditions =
        types.iter().map(|type_| unset(type_, "Unknown", Reason::Pending, "Waiting for controller"));
    json!({"conditions": conditions.collect::<Vec<_>>()})
}
