//! Logs: to standard error, for people or as JSON, with a filter that can be changed while the process runs.

use std::fmt;
use std::io::IsTerminal;
use std::sync::Arc;

use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One line of text for people; colours only on a terminal.
    Text,
    /// One JSON object a line.
    Json,
}

type SetFilter = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// The filter of a process's log.
#[derive(Clone)]
pub struct LogFilter(Arc<SetFilter>);

impl LogFilter {
    /// One that `set` replaces.
    pub fn new(set: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(set))
    }

    /// Replaces the filter. One that cannot be parsed is an error, and leaves the present one in force.
    pub fn set(&self, filter: &str) -> Result<(), String> {
        (self.0)(filter)
    }
}

impl fmt::Debug for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogFilter")
    }
}

/// Starts logging. `filter` is in the syntax of `tracing_subscriber::EnvFilter`, such as `info,fedhub_planes=debug`.
/// Returns the filter, to be replaced.
pub fn start(filter: &str, format: LogFormat) -> Result<LogFilter, String> {
    let colours = std::io::stderr().is_terminal();
    let (subscriber, filter) = subscriber(filter, format, colours, std::io::stderr)?;
    subscriber.try_init().map_err(|e| format!("logging: {e}"))?;
    Ok(filter)
}

fn subscriber<W>(
    filter: &str,
    format: LogFormat,
    colours: bool,
    writer: W,
) -> Result<(impl SubscriberInitExt, LogFilter), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(parse(filter)?);
    let set = move |filter: &str| handle.reload(parse(filter)?).map_err(|e| format!("logging: {e}"));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    let layer = match format {
        LogFormat::Text => layer.with_ansi(colours).boxed(),
        LogFormat::Json => layer.json().boxed(),
    };
    Ok((tracing_subscriber::registry().with(layer.with_filter(filter)), LogFilter::new(set)))
}

fn parse(filter: &str) -> Result<Box<dyn Filter<Registry> + Send + Sync>, String> {
    let parsed = EnvFilter::try_new(filter).map_err(|e| format!("log filter {filter:?}: {e}"))?;
    Ok(Box::new(parsed.and(filter_fn(|metadata| !is_verbose_client_target(metadata.target())))))
}

/// The Kubernetes client logs whole answers that it cannot decode and dumps of refusals, some of them as warnings. What
/// counts of them is in the errors that it returns, which [`crate::errors::chain`] renders.
fn is_verbose_client_target(target: &str) -> bool {
    ["kube_client::client", "kube_client::api"].contains(&target)
        || target.split("::").next() == Some("kube_runtime")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 6, whatever the filter asks for.
    #[tokio::test]
    async fn no_answer_of_a_server_is_logged_whole() {
        let server = fedhub_fake_apiserver::ApiServer::builder("hub").build();
        for fault in [
            fedhub_fake_apiserver::Fault::Html,
            fedhub_fake_apiserver::Fault::Garbage,
            fedhub_fake_apiserver::Fault::Status(503),
        ] {
            for (filter, format) in [
                ("info", LogFormat::Text),
                ("trace", LogFormat::Json),
                (
                    "info,kube_client=trace,kube_client::client=trace,kube_runtime::watcher=trace",
                    LogFormat::Text,
                ),
            ] {
                let lines = fedhub_fake_apiserver::LogLines::default();
                let writer = lines.clone();
                let (subscriber, _) = subscriber(filter, format, false, move || writer.clone()).unwrap();
                let dispatch = subscriber.into();
                let told = {
                    let _guard = tracing::dispatcher::set_default(&dispatch);
                    tracing::warn!("a line of our own");
                    let id = server.fault(fault);
                    let error = server.client().list_api_groups().await.unwrap_err();
                    server.clear_fault(id);
                    crate::errors::chain(&error)
                };
                let logged = lines.text();
                assert!(logged.contains("a line of our own"), "{logged}");
                for body in ["<html", "this is not", "Status {", "\"kind\""] {
                    assert!(
                        !logged.contains(body) && !told.contains(body),
                        "{fault:?} {filter}: {logged}{told}"
                    );
                }
            }
        }
    }

    #[test]
    fn another_filter_counts_at_once_and_an_invalid_one_changes_nothing() {
        let lines = fedhub_fake_apiserver::LogLines::default();
        let writer = lines.clone();
        let (subscriber, filter) =
            subscriber("info", LogFormat::Text, false, move || writer.clone()).unwrap();
        let dispatch = subscriber.into();
        let _guard = tracing::dispatcher::set_default(&dispatch);
        let step = |name: &'static str| {
            tracing::debug!(step = name, "detail");
            lines.text().contains(&format!("step=\"{name}\""))
        };
        assert!(!step("before"));
        filter.set("info,fedhub_core=debug").unwrap();
        assert!(step("debug"));
        let error = filter.set("info,fedhub_core=loud").unwrap_err();
        assert!(error.contains("info,fedhub_core=loud"), "{error}");
        assert!(step("refused"));
        filter.set("info").unwrap();
        assert!(!step("after"));
        // Section 6, whatever the filter asks for.
        filter.set("trace").unwrap();
        tracing::warn!(target: "kube_client::client", "a whole answer");
        assert!(!lines.text().contains("a whole answer"));
    }
}
