//! Errors by category: the metric label, the Event's reason and the retry policy follow from it (section 6).

mod api;
mod category;
mod excess;
mod not_sent;
mod wording;

use kube::core::Status;
use kube::core::response::StatusCause;

pub use api::{ApiError, TransportFailure};
pub use category::Category;
pub use excess::Excess;
pub use not_sent::NotSent;
pub use wording::{address, chain, json, kubeconfig};

use self::category::is_suspension;
use crate::object::PlaneId;

/// A request to a plane that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {resource} on the {plane}")]
pub struct RequestError {
    /// The verb of the request: `create`, `delete`.
    pub verb: &'static str,
    /// The requested resource: the plural, as in RBAC rules.
    pub resource: String,
    /// Where.
    pub plane: PlaneId,
    /// Why.
    #[source]
    pub source: ApiError,
}

impl RequestError {
    /// The status code that the server answered, if it answered.
    pub fn code(&self) -> Option<u16> {
        self.source.code()
    }

    /// Whether the server refused an update because a field must not change.
    pub fn immutable(&self) -> bool {
        self.source.status().is_some_and(|status| immutability(status).next().is_some())
    }

    /// Whether the object that was to be changed is gone from the server: the watch will report its deletion.
    /// A create is refused with the same code where its namespace is missing, and any request where the plane
    /// does not serve the kind.
    pub fn gone(&self) -> bool {
        let names_it = |status: &Status| status.details.as_ref().is_some_and(|it| !it.name.is_empty());
        self.source.status().is_some_and(|status| {
            status.code == 404
                && matches!(self.verb, "update" | "patch")
                && names_it(status)
                && !self.lacks_namespace()
        })
    }

    /// Whether the server refuses the request because the object's namespace is missing.
    pub fn lacks_namespace(&self) -> bool {
        let names_one = |status: &Status| status.details.as_ref().is_some_and(|it| it.kind == "namespaces");
        self.source
            .status()
            .is_some_and(|status| status.code == 404 && self.resource != "namespaces" && names_one(status))
    }

    /// The category of this error.
    pub fn category(&self) -> Category {
        if self.gone() { Category::Conflict } else { self.source.category() }
    }
}

/// Why a pass over one object did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A plane did not do what it was asked.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The plane is not there, or its watches are not in sync.
    #[error("{0} is not in sync")]
    NotEngaged(PlaneId),
    /// A namespace is missing although objects stand in it: it was removed by force.
    #[error("namespace {namespace} is missing on the {plane}, and objects stand in it")]
    NamespaceGone {
        /// Where.
        plane: PlaneId,
        /// Its name.
        namespace: String,
    },
    /// A state that should not be.
    #[error("unexpected state: {0}")]
    Bug(String),
}

impl Error {
    /// Whether the error is a failure of that plane.
    pub fn is_of(&self, plane: &PlaneId) -> bool {
        match self {
            Self::Request(e) => e.plane == *plane && e.category() != Category::Conflict,
            Self::NotEngaged(away) => away == plane,
            Self::NamespaceGone { .. } | Self::Bug(_) => false,
        }
    }

    /// Whether that plane lacks the namespace of an object that stands there.
    pub fn lacks_namespace(&self, on: &PlaneId) -> bool {
        match self {
            Self::Request(e) => e.plane == *on && e.lacks_namespace(),
            Self::NamespaceGone { plane, .. } => plane == on,
            Self::NotEngaged(_) | Self::Bug(_) => false,
        }
    }

    /// The plane that did not do what it was asked, where that says something of the plane and nothing of the
    /// request: silence, 5xx, garbage, 429. A refusal (403, 404, 409, 422) is an answer.
    pub fn unhealthy(&self) -> Option<&PlaneId> {
        match self {
            Self::Request(e) if matches!(e.category(), Category::Transient | Category::Throttled) => {
                Some(&e.plane)
            }
            _ => None,
        }
    }

    /// Whether a plane refused a write because its project is suspended, which discovery has not reported
    /// yet, or no longer reports.
    pub fn is_suspension(&self) -> bool {
        match self {
            Self::Request(e) => e.source.status().is_some_and(is_suspension),
            _ => false,
        }
    }

