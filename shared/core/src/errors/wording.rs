//! Errors in words that may be logged and shown to users (section 6).
//!
//! The clients' own texts quote what a server or a kubeconfig holds: whole bodies, dumps of structures, the
//! lines around a fault in a Secret. Here each is described by the kind of fault and its place; text of
//! others is cut and escaped (I15).

use std::borrow::Cow;
use std::error::Error;

use fedhub_terminal::plain;
use kube::client::{AuthError, RustlsTlsError};
use kube::config::KubeconfigError;
use kube::core::Status;

use super::ApiError;
use crate::message::{Quoted, shortened};

/// The longest line, in characters.
const LONGEST: usize = 1024;
/// The longest text of one error in it.
const LONGEST_PART: usize = 512;
/// The reason that the client reports for an answer without a `Status`: its message is the whole body then.
const NO_STATUS: &str = "Failed to parse error data";

/// An error and all that caused it, on one line, which may be logged and shown.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let (words, ends) = words(error);
        let words = cut(&words, LONGEST_PART);
        if !line.ends_with(&words) {
            line.push_str(if line.is_empty() { "" } else { ": " });
            line.push_str(&words);
        }
        next = error.source().filter(|_| !ends);
    }
    cut(&line, LONGEST)
}

/// A text on one line, of at most `longest` characters, none of which steers a terminal or turns what
/// follows.
fn cut(text: &str, longest: usize) -> String {
    let line = shortened(text.trim(), longest).replace(['\n', '\r', '\t'], " ");
    // Escaping makes the text longer.
    shortened(&plain(&line), longest).into_owned()
}

/// Describes an error of JSON: where it is, and what was expected there, never the content.
pub fn json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = || format!("line {}, column {}", error.line(), error.column());
    // The text before that may quote the content.
    let expected =
        text.rsplit_once(", expected ").map(|(_, expected)| match expected.rsplit_once(" at line ") {
            Some((expected, _)) => expected,
            None => expected,
        });
    match (expected, error.line()) {
        (Some(expected), 0) => format!("expected {expected}"),
        (Some(expected), _) => format!("expected {expected} at {}", place()),
        (None, 0) if text.starts_with("missing field") => text,
        (None, 0) => "not as the schema says".to_owned(),
        (None, _) => format!("not JSON at {}", place()),
    }
}

/// Describes an error of a kubeconfig, never the content.
pub fn kubeconfig(error: &KubeconfigError) -> String {
    match error {
        // The caller names the file.
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        KubeconfigError::Parse(error) => yaml(error),
        KubeconfigError::LoadContext(name) => format!("there is no context {}", Quoted(name)),
        KubeconfigError::LoadClusterOfContext(name) => format!("there is no cluster {}", Quoted(name)),
        KubeconfigError::ParseCertificates(_) => "certificate-authority is not valid PEM".to_owned(),
        KubeconfigError::ParseProxyUrl(_) => "proxy-url is not a valid URL".to_owned(),
        _ => {
            let mut parts = vec![own(error)];
            let mut next = error.source();
            while let Some(error) = next {
                parts.push(own(error));
                next = error.source();
            }
            parts.join(": ")
        }
    }
}

/// Returns the address of a URL without its user, password, path and query.
pub fn address(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    let port = uri.port_u16().map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}://{}{port}", uri.scheme_str()?, uri.host()?))
}

fn yaml(error: &serde_saphyr::Error) -> String {
    match error.location() {
        Some(at) => format!("not valid YAML of that form at line {}, column {}", at.line(), at.column()),
        None => "not valid YAML of that form".to_owned(),
    }
}

/// The text of an error without that of its source, and whether its source is to be left out.
fn words<'a>(error: &'a (dyn Error + 'static)) -> (Cow<'a, str>, bool) {
    if let Some(error) = as_is_or_boxed::<kube::Error>(error) {
        return client(error);
    }
    if error.is::<ApiError>() {
        // Its cause says it.
        return ("".into(), false);
    }
    if let Some(status) = as_is_or_boxed::<Status>(error) {
        return (answer(status).into(), true);
    }
    if let Some(error) = as_is_or_boxed::<serde_json::Error>(error) {
        return (json(error).into(), true);
    }
    if let Some(error) = as_is_or_boxed::<serde_saphyr::Error>(error) {
        return (yaml(error).into(), true);
    }
    if let Some(error) = as_is_or_boxed::<KubeconfigError>(error) {
        return (kubeconfig(error).into(), true);
    }
    if let Some(error) = error.downcast_ref::<AuthError>() {
        return match error {
            AuthError::AuthExecRun { out, .. } => {
                (format!("the program that gives credentials ended with {}", out.status).into(), true)
            }
            AuthError::AuthExec(_) => ("the program that gives credentials failed".into(), true),
            error => (own(error).into(), false),
        };
    }
    (own(error).into(), false)
}

