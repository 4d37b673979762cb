//! Logs: to standard error, for people or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One line of text for people; colours only on a terminal.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging. `filter` is in the syntax of `tracing_subscriber::EnvFilter`, such as `info,fedhub_planes=debug`.
pub fn start(filter: &str, format: LogFormat) -> Result<(), String> {
    let colours = std::io::stderr().is_terminal();
    let subscriber = subscriber(filter, format, colours, std::io::stderr)?;
    subscriber.try_init().map_err(|e| format!("logging: {e}"))
}

fn subscriber<W>(
    filter: &str,
    format: LogFormat,
    colours: bool,
    writer: W,
) -> Result<impl SubscriberInitExt, String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(filter).map_err(|e| format!("log filter {filter:?}: {e}"))?;
    let filter = filter.and(filter_fn(|metadata| !is_verbose_client_target(metadata.target())));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    let layer = match format {
        LogFormat::Text => layer.with_ansi(colours).boxed(),
        LogFormat::Json => layer.json().boxed(),
    };
    Ok(tracing_subscriber::registry().with(layer.with_filter(filter)))
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
                let dispatch = subscriber(filter, format, false, move || writer.clone()).unwrap().into();
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
}
