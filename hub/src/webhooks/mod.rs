//! Admission reviews of project planes, over HTTPS (W4). What is admitted is decided in `fedhub_workload::admission`; here is
//! who asks (`route`), what the plane is asked (`access`), and the answer (`verdict`).
//!
//! Served by every replica. Bounded in all: connections, bytes of reviews that are read at once, the time of an answer, which
//! is less than an API server waits. What cannot be decided is refused.

mod access;
pub mod args;
mod review;
mod route;
mod unasked;
mod verdict;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::Object;
use fedhub_planes::Planes;
use fedhub_planes::discovery::Discovery;
use fedhub_workload::admission::{Judgement, Kind, Types, defaults, judge, sets_type};
use fedhub_workload::instance_types::Catalog;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::{Bytes, Incoming};
use kube::core::admission::AdmissionReview;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::admin::{Answer, answer, text};
use crate::secure::server::{Answers, Limits, TlsServer};
use crate::secure::tls::Tls;
use access::Access;
use args::WebhookArgs;
use review::Review;
pub use route::Route;
use route::Webhook;
use unasked::Unasked;
use verdict::Verdict;

/// What connections may take. API servers keep theirs, and close them after 90 seconds without a request: whoever closes one
/// that the other side is about to use makes a review fail.
const LIMITS: Limits = Limits { connections: 1024, idle: Duration::from_mins(3), lasts: None };
/// How long an answer may take: less than the ten seconds of the webhooks in `deploy/`, so that there is one.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(8);
/// How large a review may be, in KiB: it holds an object twice, each of which etcd takes up to 1.5 MiB of.
const LARGEST: u32 = 4096;
/// How large all reviews that are under way may be, in KiB, and how much each counts for at least.
const AT_ONCE: (u32, u32) = (16 << 10, 64);

/// What answers reviews.
pub struct Webhooks {
    access: Access,
    discovery: Discovery,
    /// The catalogue of instance types, where there is one.
    catalog: Option<Catalog>,
    room: Semaphore,
    metrics: Metrics,
}

impl Webhooks {
    /// The server that the flags describe, for the planes of that registry, with that catalogue of instance types.
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
        let room = Semaphore::new(usize::try_from(AT_ONCE.0).unwrap_or_default());
        Self { access, discovery, catalog, room, metrics }
    }

    /// The answer to a review at that route, whose body `read` brings.
    async fn respond<F>(&self, route: &Route, headers: &HeaderMap, read: F) -> Answer
    where
        F: Future<Output = Option<Bytes>>,
    {
        let (began, end) = (Instant::now(), Instant::now() + ANSWERS_WITHIN);
        // Held while the object is in memory, and not while its plane is asked.
        let Ok(Ok(place)) = timeout_at(end, self.room.acquire_many(weight(headers))).await else {
            return self.unread(StatusCode::SERVICE_UNAVAILABLE, "too many admission reviews at once\n");
        };
        let Ok(Some(body)) = timeout_at(end, read).await else {
            let refusal = format!("no admission review of up to {LARGEST} KiB in time\n");
            return self.unread(StatusCode::BAD_REQUEST, refusal);
        };
        let request =
            serde_json::from_slice::<AdmissionReview<Object>>(&body).map(TryInto::<Review>::try_into);
        let mut request: Review = match request {
            Ok(Ok(request)) => request,
            Ok(Err(_)) => {
                return self.unread(StatusCode::BAD_REQUEST, "an AdmissionReview without a request\n");
            }
            // Not what is wrong: that would quote the object.
            Err(_) => {
                return self.unread(StatusCode::BAD_REQUEST, "no AdmissionReview of admission.k8s.io/v1\n");
            }
        };
        drop(body);
        if let Some(fault) = route.fault(&request) {
            return self.unread(StatusCode::BAD_REQUEST, fault);
        }
        let judged = self.judged(route, &request);
        (request.object, request.old_object) = (None, None);
        drop(place);
        let verdict = self.verdict(route, &request, judged, end).await;
        self.count(route, &request, &verdict, began);
        match serde_json::to_string(&verdict.review(route.kind, &request)) {
            Ok(review) => answer(StatusCode::OK, "application/json", review),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }

    fn judged(&self, route: &Route, request: &Review) -> Judged {
        // A deletion has no object: nothing is decided about it.
        let Some(new) = &request.object else {
            return Judged::Decided(Verdict::Allowed { warnings: Vec::new() });
        };
        let old = request.old_object.as_ref();
        let types = match &self.catalog {
            None => Types::BuiltIn,
            Some(catalog) if catalog.is_known() => Types::Catalog(catalog),
            Some(_) => Types::Unknown,
        };
        if route.webhook == Webhook::Mutate {
            return Judged::Decided(Verdict::completed(defaults::patch(route.kind, types, old, new)));
        }
        if matches!(types, Types::Unknown) && route.kind != Kind::InstanceType && sets_type(old, new) {
            return Judged::Decided(Verdict::Unanswered(Unasked::NoCatalog));
        }
        Judged::AsksPlane(judge(route.kind, types, old, new))
    }

    async fn verdict(&self, route: &Route, request: &Review, judged: Judged, end: Instant) -> Verdict {
        match judged {
            Judged::Decided(verdict) => verdict,
            Judged::AsksPlane(judgement) => {
                let answered = self.access.answer(route, self.discovery, request, judgement);
                timeout_at(end, answered).await.unwrap_or(Verdict::Unanswered(Unasked::Late))
            }
        }
    }

    fn unread(&self, code: StatusCode, body: impl Into<String>) -> Answer {
        self.metrics.admission_requests.with_label_values(&["unknown", "unknown", "unreadable"]).inc();
        text(code, body)
    }

    fn count(&self, route: &Route, request: &Review, verdict: &Verdict, began: Instant) {
        let (kind, operation) = (route.kind.name(), route::operation(request));
        self.metrics.admission_requests.with_label_values(&[kind, operation, verdict.label()]).inc();
        let seconds = self.metrics.admission_seconds.with_label_values(&[kind]);
        seconds.observe(began.elapsed().as_secs_f64());
    }
}

/// What an object says by itself.
enum Judged {
    /// It needs nobody else.
    Decided(Verdict),
    /// Its plane has a say in it.
    AsksPlane(Judgement),
}

impl Answers for Webhooks {
    async fn answer(&self, _: bool, request: Request<Incoming>) -> Answer {
        if request.method() != Method::POST {
            return text(StatusCode::METHOD_NOT_ALLOWED, "try POST\n");
        }
        let route = match Route::of(request.uri().path(), self.discovery) {
            Ok(route) => route,
            Err(fault) => return self.unread(StatusCode::NOT_FOUND, fault),
        };
        let (parts, body) = request.into_parts();
        let most = usize::try_from(LARGEST).unwrap_or_default() << 10;
        let read = async { Limited::new(body, most).collect().await.ok().map(Collected::to_bytes) };
        self.respond(&route, &parts.headers, read).await
    }
}

/// How much a review counts for, in KiB: as much as it says it has, and no more than it may have.
fn weight(headers: &HeaderMap) -> u32 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length
        .map_or(LARGEST, |bytes: u64| u32::try_from(bytes >> 10).unwrap_or(LARGEST).clamp(AT_ONCE.1, LARGEST))
}

#[cfg(test)]
mod tests;
