//! How fast watches may be started: thousands that end in one instant, as with the server behind them, must
//! not all restart in it. A list-watch resumes at once where its watch ended without an error, so this is the
//! place.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::Either;
use http::Request;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

use super::watches::is_watch;

/// The time from one start to the next: two thousand a second, so that twenty thousand take ten seconds.
pub const APART: Duration = Duration::from_micros(500);
/// The longest wait of a start, however many there are: less than the silence after which a watch counts as
/// working.
pub const LONGEST: Duration = Duration::from_secs(20);

/// Marks a request that goes before the start of a watch, and is spread as that is.
#[derive(Clone, Copy, Debug)]
pub struct BeforeWatch;

/// Spreads the starts of all watches of a process. Clones share the pace.
#[derive(Clone, Debug, Default)]
pub struct WatchThrottleLayer(Arc<Mutex<Option<Instant>>>);

impl WatchThrottleLayer {
    /// When the next watch may start.
    fn turn(&self, now: Instant) -> Instant {
        let mut next = self.0.lock();
        let at = next.map_or(now, |next| next.clamp(now, now + LONGEST));
        *next = Some(at + APART);
        at
    }
}

impl<S> Layer<S> for WatchThrottleLayer {
    type Service = WatchThrottle<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WatchThrottle { inner, throttle: self.clone() }
    }
}

/// See [`WatchThrottleLayer`].
#[derive(Clone, Debug)]
pub struct WatchThrottle<S> {
    inner: S,
    throttle: WatchThrottleLayer,
}

impl<S, B> Service<Request<B>> for WatchThrottle<S>
where
    S: Service<Request<B>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, futures::future::BoxFuture<'static, Result<Self::Response, Self::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let now = Instant::now();
        let is_spread = is_watch(request.uri()) || request.extensions().get::<BeforeWatch>().is_some();
        let at = if is_spread { self.throttle.turn(now) } else { now };
        if at <= now {
            return Either::Left(self.inner.call(request));
        }
        // The service that was found ready is not used: it may hold a place among the plane's requests.
        let later = self.inner.clone();
        Either::Right(Box::pin(async move {
            tokio::time::sleep_until(at).await;
            later.oneshot(request).await
        }))
    }
}
