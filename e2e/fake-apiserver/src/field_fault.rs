//! What is wrong with one field of an object.

use serde_json::Value;

/// A fault of a field, in the words of the real server's validation.
pub(crate) struct FieldFault {
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

impl FieldFault {
    /// A value that breaks a rule of its field.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, rule: &str) -> Self {
        let message = format!("Invalid value: {value}: {rule}");
        Self { reason: "FieldValueInvalid", field: field.into(), message }
    }

    /// A field that has to be there.
    pub(crate) fn required(field: impl Into<String>, rule: &str) -> Self {
        let message = format!("Required value: {rule}");
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    /// A value that is too long.
    pub(crate) fn too_long(field: impl Into<String>, most: usize) -> Self {
        let message = format!("Too long: may not be more than {most} bytes");
        Self { reason: "FieldValueTooLong", field: field.into(), message }
    }

    /// A value outside of those that its field may have.
    pub(crate) fn unsupported(field: &str, value: &Value, allowed: &str) -> Self {
        let message = format!("Unsupported value: {value}: supported values: {allowed}");
        Self { reason: "FieldValueNotSupported", field: field.to_owned(), message }
    }

    /// A change that is never allowed.
    pub(crate) fn forbidden(field: impl Into<String>, rule: &str) -> Self {
        let message = format!("Forbidden: {rule}");
        Self { reason: "FieldValueForbidden", field: field.into(), message }
    }
}
