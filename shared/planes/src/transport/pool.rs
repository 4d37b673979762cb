//! Connections to one server under one trust, shared by all planes behind it.
//!
//! HTTP/2 where the server speaks it: a connection carries as many streams as the server announced in its
//! SETTINGS and no more, so that no watch ever waits for another to end; the next connection is opened before
//! that limit is met. HTTP/1.1 otherwise, a connection for each request under way. Dead connections are found
//! by pings, those that hang although they answer pings by the requests that time out on them: they get no
//! more, and are retired while others of the server answer. By hand, since the pool of hyper-util opens one
//! HTTP/2 connection for each host, whatever its limit on streams.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::client::conn::http2::SendRequest;
use hyper_util::client::legacy::Client as Http1Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{BoxError, Service};

use super::body::{AnswerBody, Carried, Counted, Stream};
use super::connect::{Connector, Dialled, Endpoint, Http2};
use super::health::{ServerHealth, Unreachable};
use super::liveness::{Overdue, Retirement};
use super::watches;

/// Bytes of the headers of an answer over HTTP/1.1, of which hyper may read as many again before it gives up;
/// over HTTP/2 it takes 16 KiB. Warnings are the most that API servers send, four kilobytes of them.
const HEADERS: usize = 64 << 10;

/// Streams on one connection where the server announces no limit.
const UNLIMITED: usize = 1_000;
/// How often a request that never left is given to another connection.
const ATTEMPTS: usize = 3;
/// How many connections that are silent a server may have before no other is opened in their place: then it
/// hangs, and not a connection to it.
const SILENT: usize = 2;
/// The time from one look at which connections are silent to the next: there may be hundreds, and answers by
/// the thousand.
const LOOK: Duration = Duration::from_secs(1);
/// How many times the time-out to headers a connection may be silent before the requests on it fail: by
/// default longer than from one bookmark of a watch to the next.
const PATIENCE: u32 = 8;

/// The pools of the process, by server and trust.
#[derive(Clone)]
pub struct Pools {
    pools: Arc<Mutex<BTreeMap<Endpoint, Weak<Inner>>>>,
    patience: Duration,
}

impl Pools {
    /// Creates pools for requests whose answers begin within `response_header_timeout`.
    pub fn new(response_header_timeout: Duration) -> Self {
        Self { pools: Arc::default(), patience: response_header_timeout.saturating_mul(PATIENCE) }
    }

    /// The pool for a server and the trust in it: the one that another plane uses already, or a new one.
    pub fn get(&self, endpoint: Endpoint, connector: impl FnOnce() -> Connector) -> Pool {
        let mut pools = self.pools.lock();
        if let Some(inner) = pools.get(&endpoint).and_then(Weak::upgrade) {
            return Pool(inner);
        }
        pools.retain(|_, inner| inner.strong_count() > 0);
        let health = ServerHealth::new(endpoint.server());
        let inner = Arc::new(Inner::new(health, connector(), self.patience, true));
        pools.insert(endpoint, Arc::downgrade(&inner));
        Pool(inner)
    }

    /// HTTP/2 connections that are open now.
    pub fn connections(&self) -> usize {
        let pools = self.pools.lock();
        pools.values().filter_map(Weak::upgrade).map(|pool| Pool(pool).connections()).sum()
    }
}

/// The connections to one server.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    health: ServerHealth,
    connector: Connector,
    patience: Duration,
    lanes: Mutex<Lanes>,
    /// The last dial. There is one at a time, and all who need room wait for it.
    dial: Mutex<Option<Dial>>,
    /// The server speaks HTTP/1.1 only.
    http1: OnceLock<Http1Client<Connector, Body>>,
    /// The connections for requests that are [`OwnConnection`].
    confidential: OnceLock<Pool>,
    /// Whether connections stay open while nothing is under way on them.
    keeps_idle: bool,
}

impl Inner {
    fn new(health: ServerHealth, connector: Connector, patience: Duration, keeps_idle: bool) -> Self {
        let (lanes, dial) = (Mutex::default(), Mutex::default());
        let (http1, confidential) = (OnceLock::new(), OnceLock::new());
        Self { health, connector, patience, lanes, dial, http1, confidential, keeps_idle }
    }
}

/// Marks a request, as one of its extensions: what it or its answer carries must not stay in the buffers of a
/// connection that lives on. It goes over connections for such requests alone, which are closed, and their
/// buffers freed, soon after the last.
#[derive(Clone, Copy, Debug)]
pub struct OwnConnection;

/// How long a connection for such requests is idle, at least, before it is closed; at most twice as long.
const IDLE: Duration = Duration::from_millis(500);

/// How a dial ended: who waited for it fails with it.
type Dial = watch::Receiver<Option<Result<(), String>>>;

