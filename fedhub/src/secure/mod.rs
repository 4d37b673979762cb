//! The pages for callers on other hosts: over HTTPS, to whom the cluster says may read them, or to whom shows
//! a client certificate (`gate`). What the pages are is not known here: they are those of `crate::admin`.
//!
//! `server` is the HTTPS server, which `crate::webhooks` stands on too. Bounded in all: so many connections,
//! a time for the handshake, for a request's headers and for a connection as a whole, so many reviews at
//! once, few of them for one address, and so many of their answers in memory (`reviews`).

pub mod args;
pub mod cache;
pub mod gate;
mod reviews;
pub mod server;
pub mod tls;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Router};
use fedhub_core::metrics::Metrics;
use http::request::Parts;
use http::{Method, StatusCode};

use crate::admin::{METRICS, Reader};
use crate::connections::Limits;
use args::MetricsArgs;
use gate::{Credential, Refusal};
use reviews::Reviews;
use server::{Caller, TlsServer};
use tls::Tls;

/// The limits of connections for pages. Client certificates are verified at the beginning of a connection
/// only.
const LIMITS: Limits = Limits {
    connections: 64,
    // A token with many claims has room.
    headers: 32 << 10,
    first: Duration::from_secs(10),
    idle: Duration::from_secs(30),
    lasts: Some(Duration::from_mins(5)),
};

/// Decides who may read the pages.
pub struct Secure {
    reviews: Reviews,
    metrics: Metrics,
}

impl Secure {
    /// The server of these pages that the flags describe. `cluster` is a client of the cluster that is asked
    /// about callers.
    pub fn from_args(
        args: &MetricsArgs,
        pages: Router,
        cluster: kube::Client,
        metrics: Metrics,
    ) -> anyhow::Result<TlsServer> {
        let tls = Tls::from_files(args.tls()).context("--metrics-address")?;
        let this = Arc::new(Self { reviews: Reviews::new(cluster), metrics: metrics.clone() });
        // Which pages there are is no secret, and the cluster is not asked about a right to any other path.
        let routes = pages
            .route_layer(from_fn_with_state(this, only_admitted))
            .fallback((StatusCode::NOT_FOUND, "try /metrics or /status\n"));
        Ok(TlsServer::new(routes, tls, LIMITS, metrics))
    }

    /// Returns the user who asks, if that user may read the path. A certificate is for scrapers: it names no
    /// user of the cluster whose right to another path could be asked about.
    async fn admit(&self, caller: &Caller, request: &Parts) -> Result<String, Refusal> {
        if ![Method::GET, Method::HEAD].contains(&request.method) {
            return Err(Refusal::Method);
        }
        let path = request.uri.path();
        match Credential::from_headers(caller.certificate.is_some() && path == METRICS, &request.headers) {
            Credential::Certificate => Ok("a client certificate".to_owned()),
            Credential::Token(token) => self.reviews.check(caller.address, token, path).await,
            Credential::Missing => Err(Refusal::NoCredential),
        }
    }
}

/// Lets through who may read the path, and tells the page who that is.
async fn only_admitted(
    State(this): State<Arc<Secure>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    match this.admit(&caller, &parts).await {
        Ok(user) => {
            parts.extensions.insert(Reader(user));
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => {
            this.metrics.page_requests_refused.with_label_values(&[refusal.label()]).inc();
            refusal.answer()
        }
    }
}

#[cfg(test)]
pub mod tests;
