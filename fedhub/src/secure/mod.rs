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

use std::time::Duration;

use anyhow::Context;
use fedhub_core::metrics::Metrics;
use http::request::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;

use crate::admin::{Answer, METRICS, Pages, text};
use crate::connections::Limits;
use args::MetricsArgs;
use gate::{Credential, Refusal};
use reviews::Reviews;
use server::{Answers, Caller, TlsServer};
use tls::Tls;

/// What connections for pages may take. Client certificates are checked at the beginning of a connection
/// only.
const LIMITS: Limits = Limits {
    connections: 64,
    // A token with many claims has room.
    headers: 32 << 10,
    first: Duration::from_secs(10),
    idle: Duration::from_secs(30),
    lasts: Some(Duration::from_mins(5)),
};

/// What is served, and to whom.
pub struct Secure {
    pages: Pages,
    reviews: Reviews,
    metrics: Metrics,
}

impl Secure {
    /// The server that the flags describe. `cluster` is a client of the cluster that is asked about callers.
    pub fn of(
        args: &MetricsArgs,
        pages: Pages,
        cluster: kube::Client,
        metrics: Metrics,
    ) -> anyhow::Result<TlsServer<Self>> {
        let tls = Tls::of(args.tls()).context("--metrics-address")?;
        let this = Self { pages, reviews: Reviews::of(cluster), metrics: metrics.clone() };
        Ok(TlsServer::new(this, tls, LIMITS, metrics))
    }

    async fn respond(&self, caller: &Caller, request: Parts) -> Answer {
        // Which pages there are is no secret, and the cluster is not asked about a right to any other path.
        let Some(page) = self.pages.at(request.uri.path()) else {
            return text(StatusCode::NOT_FOUND, "try /metrics or /status\n");
        };
        match self.admit(caller, &request).await {
            Ok(user) => page.answer(&request, &user).await,
            Err(refusal) => {
                self.metrics.page_requests_refused.with_label_values(&[refusal.label()]).inc();
                refusal.answer()
            }
        }
    }

    /// Who asks, where they may read that path. A certificate is for scrapers: it names no user of the
    /// cluster whose right to another path could be asked about.
    async fn admit(&self, caller: &Caller, request: &Parts) -> Result<String, Refusal> {
        if ![Method::GET, Method::HEAD].contains(&request.method) {
            return Err(Refusal::Method);
        }
        let path = request.uri.path();
        match Credential::of(caller.certificate.is_some() && path == METRICS, &request.headers) {
            Credential::Certificate => Ok("a client certificate".to_owned()),
            Credential::Token(token) => self.reviews.check(caller.address, token, path).await,
            Credential::Missing => Err(Refusal::NoCredential),
        }
    }
}

impl Answers for Secure {
    async fn answer(&self, caller: &Caller, request: Request<Incoming>) -> Answer {
        self.respond(caller, request.into_parts().0).await
    }
}

#[cfg(test)]
pub mod tests;
