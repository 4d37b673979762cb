//! What Alertmanager notifies.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response};
use http_body_util::{BodyExt, Collected, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::Error;

/// An alert as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Whether it fires; else it is resolved.
    pub firing: bool,
    /// Its annotation `summary`.
    pub summary: String,
    labels: BTreeMap<String, String>,
}

impl Notification {
    /// A label; empty where it has none of that name.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

#[derive(Deserialize)]
struct Message {
    alerts: Vec<Alert>,
}

#[derive(Deserialize)]
struct Alert {
    status: String,
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The alerts of a message of Alertmanager.
fn parse(body: &[u8]) -> Result<Vec<Notification>, serde_json::Error> {
    let message: Message = serde_json::from_slice(body)?;
    Ok(message
        .alerts
        .into_iter()
        .map(|mut alert| Notification {
            firing: alert.status == "firing",
            summary: alert.annotations.remove("summary").unwrap_or_default(),
            labels: alert.labels,
        })
        .collect())
}

/// A receiver on 127.0.0.1. It ends with this value.
pub struct Webhook {
    port: u16,
    notifications: Arc<Mutex<Vec<Notification>>>,
    task: JoinHandle<()>,
}

impl Webhook {
    /// Listens on a free port.
    pub async fn listen() -> Result<Self, Error> {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::file("listen on", "127.0.0.1"))?;
        let port = listener.local_addr().map_err(Error::file("listen on", "127.0.0.1"))?.port();
        let notifications = Arc::<Mutex<Vec<Notification>>>::default();
        let all = notifications.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, all.clone()));
            }
        });
        Ok(Self { port, notifications, task })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the notifications that have arrived, in order.
    pub fn notifications(&self) -> Vec<Notification> {
        self.notifications.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, all: Arc<Mutex<Vec<Notification>>>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let all = all.clone();
        async move {
            let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
            let mut response = Response::new(Empty::<Bytes>::new());
            match parse(&body) {
                Ok(alerts) => all.lock().unwrap_or_else(PoisonError::into_inner).extend(alerts),
                // Alertmanager writes down what it was answered.
                Err(_) => *response.status_mut() = http::StatusCode::BAD_REQUEST,
            }
            Ok::<_, Infallible>(response)
        }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alert_of_a_message_is_read() {
        let body = br#"{"status":"firing","receiver":"x","alerts":[
            {"status":"firing","labels":{"alertname":"A","city":"DFW"},"annotations":{"summary":"s"},"fingerprint":"1"},
            {"status":"resolved","labels":{"alertname":"B"}}]}"#;
        let all = parse(body).unwrap();
        assert_eq!(all.len(), 2);
        assert!(all[0].firing && all[0].label("city") == "DFW" && all[0].summary == "s");
        assert!(!all[1].firing && all[1].label("city").is_empty());
        assert!(parse(b"{}").is_err());
    }
}
