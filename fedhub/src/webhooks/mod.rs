//! Admission reviews of project planes, over HTTPS (W4). What is admitted is decided in
//! `fedhub_workload::admission`; here is who asks (`route`, `identity`), what the plane is asked (`access`),
//! and the answer (`verdict`).
//!
//! Served by every replica. Bounded in all: connections and the time until they ask, bytes of reviews on
//! their way (`body`), memory and threads of those that are judged (`rules`), the time of an answer, which is
//! less than an API server waits. What cannot be decided is refused.

mod access;
pub(crate) mod args;
mod body;
mod identity;
pub(crate) mod readiness;
mod review;
mod route;
mod rules;
mod unasked;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::metrics::Metrics;
use fedhub_planes::Planes;
use fedhub_planes::discovery::Discovery;
use fedhub_workload::instance_types::Catalog;
use http::{Method, Request, StatusCode};
use hyper::body::{Body, Bytes, Incoming};
use tokio::time::Instant;

use crate::admin::{Answer, answer, text};
use crate::connections::Limits;
use crate::secure::server::{Answers, Caller, TlsServer};
use crate::secure::tls::Tls;
use access::{Access, Asker, Origin};
use args::WebhookArgs;
use body::{Bodies, LARGEST, Unread};
use review::Review;
pub use route::Route;
use rules::{Judged, Rules, Undecoded};
use verdict::Verdict;

/// What connections may take. API servers keep theirs, and close them after 90 seconds without a request:
/// whoever closes one that the other side is about to use makes a review fail. They open one to ask at once.
const LIMITS: Limits = Limits {
    connections: 1024,
    headers: 32 << 10,
    first: Duration::from_secs(10),
    idle: Duration::from_mins(3),
    lasts: None,
};
/// How long an answer may take: less than the ten seconds of the webhooks in `deploy/`, so that there is one.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(8);

/// What answers reviews.
pub(crate) struct Webhooks {
    access: Access,
    discovery: Discovery,
    bodies: Bodies,
    rules: Rules,
    metrics: Metrics,
}

impl Webhooks {
    /// The server that the flags describe, for the planes of that registry, with that catalogue of instance
    /// types.
    pub fn of(
        args: &WebhookArgs,
        discovery: Discovery,
        planes: Arc<Planes>,
        catalog: Option<Catalog>,
        metrics: Metrics,
    ) -> anyhow::Result<TlsServer<Self>> {
        let tls = Tls::of(args.tls()).context("--enable-webhooks")?;
        Ok(TlsServer::new(Self::new(discovery, planes, catalog, metrics.clone()), tls, LIMITS, metrics))
    }

    fn new(discovery: Discovery, planes: Arc<Planes>, catalog: Option<Catalog>, metrics: Metrics) -> Self {
        let access = Access::new(planes, metrics.clone());
        Self { access, discovery, bodies: Bodies::default(), rules: Rules::new(catalog), metrics }
    }

    /// The answer to a review at that route.
    async fn respond<B>(&self, caller: &Caller, route: &Route, body: B) -> Answer
    where
        B: Body<Data = Bytes> + Send,
    {
        let began = Instant::now();
        let answered = match self.admit(caller, route) {
            Ok(asker) => self.review(asker, route, body, began + ANSWERS_WITHIN).await,
            Err(refusal) => Err(refusal),
        };
        let (operation, verdict) = match &answered {
            Ok((request, verdict)) => (route::operation(request), verdict.label()),
            Err(refusal) => ("unknown", refusal.label()),
        };
        let (webhook, kind) = (route.webhook.label(), route.subject());
        self.metrics.admission_requests.with_label_values(&[webhook, kind, operation, verdict]).inc();
        let seconds = self.metrics.admission_seconds.with_label_values(&[webhook, kind]);
        seconds.observe(began.elapsed().as_secs_f64());
        match answered {
            Ok((request, verdict)) => match serde_json::to_string(&verdict.review(route.kind, &request)) {
                Ok(review) => answer(StatusCode::OK, "application/json", review),
                Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
            },
            Err(refusal) => refusal.answer(),
        }
    }

