//! The body of an answer, which holds its place among the connection's streams until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tower::BoxError;

/// A stream that is under way; its place is free again when this is dropped.
#[derive(Debug)]
pub struct Stream(Arc<AtomicUsize>);

impl Stream {
    /// One more stream, unless there are `limit` already.
    pub fn open(streams: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let more = |n| (n < limit).then_some(n + 1);
        streams.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self(streams.clone()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A body with the stream that it comes on.
pub struct Counted {
    body: Incoming,
    _stream: Stream,
}

impl Counted {
    /// `body`, which comes on `stream`.
    pub fn new(body: Incoming, stream: Stream) -> Self {
        Self { body, _stream: stream }
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
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
        let streams = Arc::new(AtomicUsize::new(0));
        let first = Stream::open(&streams, 2).unwrap();
        let _second = Stream::open(&streams, 2).unwrap();
        assert!(Stream::open(&streams, 2).is_none());
        drop(first);
        assert!(Stream::open(&streams, 2).is_some());
    }
}
