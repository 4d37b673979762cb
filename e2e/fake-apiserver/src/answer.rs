//! The server's refusals: `Status` objects with the codes, reasons and messages of a kube-apiserver.

use std::fmt;

use serde_json::{Value, json};

use crate::field_fault::FieldFault;
use crate::resource::Resource;

/// A refusal, as the server puts it into a `Status` object.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty where the real server gives none.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    details: Value,
    plain: bool,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>, details: Value) -> Self {
        Self { code, reason, message: message.into(), details, plain: false }
    }

    fn about(resource: &Resource, name: &str) -> Value {
        if resource.group.is_empty() {
            json!({ "name": name, "kind": resource.plural })
        } else {
            json!({ "name": name, "group": resource.group, "kind": resource.plural })
        }
    }

    /// 404: there is no object of that name.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::new(404, "NotFound", message, Self::about(resource, name))
    }

    /// 404 as plain text: the server knows no such path, as when a CRD is not installed.
    pub(crate) fn no_such_path() -> Self {
        Self { plain: true, ..Self::new(404, "NotFound", "404 page not found\n", Value::Null) }
    }

    /// 405: the path exists, the verb does not.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message, json!({}))
    }

    /// 415: a body in a format that is not served.
    pub(crate) fn unsupported_media_type() -> Self {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json-patch+json, application/merge-patch+json";
        Self::new(415, "UnsupportedMediaType", message, json!({}))
    }

    /// 409: an object of that name is there already.
    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message, Self::about(resource, name))
    }

    /// 409: the object is not the one that the client meant.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message, Self::about(resource, name))
    }

    /// 409 for a resourceVersion that is not the latest.
    pub(crate) fn stale(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 422: fields that break a rule.
    pub(crate) fn invalid(what: &str, resource: &Resource, name: &str, faults: &[FieldFault]) -> Self {
        let said: Vec<String> = faults.iter().map(|f| format!("{}: {}", f.field, f.message)).collect();
        let list = if said.len() == 1 { said.concat() } else { format!("[{}]", said.join(", ")) };
        let causes: Vec<Value> = faults
            .iter()
            .map(|f| json!({ "reason": f.reason, "message": f.message, "field": f.field }))
            .collect();
        let details =
            json!({ "name": name, "group": resource.group, "kind": resource.kind, "causes": causes });
        Self::new(422, "Invalid", format!("{what} \"{name}\" is invalid: {list}"), details)
    }

    /// 422 for a patch that does not fit the object.
    pub(crate) fn patch_does_not_fit(why: &str) -> Self {
        Self::new(
            422,
            "Invalid",
            format!("the server rejected our request due to an error in our request: {why}"),
            json!({}),
        )
    }

    /// 422: query parameters of a list or watch that do not go together.
    pub(crate) fn invalid_options(field: &str, why: &str) -> Self {
        let fault = FieldFault::forbidden(field, why);
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {field}: {}", fault.message);
        let cause = json!({ "reason": fault.reason, "message": fault.message, "field": field });
        let details = json!({ "group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause] });
        Self::new(422, "Invalid", message, details)
    }

    /// 400: the request makes no sense.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message, json!({}))
    }

    /// 403: new content in a namespace that is being deleted.
    pub(crate) fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let message = format!(
            "{} \"{name}\" is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
            resource.qualified()
        );
        let mut details = Self::about(resource, name);
        details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
        Self::new(403, "Forbidden", message, details)
    }

    /// 410: history no longer reaches back to that resourceVersion.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message, Value::Null)
    }

    /// 504: the server has not reached that resourceVersion, as after a restored backup.
    pub(crate) fn too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {wanted}, current: {current}");
        let causes =
            json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
        Self::new(504, "Timeout", message, json!({ "causes": causes, "retryAfterSeconds": 1 }))
    }

    /// 500 without a reason, as plain Go errors come out.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message, Value::Null)
    }

    /// Returns the answer with an injected status code.
    pub(crate) fn of_code(code: u16) -> Self {
        let (reason, message) = match code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason"),
            401 => ("Unauthorized", "Unauthorized"),
            403 => ("Forbidden", "forbidden: User \"fake\" cannot do this"),
            404 => ("NotFound", "the server could not find the requested resource"),
            409 => ("Conflict", "the server reported a conflict"),
            410 => ("Expired", "The resourceVersion for the provided watch is too old."),
            422 => ("Invalid", "the server rejected our request due to an error in our request"),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            500 => ("InternalError", "an error on the server has prevented the request from succeeding"),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => ("Timeout", "the server was unable to return a response in the time allotted"),
            _ => ("", "unknown"),
        };
        let details = if code == 429 { json!({ "retryAfterSeconds": 1 }) } else { json!({}) };
        Self::new(code, reason, message, details)
    }

    /// Returns a 429 that asks the client to retry after `seconds` seconds.
    pub(crate) fn throttled(seconds: u32) -> Self {
        Self { details: json!({ "retryAfterSeconds": seconds }), ..Self::of_code(429) }
    }

    /// 429: what is stored has not been read yet.
    pub(crate) fn initializing() -> Self {
        Self { message: "storage is (re)initializing".to_owned(), ..Self::throttled(1) }
    }

    /// The value of the header `Retry-After`, in seconds; as on the real server it follows from the details.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.details["retryAfterSeconds"].as_u64()
    }

    /// The `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }

    /// The body as it goes over the wire, and its content type.
    pub(crate) fn wire(&self) -> (String, &'static str) {
        if self.plain {
            (self.message.clone(), "text/plain; charset=utf-8")
        } else {
            (self.status().to_string(), "application/json")
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Refusal {}