    /// The category of this error.
    pub fn category(&self) -> Category {
        match self {
            Self::Request(e) => e.category(),
            Self::NotEngaged(_) => Category::NotEngaged,
            Self::NamespaceGone { .. } => Category::Invalid,
            Self::Bug(_) => Category::Bug,
        }
    }
}

/// The causes by which a server refuses an update because a field must not change. API servers give no
/// reason of its own for that: it is `FieldValueInvalid`, or `FieldValueForbidden` for a `ConfigMap` or
/// Secret, as for values that are wrong in themselves. Only the words of the rule tell, which follow the
/// value that may be quoted. This is the one place that decides by them.
pub fn immutability(status: &Status) -> impl Iterator<Item = &StatusCause> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.filter(|cause| {
        let rule = cause.message.rsplit(": ").next();
        status.code == 422
            && matches!(cause.reason.as_str(), "FieldValueInvalid" | "FieldValueForbidden")
            && rule.is_some_and(|rule| rule.contains("immutable"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_gone_is_looked_at_again_and_what_was_never_there_is_a_fault() {
        let named = || json!({"name": "wd-0", "kind": "instances"});
        let namespace = || json!({"name": "shop", "kind": "namespaces"});
        for (verb, details, expected) in [
            ("update", named(), Category::Conflict),
            ("patch", named(), Category::Conflict),
            ("update", json!(null), Category::Invalid),
            ("update", json!({}), Category::Invalid),
            ("create", named(), Category::Invalid),
            ("update", namespace(), Category::Invalid),
            ("patch", namespace(), Category::Invalid),
        ] {
            let mut status = Status::failure("not found", "NotFound").with_code(404);
            status.details = serde_json::from_value(details).unwrap();
            let error = RequestError {
                verb,
                resource: "instances".to_owned(),
                plane: PlaneId::Hub,
                source: ApiError::Server(Box::new(status)),
            };
            assert_eq!(error.category(), expected, "{verb} {error:?}");
            assert!(!(error.gone() && error.lacks_namespace()), "{verb} {error:?}");
        }
    }

    #[test]
    fn the_status_code_decides_the_category() {
        for (code, expected) in [
            (401, Category::Forbidden),
            (403, Category::Forbidden),
            (404, Category::Invalid),
            (409, Category::Conflict),
            (422, Category::Invalid),
            (429, Category::Throttled),
            (500, Category::Transient),
            (503, Category::Transient),
        ] {
            let status = Status::failure("no", "Because").with_code(code);
            assert_eq!(ApiError::Server(Box::new(status)).category(), expected, "{code}");
        }
    }

    #[test]
    fn a_field_that_must_not_change_is_told_by_the_rule_and_not_by_what_is_quoted() {
        let quoted = "Invalid value: \"immutable-web\": must be no longer than 63 characters";
        for (code, reason, message, expected) in [
            (422, "FieldValueInvalid", "Invalid value: \"ORD\": field is immutable", true),
            (422, "FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set", true),
            (
                422,
                "FieldValueInvalid",
                "Invalid value: \"string\": name is immutable and cannot be changed",
                true,
            ),
            (422, "FieldValueInvalid", quoted, false),
            (422, "FieldValueDuplicate", "Duplicate value: \"immutable\"", false),
            (422, "FieldValueForbidden", "Forbidden: no new finalizers can be added", false),
            (409, "FieldValueInvalid", "Invalid value: \"ORD\": field is immutable", false),
        ] {
            // The whole message names the object, and may quote anything.
            let whole = format!("Instance \"immutable-0\" is invalid: spec.a: {message}");
            let mut status = Status::failure(&whole, "Invalid").with_code(code);
            let cause = json!({"reason": reason, "message": message, "field": "spec.a"});
            status.details =
                serde_json::from_value(json!({"name": "immutable-0", "causes": [cause]})).unwrap();
            let error = RequestError {
                verb: "update",
                resource: "instances".to_owned(),
                plane: PlaneId::Hub,
                source: ApiError::Server(Box::new(status)),
            };
            assert_eq!(error.immutable(), expected, "{code} {reason} {message}");
        }
    }
}
