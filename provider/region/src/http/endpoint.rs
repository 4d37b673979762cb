//! One service: what holds requests to it back, and the request itself (V7).
//!
//! Nobody queues here. A request that may not be sent now fails at once with when to come again: the queue of
//! the controller is where Instances wait, fairly and with their own back-off.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_engine::circuit::{self, Circuit, Stance};
use fedhub_provider::{Failure, FailureKind};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tower::ServiceExt;

use super::answer::{Answer, is_json};
use super::pace::Pace;
use super::retry_after::retry_after;
use super::wire::{Incoming, Wire};

/// How long a request may take, from its first byte to the last one of its answer.
const WHOLE: Duration = Duration::from_secs(30);
/// How soon to come again where every place is taken: about as long as a request takes.
const BUSY: Duration = Duration::from_millis(250);
/// How long to leave a service alone that says 429 without how long.
const UNSAID: Duration = Duration::from_secs(1);

/// What an endpoint is made of.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// What it is called in messages, such as `region eu-north`.
    pub name: String,
    /// The address, without a path.
    pub server: String,
    /// The path that all others are below.
    pub path: String,
    /// Requests under way at once.
    pub in_flight: u32,
    /// Requests a second.
    pub per_second: u32,
}

/// A request. It cannot be printed: it may carry a secret.
#[derive(Clone)]
pub struct Ask {
    /// The method. Whatever is not GET is an order, which may have been carried out although it failed.
    pub method: Method,
    /// The path below that of the endpoint, and the query.
    pub path: String,
    /// The body and its type.
    pub body: Option<(Bytes, HeaderValue)>,
    /// Who asks.
    pub headers: HeaderMap,
    /// The longest body of an answer, in bytes.
    pub limit: usize,
}

/// A service under its limits.
pub struct Endpoint {
    config: EndpointConfig,
    places: Arc<Semaphore>,
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    circuit: Circuit,
    /// Whether a request is under way that tells whether the service is back.
    probing: bool,
    /// Until when the service asks to be left alone.
    quiet: Option<Instant>,
    pace: Pace,
    random: SmallRng,
}

impl Endpoint {
    /// A service that nothing is known of yet. `seed` is that of the jitter.
    pub fn new(config: EndpointConfig, seed: u64, clock: Clock) -> Self {
        let places = Arc::new(Semaphore::new(usize::try_from(config.in_flight).unwrap_or(1)));
        let state = State {
            circuit: Circuit::default(),
            probing: false,
            quiet: None,
            pace: Pace::new(config.per_second, Instant::now()),
            random: SmallRng::seed_from_u64(seed),
        };
        Self { config, places, clock, state: Mutex::new(state) }
    }

    /// Sends a request and reads its answer, whatever it says.
    ///
    /// # Errors
    ///
    /// [`Failure`] of kind `Unavailable` where it is not sent, or has no answer.
    pub async fn send(&self, wire: Wire, ask: Ask) -> Result<Answer, Failure> {
        let turn = self.turn()?;
        let order = ask.method != Method::GET;
        let limit = ask.limit;
        let request = self.request(ask)?;
        let sent = tokio::time::timeout(WHOLE, exchange(wire, request, limit)).await;
        match sent {
            Ok(Ok(mut answer)) => {
                answer.after = retry_after(&answer.headers, self.clock.now());
                turn.answered(&answer);
                Ok(answer)
            }
            Ok(Err(lost)) => {
                turn.failed();
                Err(self.lost(&lost.message, order && lost.sent))
            }
            Err(_) => {
                turn.failed();
                Err(self.lost(&format!("no answer within {WHOLE:?}"), order))
            }
        }
    }

    fn request(&self, ask: Ask) -> Result<Request<Full<Bytes>>, Failure> {
        let EndpointConfig { server, path, .. } = &self.config;
        let mut request = Request::builder().method(ask.method).uri(format!("{server}{path}{}", ask.path));
        if let Some(headers) = request.headers_mut() {
            *headers = ask.headers;
            headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
            if let Some((_, content_type)) = &ask.body {
                headers.insert(header::CONTENT_TYPE, content_type.clone());
            }
        }
        let body = ask.body.map(|(body, _)| body).unwrap_or_default();
        request.body(Full::new(body)).map_err(|error| Failure {
            kind: FailureKind::Invalid,
            message: format!("{}: the request cannot be made: {error}", self.config.name),
            after: None,
            may_have_acted: false,
        })
    }

