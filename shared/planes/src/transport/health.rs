//! Whether a server answers, as the requests of all planes behind it tell.
//!
//! Hundreds of planes may be behind one server. While it is away each of their watches waits by itself; the
//! first request that it answers again wakes all of them, spread so that it is not stampeded. Where it
//! refuses, a plane that works again wakes a few others, those a few more, and so on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

use super::watches::is_watch;

/// How long a server that came back may be starting: what it refuses then is asked again soon.
const STARTING: Duration = Duration::from_secs(30);
/// The time from one that is woken to the next: a thousand a second.
const APART: Duration = Duration::from_millis(1);
/// The longest wait of a watch that is woken, however many there are.
const LONGEST: Duration = Duration::from_secs(5);
/// The least time to which a wait is cut: a server that answers every other request must not be asked without
/// end.
const SHORTEST: Duration = Duration::from_millis(100);

/// How many of the watches that were refused retry when one works again. More than one, so that those that
/// are refused for good do not end the recovery, and few, because only that one may work.
const WOKEN: u32 = 4;

/// A server that could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("failed to connect: {0}")]
pub struct ServerUnreachable(pub(super) String);

/// The health of one server. Clones are of the same one.
#[derive(Clone, Debug)]
pub struct ServerHealth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    state: Mutex<State>,
    /// How often it has come back.
    comebacks: watch::Sender<u64>,
    waiting: AtomicU32,
    /// Wakes those that wait because they were refused, the first of them first.
    refused: Notify,
    waiting_refused: AtomicU32,
}

#[derive(Debug)]
struct State {
    answers: bool,
    last_answer: Option<Instant>,
    /// When it answered for the first time, or again.
    back: Option<Instant>,
}

impl ServerHealth {
    /// The health of a server that no request was sent to yet.
    pub fn new(name: &str) -> Self {
        let state = State { answers: false, last_answer: None, back: None };
        Self(Arc::new(Inner {
            name: name.to_owned(),
            state: Mutex::new(state),
            comebacks: watch::Sender::new(0),
            waiting: AtomicU32::new(0),
            refused: Notify::new(),
            waiting_refused: AtomicU32::new(0),
        }))
    }

    /// The name of the server in logs: scheme, host and port.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Notes that the server answered, with any status.
    pub fn answered(&self) {
        let now = Instant::now();
        let mut state = self.state();
        state.last_answer = Some(now);
        if !std::mem::replace(&mut state.answers, true) {
            state.back = Some(now);
            drop(state);
            self.0.comebacks.send_modify(|comebacks| *comebacks += 1);
        }
    }

    /// A request that began at `began` had no answer. It may be a failure of that plane alone, unless there
    /// was no connection, or no other request had an answer since.
    pub fn failed(&self, began: Instant, error: &BoxError) {
        let mut state = self.state();
        if error.is::<ServerUnreachable>() || state.last_answer.is_none_or(|answer| answer < began) {
            state.answers = false;
        }
    }

    /// Whether it came back a moment ago, and may not have started up yet.
    pub fn is_starting(&self) -> bool {
        self.state().back.is_some_and(|back| back.elapsed() < STARTING)
    }

    /// How often it has come back: to be asked before the attempt whose failure is waited out.
    pub fn comebacks(&self) -> u64 {
        *self.0.comebacks.borrow()
    }

    /// Waits, for no longer than it takes until the server answers any request again. `since` is what
    /// [`Self::comebacks`] was before the attempt; `chance`, from 0 to 1, is the place among all that are
    /// woken.
    pub async fn wait(&self, longest: Duration, since: u64, chance: f64) {
        let began = Instant::now();
        let mut comebacks = self.0.comebacks.subscribe();
        let waiting = Waiting::among(&self.0.waiting);
        let back = comebacks.wait_for(|comebacks| *comebacks != since);
        let is_back = tokio::time::timeout(longest, back).await.is_ok();
        if !is_back {
            return;
        }
        let spread = (APART * waiting.count()).min(LONGEST).mul_f64(chance.clamp(0.0, 1.0));
        let at = (Instant::now() + spread).max(began + SHORTEST).min(began + longest.max(spread));
        tokio::time::sleep_until(at).await;
    }

    /// Waits out a refusal, for no longer than until others of the server work again and it is its turn.
    pub async fn wait_refused(&self, longest: Duration) {
        let began = Instant::now();
        let _waiting = Waiting::among(&self.0.waiting_refused);
        if tokio::time::timeout(longest, self.0.refused.notified()).await.is_ok() {
            tokio::time::sleep_until(began + SHORTEST.min(longest)).await;
        }
    }

    /// A watch that had failed works again.
    pub fn recovered(&self) {
        // No more than wait: the next one is not to be woken by what was before.
        for _ in 0..self.0.waiting_refused.load(Ordering::Relaxed).min(WOKEN) {
            self.0.refused.notify_one();
        }
    }
}

/// Counts a request as waiting until it is dropped.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn among(all: &'a AtomicU32) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When the watches of one plane were begun last, by resource: a list-watch does not say so before the first
/// event.
#[derive(Clone, Debug, Default)]
pub struct WatchStarts(Arc<watch::Sender<Vec<(String, Instant)>>>);

