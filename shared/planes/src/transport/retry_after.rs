//! A server that says 429 is left alone for as long as it asks, resource by resource of each plane: one that
//! begins its storage says so of each of them, when it is touched first.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::measure::describe;

/// The delay if the server names none.
const UNSAID: Duration = Duration::from_secs(1);
/// However long the server says.
const LONGEST: Duration = Duration::from_mins(1);
/// The waiting requests continue one after the other, spread over this share of that time.
const SPREAD: f64 = 0.25;
/// The fraction of the golden ratio: its multiples lie evenly between whole numbers, however many there are.
const GOLDEN: f64 = 0.618_033_988_75;

/// Delays the requests of one plane, by resource, while its server throttles them.
#[derive(Clone, Debug, Default)]
pub struct RetryAfterLayer(Arc<Mutex<BTreeMap<String, Throttled>>>);

/// How long the requests for a resource wait.
#[derive(Debug)]
struct Throttled {
    until: Instant,
    span: Duration,
    /// How many have had to wait.
    waiters: u32,
}

impl Throttled {
    fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }

    /// When the next that waits may go on.
    fn turn(&mut self) -> Instant {
        let late = (f64::from(self.waiters) * GOLDEN).fract();
        self.waiters = self.waiters.wrapping_add(1);
        self.until + self.span.mul_f64(SPREAD * late)
    }
}

impl RetryAfterLayer {
    /// When a request for that resource may be sent, if the server has throttled one (429) and the time that
    /// it asked for is not over: those that wait do not all go on in one instant.
    fn turn(&self, resource: &str) -> Option<Instant> {
        self.0.lock().get_mut(resource).filter(|standing| !standing.is_over()).map(Throttled::turn)
    }

    fn throttle(&self, resource: String, span: Duration) {
        let span = span.min(LONGEST);
        let until = Instant::now() + span;
        let mut throttled = self.0.lock();
        throttled.retain(|_, standing| !standing.is_over());
        let standing = throttled.entry(resource).or_insert(Throttled { until, span, waiters: 0 });
        if standing.until < until {
            (standing.until, standing.span) = (until, span);
        }
    }
}

impl<S> Layer<S> for RetryAfterLayer {
    type Service = RetryAfter<S>;

    fn layer(&self, inner: S) -> RetryAfter<S> {
        RetryAfter { inner, layer: self.clone() }
    }
}

/// A service that waits for as long as the server's `Retry-After` says.
#[derive(Clone, Debug)]
pub struct RetryAfter<S> {
    inner: S,
    layer: RetryAfterLayer,
}

impl<S, B, A> Service<Request<B>> for RetryAfter<S>
where
    S: Service<Request<B>, Response = Response<A>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    B: Send + 'static,
    A: Send + 'static,
{
    type Response = Response<A>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let layer = self.layer.clone();
        let clone = self.inner.clone();
        let (_, resource) = describe(request.method(), request.uri().path(), None);
        let mut turn = layer.turn(&resource);
        // The service that is ready goes with the request, unless that waits: it may hold a place among the
        // plane's requests.
        let ready = turn.is_none().then(|| std::mem::replace(&mut self.inner, clone.clone()));
        Box::pin(async move {
            let answer = if let Some(mut ready) = ready {
                ready.call(request).await
            } else {
                while let Some(at) = turn {
                    tokio::time::sleep_until(at).await;
                    turn = layer.turn(&resource);
                }
                clone.oneshot(request).await
            };
            let answer = answer.map_err(Into::into)?;
            if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                let said =
                    answer.headers().get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse().ok());
                layer.throttle(resource, said.map_or(UNSAID, Duration::from_secs));
            }
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tower::limit::GlobalConcurrencyLimitLayer;
    use tower::service_fn;

    use super::*;

    /// A server that throttles the first request for seven seconds.
    fn throttling() -> impl Service<
        Request<()>,
        Response = Response<()>,
        Error = Infallible,
        Future = impl Future<Output = Result<Response<()>, Infallible>> + Send,
    > + Clone
    + Send
    + 'static {
        let calls = Arc::new(AtomicU32::new(0));
        service_fn(move |_: Request<()>| {
            let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                let mut answer = Response::new(());
                if first {
                    *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                    answer.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("7"));
                }
                Ok::<_, Infallible>(answer)
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_request_waits_for_as_long_as_the_server_asked() {
        let service = RetryAfterLayer::default().layer(throttling());
        let start = Instant::now();
        assert_eq!(service.clone().oneshot(Request::new(())).await.unwrap().status(), 429);
        assert_eq!(start.elapsed(), Duration::ZERO, "the answer itself is not held back");
        assert_eq!(service.oneshot(Request::new(())).await.unwrap().status(), 200);
        assert_eq!(start.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn i8_a_resource_that_is_throttled_holds_up_no_other() {
        let service = RetryAfterLayer::default().layer(throttling());
        let start = Instant::now();
        let ask = |path: &str| service.clone().oneshot(Request::get(path).body(()).unwrap());
        assert_eq!(ask("/apis/g/v1/namespaces/n/widgets").await.unwrap().status(), 429);
        assert_eq!(ask("/apis/g/v1/gadgets?watch=true").await.unwrap().status(), 200);
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(ask("/apis/g/v1/widgets?watch=true").await.unwrap().status(), 200);
        assert_eq!(start.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn i8_who_waits_holds_no_place_and_not_all_go_on_in_one_instant() {
        let places = GlobalConcurrencyLimitLayer::new(2);
        let server = places.layer(throttling());
        let service = RetryAfterLayer::default().layer(server.clone());
        let start = Instant::now();
        assert_eq!(service.clone().oneshot(Request::new(())).await.unwrap().status(), 429);
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let service = service.clone();
                tokio::spawn(async move {
                    service.oneshot(Request::new(())).await.unwrap();
                    start.elapsed()
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(server.oneshot(Request::new(())).await.unwrap().status(), 200);
        assert_eq!(start.elapsed(), Duration::from_secs(1), "there is a place");
        let mut went_on = Vec::new();
        for waiting in waiting {
            went_on.push(waiting.await.unwrap());
        }
        went_on.sort_unstable();
        let longest = Duration::from_secs(7).mul_f64(1.0 + SPREAD);
        assert!(went_on[0] >= Duration::from_secs(7) && *went_on.last().unwrap() <= longest, "{went_on:?}");
        let apart = went_on.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap();
        assert!(apart < Duration::from_millis(100), "evenly: {went_on:?}");
        went_on.dedup();
        assert!(went_on.len() > 40, "{went_on:?}");
    }
}