/// How many streams in a row may go to the connection that took the last one, before the first with room is
/// sought: with hundreds of connections, all but a few full of watches, looking through them costs more than
/// the request.
const IN_A_ROW: usize = 64;

#[derive(Default)]
struct Lanes {
    all: Vec<Lane>,
    /// The index of the connection that took the last stream, and how many streams it took since it was
    /// found.
    last: usize,
    in_a_row: usize,
    /// When those that are silent were last looked for.
    looked: Option<Instant>,
}

/// An HTTP/2 connection and its streams.
struct Lane {
    http2: Http2,
    carried: Arc<Carried>,
    retirement: Retirement,
}

impl Lane {
    fn closed(&self) -> bool {
        self.http2.send.is_closed()
    }

    fn under_way(&self) -> usize {
        self.carried.under_way()
    }

    fn silent(&self) -> bool {
        self.carried.liveness.is_silent()
    }

    fn limit(&self) -> usize {
        (*self.http2.limit.borrow()).min(UNLIMITED)
    }

    /// A stream, if there is room.
    fn take(&self) -> Option<(SendRequest<Body>, Stream)> {
        let stream = Stream::open(&self.carried, self.limit()).filter(|_| !self.closed())?;
        Some((self.http2.send.clone(), stream))
    }

    fn has_room(&self) -> bool {
        !self.closed() && self.under_way() < self.limit()
    }
}

impl Lanes {
    /// Returns the connections that are silent, or those that are not, with their numbers.
    fn that_are(&self, silent: bool) -> impl DoubleEndedIterator<Item = (usize, &Lane)> {
        self.all.iter().enumerate().filter(move |(_, lane)| lane.silent() == silent)
    }

    /// Whether a connection that is silent has to do: there are so many of them that another one would be,
    /// too.
    fn hang(&self) -> bool {
        self.that_are(true).count() >= SILENT
    }

    /// The first that has room and is not silent; the latest of those that are where the server hangs.
    fn take(&self) -> Option<(usize, (SendRequest<Body>, Stream))> {
        let from = |(at, lane): (usize, &Lane)| Some((at, lane.take()?));
        let taken = self.that_are(false).find_map(from);
        taken.or_else(|| self.that_are(true).rev().find_map(from).filter(|_| self.hang()))
    }

    fn has_room(&self) -> bool {
        let hang = self.hang();
        self.all.iter().any(|lane| lane.has_room() && (hang || !lane.silent()))
    }
}

impl Pool {
    /// Whether the server answers.
    pub fn health(&self) -> &ServerHealth {
        &self.0.health
    }

    /// HTTP/2 connections that are open now.
    pub fn connections(&self) -> usize {
        let apart = self.0.confidential.get().map_or(0, Self::connections);
        apart + self.lanes().all.iter().filter(|l| !l.closed()).count()
    }

    /// The connections for what this request carries.
    pub fn of<B>(&self, request: &Request<B>) -> Self {
        if request.extensions().get::<OwnConnection>().is_none() {
            return self.clone();
        }
        let Inner { health, connector, patience, .. } = &*self.0;
        let apart = || Self(Arc::new(Inner::new(health.clone(), connector.clone(), *patience, false)));
        self.0.confidential.get_or_init(apart).clone()
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lanes.lock()
    }

    /// A stream on the first connection that has room, or on the one that was that just now: so those behind
    /// it run empty, and those that are empty go when the first could take as much again.
    fn stream(&self) -> Option<(SendRequest<Body>, Stream)> {
        let mut lanes = self.lanes();
        lanes.in_a_row += 1;
        let last = lanes.all.get(lanes.last).filter(|lane| lanes.in_a_row < IN_A_ROW && !lane.silent());
        if let Some(taken) = last.and_then(Lane::take) {
            return Some(taken);
        }
        let all = &mut lanes.all;
        all.retain(|lane| !lane.closed());
        let spare = all.first().is_some_and(|l| !l.silent() && l.under_way() < l.limit() / 2);
        while spare && all.len() > 1 && all.last().is_some_and(|l| l.under_way() == 0) {
            all.pop();
        }
        let (last, taken) = lanes.take()?;
        (lanes.last, lanes.in_a_row) = (last, 0);
        Some(taken)
    }

    /// A connection has answered: those that have been silent for long meanwhile are retired.
    fn answered(&self) {
        let (mut lanes, now) = (self.lanes(), Instant::now());
        if lanes.looked.is_some_and(|looked| now.duration_since(looked) < LOOK) {
            return;
        }
        lanes.looked = Some(now);
        lanes.all.retain_mut(|lane| {
            let silent = lane.silent();
            let due = lane.retirement.is_due(silent, now, self.0.patience);
            let retires = due || (silent && lane.under_way() == 0);
            if retires {
                tracing::info!(
                    server = self.0.health.name(),
                    streams = lane.under_way(),
                    "retiring connection: its requests time out while other connections to the server answer"
                );
                lane.http2.end.cancel();
            }
            !retires
        });
    }