impl WatchStarts {
    fn began(&self, resource: &str) {
        let now = Instant::now();
        self.0.send_modify(|starts| match starts.iter_mut().find(|(known, _)| known == resource) {
            Some((_, at)) => *at = now,
            None => starts.push((resource.to_owned(), now)),
        });
    }

    /// Waits until the server has answered a watch of that resource which was asked for after `since`.
    pub async fn since(&self, resource: &str, since: Instant) {
        let mut starts = self.0.subscribe();
        let begun = |starts: &Vec<(String, Instant)>| {
            starts.iter().any(|(known, at)| known == resource && *at >= since)
        };
        if starts.wait_for(begun).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Reports the health of a server by the requests of one plane.
#[derive(Clone, Debug)]
pub struct HealthLayer {
    server: ServerHealth,
    starts: WatchStarts,
}

impl HealthLayer {
    /// Creates the layer for a plane behind this server.
    pub fn new(server: ServerHealth, starts: WatchStarts) -> Self {
        Self { server, starts }
    }
}

impl<S> Layer<S> for HealthLayer {
    type Service = HealthService<S>;

    fn layer(&self, inner: S) -> HealthService<S> {
        HealthService { inner, layer: self.clone() }
    }
}

/// See [`HealthLayer`].
#[derive(Clone, Debug)]
pub struct HealthService<S> {
    inner: S,
    layer: HealthLayer,
}

impl<S, B, A> Service<Request<B>> for HealthService<S>
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
        let plural = request.uri().path().rsplit('/').next().filter(|_| is_watch(request.uri()));
        let watched = plural.map(str::to_owned);
        let HealthLayer { server, starts } = self.layer.clone();
        let began = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            match answer.await.map_err(Into::into) {
                Ok(answer) => {
                    server.answered();
                    if let Some(resource) = watched
                        && answer.status().is_success()
                    {
                        starts.began(&resource);
                    }
                    Ok(answer)
                }
                Err(error) => {
                    server.failed(began, &error);
                    Err(error)
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> BoxError {
        ServerUnreachable("connection refused".to_owned()).into()
    }

    #[tokio::test(start_paused = true)]
    async fn i8_the_first_answer_wakes_all_who_wait_one_after_the_other() {
        const WAITING: u32 = 600;
        let server = ServerHealth::new("s");
        server.answered();
        server.failed(Instant::now(), &refused());
        let since = server.comebacks();
        let woken: Vec<_> = (0..WAITING)
            .map(|n| {
                let server = server.clone();
                tokio::spawn(async move {
                    server.wait(Duration::from_secs(10), since, f64::from(n) / f64::from(WAITING)).await;
                    Instant::now()
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let back = Instant::now();
        server.answered();
        assert!(server.is_starting());
        let mut times = Vec::new();
        for one in woken {
            times.push(one.await.unwrap() - back);
        }
        times.sort_unstable();
        assert!(times[599] <= Duration::from_millis(700), "{:?}", times[599]);
        let most =
            times.iter().map(|at| times.iter().filter(|t| at.abs_diff(**t) <= APART * 5).count()).max();
        assert!(most <= Some(20), "{most:?} of {WAITING} within ten milliseconds");
        assert_eq!(server.0.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn i8_only_a_comeback_wakes_and_one_that_was_missed_counts() {
        let server = ServerHealth::new("s");
        server.answered();
        let since = server.comebacks();
        let start = Instant::now();
        server.answered();
        server.wait(Duration::from_secs(10), since, 1.0).await;
        assert_eq!(start.elapsed(), Duration::from_secs(10), "it had not been away");
        server.failed(Instant::now(), &refused());
        server.answered();
        let start = Instant::now();
        server.wait(Duration::from_secs(10), since, 1.0).await;
        assert_eq!(start.elapsed(), SHORTEST, "it came back before the wait began");
    }

    #[tokio::test(start_paused = true)]
    async fn i8_one_that_works_again_wakes_the_few_that_have_waited_longest() {
        let server = ServerHealth::new("s");
        let start = Instant::now();
        // Nobody waits: nobody is woken later by this.
        server.recovered();
        let woken: Vec<_> = (0..10)
            .map(|_| {
                let server = server.clone();
                tokio::spawn(async move {
                    server.wait_refused(Duration::from_secs(30)).await;
                    start.elapsed()
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        server.recovered();
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.recovered();
        let mut times = Vec::new();
        for one in woken {
            times.push(one.await.unwrap());
        }
        let few = WOKEN as usize;
        assert!(times[..few].iter().all(|at| *at == SHORTEST), "no wait is shorter: {times:?}");
        let second = Duration::from_millis(5001);
        assert!(times[few..2 * few].iter().all(|at| *at == second), "{times:?}");
        assert!(times[2 * few..].iter().all(|at| *at == Duration::from_secs(30)), "{times:?}");
        assert_eq!(server.0.waiting_refused.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn i8_one_plane_that_hangs_does_not_make_its_server_one_that_is_away() {
        let server = ServerHealth::new("s");
        let silence = || -> BoxError { "no answer".into() };
        let began = Instant::now();
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.answered();
        server.failed(began, &silence());
        server.answered();
        assert_eq!(server.comebacks(), 1, "others were answered meanwhile");
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.failed(Instant::now(), &silence());
        server.answered();
        assert_eq!(server.comebacks(), 2, "nobody was");
        tokio::time::sleep(STARTING).await;
        assert!(!server.is_starting());
    }
}
