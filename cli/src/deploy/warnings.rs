//! The warnings of a server, which come in headers (RFC 7234, section 5.5): an image without a registry, a
//! deprecated type of instances.

use std::sync::{Arc, Mutex, PoisonError};

use fedhub_terminal::plain;
use http::header::WARNING;
use http::{HeaderMap, Request};
use kube::Client;
use kube::client::Body;
use tower::util::service_fn;

/// Collects the warnings of a server.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// A client that collects the warnings of its answers.
    pub fn client(&self, inner: &Client, namespace: &str) -> Client {
        let inner = inner.clone();
        let warnings = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let inner = inner.clone();
            let warnings = warnings.clone();
            async move {
                let response = inner.send(request).await?;
                warnings.collect(response.headers());
                Ok::<_, kube::Error>(response)
            }
        });
        Client::new(service, namespace)
    }

    fn collect(&self, headers: &HeaderMap) {
        let values = headers.get_all(WARNING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for text in values.filter_map(|value| text(&value)).filter(|text| !text.is_empty()) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }

    /// Takes the collected warnings, each once and on one line.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The text of `299 - "text"`, where nothing of it steers a terminal.
fn text(value: &str) -> Option<String> {
    let (_, quoted) = value.strip_prefix("299 ")?.split_once(' ')?;
    let mut characters = quoted.trim().strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(c) = characters.next() {
        // A backslash escapes a character that would end the text.
        text.extend(if c == '\\' { characters.next() } else { Some(c) });
    }
    Some(plain(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_warning_is_collected_once() {
        let server = service_fn(|_: Request<Body>| async {
            let answer =
                http::Response::builder().header(WARNING, r#"299 - "a""#).header(WARNING, r#"299 - "b""#);
            answer.body(Body::from(b"{}".to_vec()))
        });
        let warnings = Warnings::default();
        let client = warnings.client(&Client::new(server, "default"), "default");
        for _ in 0..2 {
            let _answer: serde_json::Value = client.request(Request::new(Vec::new())).await.unwrap();
        }
        assert_eq!((warnings.take(), warnings.take()), (vec!["a".to_owned(), "b".to_owned()], Vec::new()));
    }

    /// A header has no escape character and no line's end; a terminal takes the characters U+0080 to U+009F
    /// for the same.
    #[test]
    fn a_warning_steers_no_terminal_and_is_told_in_every_language() {
        for wrong in ["299 - \"\x1b[31m\"", "299 - \"\x1b]52;c;eA==\x07\"", "299 - \"a\nb\""] {
            assert!(http::HeaderValue::from_str(wrong).is_err(), "{wrong:?}");
        }
        let mut headers = HeaderMap::new();
        for said in ["\u{9b}31mred", "\u{9d}52;c;eA==\u{9c}", "画像\t\u{202e}"] {
            let value = http::HeaderValue::from_bytes(format!("299 - \"{said}\"").as_bytes());
            headers.append(WARNING, value.unwrap());
        }
        let warnings = Warnings::default();
        warnings.collect(&headers);
        let expected = ["\\u{9b}31mred", "\\u{9d}52;c;eA==\\u{9c}", "画像\\u{9}\\u{202e}"];
        assert_eq!(warnings.take(), expected);
    }

    #[test]
    fn the_text_of_a_warning_is_between_its_quotes() {
        for (value, expected) in [
            (r#"299 - "image \"nginx\" names no registry""#, Some("image \"nginx\" names no registry")),
            (r#"299 agent "a""#, Some("a")),
            (r#"199 - "stale""#, None),
            ("299 - bare", None),
            ("", None),
        ] {
            assert_eq!(text(value).as_deref(), expected, "{value}");
        }
    }
}
