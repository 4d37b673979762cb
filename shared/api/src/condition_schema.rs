//! The schema of conditions. The Rust type is `Condition` of k8s-openapi, which brings no schema along.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::reason::Reason;

const TYPE_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
const REASON_PATTERN: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// A list of conditions, replaced as a whole by server-side apply: the group has always declared it so.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "One aspect of the object's present state.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status last changed from one value to another.",
                },
                "message": {
                    "type": "string",
                    "maxLength": 32768,
                    "description": "Details of the last change for a human reader. May be empty.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The metadata.generation that the condition was judged on. \
                        If it is lower than the present one, the condition is out of date.",
                },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": REASON_PATTERN,
                    "description": "Why the status is what it is: one word in CamelCase, for programs.",
                },
                "status": {
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds.",
                },
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "pattern": TYPE_PATTERN,
                    "description": "Which aspect this is: a word in CamelCase, or one with a domain before it.",
                },
            },
        },
    })
}

/// A condition that no controller has reported yet, as the schema defaults it.
pub(super) fn unreported(type_: &str, reason: Reason, message: &str) -> Value {
    json!({
        "type": type_,
        "status": "Unknown",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    })
}

/// One that waits for whoever reports it.
pub(super) fn pending(type_: &str) -> Value {
    unreported(type_, Reason::Pending, "Waiting for controller")
}