    /// As whom a caller may ask at that route. One without a certificate comes so far only where the network
    /// is trusted.
    fn admit(&self, caller: &Caller, route: &Route) -> Result<Asker, Refusal> {
        let Some(certificate) = &caller.certificate else { return Ok(Asker::Anyone) };
        match identity::needed(route.plane.as_ref(), self.discovery) {
            Some(uri) if !identity::has(certificate, &uri) => Err(Refusal::Foreign(uri)),
            _ => Ok(Asker::Plane),
        }
    }

    async fn review<B>(
        &self,
        asker: Asker,
        route: &Route,
        body: B,
        end: Instant,
    ) -> Result<(Review, Verdict), Refusal>
    where
        B: Body<Data = Bytes> + Send,
    {
        let body = self.bodies.read(body).await.map_err(Refusal::Unread)?;
        let decoded = self.rules.decode(route, body, end).await.map_err(Refusal::Undecoded)?;
        let (request, judged) = self.rules.judge(route, decoded, end).await;
        let verdict = match judged {
            Judged::Decided(verdict) => verdict,
            Judged::AsksPlane(judgement) => {
                let origin = Origin { asker, route, discovery: self.discovery };
                self.access.answer(&origin, &request, judgement, end).await
            }
        };
        Ok((request, verdict))
    }
}

/// Why a review has no verdict.
enum Refusal {
    /// The caller's certificate is not that of the plane: it lacks this URI.
    Foreign(String),
    /// Its body was not read.
    Unread(Unread),
    /// It was not decoded.
    Undecoded(Undecoded),
}

impl Refusal {
    /// The metric label.
    fn label(&self) -> &'static str {
        match self {
            Self::Foreign(_) => "foreign",
            // What fedhub had no time or room for.
            Self::Unread(Unread::NoRoom) | Self::Undecoded(Undecoded::Late) => "unanswered",
            Self::Unread(_) | Self::Undecoded(_) => "unreadable",
        }
    }

    fn answer(self) -> Answer {
        let (code, why) = match self {
            Self::Foreign(uri) => (
                StatusCode::FORBIDDEN,
                format!(
                    "the client certificate is not for this path: it needs the URI {uri}, see docs/admission.md\n"
                ),
            ),
            Self::Unread(Unread::TooLarge) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the object is too large: fedhub reviews up to {LARGEST} KiB, with what is stored\n"),
            ),
            Self::Unread(Unread::TooHeavy) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the object has too many fields and items for a review: split it\n".to_owned(),
            ),
            Self::Unread(Unread::Late) => {
                (StatusCode::REQUEST_TIMEOUT, "the admission review did not arrive in time\n".to_owned())
            }
            Self::Unread(Unread::NoRoom) | Self::Undecoded(Undecoded::Late) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "fedhub has too many admission reviews at once: try again\n".to_owned(),
            ),
            Self::Undecoded(Undecoded::NoRequest) => {
                (StatusCode::BAD_REQUEST, "an AdmissionReview without a request\n".to_owned())
            }
            Self::Undecoded(Undecoded::NoReview) => {
                (StatusCode::BAD_REQUEST, "no AdmissionReview of admission.k8s.io/v1\n".to_owned())
            }
            Self::Undecoded(Undecoded::Misdirected(fault)) => (StatusCode::BAD_REQUEST, fault),
        };
        text(code, why)
    }
}

impl Answers for Webhooks {
    async fn answer(&self, caller: &Caller, request: Request<Incoming>) -> Answer {
        if request.method() != Method::POST {
            return text(StatusCode::METHOD_NOT_ALLOWED, "try POST\n");
        }
        match Route::of(request.uri().path(), self.discovery) {
            Ok(route) => self.respond(caller, &route, request.into_body()).await,
            Err(fault) => {
                let unknown = ["unknown", "unknown", "unknown", "unreadable"];
                self.metrics.admission_requests.with_label_values(&unknown).inc();
                text(StatusCode::NOT_FOUND, fault)
            }
        }
    }
}

#[cfg(test)]
mod tests;
