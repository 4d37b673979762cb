//! Connections to one server under one trust, shared by all planes behind it.
//!
//! HTTP/2 where the server speaks it: a connection carries as many streams as the server announced in its SETTINGS
//! and no more, so that no watch ever waits for another to end; the next connection is opened before that limit is
//! met. HTTP/1.1 otherwise, a connection for each request under way. Dead connections are found by pings.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Bytes;
use hyper::client::conn::http2::SendRequest;
use hyper_util::client::legacy::Client as Http1Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use tokio::sync::watch;
use tower::{BoxError, Service};

use super::body::{Counted, Stream};
use super::connect::{Connector, Dialled, Endpoint, Http2};
use super::watches;

/// The body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// Streams on one connection where the server announces no limit.
const UNLIMITED: usize = 1_000;
/// How often a request that never left is given to another connection.
const ATTEMPTS: usize = 3;

/// The pools of the process, by server and trust.
#[derive(Clone, Default)]
pub struct Pools(Arc<Mutex<BTreeMap<Endpoint, Weak<Inner>>>>);

impl Pools {
    /// The pool for a server and the trust in it: the one that another plane uses already, or a new one.
    pub fn get(&self, endpoint: Endpoint, connector: impl FnOnce() -> Connector) -> Pool {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = pools.get(&endpoint).and_then(Weak::upgrade) {
            return Pool(inner);
        }
        pools.retain(|_, inner| inner.strong_count() > 0);
        let inner = Arc::new(Inner {
            connector: connector(),
            lanes: Mutex::default(),
            dial: Mutex::default(),
            http1: OnceLock::new(),
        });
        pools.insert(endpoint, Arc::downgrade(&inner));
        Pool(inner)
    }

    /// HTTP/2 connections that are open now.
    pub fn connections(&self) -> usize {
        let pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pools.values().filter_map(Weak::upgrade).map(|pool| Pool(pool).connections()).sum()
    }
}

/// The connections to one server.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    connector: Connector,
    lanes: Mutex<Lanes>,
    /// The last dial. There is one at a time, and all who need room wait for it.
    dial: Mutex<Option<Dial>>,
    /// The server speaks HTTP/1.1 only.
    http1: OnceLock<Http1Client<Connector, Body>>,
}

/// How a dial ended: who waited for it fails with it.
type Dial = watch::Receiver<Option<Result<(), String>>>;

/// How many streams in a row may go to the connection that took the last one, before the first with room is sought:
/// with hundreds of connections, all but a few full of watches, looking through them costs more than the request.
const IN_A_ROW: usize = 64;

#[derive(Default)]
struct Lanes {
    all: Vec<Lane>,
    /// Which one took the last stream, and how many it took since it was found.
    last: usize,
    in_a_row: usize,
}

/// One HTTP/2 connection and the number of its streams under way.
struct Lane {
    http2: Http2,
    streams: Arc<AtomicUsize>,
}

impl Lane {
    fn closed(&self) -> bool {
        self.http2.send.is_closed()
    }

    fn under_way(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    fn limit(&self) -> usize {
        (*self.http2.limit.borrow()).min(UNLIMITED)
    }

    /// A stream, if there is room.
    fn take(&self) -> Option<(SendRequest<Body>, Stream)> {
        let stream = Stream::open(&self.streams, self.limit()).filter(|_| !self.closed())?;
        Some((self.http2.send.clone(), stream))
    }

    fn has_room(&self) -> bool {
        !self.closed() && self.under_way() < self.limit()
    }
}

/// A server that could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("failed to connect: {0}")]
pub struct Unreachable(String);

impl Pool {
    /// HTTP/2 connections that are open now.
    pub fn connections(&self) -> usize {
        self.lanes().all.iter().filter(|l| !l.closed()).count()
    }

    fn lanes(&self) -> std::sync::MutexGuard<'_, Lanes> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream on the first connection that has room, or on the one that was that just now: so those behind it run
    /// empty, and those that are empty go when the first could take as much again.
    fn stream(&self) -> Option<(SendRequest<Body>, Stream)> {
        let mut lanes = self.lanes();
        lanes.in_a_row += 1;
        if lanes.in_a_row < IN_A_ROW
            && let Some(taken) = lanes.all.get(lanes.last).and_then(Lane::take)
        {
            return Some(taken);
        }
        let all = &mut lanes.all;
        all.retain(|lane| !lane.closed());
        let spare = all.first().is_some_and(|l| l.under_way() < l.limit() / 2);
        while spare && all.len() > 1 && all.last().is_some_and(|l| l.under_way() == 0) {
            all.pop();
        }
        let (last, taken) = all.iter().enumerate().find_map(|(at, lane)| Some((at, lane.take()?)))?;
        (lanes.last, lanes.in_a_row) = (last, 0);
        Some(taken)
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
    /// It is a task of its own and nobody's in particular: a request may be given up in its midst, or not be looked at
    /// for a while, as a watch is while its owner does something else. That must not hold up the others' connection.
    fn dial(&self) -> Option<Dial> {
        let mut last = self.0.dial.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dial) = last.as_ref().filter(|dial| dial.borrow().is_none() && dial.has_changed().is_ok())
        {
            return Some(dial.clone());
        }
        if self.0.http1.get().is_some() || self.lanes().all.iter().any(Lane::has_room) {
            return None;
        }
        let (sender, dial) = watch::channel(None);
        let pool = self.clone();
        tokio::spawn(async move {
            let ended = pool.connect().await.map_err(|error| crate::errors::chain(error.as_ref()));
            sender.send_replace(Some(ended));
        });
        *last = Some(dial.clone());
        Some(dial)
    }

    async fn connect(&self) -> Result<(), BoxError> {
        match self.0.connector.dial().await? {
            Dialled::Http2(http2) => self.lanes().all.push(Lane { http2, streams: Arc::default() }),
            Dialled::Http1 => {
                let client = Http1Client::builder(TokioExecutor::new())
                    .pool_timer(TokioTimer::new())
                    .pool_idle_timeout(std::time::Duration::from_mins(1))
                    .build(self.0.connector.http1_only());
                let _ = self.0.http1.set(client);
            }
        }
        Ok(())
    }

    async fn send(&self, mut request: Request<Body>) -> Result<Response<AnswerBody>, BoxError> {
        for attempt in 1.. {
            match self.room().await? {
                Room::Http1(client) => {
                    let answer = client.request(request).await?;
                    return Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()));
                }
                Room::Http2(mut send, stream) => {
                    let asked = request.uri().clone();
                    if let Some(longer) = watches::lengthened(&asked) {
                        *request.uri_mut() = longer;
                    }
                    match send.try_send_request(request).await {
                        Ok(answer) => return Ok(answer.map(|body| Counted::new(body, stream).boxed_unsync())),
                        Err(mut failed) => match failed.take_message() {
                            // The connection ended before the request left: another one takes it.
                            Some(unsent) if attempt < ATTEMPTS => {
                                request = unsent;
                                *request.uri_mut() = asked;
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
