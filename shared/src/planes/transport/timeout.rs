//! A limit on the time to the headers of an answer. The body, which a watch streams for minutes, is not limited.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tower::{BoxError, Layer, Service};

/// The server accepted the request and did not answer.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
pub struct TimedOut(pub Duration);

/// Adds the limit to a service.
#[derive(Clone, Copy, Debug)]
pub struct HeaderTimeoutLayer(Duration);

impl HeaderTimeoutLayer {
    /// At most this long from the request to the headers of its answer.
    pub fn new(limit: Duration) -> Self {
        Self(limit)
    }
}

impl<S> Layer<S> for HeaderTimeoutLayer {
    type Service = HeaderTimeout<S>;

    fn layer(&self, inner: S) -> HeaderTimeout<S> {
        HeaderTimeout { inner, limit: self.0 }
    }
}

/// A service whose answers' headers come in time or not at all.
#[derive(Clone, Debug)]
pub struct HeaderTimeout<S> {
    inner: S,
    limit: Duration,
}

impl<S, R> Service<R> for HeaderTimeout<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
    S::Response: 'static,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let (answer, limit) = (self.inner.call(request), self.limit);
        Box::pin(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(TimedOut(limit).into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_is_an_error_in_time() {
        let silent = service_fn(|()| std::future::pending::<Result<(), Infallible>>());
        let service = HeaderTimeoutLayer::new(Duration::from_secs(9)).layer(silent);
        let before = tokio::time::Instant::now();
        let error = service.oneshot(()).await.unwrap_err();
        assert!(error.is::<TimedOut>());
        assert_eq!(before.elapsed(), Duration::from_secs(9));
    }
}