fn client(error: &kube::Error) -> (Cow<'_, str>, bool) {
    use kube::Error as E;
    let words = match error {
        // Their cause says it.
        E::Api(_) | E::Service(_) | E::HyperError(_) | E::ReadEvents(_) => "",
        E::SerdeError(_) => "the answer cannot be decoded",
        E::FromUtf8(_) => "the answer is not text",
        E::HttpError(_) | E::BuildRequest(_) => "failed to build the request",
        E::Auth(_) => "failed to authenticate",
        E::RustlsTls(error) => return (tls(error).into(), true),
        E::InferKubeconfig(error) => return (kubeconfig(error).into(), true),
        E::ProxyProtocolUnsupported { .. } | E::ProxyProtocolDisabled { .. } => "proxies are not supported",
        error => return (own(error).into(), false),
    };
    (words.into(), false)
}

fn tls(error: &RustlsTlsError) -> String {
    own(error)
}

fn answer(status: &Status) -> String {
    let Status { code, reason, message, .. } = status;
    match (reason.as_str(), message.as_str()) {
        (NO_STATUS, _) => format!("the server answered {code} without saying why"),
        ("", "") => format!("the server answered {code}"),
        (reason, "") => format!("{} ({code})", cut(reason, LONGEST_PART)),
        (_, message) => format!("{} ({code})", cut(message, LONGEST_PART - 8)),
    }
}

/// The text of an error, without that of its cause at its end.
fn own(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let own = if cause.is_empty() { &text } else { text.strip_suffix(&cause).unwrap_or(&text) };
    own.trim_end_matches([':', ' ']).to_owned()
}

fn as_is_or_boxed<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    error.downcast_ref::<E>().or_else(|| error.downcast_ref::<Box<E>>().map(Box::as_ref))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::errors::RequestError;
    use crate::object::{Kind, PlaneId};

    fn request(source: kube::Error) -> String {
        let resource = Kind::Instance.resource().plural.clone();
        chain(&RequestError { verb: "create", resource, plane: PlaneId::Cell, source: source.into() })
    }

    fn api(message: &str, reason: &str, code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure(message, reason).with_code(code)))
    }

    #[test]
    fn u_a_refusal_is_told_in_the_servers_words_without_a_dump() {
        assert_eq!(
            request(api("Instance \"web-0\" is invalid: metadata.annotations: Too long", "Invalid", 422)),
            "failed to create instances on the cell: Instance \"web-0\" is invalid: metadata.annotations: Too long (422)"
        );
        assert_eq!(
            request(api("", "", 500)),
            "failed to create instances on the cell: the server answered 500"
        );
        let long = request(api(&"x".repeat(5000), "Invalid", 422));
        assert!(long.chars().count() < 600 && long.ends_with("… (422)"), "{long}");
    }

    #[test]
    fn no_body_that_is_no_status_is_told() {
        let body = "<html>secret=hunter2</html>";
        let words = request(api(body, NO_STATUS, 502));
        assert_eq!(
            words,
            "failed to create instances on the cell: the server answered 502 without saying why"
        );
    }

    #[test]
    fn what_is_not_as_expected_is_told_by_its_place() {
        let number = |text: &str| serde_json::from_str::<u32>(text).unwrap_err();
        for (error, expected) in [
            (number("\"hunter2\""), "expected u32 at line 1, column 9"),
            (number("{hunter2"), "expected u32 at line 1, column 0"),
            (number("hunter2"), "not JSON at line 1, column 1"),
            (serde_json::from_value::<u32>("hunter2, expected hunter2".into()).unwrap_err(), "expected u32"),
            (
                serde_json::from_value::<Status>(serde_json::json!("hunter2")).unwrap_err(),
                "expected struct Status",
            ),
        ] {
            let told = json(&error);
            assert_eq!(told, expected, "{error}");
            let whole = request(kube::Error::SerdeError(error));
            assert!(whole.ends_with(&format!("the answer cannot be decoded: {expected}")), "{whole}");
        }
    }

    #[test]
    fn an_error_is_not_told_twice_and_stays_on_one_line() {
        let inner = io::Error::other("connection\nrefused");
        let words = request(kube::Error::Service(Box::new(inner)));
        assert_eq!(words, "failed to create instances on the cell: connection refused");
        let read = request(kube::Error::ReadEvents(io::Error::other("reset")));
        assert_eq!(read, "failed to create instances on the cell: reset");
    }

    /// It ends in conditions, Events, logs and terminals.
    #[test]
    fn i15_a_servers_words_steer_nothing() {
        let words =
            request(api("no\u{1b}[2J\u{9b}1m \u{202e}\u{2066}\u{200f}\u{61c}way\r\n", "Invalid", 422));
        assert_eq!(
            words,
            "failed to create instances on the cell: \
             no\\u{1b}[2J\\u{9b}1m \\u{202e}\\u{2066}\\u{200f}\\u{61c}way (422)"
        );
        let inner = io::Error::other("\u{202e}".repeat(5000));
        let long = request(kube::Error::Service(Box::new(inner)));
        assert!(long.chars().count() < 600 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn an_address_has_no_credentials() {
        for (url, expected) in [
            ("http://user:hunter2@proxy:3128/path?token=hunter2", Some("http://proxy:3128")),
            ("https://proxy", Some("https://proxy")),
            ("proxy:3128", None),
            ("http://us er:hunter2@proxy", None),
        ] {
            assert_eq!(address(url).as_deref(), expected, "{url}");
        }
    }
}
