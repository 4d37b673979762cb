//! What is open: connections, and the requests on each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};
use serde::Serialize;

/// Counts the connections of a server, and the requests that are under way on them: those whose answer has
/// not ended, open watches included.
#[derive(Debug, Default)]
pub struct Census {
    connections: AtomicUsize,
    accepted: AtomicUsize,
    streams: AtomicUsize,
    most_streams: AtomicUsize,
}

/// The counts of a [`Census`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// TCP connections that are open.
    pub connections: usize,
    /// TCP connections that were ever made.
    pub accepted: usize,
    /// Requests that are under way.
    pub streams: usize,
    /// The most that were ever under way at once on one connection since the last [`Census::reset`].
    pub most_streams: usize,
}

impl Census {
    /// Counts what is open now.
    pub fn count(&self) -> Count {
        let read = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        Count {
            connections: read(&self.connections),
            accepted: read(&self.accepted),
            streams: read(&self.streams),
            most_streams: read(&self.most_streams),
        }
    }

    /// Forgets the highest number of streams.
    pub fn reset(&self) {
        self.most_streams.store(0, Ordering::Relaxed);
    }

    pub(super) fn connection(self: &Arc<Self>) -> Connection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Connection(Arc::new(Open { census: self.clone(), streams: AtomicUsize::new(0) }))
    }
}

/// A connection, for as long as it is open or one of its requests is under way.
#[derive(Clone)]
pub(super) struct Connection(Arc<Open>);

struct Open {
    census: Arc<Census>,
    streams: AtomicUsize,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.census.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connection {
    pub(super) fn stream(&self) -> Stream {
        self.0.census.streams.fetch_add(1, Ordering::Relaxed);
        let now = self.0.streams.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.census.most_streams.fetch_max(now, Ordering::Relaxed);
        Stream(self.0.clone())
    }
}

/// A request, for as long as it is under way.
pub(super) struct Stream(Arc<Open>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
        self.0.census.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body whose request is under way until it is dropped.
pub(super) struct Counted<B> {
    body: B,
    _stream: Stream,
}

impl<B> Counted<B> {
    pub(super) fn new(body: B, stream: Stream) -> Self {
        Self { body, _stream: stream }
    }
}

impl<B: Body + Unpin> Body for Counted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
