//! Access to the pages: what a request shows, what is asked about it, and what the answers mean.
//!
//! As `controller-runtime` does it (`pkg/metrics/filters`): a `TokenReview` says whose a token is, and a
//! `SubjectAccessReview` whether that user may get the path. A client certificate of the given CA is let in
//! to `/metrics` without either.

use axum::response::{IntoResponse, Response};
use fedhub_core::message::excerpt;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};

/// What a caller shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Credential<'a> {
    /// A client certificate, which the handshake has verified.
    Certificate,
    /// A bearer token.
    Token(&'a str),
    /// The request carries no credential.
    Missing,
}

impl<'a> Credential<'a> {
    /// Reads the credential of a request. `is_certified` says whether its connection has a verified client
    /// certificate that counts for its path.
    pub fn from_headers(is_certified: bool, headers: &'a HeaderMap) -> Self {
        if is_certified {
            return Self::Certificate;
        }
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = value.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| {
            // RFC 9110: the name of a scheme has no case.
            scheme.eq_ignore_ascii_case("bearer")
        });
        match token.map(|(_, token)| token.trim()) {
            Some(token) if !token.is_empty() => Self::Token(token),
            _ => Self::Missing,
        }
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The pages are only read.
    Method,
    /// The caller shows neither a token nor, for `/metrics`, a client certificate.
    NoCredential,
    /// The cluster does not know the token.
    InvalidToken,
    /// The user may not get the path.
    Forbidden {
        /// The user.
        user: String,
        /// The path.
        path: String,
    },
    /// The caller's address has as many reviews in progress as allowed.
    Busy,
    /// The cluster could not be asked.
    ReviewFailed,
}

impl Refusal {
    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::NoCredential => "no_credential",
            Self::InvalidToken => "invalid_token",
            Self::Forbidden { .. } => "forbidden",
            Self::Busy => "busy",
            Self::ReviewFailed => "review_failed",
        }
    }

    /// What the caller gets.
    pub fn answer(&self) -> Response {
        let (code, body) = match self {
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "try GET or HEAD\n".to_owned()),
            Self::NoCredential => {
                let missing = "no bearer token, and for /metrics no client certificate\n";
                (StatusCode::UNAUTHORIZED, missing.to_owned())
            }
            Self::InvalidToken => (StatusCode::UNAUTHORIZED, "the token is not valid here\n".to_owned()),
            Self::Forbidden { user, path } => {
                let user = excerpt(user);
                let path = excerpt(path);
                let body = format!(
                    "{user} may not get {path}: bind it to a ClusterRole with that nonResourceURL, for /metrics \
                     fedhub-metrics-reader\n"
                );
                (StatusCode::FORBIDDEN, body)
            }
            Self::Busy => {
                let body = "as many requests of this address are under review as may be: try again\n";
                (StatusCode::TOO_MANY_REQUESTS, body.to_owned())
            }
            Self::ReviewFailed => {
                let body = "the API server could not be asked who may read this: see fedhub's log\n";
                (StatusCode::SERVICE_UNAVAILABLE, body.to_owned())
            }
        };
        let mut answer = (code, body).into_response();
        if code == StatusCode::UNAUTHORIZED {
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

/// The question whose a token is.
pub fn whose(token: &str) -> TokenReview {
    let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
    TokenReview { spec, ..TokenReview::default() }
}

/// The user whose it is, if the answer says so.
pub fn user(review: TokenReview) -> Option<UserInfo> {
    let status = review.status.filter(|status| status.authenticated == Some(true))?;
    status.user.filter(|user| user.username.as_ref().is_some_and(|name| !name.is_empty()))
}

/// A question about the whole of a user: name, UID, groups and extras. What is asked is to be added.
pub fn about(user: &UserInfo) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: user.username.clone(),
        uid: user.uid.clone(),
        groups: user.groups.clone(),
        extra: user.extra.clone(),
        ..SubjectAccessReviewSpec::default()
    }
}

