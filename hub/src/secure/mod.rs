//! The pages for callers on other hosts: over HTTPS, to whom the cluster says may read them, or to whom shows a client
//! certificate (`gate`). What the pages are is not known here: they are those of `crate::admin`.
//!
//! Bounded in all: so many connections, a time for the handshake, for a request's headers and for a connection as a whole,
//! so many reviews at once and so many of their answers in memory (`reviews`).

pub mod args;
mod cache;
mod gate;
mod reviews;
mod tls;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::errors;
use fedhub_core::metrics::Metrics;
use http::request::Parts;
use http::{Method, StatusCode};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::admin::{Answer, Pages, text};
use args::MetricsArgs;
use gate::{Credential, Refusal};
use reviews::Reviews;
use tls::Tls;

/// How many connections there may be; others wait to be accepted.
const CONNECTIONS: usize = 64;
/// How long a TLS handshake may take, and the headers of a request, the wait for the next one included.
const BEGINS_WITHIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// How long a connection may last: client certificates are checked at its beginning only.
const LASTS: Duration = Duration::from_mins(5);
/// How long a connection may go on with what is under way after that.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// How large the headers of a request may be, in bytes: a token with many claims has room.
const HEADERS: usize = 32 << 10;

/// What is served, and to whom.
pub struct Secure {
    pages: Pages,
    reviews: Reviews,
    tls: Arc<Tls>,
    metrics: Metrics,
}

impl Secure {
    /// The server that the flags describe. `cluster` is a client of the cluster that is asked about callers.
    pub fn of(
        args: &MetricsArgs,
        pages: Pages,
        cluster: kube::Client,
        metrics: Metrics,
    ) -> anyhow::Result<Self> {
        let tls = Tls::of(args).context("--metrics-address")?;
        Ok(Self { pages, reviews: Reviews::of(cluster), tls, metrics })
    }

    /// Listens on `address` and answers until `stop`, with files that are looked at every `interval`. Returns the address
    /// that was bound.
    pub async fn serve(
        self,
        address: SocketAddr,
        interval: Duration,
        stop: CancellationToken,
    ) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        tokio::spawn(self.tls.clone().follow(interval, self.metrics.clone(), stop.clone()));
        tokio::spawn(Arc::new(self).accept(listener, stop));
        Ok(bound)
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let accepted = async {
                let place = room.clone().acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                () = stop.cancelled() => return,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (this, stop) = (self.clone(), stop.clone());
                    tokio::spawn(async move {
                        tokio::select! { () = stop.cancelled() => (), () = this.connection(stream) => () }
                        drop(place);
                    });
                }
                Err(error) => {
                    // Out of file descriptors, most often: do not spin on it.
                    tracing::warn!(error = errors::chain(&error), "failed to accept a connection for pages");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Serves one connection to its end. A caller that does not keep to the protocols is no concern of the others'.
    async fn connection<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) {
        let handshake = TlsAcceptor::from(self.tls.current()).accept(stream);
        let Ok(Ok(stream)) = tokio::time::timeout(BEGINS_WITHIN.0, handshake).await else { return };
        let is_certified = stream.get_ref().1.peer_certificates().is_some();
        let service = service_fn(|request: http::Request<hyper::body::Incoming>| async move {
            Ok::<_, Infallible>(self.answer(is_certified, request.into_parts().0).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(BEGINS_WITHIN.1)
            .max_buf_size(HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        if tokio::time::timeout(LASTS, connection.as_mut()).await.is_err() {
            connection.as_mut().graceful_shutdown();
            let _cut_off = tokio::time::timeout(ENDS_WITHIN, connection).await;
        }
    }

    async fn answer(&self, is_certified: bool, request: Parts) -> Answer {
        if let Err(refusal) = self.admit(is_certified, &request).await {
            self.metrics.page_requests_refused.with_label_values(&[refusal.label()]).inc();
            return refusal.answer();
        }
        let page = (self.pages)(request).await;
        page.unwrap_or_else(|| text(StatusCode::NOT_FOUND, "try /metrics\n"))
    }

    async fn admit(&self, is_certified: bool, request: &Parts) -> Result<(), Refusal> {
        if request.method != Method::GET {
            return Err(Refusal::Method);
        }
        match Credential::of(is_certified, &request.headers) {
            Credential::Certificate => Ok(()),
            Credential::Token(token) => self.reviews.check(token, request.uri.path()).await,
            Credential::Missing => Err(Refusal::NoCredential),
        }
    }
}

#[cfg(test)]
mod tests;
