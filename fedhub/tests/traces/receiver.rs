//! An OTLP/HTTP receiver.

use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

/// The receiver, and what it got.
pub struct Receiver {
    endpoint: String,
    batches: Mutex<mpsc::UnboundedReceiver<Vec<Span>>>,
}

impl Receiver {
    /// Listens on loopback.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (received, batches) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let received = received.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let received = received.clone();
                    async move {
                        assert_eq!(request.uri().path(), "/v1/traces");
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        drop(received.send(spans(body)));
                        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { endpoint, batches: Mutex::new(batches) }
    }

    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The next batch.
    pub async fn spans(&self) -> Vec<Span> {
        self.batches.lock().await.recv().await.unwrap()
    }
}

fn spans(body: Bytes) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|of| of.scope_spans);
    scopes.flat_map(|of| of.spans).collect()
}

/// A text among the attributes of a span.
pub fn attribute<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    let found = span.attributes.iter().find(|of| of.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}
