//! What an answer of a service means.

use std::time::Duration;

use fedhub_provider::{Failure, FailureKind};
use http::{HeaderMap, Method, StatusCode, header};
use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The longest message of a failure, in bytes.
const LONGEST: usize = 512;
/// The code of the service's own 404.
const NOT_FOUND: &str = "not_found";
/// What the description of a 403 has in it that is about quota, and not about rights: nothing else on the
/// wire tells them apart.
const QUOTA: &str = "quota";

/// An answer, with its whole body.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Whether it says of itself that it is JSON.
    pub json: bool,
    /// For how long the service asks to be left alone.
    pub after: Option<Duration>,
}

/// The body of an error, as far as there is one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
    error: String,
    error_description: String,
}

impl Answer {
    /// Whether the service says, itself, that there is no such thing: this proves absence (V3). A 404 of
    /// anything before the service, which has no such body, proves nothing.
    pub fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND && self.problem().error == NOT_FOUND
    }

    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// What it is in place of that.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, String> {
        if !self.json {
            return Err("its body is not JSON".to_owned());
        }
        serde_json::from_slice(&self.body).map_err(|error| format!("its body is not as documented: {error}"))
    }

    fn problem(&self) -> Problem {
        if self.json { serde_json::from_slice(&self.body).unwrap_or_default() } else { Problem::default() }
    }
}

/// Whether headers say that the body is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let Some(said) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let essence = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Cuts a message to the most bytes that a failure has.
pub fn bounded(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(LONGEST));
    message
}

/// The failure that an answer which is no success means. `asked` is what was asked, such as `create server`.
pub fn failure(asked: &str, method: &Method, answer: &Answer) -> Failure {
    let problem = answer.problem();
    let status = answer.status;
    let about_quota = problem.error_description.to_ascii_lowercase().contains(QUOTA);
    let kind = match status.as_u16() {
        400 | 403 if about_quota => FailureKind::Quota,
        // Redirects are not followed: they lead to a page for people, or elsewhere with our credentials.
        401 | 403 | 407 | 300..=399 => FailureKind::Denied,
        409 => FailureKind::Conflict,
        503 => FailureKind::Unavailable,
        408 | 425 | 429 | 500..=599 => FailureKind::Retry,
        404 if !answer.is_not_found() => FailureKind::Retry,
        400..=499 => FailureKind::Invalid,
        // A success that is none.
        _ => FailureKind::Retry,
    };
    let words = match (problem.error.as_str(), problem.error_description.as_str()) {
        ("", "") if status == StatusCode::NOT_FOUND => {
            ": not an answer of the service itself: see that its URL is right".to_owned()
        }
        ("", "") if status.is_redirection() => {
            ": redirects are not followed: see that its URL is right".to_owned()
        }
        ("", "") => String::new(),
        (error, "") => format!(": {error}"),
        (_, description) => format!(": {description}"),
    };
    Failure {
        kind,
        message: bounded(format!("failed to {asked}: {status}{words}")),
        after: answer.after,
        // A service that breaks half-way may have done the first half; a refusal has done nothing.
        may_have_acted: method != Method::GET && (status.is_server_error() || status.is_success()),
    }
}

/// The failure of an answer that says that it was a success, and cannot be read.
pub fn unreadable(asked: &str, method: &Method, why: &str) -> Failure {
    Failure {
        kind: FailureKind::Retry,
        message: bounded(format!("failed to {asked}: the answer cannot be read: {why}")),
        after: None,
        may_have_acted: method != Method::GET,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            json: body.starts_with('{'),
            after: None,
        }
    }

    #[test]
    fn what_follows_from_each_status_is_known() {
        use FailureKind as K;
        let not_found = r#"{"error":"not_found","error_description":"resource not found"}"#;
        let quota = r#"{"error":"forbidden","error_description":"allocation exceeded Quota"}"#;
        let rights = r#"{"error":"forbidden","error_description":"access denied"}"#;
        for (status, body, kind, may_have_acted) in [
            (302, "", K::Denied, false),
            (400, "{}", K::Invalid, false),
            (400, quota, K::Quota, false),
            (401, "{}", K::Denied, false),
            (403, rights, K::Denied, false),
            (403, quota, K::Quota, false),
            (404, not_found, K::Invalid, false),
            (404, "404 page not found", K::Retry, false),
            (409, "{}", K::Conflict, false),
            (413, "{}", K::Invalid, false),
            (422, "{}", K::Invalid, false),
            (429, "", K::Retry, false),
            (500, "{}", K::Retry, true),
            (502, "<html>", K::Retry, true),
            (503, "", K::Unavailable, true),
            (504, "", K::Retry, true),
            (299, "", K::Retry, true),
        ] {
            let failed = failure("create server", &Method::POST, &answer(status, body));
            assert_eq!((failed.kind, failed.may_have_acted), (kind, may_have_acted), "{status} {body}");
            let read = failure("list servers", &Method::GET, &answer(status, body));
            assert!(!read.may_have_acted, "a question does nothing: {status}");
        }
    }

    #[test]
    fn v3_only_the_services_own_404_proves_anything() {
        assert!(answer(404, r#"{"error":"not_found"}"#).is_not_found());
        for (status, body) in [
            (404, "404 page not found"),
            (404, "{}"),
            (404, r#"{"error":"x"}"#),
            (410, r#"{"error":"not_found"}"#),
        ] {
            assert!(!answer(status, body).is_not_found(), "{status} {body}");
        }
    }

    #[test]
    fn messages_are_bounded() {
        let long = format!(r#"{{"error":"e","error_description":"{}"}}"#, "ü".repeat(4_000));
        assert!(failure("create server", &Method::POST, &answer(422, &long)).message.len() <= LONGEST);
    }

    #[test]
    fn json_is_what_says_so() {
        for (said, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/problem+json", true),
            ("text/html", false),
            ("text/json-ish", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, said.parse().unwrap())]);
            assert_eq!(is_json(&headers), expected, "{said}");
        }
    }
}
