//! How the service says no.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// An answer that is an error: its status, its code and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: String,
    pub description: String,
    /// How many seconds not to ask again, or a date.
    pub retry_after: Option<String>,
}

impl Refusal {
    pub fn new(status: StatusCode, description: impl Into<String>) -> Self {
        Self { status, code: code(status).to_owned(), description: description.into(), retry_after: None }
    }

    /// The request is not well-formed, or the server is not in a state for it.
    pub fn invalid(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, description)
    }

    /// The caller did not show who it is.
    pub fn denied(description: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, description)
    }

    /// The caller has no right to it, or its quota is used up.
    pub fn forbidden(description: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, description)
    }

    /// There is no such thing.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no resource has this ID")
    }

    /// Something of that name stands.
    pub fn conflict() -> Self {
        Self::new(StatusCode::CONFLICT, "a resource of this name exists")
    }

    /// It is well-formed, and cannot be had.
    pub fn unprocessable(description: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, description)
    }

    /// There were too many requests.
    pub fn too_many(seconds: u64) -> Self {
        let mut refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "the limit on requests is reached");
        refusal.retry_after = Some(seconds.to_string());
        refusal
    }

    /// The answer, with an ID that a log of the service would have.
    pub fn response(&self, trace: &str) -> Response {
        let body = json!({
            "error": self.code, "error_description": self.description, "trace_id": trace,
        });
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if self.status == StatusCode::UNAUTHORIZED {
            let metadata = r#"Bearer resource_metadata="/.well-known/openid-protected-resource""#;
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(metadata));
        }
        if let Some(after) = self.retry_after.as_deref().and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.insert(header::RETRY_AFTER, after);
        }
        response
    }
}

/// The code that goes with a status.
fn code(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "invalid_request",
        401 => "access_denied",
        403 => "forbidden",
        404 => "not_found",
        405 => "method_not_allowed",
        409 => "conflict",
        413 => "request_entity_too_large",
        422 => "unprocessable_content",
        429 => "too_many_requests",
        _ => "server_error",
    }
}
