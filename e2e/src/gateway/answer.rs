//! What the gateway answers, and answers of its own.

use http::{Response, StatusCode, header};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Bytes;

/// Why a body breaks off.
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Content = UnsyncBoxBody<Bytes, Problem>;
/// The answer of the gateway.
pub(crate) type Answer = Response<Content>;

/// An answer of the gateway's own, in the form that clients of API servers know.
pub(crate) fn refusal(code: StatusCode, reason: &str, message: &str) -> Answer {
    let status = serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": code.as_u16(), "reason": reason, "message": message,
    });
    let mut answer = json_answer(&status);
    *answer.status_mut() = code;
    answer
}

/// An answer in JSON.
pub(crate) fn json_answer(body: &serde_json::Value) -> Answer {
    json_content(content(body.to_string()))
}

/// An answer whose content is JSON, or claims to be.
pub(crate) fn json_content(body: Content) -> Answer {
    let mut answer = Response::new(body);
    let json = header::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

/// A body that is there already.
pub(crate) fn content(text: impl Into<Bytes>) -> Content {
    http_body_util::Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}