    async fn room(&self) -> Result<Room, BoxError> {
        loop {
            if let Some(client) = self.0.http1.get() {
                return Ok(Room::Http1(client.clone()));
            }
            if let Some((send, stream)) = self.stream() {
                return Ok(Room::Http2(send, stream));
            }
            let Some(mut dial) = self.dial() else { continue };
            let ended = dial.wait_for(Option::is_some).await.map(|ended| ended.clone());
            match ended {
                Ok(Some(Err(words))) => return Err(Unreachable(words).into()),
                Ok(_) => {}
                Err(_) => return Err(Unreachable("the attempt was given up".to_owned()).into()),
            }
        }
    }

    /// The dial that is under way, or a new one; none where there is room by now.
    ///
    /// It is a task of its own that belongs to no request: a request may be given up in its midst, or not be
    /// looked at for a while, as a watch is while its owner does something else. That must not hold up the
    /// others' connection.
    fn dial(&self) -> Option<Dial> {
        let mut last = self.0.dial.lock();
        if let Some(dial) = last.as_ref().filter(|dial| dial.borrow().is_none() && dial.has_changed().is_ok())
        {
            return Some(dial.clone());
        }
        if self.0.http1.get().is_some() || self.lanes().has_room() {
            return None;
        }
        let (sender, dial) = watch::channel(None);
        let pool = self.clone();
        tokio::spawn(async move {
            let ended = pool.connect().await.map_err(|error| fedhub_core::errors::chain(error.as_ref()));
            sender.send_replace(Some(ended));
        });
        *last = Some(dial.clone());
        Some(dial)
    }

    async fn connect(&self) -> Result<(), BoxError> {
        match self.0.connector.dial().await? {
            Dialled::Http2(http2) => {
                let (carried, retirement) = (Arc::<Carried>::default(), Retirement::default());
                if !self.0.keeps_idle {
                    tokio::spawn(close_idle(Arc::downgrade(&self.0), carried.clone()));
                }
                self.lanes().all.push(Lane { http2, carried, retirement });
            }
            Dialled::Http1 => {
                let client = Http1Client::builder(TokioExecutor::new())
                    .pool_timer(TokioTimer::new())
                    .pool_idle_timeout(Duration::from_mins(1))
                    .http1_max_buf_size(HEADERS)
                    .pool_max_idle_per_host(if self.0.keeps_idle { usize::MAX } else { 0 })
                    .build(self.0.connector.http1_only());
                let _ = self.0.http1.set(client);
            }
        }
        Ok(())
    }

    async fn send(&self, mut request: Request<Body>) -> Result<Response<AnswerBody>, BoxError> {
        let overdue = request.extensions_mut().remove::<Overdue>();
        let asked = request.uri().clone();
        for attempt in 1.. {
            match self.room().await? {
                Room::Http1(client) => {
                    let answer = client.request(request).await?;
                    return Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()));
                }
                Room::Http2(mut send, mut stream) => {
                    stream.carries(overdue.clone());
                    if let Some(longer) = watches::lengthened(&asked) {
                        *request.uri_mut() = longer;
                    }
                    match send.try_send_request(request).await {
                        Ok(answer) => {
                            stream.heard();
                            self.answered();
                            return Ok(answer.map(|body| Counted::new(body, stream).boxed_unsync()));
                        }
                        Err(mut failed) => match failed.take_message() {
                            // The connection ended before the request left: another one takes it.
                            Some(unsent) if attempt < ATTEMPTS => {
                                request = unsent;
                                *request.uri_mut() = asked.clone();
                            }
                            _ => return Err(failed.into_error().into()),
                        },
                    }
                }
            }
        }
        Err(Unreachable("no connection stayed open".to_owned()).into())
    }
}

/// Closes a connection of a pool once nothing was under way on it from one look to the next.
async fn close_idle(pool: Weak<Inner>, carried: Arc<Carried>) {
    let mut so_far = None;
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(pool) = pool.upgrade() else { return };
        // Streams are opened under this lock.
        let mut lanes = pool.lanes.lock();
        let now = Some(carried.liveness.so_far());
        if carried.under_way() == 0 && now == std::mem::replace(&mut so_far, now) {
            lanes.all.retain(|lane| !Arc::ptr_eq(&lane.carried, &carried));
            return;
        }
    }
}

enum Room {
    Http1(Http1Client<Connector, Body>),
    Http2(SendRequest<Body>, Stream),
}

impl Service<Request<Body>> for Pool {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let pool = self.clone();
        Box::pin(async move { pool.send(request).await })
    }
}