    /// A turn for one request, which ends with it, dropped or not.
    fn turn(&self) -> Result<Turn<'_>, Failure> {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.circuit.ripen(now);
        if let Some(until) = state.circuit.until() {
            let after = until.saturating_duration_since(now);
            return Err(self.away("it does not answer, and is asked again later", after));
        }
        let half_open = state.circuit.stance() == Stance::HalfOpen;
        if half_open && state.probing {
            return Err(self.away("whether it answers again is being found out", circuit::FIRST));
        }
        if let Some(until) = state.quiet.filter(|until| *until > now) {
            // Who was turned away does not come again in the same instant as all others.
            let spread = 1.0 + state.random.random::<f64>() / 4.0;
            let after = until.saturating_duration_since(now).mul_f64(spread);
            return Err(self.away("it asks to be left alone", after));
        }
        state.quiet = None;
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            let after = BUSY.mul_f64(0.5 + state.random.random::<f64>());
            return Err(self.away("as many requests as may be are under way", after));
        };
        if let Err(after) = state.pace.take(now) {
            return Err(self.away("as many requests as may be were sent", after));
        }
        state.probing |= half_open;
        Ok(Turn { endpoint: self, began: now, probe: half_open, _place: place })
    }

    fn away(&self, why: &str, after: Duration) -> Failure {
        Failure {
            kind: FailureKind::Unavailable,
            message: format!("{}: not asked: {why}", self.config.name),
            after: Some(after),
            may_have_acted: false,
        }
    }

    fn lost(&self, why: &str, may_have_acted: bool) -> Failure {
        Failure {
            kind: FailureKind::Unavailable,
            message: super::answer::bounded(format!("{}: no answer: {why}", self.config.name)),
            after: None,
            may_have_acted,
        }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.config.name
    }
}

/// A request that has its place. Dropped without a word, as where its caller is, it says nothing of the
/// service.
struct Turn<'a> {
    endpoint: &'a Endpoint,
    began: Instant,
    probe: bool,
    _place: OwnedSemaphorePermit,
}

impl Turn<'_> {
    fn answered(self, answer: &Answer) {
        if answer.status.is_server_error() {
            self.failed_with(answer.after);
            return;
        }
        let now = Instant::now();
        let mut state = self.endpoint.state.lock();
        if state.circuit.interrupts() {
            tracing::info!(service = self.endpoint.name(), "circuit breaker closed");
        }
        state.circuit.answered(now);
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            state.quiet = Some(now + answer.after.unwrap_or(UNSAID));
        }
    }

    fn failed(self) {
        self.failed_with(None);
    }

    fn failed_with(self, quiet: Option<Duration>) {
        let now = Instant::now();
        let mut state = self.endpoint.state.lock();
        let before = state.circuit.stance();
        let chance = state.random.random();
        state.circuit.failed(self.began, now, chance);
        if before == Stance::Closed && state.circuit.stance() == Stance::Open {
            tracing::warn!(service = self.endpoint.name(), "circuit breaker opened");
        }
        if let Some(quiet) = quiet {
            state.quiet = Some(now + quiet);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.probe {
            self.endpoint.state.lock().probing = false;
        }
    }
}

/// An exchange that did not come to its end.
struct Lost {
    sent: bool,
    message: String,
}

async fn exchange(wire: Wire, request: Request<Full<Bytes>>, limit: usize) -> Result<Answer, Lost> {
    let answer =
        wire.oneshot(request).await.map_err(|failed| Lost { sent: failed.sent, message: failed.message })?;
    let (head, body) = Response::into_parts(answer);
    let body = read(body, limit).await?;
    let json = is_json(&head.headers);
    Ok(Answer { status: head.status, headers: head.headers, body, json, after: None })
}

async fn read(body: Incoming, limit: usize) -> Result<Bytes, Lost> {
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) => {
            let message = match error.downcast_ref::<http_body_util::LengthLimitError>() {
                Some(_) => format!("its body is longer than {limit} bytes"),
                None => format!("its body broke off: {}", fedhub_core::errors::chain(error.as_ref())),
            };
            Err(Lost { sent: true, message })
        }
    }
}

#[cfg(test)]
mod tests;
