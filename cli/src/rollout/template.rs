//! Whether what was made from a template still is what the template says.
//!
//! Planes default and prune, so that a field that only one side has tells nothing; one that both have, with
//! two values, does.

use fedhub_api::facts::restarts::is_as_late;
use fedhub_core::names::RESTARTED_AT;
use serde_json::Value;

/// Whether one template has what the other says. A later restart than the wanted one is as good: one city can
/// be restarted alone.
pub fn carries_template(wanted: &Value, is: &Value) -> bool {
    carries_spec(&wanted["spec"], &is["spec"])
        && carries_texts(&wanted["metadata"]["labels"], &is["metadata"]["labels"])
        && carries_texts(&wanted["metadata"]["annotations"], &is["metadata"]["annotations"])
}

/// Whether a spec has what the other says. Lists have to be as long: no server adds to one of these.
pub fn carries_spec(wanted: &Value, is: &Value) -> bool {
    match (wanted, is) {
        (Value::Null, _) | (_, Value::Null) => true,
        (Value::Object(wanted), Value::Object(is)) => {
            wanted.iter().all(|(key, value)| is.get(key).is_none_or(|is| carries_spec(value, is)))
        }
        (Value::Array(wanted), Value::Array(is)) => {
            wanted.len() == is.len() && wanted.iter().zip(is).all(|(wanted, is)| carries_spec(wanted, is))
        }
        (wanted, is) => wanted == is,
    }
}

/// Labels and annotations: no server drops one of these.
fn carries_texts(wanted: &Value, is: &Value) -> bool {
    wanted.as_object().into_iter().flatten().all(|(key, value)| match is.get(key) {
        Some(is) if key == RESTARTED_AT => is_as_late(is, value),
        is => is == Some(value),
    })
}
