//! The body of an answer, which holds its place among the connection's streams until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use fedhub_core::errors::Excess;
use http::Uri;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tower::BoxError;

use super::liveness::{Liveness, Overdue};
use super::watches::{asks, is_watch};

/// Bytes of an answer: of one object with its `managedFields`, or of anything else that is read whole.
const ANSWER: usize = 8 << 20;
/// Bytes of a Namespace. It is the first thing that is read of every plane, by every replica, and decoding it takes some
/// forty times its bytes where they are chosen for that: 8 MB of tiny maps ended the process at each start.
const NAMESPACE: usize = 256 << 10;
/// Bytes of a page of a list. What reads it asks for less.
const PAGE: usize = 64 << 20;
/// Bytes of a line of a watch.
const LINE: usize = 16 << 20;

/// The body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// What is known of a connection by what it carries.
#[derive(Debug, Default)]
pub struct Carried {
    streams: AtomicUsize,
    /// What came on it.
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
    /// One more stream, unless there are `limit` already.
    pub fn open(carried: &Arc<Carried>, limit: usize) -> Option<Self> {
        let more = |n| (n < limit).then_some(n + 1);
        carried.streams.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self { carried: carried.clone(), so_far: carried.liveness.so_far(), overdue: None })
    }

    /// It carries a request that says whether it has timed out.
    pub fn carries(&mut self, overdue: Option<Overdue>) {
        self.overdue = overdue;
    }

    /// Something came on it.
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

/// A body that ends with an error where it is longer than it may be (I8): as a whole or, of a watch, in one line.
pub struct Limited<B> {
    body: B,
    limit: usize,
    by_line: bool,
    read: usize,
}

impl<B> Limited<B> {
    /// The body of the answer to a request to `uri`.
    pub fn new(body: B, uri: &Uri) -> Self {
        let by_line = is_watch(uri);
        let limit = if by_line {
            LINE
        } else if asks(uri.query(), "limit=") {
            PAGE
        } else if is_namespace(uri) {
            NAMESPACE
        } else {
            ANSWER
        };
        Self { body, limit, by_line, read: 0 }
    }

    fn count(&mut self, bytes: &[u8]) -> Result<(), Excess> {
        let last_line = bytes.iter().rposition(|byte| self.by_line && *byte == b'\n');
        self.read = last_line.map_or(self.read + bytes.len(), |at| bytes.len() - at - 1);
        if self.read > self.limit { Err(Excess::Bytes(self.limit)) } else { Ok(()) }
    }
}

/// Whether a request is about one Namespace itself, on a server of its own or below the path of a project.
fn is_namespace(uri: &Uri) -> bool {
    let name = uri.path().rsplit_once("/api/v1/namespaces/").map(|(_, name)| name);
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

impl<B> Limited<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Send + Unpin + 'static,
{
    /// The same, whatever it is made of.
    pub fn boxed(self) -> AnswerBody {
        self.boxed_unsync()
    }
}

impl<B> Body for Limited<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(Err(error)) = frame.data_ref().map(|bytes| self.count(bytes))
        {
            return Poll::Ready(Some(Err(error.into())));
        }
        Poll::Ready(frame)
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

    #[test]
    fn i8_every_answer_has_a_limit_and_a_watch_has_one_for_each_line() {
        let line = vec![b'x'; 1 << 20];
        let longest = |uri: &'static str, end: &[u8]| {
            let mut body = Limited::new((), &Uri::from_static(uri));
            (1..=100).take_while(|_| body.count(&line).and_then(|()| body.count(end)).is_ok()).count()
        };
        assert_eq!(longest("/api/v1/pods/a", b""), 8);
        assert_eq!(longest("/api/v1/namespaces/kube-system", b""), 0, "not even one of them");
        assert_eq!(longest("/apis/x/v1/projects/a/control-plane/api/v1/namespaces/default", b""), 0);
        assert_eq!(longest("/api/v1/namespaces/shop/secrets/a", b""), 8);
        assert_eq!(longest("/api/v1/namespaces", b""), 8);
        assert_eq!(longest("/api/v1/pods?limit=500", b"\n"), 64 - 1, "lines are nothing to it");
        assert_eq!(longest("/api/v1/pods?watch=true", b""), 16);
        assert_eq!(longest("/api/v1/pods?a=1&watch=true", b"\n{"), 100);
    }
}
