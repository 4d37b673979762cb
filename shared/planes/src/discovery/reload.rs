//! Credentials on disk that change while the process runs.
//!
//! The content is what counts, read again and again: a mounted Secret changes by a symbolic link that is
//! swapped, and a kubeconfig refers to other files. What cannot be used changes nothing, is said once and
//! looked at again.

use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::metrics::Metrics;
use tokio_util::sync::CancellationToken;

use super::credentials::{Loaded, Source};
use super::expiry::{self, Expiry};
use crate::transport::Server;

/// How long after a change the source is read once more. The change is taken if it has not changed since,
/// because no writer tells when the last of several files is written.
const SETTLED: Duration = Duration::from_secs(1);

/// Credentials that are in use.
pub struct Followed {
    /// The name of the credentials in the log and the metrics: `hub`, `management`, `discovery`.
    name: &'static str,
    source: Source,
    server: Server,
    /// The fingerprint of the content in use.
    print: u64,
    /// When that ends.
    expires: Option<Expiry>,
    /// What was said last of a source that cannot be used.
    failure: Option<String>,
}

impl Followed {
    /// `server` was made from `loaded`, which was read from `source`.
    pub fn new(name: &'static str, source: Source, loaded: &Loaded, server: &Server) -> Self {
        let expires = Expiry::read(&loaded.config);
        Self { name, source, server: server.clone(), print: loaded.print, expires, failure: None }
    }

    /// Looks at the source every `interval`, until `stop`.
    pub async fn run(mut self, interval: Duration, metrics: Metrics, stop: CancellationToken) {
        metrics.credentials_stale.with_label_values(&[self.name]).set(0);
        metrics.credentials_reloads.with_label_values(&[self.name]);
        expiry::publish(self.name, self.expires, &metrics);
        let mut changed = None;
        loop {
            let wait = if changed.is_some() { SETTLED.min(interval) } else { interval };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            changed = self.look(changed, &metrics).await;
        }
    }

    /// Reads the source, and takes what it says if that is news and was so the last time, too. Returns what
    /// is news.
    async fn look(&mut self, changed: Option<u64>, metrics: &Metrics) -> Option<u64> {
        let source = self.source.clone();
        // A disk may hang, and a task that waits for it must not hold up others.
        let read = tokio::task::spawn_blocking(move || source.read().map_err(|e| errors::chain(&e)));
        let loaded = match read.await.unwrap_or_else(|e| Err(e.to_string())) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.keep(error, metrics);
                return None;
            }
        };
        if loaded.print == self.print {
            self.right(metrics);
            return None;
        }
        if changed != Some(loaded.print) {
            return Some(loaded.print);
        }
        let server = self.server.clone();
        let print = loaded.print;
        let expires = Expiry::read(&loaded.config);
        // Where the kubeconfig names a program that has to be asked, this waits for it.
        let replaced = tokio::task::spawn_blocking(move || server.replace(&loaded.config));
        match replaced.await.map_err(|e| e.to_string()).and_then(|r| r.map_err(|e| errors::chain(&e))) {
            Ok(()) => {
                self.print = print;
                self.expires = expires;
                expiry::publish(self.name, expires, metrics);
                self.right(metrics);
                metrics.credentials_reloads.with_label_values(&[self.name]).inc();
                tracing::info!(credentials = self.name, "credentials reloaded");
            }
            Err(error) => self.keep(error, metrics),
        }
        None
    }

    fn keep(&mut self, error: String, metrics: &Metrics) {
        metrics.credentials_stale.with_label_values(&[self.name]).set(1);
        if self.failure.as_ref() != Some(&error) {
            tracing::warn!(
                credentials = self.name,
                error,
                "failed to reload credentials, keeping the previous ones"
            );
            self.failure = Some(error);
        }
    }

    fn right(&mut self, metrics: &Metrics) {
        metrics.credentials_stale.with_label_values(&[self.name]).set(0);
        if self.failure.take().is_some() {
            tracing::info!(credentials = self.name, "credentials on disk are valid again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Transport, TransportConfig};
    use fedhub_cache::MemoryBudget;

    #[tokio::test]
    async fn what_changes_is_taken_when_it_has_settled() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        let write = |token: &str| {
            let kubeconfig = serde_json::json!({
                "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": token}}],
            });
            std::fs::write(&file, kubeconfig.to_string()).unwrap();
        };
        write("one");
        let source = Source::file(&file, None);
        let metrics = Metrics::new().unwrap();
        let loaded = source.read().unwrap();
        let transport =
            Transport::new(TransportConfig::default(), metrics.clone(), MemoryBudget::unlimited());
        let server = transport.server(&loaded.config).unwrap();
        let mut followed = Followed::new("hub", source, &loaded, &server);
        let reloads = || metrics.credentials_reloads.with_label_values(&["hub"]).get();
        assert_eq!(followed.look(None, &metrics).await, None, "no news");
        write("tw");
        let half = followed.look(None, &metrics).await;
        write("two");
        let whole = followed.look(half, &metrics).await;
        assert!(half.is_some() && whole.is_some() && half != whole);
        assert_eq!(reloads(), 0, "it was still being written");
        assert_eq!(followed.look(whole, &metrics).await, None);
        assert_eq!(reloads(), 1);
        assert_eq!(followed.look(None, &metrics).await, None, "once");
    }
}
