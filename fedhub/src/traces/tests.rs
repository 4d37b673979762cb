//! The exporter with a receiver on loopback.

use std::collections::BTreeMap;

use ::http::{Request as HttpRequest, Response as HttpResponse};
use fedhub_core::object::{Kind, PlaneId};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span as Sent;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// An OTLP receiver that answers that code: each batch with the path that it came to.
async fn receiver(code: u16) -> (String, mpsc::UnboundedReceiver<(String, ExportTraceServiceRequest)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (received, batches) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let received = received.clone();
            let service = service_fn(move |request: HttpRequest<Incoming>| {
                let received = received.clone();
                async move {
                    assert_eq!(request.headers()["content-type"], "application/x-protobuf");
                    let path = request.uri().path().to_owned();
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    drop(received.send((path, ExportTraceServiceRequest::decode(body).unwrap())));
                    HttpResponse::builder().status(code).body(Full::<Bytes>::default())
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (endpoint, batches)
}

fn traces(endpoint: &str, settings: &Settings) -> Arc<Traces> {
    let exporter =
        SpanExporter::builder().with_http().with_http_client(Http::from_settings(settings).unwrap());
    let exporter =
        opentelemetry_otlp::WithExportConfig::with_endpoint(exporter, format!("{endpoint}/v1/traces"));
    Traces::over(exporter.build().unwrap(), settings, vec![KeyValue::new("service.version", "1")])
}

fn usual() -> Settings {
    Settings::from_environment(|_| None).unwrap().unwrap()
}

fn change(generation: i64) -> TracedGeneration {
    TracedGeneration { uid: "7c6e0a54".to_owned(), generation }
}

fn key(kind: Kind, name: &str) -> Key {
    Key { plane: PlaneId::Hub, kind, namespace: "ns-1".into(), name: name.into() }
}

fn reconciled(change: Option<TracedGeneration>, failed: bool) -> Reconciled {
    Reconciled {
        controller: "projector",
        key: key(Kind::Instance, "web-0"),
        outcome: if failed { "transient" } else { "updated" },
        failed,
        took: Duration::from_millis(250),
        waited: Duration::from_millis(5),
        change,
    }
}

fn converged(generation: i64) -> Converged {
    Converged {
        key: key(Kind::WorkloadDeployment, "web"),
        change: change(generation),
        took: Duration::from_secs(2),
    }
}

fn attributes(span: &Sent) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let value = |of: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        text(of.value.as_ref().unwrap().value.as_ref().unwrap())
    };
    span.attributes.iter().map(|of| (of.key.as_str(), value(of))).collect()
}

#[tokio::test]
async fn a_receiver_gets_the_spans_of_a_change_as_one_trace() {
    let (endpoint, mut batches) = receiver(200).await;
    let traces = traces(&endpoint, &usual());
    traces.reconciled(reconciled(Some(change(3)), false));
    traces.reconciled(reconciled(Some(change(3)), true));
    traces.reconciled(reconciled(None, false));
    traces.converged(converged(3));
    traces.end().await;
    let (path, batch) = batches.recv().await.unwrap();
    assert_eq!(path, "/v1/traces");
    let of = &batch.resource_spans[0];
    let resource: Vec<_> =
        of.resource.as_ref().unwrap().attributes.iter().map(|of| of.key.as_str()).collect();
    assert!(resource.contains(&"service.name") && resource.contains(&"service.version"), "{resource:?}");
    let spans = &of.scope_spans[0].spans;
    let [updated, failed, other, root] = &spans[..] else { panic!("{spans:?}") };
    let id = change(3).trace_id().to_be_bytes();
    for span in [updated, failed, root] {
        assert_eq!(span.trace_id, id);
        assert_eq!(attributes(span)["fedhub.change.generation"], "3");
    }
    assert_eq!(root.span_id, change(3).root_span_id().to_be_bytes());
    assert!(root.parent_span_id.is_empty() && root.name == "change");
    assert_eq!((&updated.parent_span_id, &failed.parent_span_id), (&root.span_id, &root.span_id));
    assert!(updated.span_id != failed.span_id && other.trace_id != id && other.parent_span_id.is_empty());
    let expected = [
        ("fedhub.controller", "projector"),
        ("fedhub.plane", "hub"),
        ("fedhub.object.namespace", "ns-1"),
        ("fedhub.object.name", "web-0"),
        ("fedhub.outcome", "updated"),
    ];
    for (key, value) in expected {
        assert_eq!(attributes(updated)[key], value);
    }
    assert_eq!(updated.end_time_unix_nano - updated.start_time_unix_nano, 250_000_000);
    let codes = [updated, failed].map(|span| span.status.as_ref().map_or(0, |status| status.code));
    assert_eq!(codes, [0, 2]);
}

#[tokio::test]
async fn a_share_of_the_traces_is_exported_whole_or_not_at_all() {
    let (endpoint, mut batches) = receiver(200).await;
    let traces = traces(&endpoint, &Settings { share: Some(0.5), ..usual() });
    for generation in 0..200 {
        traces.reconciled(reconciled(Some(change(generation)), false));
        traces.converged(converged(generation));
    }
    traces.end().await;
    let (_, batch) = batches.recv().await.unwrap();
    let mut spans = BTreeMap::<_, usize>::new();
    for span in &batch.resource_spans[0].scope_spans[0].spans {
        *spans.entry(span.trace_id.clone()).or_default() += 1;
    }
    assert!((60..140).contains(&spans.len()), "{}", spans.len());
    assert!(spans.values().all(|count| *count == 2));
}

/// I8: what takes no spans, for whatever reason, holds nobody up.
#[tokio::test]
async fn i8_a_receiver_that_fails_or_is_not_there_holds_up_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let endpoints = [
        receiver(503).await.0,
        format!("http://{nobody}"),
        format!("http://{}", silent.local_addr().unwrap()),
    ];
    let held_up = endpoints.map(async |endpoint| {
        let traces = traces(&endpoint, &Settings { timeout: Duration::from_millis(200), ..usual() });
        let began = std::time::Instant::now();
        // More than fits into the queue.
        for generation in 0..10_000 {
            traces.reconciled(reconciled(Some(change(generation)), false));
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{endpoint}");
        traces.end().await;
        assert!(began.elapsed() < Duration::from_secs(20), "{endpoint}");
    });
    futures::future::join_all(held_up).await;
}
