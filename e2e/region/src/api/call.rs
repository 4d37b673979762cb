//! A request as the operations read it, and what they answer.

use axum::body::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::operation::Operation;
use crate::refusal::Refusal;

/// An extension of a request: whom the certificate names that its client showed.
#[derive(Clone, Debug)]
pub struct Peer(pub String);

/// What was asked, as the operations read it.
#[derive(Debug)]
pub struct Call {
    pub operation: Operation,
    /// The path and the query, as the record has them.
    pub uri: String,
    /// The parameters of the path, in order.
    pub path: Vec<String>,
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    pub peer: Option<Peer>,
    /// None where it is too large.
    pub body: Option<Bytes>,
}

/// The answer to what was done.
#[derive(Debug)]
pub struct Done {
    pub status: StatusCode,
    /// None for an answer without a body, which is not one that says null.
    pub body: Option<Value>,
}

impl Call {
    /// The body as it came.
    pub fn bytes(&self) -> Result<&Bytes, Refusal> {
        match &self.body {
            Some(body) => Ok(body),
            None => Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")),
        }
    }

    /// The body, as JSON.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_slice(self.bytes()?).map_err(|error| Refusal::invalid(error.to_string()))
    }

    /// A parameter of the path, by its place.
    pub fn parameter(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// The organization and the project of the path.
    pub fn scope(&self) -> [&str; 2] {
        [self.parameter(0), self.parameter(1)]
    }

    /// All values of a parameter of the query.
    pub fn all_of(&self, name: &str) -> Vec<String> {
        self.query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    /// A header, where it is text.
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