/// The question whether a user may get a path.
pub fn may_get(user: &UserInfo, path: &str) -> SubjectAccessReview {
    let spec = SubjectAccessReviewSpec {
        non_resource_attributes: Some(NonResourceAttributes {
            path: Some(path.to_owned()),
            verb: Some("get".to_owned()),
        }),
        ..about(user)
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

/// Whether the answer allows that.
pub fn is_allowed(review: &SubjectAccessReview) -> bool {
    review.status.as_ref().is_some_and(|status| status.allowed && status.denied != Some(true))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_token_is_taken_from_the_bearer_scheme_and_a_certificate_counts_first() {
        for (is_certified, header, expected) in [
            (false, None, Credential::Missing),
            (true, None, Credential::Certificate),
            (true, Some("Bearer t"), Credential::Certificate),
            (false, Some("Bearer t"), Credential::Token("t")),
            (false, Some("bearer  t "), Credential::Token("t")),
            (false, Some("Bearer"), Credential::Missing),
            (false, Some("Bearer  "), Credential::Missing),
            (false, Some("Basic dXNlcjpwYXNz"), Credential::Missing),
            (false, Some("t"), Credential::Missing),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(value) = header {
                headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            assert_eq!(
                Credential::from_headers(is_certified, &headers),
                expected,
                "{is_certified} {header:?}"
            );
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        assert_eq!(Credential::from_headers(false, &headers), Credential::Missing);
    }

    fn of<T: serde::de::DeserializeOwned>(status: Value) -> T {
        serde_json::from_value(json!({"spec": {}, "status": status})).unwrap()
    }

    #[test]
    fn only_an_authenticated_user_with_a_name_is_one() {
        for (status, expected) in [
            (json!({"authenticated": true, "user": {"username": "u"}}), Some("u")),
            (json!({"authenticated": true, "user": {"username": ""}}), None),
            (json!({"authenticated": true, "user": {}}), None),
            (json!({"authenticated": true}), None),
            (json!({"authenticated": false, "user": {"username": "u"}}), None),
            (json!({"user": {"username": "u"}}), None),
            (json!({"error": "expired"}), None),
            (Value::Null, None),
        ] {
            let user = user(of(status.clone())).and_then(|user| user.username);
            assert_eq!(user.as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn only_what_is_allowed_and_not_denied_is_allowed() {
        for (status, expected) in [
            (json!({"allowed": true}), true),
            (json!({"allowed": true, "denied": false}), true),
            (json!({"allowed": true, "denied": true}), false),
            (json!({"allowed": false}), false),
            (json!({"allowed": false, "evaluationError": "webhook"}), false),
            (Value::Null, false),
        ] {
            assert_eq!(is_allowed(&of(status.clone())), expected, "{status}");
        }
    }

    #[test]
    fn the_question_carries_the_whole_user_and_the_path() {
        let user = json!({
            "username": "u", "uid": "1", "groups": ["g", "h"], "extra": {"example.com/node": ["a", "b"]},
        });
        let asked = may_get(&serde_json::from_value(user).unwrap(), "/metrics");
        assert_eq!(
            serde_json::to_value(asked.spec).unwrap(),
            json!({
                "user": "u", "uid": "1", "groups": ["g", "h"], "extra": {"example.com/node": ["a", "b"]},
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            })
        );
        assert_eq!(serde_json::to_value(whose("t").spec).unwrap(), json!({"token": "t"}));
    }

    #[test]
    fn each_refusal_has_its_code() {
        let forbidden = Refusal::Forbidden { user: "u".repeat(500), path: "/metrics".to_owned() };
        for (refusal, code) in [
            (Refusal::Method, 405),
            (Refusal::NoCredential, 401),
            (Refusal::InvalidToken, 401),
            (forbidden, 403),
            (Refusal::Busy, 429),
            (Refusal::ReviewFailed, 503),
        ] {
            let answer = refusal.answer();
            assert_eq!(answer.status().as_u16(), code, "{refusal:?}");
            assert_eq!(answer.headers().contains_key(header::WWW_AUTHENTICATE), code == 401, "{refusal:?}");
        }
    }
}
