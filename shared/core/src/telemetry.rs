//! Logs: to standard error, for people or as JSON, with a filter that can be changed while the process runs.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use fedhub_terminal::{painted_line, plain_json};
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
    /// Creates a filter that `set` replaces.
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

/// Starts logging. `filter` is in the syntax of `tracing_subscriber::EnvFilter`, such as
/// `info,fedhub_planes=debug`. Returns the filter, to be replaced.
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
    let layer = tracing_subscriber::fmt::layer().with_writer(PlainWriter { writer, format, colours });
    let layer = match format {
        LogFormat::Text => layer.with_ansi(colours).boxed(),
        LogFormat::Json => layer.json().boxed(),
    };
    Ok((
        tracing_subscriber::registry().with(layer.with_filter(filter)),
        LogFilter::new(move |filter| handle.reload(parse(filter)?).map_err(|e| format!("logging: {e}"))),
    ))
}

/// The sequences that the text format paints with: levels, names of fields, and what is less important.
const PAINT: [&str; 9] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[3m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
];

/// Writes log lines in which nothing that others wrote steers a terminal, turns the direction of a text, or
/// begins a line.
struct PlainWriter<M> {
    writer: M,
    format: LogFormat,
    colours: bool,
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for PlainWriter<M> {
    type Writer = PlainLines<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        PlainLines { writer: self.writer.make_writer(), format: self.format, colours: self.colours }
    }
}

struct PlainLines<W> {
    writer: W,
    format: LogFormat,
    colours: bool,
}

impl<W: Write> Write for PlainLines<W> {
    /// The layer writes each line in one piece, with its end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        let line = text.strip_suffix('\n').unwrap_or(text);
        let plain = match self.format {
            LogFormat::Json => plain_json(line),
            LogFormat::Text => painted_line(line, if self.colours { &PAINT } else { &[] }),
        };
        match plain {
            Cow::Borrowed(_) => self.writer.write_all(bytes)?,
            Cow::Owned(plain) => self.writer.write_all((plain + &text[line.len()..]).as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn parse(filter: &str) -> Result<Box<dyn Filter<Registry> + Send + Sync>, String> {
    let parsed = EnvFilter::try_new(filter).map_err(|e| format!("log filter {filter:?}: {e}"))?;
    Ok(Box::new(parsed.and(filter_fn(|metadata| !is_verbose_client_target(metadata.target())))))
}

/// The Kubernetes client logs whole answers that it cannot decode and dumps of refusals, some of them as
/// warnings. What counts of them is in the errors that it returns, which [`crate::errors::chain`] renders.
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

    /// What others wrote can neither draw, nor hide, nor begin a line, however it gets into a log.
    #[test]
    fn i15_nothing_in_a_log_steers_a_terminal() {
        const CONTROLS: [char; 18] = [
            '\u{7}', '\r', '\u{1b}', '\u{7f}', '\u{80}', '\u{9b}', '\u{9d}', '\u{61c}', '\u{200e}',
            '\u{200f}', '\u{202a}', '\u{202d}', '\u{202e}', '\u{2028}', '\u{2029}', '\u{2066}', '\u{2068}',
            '\u{2069}',
        ];
        let hostile =
            CONTROLS.iter().fold("a\n2026-01-02T03:04:05Z ERROR all is lost".to_owned(), |text, control| {
                format!("{text}{control}[31mb")
            });
        for (format, colours, own) in [
            (LogFormat::Text, false, &[][..]),
            (LogFormat::Text, true, &PAINT[..]),
            (LogFormat::Json, false, &[]),
        ] {
            let lines = fedhub_fake_apiserver::LogLines::default();
            let writer = lines.clone();
            let (subscriber, _) = subscriber("info", format, colours, move || writer.clone()).unwrap();
            let dispatch = subscriber.into();
            let _guard = tracing::dispatcher::set_default(&dispatch);
            let error: Box<dyn std::error::Error> = hostile.clone().into();
            tracing::warn!(plane = hostile, name = %hostile, uid = ?hostile, error = &*error, "told: {hostile}");
            let logged = lines.text();
            let line = logged.strip_suffix('\n').unwrap();
            let text = own.iter().fold(line.to_owned(), |text, own| text.replace(own, ""));
            let active = text.contains(|it: char| CONTROLS.contains(&it) || it.is_control());
            assert!(!active, "{format:?}, colours {colours}: {line:?}");
            assert_eq!(line.contains(PAINT[0]), colours, "{line}");
            assert!(line.contains("all is lost"), "{line}");
            if format == LogFormat::Json {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(value["fields"]["name"], hostile.as_str(), "a program reads what was written");
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
