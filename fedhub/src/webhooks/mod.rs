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
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use fedhub_core::metrics::Metrics;
use fedhub_planes::Planes;
use fedhub_planes::discovery::Discovery;
use fedhub_workload::instance_types::Catalog;
use http::{Method, StatusCode, header};
use tokio::time::Instant;

use crate::connections::Limits;
use crate::secure::server::{Caller, TlsServer};
use crate::secure::tls::Tls;
use access::{Access, Asker, Origin};
use args::WebhookArgs;
use body::{Bodies, LARGEST, Unread};
use review::Review;
pub use route::Route;
use rules::{Judged, Rules, Undecoded};
use verdict::Verdict;

/// The limits of connections. API servers keep theirs, and close them after 90 seconds without a request:
/// closing one that the other side is about to use makes a review fail. They open one to ask at once.
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
    pub fn from_args(
        args: &WebhookArgs,
        discovery: Discovery,
        planes: Arc<Planes>,
        catalog: Option<Catalog>,
        metrics: Metrics,
    ) -> anyhow::Result<TlsServer> {
        let tls = Tls::from_files(args.tls()).context("--enable-webhooks")?;
        let this = Arc::new(Self::new(discovery, planes, catalog, metrics.clone()));
        Ok(TlsServer::new(Router::new().fallback(answer).with_state(this), tls, LIMITS, metrics))
    }

    fn new(discovery: Discovery, planes: Arc<Planes>, catalog: Option<Catalog>, metrics: Metrics) -> Self {
        let access = Access::new(planes, metrics.clone());
        Self { access, discovery, bodies: Bodies::default(), rules: Rules::new(catalog), metrics }
    }

    /// The answer to a review at that route.
    async fn respond(&self, caller: &Caller, route: &Route, body: Body) -> Response {
        let began = Instant::now();
        let answered = match self.admit(caller, route) {
            Ok(asker) => self.review(asker, route, body, began + ANSWERS_WITHIN).await,
            Err(refusal) => Err(refusal),
        };
        let (operation, verdict) = match &answered {
            Ok((request, verdict)) => (route::operation(request), verdict.label()),
            Err(refusal) => ("unknown", refusal.label()),
        };
        let webhook = route.webhook.label();
        let kind = route.subject();
        self.metrics.admission_requests.with_label_values(&[webhook, kind, operation, verdict]).inc();
        let seconds = self.metrics.admission_seconds.with_label_values(&[webhook, kind]);
        seconds.observe(began.elapsed().as_secs_f64());
        match answered {
            Ok((request, verdict)) => match serde_json::to_string(&verdict.review(route.kind, &request)) {
                Ok(review) => ([(header::CONTENT_TYPE, "application/json")], review).into_response(),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
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

    async fn review(
        &self,
        asker: Asker,
        route: &Route,
        body: Body,
        end: Instant,
    ) -> Result<(Review, Verdict), Refusal> {
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
    /// The body was not decoded.
    Undecoded(Undecoded),
}

impl Refusal {
    /// The metric label.
    fn label(&self) -> &'static str {
        match self {
            Self::Foreign(_) => "foreign",
            // fedhub had no time or no room for these.
            Self::Unread(Unread::NoRoom) | Self::Undecoded(Undecoded::Late) => "unanswered",
            Self::Unread(_) | Self::Undecoded(_) => "unreadable",
        }
    }

    fn answer(self) -> Response {
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
        (code, why).into_response()
    }
}

/// The answer at any path: which of them there are depends on the discovery.
async fn answer(
    State(this): State<Arc<Webhooks>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: Request,
) -> Response {
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, "try POST\n").into_response();
    }
    match Route::from_path(request.uri().path(), this.discovery) {
        Ok(route) => this.respond(&caller, &route, request.into_body()).await,
        Err(fault) => {
            let unknown = ["unknown", "unknown", "unknown", "unreadable"];
            this.metrics.admission_requests.with_label_values(&unknown).inc();
            (StatusCode::NOT_FOUND, fault).into_response()
        }
    }
}

#[cfg(test)]
mod tests;
