//! A server that says 429 is left alone for as long as it asks, plane by plane.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

/// Where the server does not say for how long.
const UNSAID: Duration = Duration::from_secs(1);
/// However long the server says.
const LONGEST: Duration = Duration::from_mins(1);

/// Has the requests of one plane wait while its server throttles them.
#[derive(Clone, Debug, Default)]
pub struct RetryAfterLayer(Arc<Mutex<Option<Instant>>>);

impl RetryAfterLayer {
    /// Whether the server has throttled a request (429), and the time that it asked for is not over.
    pub(crate) fn is_throttled(&self) -> bool {
        self.until().is_some_and(|until| until > Instant::now())
    }

    /// Waits until that is over.
    pub(crate) async fn wait(&self) {
        if let Some(until) = self.until() {
            tokio::time::sleep_until(until).await;
        }
    }

    fn until(&self) -> Option<Instant> {
        *self.0.lock()
    }

    fn throttle(&self, span: Duration) {
        let until = Instant::now() + span.min(LONGEST);
        let mut standing = self.0.lock();
        *standing = Some(standing.map_or(until, |s| s.max(until)));
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
        // The service that is ready goes with the request; its clone stays.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        Box::pin(async move {
            layer.wait().await;
            let answer = inner.call(request).await.map_err(Into::into)?;
            if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                let said =
                    answer.headers().get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse().ok());
                layer.throttle(said.map_or(UNSAID, Duration::from_secs));
            }
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_next_request_waits_for_as_long_as_the_server_asked() {
        let calls = Arc::new(AtomicU32::new(0));
        let server = service_fn({
            let calls = calls.clone();
            move |_: Request<()>| {
                let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
                async move {
                    let mut answer = Response::new(());
                    if first {
                        *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                        answer
                            .headers_mut()
                            .insert(header::RETRY_AFTER, header::HeaderValue::from_static("7"));
                    }
                    Ok::<_, Infallible>(answer)
                }
            }
        });
        let service = RetryAfterLayer::default().layer(server);
        let start = Instant::now();
        assert_eq!(service.clone().oneshot(Request::new(())).await.unwrap().status(), 429);
        assert_eq!(start.elapsed(), Duration::ZERO, "the answer itself is not held back");
        assert_eq!(service.oneshot(Request::new(())).await.unwrap().status(), 200);
        assert_eq!(start.elapsed(), Duration::from_secs(7));
    }
}
