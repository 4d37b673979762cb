//! A client of a region, for tests.

use std::time::Duration;

use axum::body::Body;
use fedhub_region::known::{IMAGE, NETWORK, SMALL};
use fedhub_region::{Options, Region};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

/// The ID of nothing.
pub const NOBODYS: &str = "b0000000-0000-4000-8000-0000000000ff";

/// An answer of the region.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

/// A client with a token.
pub struct Client {
    pub region: Region,
    pub token: String,
}

impl Client {
    pub async fn new(options: Options) -> Self {
        let mut client = Self { region: Region::new(options), token: String::new() };
        client.renew().await;
        client
    }

    /// Gets a new token.
    pub async fn renew(&mut self) {
        let form = "grant_type=client_credentials&client_id=fedhub&client_secret=a-secret-of-tests";
        let answer = self.send(Method::POST, "/oauth2/v2/token", form.to_owned()).await.unwrap();
        answer.body["access_token"].as_str().unwrap_or_default().clone_into(&mut self.token);
    }

    /// Sends a request; none where it was not answered.
    pub async fn send(&self, method: Method, path: &str, body: String) -> Option<Answer> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(self.region.connect())).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", "region");
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        let response = sender.send_request(request.body(Body::from(body)).unwrap()).await.ok()?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.ok()?.to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, String::new()).await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, body.to_string()).await.unwrap()
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, body.to_string()).await.unwrap()
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, String::new()).await.unwrap()
    }

    /// Makes a server that has to be accepted, and returns its ID.
    pub async fn create(&self, name: &str, instance: &str) -> String {
        let answer = self.post("/api/v2/servers", &server(name, instance)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["metadata"]["id"].as_str().unwrap().to_owned()
    }
}

/// The body of a request for a server.
pub fn server(name: &str, instance: &str) -> Value {
    json!({
        "metadata": {"name": name, "tags": [{"name": fedhub_region::INSTANCE_TAG, "value": instance}]},
        "spec": {"flavorId": SMALL, "imageId": IMAGE, "networkId": NETWORK},
    })
}

/// The path of a server.
pub fn path(id: &str) -> String {
    format!("/api/v2/servers/{id}")
}

/// Lets some milliseconds pass.
pub async fn millis(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
