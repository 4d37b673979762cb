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
use tower::{BoxError, Service};

use super::body::{AnswerBody, Carried, Counted, Stream};
use super::connect::{Connector, Dialled, Endpoint};
use super::health::{ServerHealth, ServerUnreachable};
use super::lanes::Lanes;
use super::liveness::Overdue;
use super::watches;

/// Bytes of the headers of an answer over HTTP/1.1, of which hyper may read as many again before it gives up;
/// over HTTP/2 it takes 16 KiB. Warnings are the most that API servers send, four kilobytes of them.
const HEADERS: usize = 64 << 10;

/// How often a request that never left is given to another connection.
const ATTEMPTS: usize = 3;
/// For how many times the time-out to headers a connection is silent before what is under way on it ends: by
/// default for longer than it takes from one bookmark of a watch to the next.
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
        let lanes = Mutex::default();
        let dial = Mutex::default();
        let http1 = OnceLock::new();
        let confidential = OnceLock::new();
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

impl Pool {
    /// Whether the server answers.
    pub fn health(&self) -> &ServerHealth {
        &self.0.health
    }

    /// HTTP/2 connections that are open now.
    pub fn connections(&self) -> usize {
        let apart = self.0.confidential.get().map_or(0, Self::connections);
        apart + self.lanes().open()
    }

    /// The connections for what this request carries.
    pub fn of<B>(&self, request: &Request<B>) -> Self {
        if request.extensions().get::<OwnConnection>().is_none() {
            return self.clone();
        }
        let Inner { health, connector, patience, .. } = &*self.0;
        self.0
            .confidential
            .get_or_init(|| Self(Arc::new(Inner::new(health.clone(), connector.clone(), *patience, false))))
            .clone()
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lanes.lock()
    }

    async fn room(&self) -> Result<Room, BoxError> {
        loop {
            if let Some(client) = self.0.http1.get() {
                return Ok(Room::Http1(client.clone()));
            }
            if let Some((send, stream)) = self.lanes().stream() {
                return Ok(Room::Http2(send, stream));
            }
            let Some(mut dial) = self.dial() else { continue };
            let ended = dial.wait_for(Option::is_some).await.map(|ended| ended.clone());
            match ended {
                Ok(Some(Err(words))) => return Err(ServerUnreachable(words).into()),
                Ok(_) => {}
                Err(_) => return Err(ServerUnreachable("the attempt was given up".to_owned()).into()),
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
                let carried = Arc::<Carried>::default();
                if !self.0.keeps_idle {
                    tokio::spawn(close_idle(Arc::downgrade(&self.0), carried.clone()));
                }
                self.lanes().add(http2, carried);
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
                            self.lanes().retire(self.0.health.name(), self.0.patience);
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
        Err(ServerUnreachable("no connection stayed open".to_owned()).into())
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
            lanes.close(&carried);
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
