//! Traces over OTLP/HTTP: a span for each reconcile that had something to do, below one for the whole way of
//! the change that it answers (`fedhub_core::trace`). Off without `--traces`.
//!
//! Spans go through a bounded queue to a thread of the SDK, and are dropped where that is full: a collector
//! that hangs or fails holds up nothing.

mod http;
pub mod settings;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use fedhub_core::object::Key;
use fedhub_core::trace::{Converged, Reconciled, Recorder, TracedGeneration};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, IdGenerator, RandomIdGenerator, Sampler, SamplingDecision, ShouldSample, SpanData,
    SpanEvents, SpanLinks, SpanProcessor,
};

use self::http::Http;
use settings::Settings;

/// How long the end of the process waits for the last batch.
const LAST_BATCH: Duration = Duration::from_secs(5);

/// Where the spans of this process go.
#[derive(Debug)]
pub struct Traces {
    processor: BatchSpanProcessor,
    sampler: Sampler,
    ids: RandomIdGenerator,
    scope: InstrumentationScope,
}

impl Traces {
    /// Starts the export with these settings, and with what the SDK reads from the environment.
    pub fn start(settings: &Settings, attributes: Vec<KeyValue>) -> anyhow::Result<Arc<Self>> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Http::from_settings(settings)?)
            .build()
            .context("the OTLP exporter")?;
        Ok(Self::over(exporter, settings, attributes))
    }

    fn over(exporter: SpanExporter, settings: &Settings, attributes: Vec<KeyValue>) -> Arc<Self> {
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        processor.set_resource(&resource(attributes));
        let scope = InstrumentationScope::builder("fedhub").with_version(env!("CARGO_PKG_VERSION")).build();
        let sampler = settings.sampler();
        let ids = RandomIdGenerator::default();
        Arc::new(Self { processor, sampler, ids, scope })
    }

    /// Exports what is left.
    pub async fn end(self: Arc<Self>) {
        let ended = tokio::task::spawn_blocking(move || self.processor.shutdown_with_timeout(LAST_BATCH));
        if !matches!(ended.await, Ok(Ok(()))) {
            tracing::warn!("failed to export the last traces");
        }
    }

    fn record(&self, span: Span<'_>) {
        let end_time = SystemTime::now();
        let Span { name, trace, id, parent, took, key, change, mut attributes, status } = span;
        let sampled = self.sampler.should_sample(None, trace, &name, &SpanKind::Internal, &[], &[]);
        if sampled.decision != SamplingDecision::RecordAndSample {
            return;
        }
        let Key { plane, kind, namespace, name: object } = key;
        attributes.extend([
            KeyValue::new("fedhub.plane", plane.to_string()),
            KeyValue::new("fedhub.object.kind", format!("{kind:?}")),
            KeyValue::new("fedhub.object.namespace", namespace.to_string()),
            KeyValue::new("fedhub.object.name", object.to_string()),
        ]);
        if let Some(TracedGeneration { uid, generation }) = change {
            attributes.push(KeyValue::new("fedhub.change.uid", uid.clone()));
            attributes.push(KeyValue::new("fedhub.change.generation", *generation));
        }
        let state = TraceState::default();
        self.processor.on_end(SpanData {
            span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, state),
            parent_span_id: parent,
            // It may have been made by another process.
            parent_span_is_remote: parent != SpanId::INVALID,
            span_kind: SpanKind::Internal,
            name,
            start_time: end_time.checked_sub(took).unwrap_or(end_time),
            end_time,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status,
            instrumentation_scope: self.scope.clone(),
        });
    }
}

/// The parts in which the spans of a controller and of a change differ.
struct Span<'a> {
    name: Cow<'static, str>,
    trace: TraceId,
    id: SpanId,
    parent: SpanId,
    took: Duration,
    key: &'a Key,
    change: Option<&'a TracedGeneration>,
    attributes: Vec<KeyValue>,
    status: Status,
}

impl Recorder for Traces {
    fn reconciled(&self, span: Reconciled) {
        let Reconciled { controller, key, outcome, failed, took, waited, change } = span;
        // What answers no change of a project that is known has a trace of its own.
        let (trace, parent) = match &change {
            Some(change) => (TraceId::from(change.trace_id()), SpanId::from(change.root_span_id())),
            None => (self.ids.new_trace_id(), SpanId::INVALID),
        };
        let status = if failed { Status::error(outcome) } else { Status::Unset };
        let attributes = vec![
            KeyValue::new("fedhub.controller", controller),
            KeyValue::new("fedhub.outcome", outcome),
            KeyValue::new("fedhub.waited_seconds", waited.as_secs_f64()),
        ];
        self.record(Span {
            name: format!("reconcile {controller}").into(),
            trace,
            id: self.ids.new_span_id(),
            parent,
            took,
            key: &key,
            change: change.as_ref(),
            attributes,
            status,
        });
    }

    fn converged(&self, span: Converged) {
        let Converged { key, change, took } = span;
        self.record(Span {
            name: "change".into(),
            trace: change.trace_id().into(),
            id: change.root_span_id().into(),
            parent: SpanId::INVALID,
            took,
            key: &key,
            change: Some(&change),
            attributes: Vec::new(),
            status: Status::Unset,
        });
    }
}

/// Returns the resource of `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, fedhub by default, with these
/// attributes.
fn resource(attributes: Vec<KeyValue>) -> Resource {
    let said = Resource::builder().build();
    let name = said.get(&"service.name".into()).map(|name| name.to_string());
    let unsaid = attributes.into_iter().filter(|attribute| said.get(&attribute.key).is_none());
    let builder = Resource::builder().with_attributes(unsaid);
    match name {
        Some(name) if !name.starts_with("unknown_service") => builder.build(),
        _ => builder.with_service_name("fedhub").build(),
    }
}

#[cfg(test)]
mod tests;
