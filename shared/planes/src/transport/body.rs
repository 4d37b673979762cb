//! The body of an answer, which holds its place among the connection's streams until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tower::BoxError;

use super::liveness::{Liveness, Overdue};

/// The body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// The state of a connection, by the streams that it carries.
#[derive(Debug, Default)]
pub struct Carried {
    streams: AtomicUsize,
    /// Counts what was received on the connection.
    pub liveness: Liveness,
}

impl Carried {
    /// How many streams are under way.
    pub fn under_way(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }
}

/// A stream that is under way; its place is free again when this is dropped.
#[derive(Debug)]
pub struct Stream {
    carried: Arc<Carried>,
    /// How much had come on the connection when it began.
    so_far: u64,
    overdue: Option<Overdue>,
}

impl Stream {
    /// Opens a stream, unless there are `limit` already.
    pub fn open(carried: &Arc<Carried>, limit: usize) -> Option<Self> {
        carried
            .streams
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < limit).then_some(n + 1))
            .ok()?;
        Some(Self { carried: carried.clone(), so_far: carried.liveness.so_far(), overdue: None })
    }

    /// Notes that the stream carries a request, which says whether it has timed out.
    pub fn carries(&mut self, overdue: Option<Overdue>) {
        self.overdue = overdue;
    }

    /// Notes that something was received.
    pub fn heard(&self) {
        self.carried.liveness.heard();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.overdue.as_ref().is_some_and(Overdue::is_set) {
            self.carried.liveness.timed_out(self.so_far);
        }
        self.carried.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A body with the stream that it comes on.
pub struct Counted {
    body: Incoming,
    stream: Stream,
}

impl Counted {
    /// `body`, which comes on `stream`.
    pub fn new(body: Incoming, stream: Stream) -> Self {
        Self { body, stream }
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(Some(Ok(_)))) {
            self.stream.heard();
        }
        frame.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_holds_its_place_until_it_is_dropped() {
        let streams = Arc::new(Carried::default());
        let first = Stream::open(&streams, 2).unwrap();
        let _second = Stream::open(&streams, 2).unwrap();
        assert!(Stream::open(&streams, 2).is_none());
        drop(first);
        assert!(Stream::open(&streams, 2).is_some());
    }
}
