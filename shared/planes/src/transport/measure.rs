//! Counts requests and times them to their headers, by plane kind, verb and resource.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use fedhub_core::metrics::Metrics;
use fedhub_core::object::PlaneId;
use http::{Method, Request, Response};
use prometheus::{HistogramVec, IntCounterVec};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

use super::watches::asks;

/// Adds the measuring to a service.
#[derive(Clone, Debug)]
pub struct MeasureLayer {
    plane_kind: &'static str,
    requests: IntCounterVec,
    seconds: HistogramVec,
}

impl MeasureLayer {
    /// Requests to `plane`, into `metrics`.
    pub fn new(plane: &PlaneId, metrics: &Metrics) -> Self {
        Self {
            plane_kind: plane.kind(),
            requests: metrics.api_requests.clone(),
            seconds: metrics.api_request_seconds.clone(),
        }
    }
}

impl<S> Layer<S> for MeasureLayer {
    type Service = Measure<S>;

    fn layer(&self, inner: S) -> Measure<S> {
        Measure { inner, layer: self.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct Measure<S> {
    inner: S,
    layer: MeasureLayer,
}

impl<S, B, A> Service<Request<B>> for Measure<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    A: 'static,
{
    type Response = Response<A>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (verb, resource) = describe(request.method(), request.uri().path(), request.uri().query());
        let MeasureLayer { plane_kind, requests, seconds } = self.layer.clone();
        let started = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into);
            let code = answer.as_ref().map_or("none".to_owned(), |a| a.status().as_str().to_owned());
            requests.with_label_values(&[plane_kind, verb, resource.as_str(), code.as_str()]).inc();
            seconds.with_label_values(&[plane_kind, verb]).observe(started.elapsed().as_secs_f64());
            answer
        })
    }
}

/// Verb and resource of a request, as an audit log names them; a subresource follows a slash. The prefix of a
/// plane that is addressed by path is passed over: what counts starts at the last `/api/` or `/apis/`.
pub fn describe(method: &Method, path: &str, query: Option<&str>) -> (&'static str, String) {
    let other = ("other", "none".to_owned());
    let rest = match (path.rfind("/apis/"), path.rfind("/api/v1/")) {
        (Some(at), None) => path[at + 6..].splitn(3, '/').nth(2),
        (_, Some(at)) => Some(&path[at + 8..]),
        _ => None,
    };
    let Some(rest) = rest else { return other };
    let parts: Vec<_> = rest.split('/').filter(|p| !p.is_empty()).collect();
    let parts = match parts.as_slice() {
        ["namespaces", _, rest @ ..] if !rest.is_empty() && rest != ["status"] && rest != ["finalize"] => {
            rest
        }
        all => all,
    };
    let Some(resource) = parts.first() else { return other };
    let named = parts.len() > 1;
    let watch = asks(query, "watch=true");
    let verb = match *method {
        Method::GET if watch => "watch",
        Method::GET if named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    };
    match parts.get(2) {
        Some(subresource) => (verb, format!("{resource}/{subresource}")),
        None => (verb, (*resource).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_as_audit_logs_name_them() {
        let wd = "/apis/compute.datumapis.com/v1alpha/namespaces/n/workloaddeployments";
        for (method, path, query, expected) in [
            (Method::GET, wd.to_owned(), Some("watch=true&x=1"), ("watch", "workloaddeployments")),
            (Method::GET, wd.to_owned(), None, ("list", "workloaddeployments")),
            (Method::PUT, format!("{wd}/a/status"), None, ("update", "workloaddeployments/status")),
            (Method::GET, "/api/v1/namespaces/n".to_owned(), None, ("get", "namespaces")),
            (Method::GET, "/api/v1/namespaces".to_owned(), None, ("list", "namespaces")),
            (Method::POST, "/api/v1/namespaces/n/events".to_owned(), None, ("create", "events")),
            (Method::GET, "/version".to_owned(), None, ("other", "none")),
            (
                Method::DELETE,
                format!("/apis/resourcemanager.miloapis.com/v1alpha1/projects/p/control-plane{wd}/a"),
                None,
                ("delete", "workloaddeployments"),
            ),
            (
                Method::GET,
                "/apis/resourcemanager.miloapis.com/v1alpha1/projects/p/control-plane/api/v1/namespaces/n"
                    .to_owned(),
                None,
                ("get", "namespaces"),
            ),
        ] {
            let (verb, resource) = describe(&method, &path, query);
            assert_eq!((verb, resource.as_str()), expected, "{method} {path}");
        }
    }
}
