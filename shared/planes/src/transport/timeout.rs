//! Limits on each wait for a server: for the headers of an answer, for the next bytes of its body, for the
//! whole. A watch streams for minutes and is silent between two of its lines, so of a watch only a line that
//! has begun is limited.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tower::{BoxError, Layer, Service};

use super::liveness::Overdue;
use super::watches::is_watch;

/// The longest that a request takes with its answer, where nothing else is said: as long as API servers
/// allow.
pub const WHOLE: Duration = Duration::from_mins(1);

/// A server did not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimedOut {
    /// The server accepted the request and did not answer.
    #[error("no answer within {0:?}")]
    Headers(Duration),
    /// The server began its answer and then stopped sending.
    #[error("the answer stopped: no more of it within {0:?}")]
    Stalled(Duration),
    /// The server sent its answer, or a line of a watch, too slowly to end in time.
    #[error("the answer did not end within {0:?}")]
    Whole(Duration),
}

/// Adds the limits to a service. By hand, since tower's time-outs limit neither a stalled body nor a line of
/// a watch, and drop the request before it is marked as overdue.
#[derive(Clone, Copy, Debug)]
pub struct HeaderTimeoutLayer {
    step: Duration,
    whole: Duration,
}

impl HeaderTimeoutLayer {
    /// Limits the time from a request to the headers of its answer, and from any of its bytes to the next.
    pub fn new(step: Duration) -> Self {
        Self { step, whole: WHOLE }
    }

    /// Limits the time from a request to the end of its answer; of a watch, from the beginning of a line to
    /// its end.
    #[must_use]
    pub fn whole(self, whole: Duration) -> Self {
        Self { whole, ..self }
    }
}

impl<S> Layer<S> for HeaderTimeoutLayer {
    type Service = HeaderTimeout<S>;

    fn layer(&self, inner: S) -> HeaderTimeout<S> {
        HeaderTimeout { inner, limits: *self }
    }
}

/// A service whose answers come in time or end in an error.
#[derive(Clone, Debug)]
pub struct HeaderTimeout<S> {
    inner: S,
    limits: HeaderTimeoutLayer,
}

impl<S, R, B> Service<Request<R>> for HeaderTimeout<S>
where
    S: Service<Request<R>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<Timed<B>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<R>) -> Self::Future {
        let limits = self.limits;
        let overdue = Overdue::default();
        let since = (!is_watch(request.uri())).then(Instant::now);
        request.extensions_mut().insert(overdue.clone());
        let mut answer = Box::pin(self.inner.call(request));
        Box::pin(async move {
            let Ok(answer) = tokio::time::timeout(limits.step, &mut answer).await else {
                // Said before what waits for the answer is dropped.
                overdue.set();
                return Err(TimedOut::Headers(limits.step).into());
            };
            let watch = since.is_none();
            Ok(answer.map_err(Into::into)?.map(|body| Timed {
                body: Box::pin(body),
                limits,
                watch,
                since,
                timer: None,
                overdue,
            }))
        })
    }
}

/// A body that goes on in time or ends in an error.
pub struct Timed<B> {
    body: Pin<Box<B>>,
    limits: HeaderTimeoutLayer,
    watch: bool,
    /// When the wait for the whole began: the answer, or a line of a watch. `None` between two lines.
    since: Option<Instant>,
    /// Set while more is awaited. In a box: thousands of watches are silent most of the time.
    timer: Option<Pin<Box<Sleep>>>,
    overdue: Overdue,
}

impl<B> Timed<B> {
    /// Notes that a part of the body was received.
    fn came(&mut self, data: &Bytes) {
        self.timer = None;
        if let Some(last) = data.last()
            && self.watch
        {
            // The data before the last line end was in time; the data after it has begun now at the latest.
            let line_ended = data.contains(&b'\n');
            self.since = match (*last, self.since) {
                (b'\n', _) => None,
                (_, Some(since)) if !line_ended => Some(since),
                _ => Some(Instant::now()),
            };
        }
    }

    /// How the wait for more ends, if it does not go on.
    fn overdue(&mut self, cx: &mut Context<'_>) -> Poll<TimedOut> {
        let Some(since) = self.since else { return Poll::Pending };
        let HeaderTimeoutLayer { step, whole } = self.limits;
        let ends = since + whole;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(ends.min(Instant::now() + step))));
        ready!(timer.as_mut().poll(cx));
        self.overdue.set();
        Poll::Ready(if timer.deadline() >= ends { TimedOut::Whole(whole) } else { TimedOut::Stalled(step) })
    }
}

impl<B> Body for Timed<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // First what came: a reader that was elsewhere for long is not the server's fault.
        match self.body.as_mut().poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    let data = data.clone();
                    self.came(&data);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(end) => Poll::Ready(end.map(|frame| frame.map_err(Into::into))),
            Poll::Pending => self.overdue(cx).map(|error| Some(Err(error.into()))),
        }
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
    use std::convert::Infallible;

    use futures::{StreamExt, stream};
    use http_body_util::{BodyExt, StreamBody};
    use tower::{ServiceExt, service_fn};

    use super::*;

    const STEP: Duration = Duration::from_secs(9);

    /// Asks a server that sends these, each this many seconds after the last, and then nothing. Returns what
    /// came, and how and after how long it ended.
    async fn ask(uri: &str, sent: &'static [(u64, &'static str)]) -> (String, TimedOut, u64) {
        let server = service_fn(move |_: Request<()>| async move {
            let frames = stream::iter(sent).then(|(after, text)| async move {
                tokio::time::sleep(Duration::from_secs(*after)).await;
                Ok::<_, Infallible>(Frame::data(Bytes::from_static(text.as_bytes())))
            });
            Ok::<_, Infallible>(Response::new(StreamBody::new(frames.chain(stream::pending()))))
        });
        let service = HeaderTimeoutLayer::new(STEP).layer(server);
        let began = Instant::now();
        let mut body = service.oneshot(Request::get(uri).body(()).unwrap()).await.unwrap().into_body();
        let mut text = String::new();
        loop {
            let next = tokio::time::timeout(Duration::from_hours(1), body.frame()).await;
            match next.expect("an end, one way or the other") {
                Some(Ok(frame)) => text += str::from_utf8(frame.data_ref().unwrap()).unwrap(),
                Some(Err(error)) => {
                    let error = *error.downcast_ref::<TimedOut>().unwrap();
                    return (text, error, began.elapsed().as_secs());
                }
                None => panic!("{uri} ended"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn i8_a_server_that_never_answers_is_an_error_in_time() {
        let silent =
            service_fn(|_: Request<()>| std::future::pending::<Result<Response<String>, Infallible>>());
        let service = HeaderTimeoutLayer::new(STEP).layer(silent);
        let before = Instant::now();
        let error = service.oneshot(Request::new(())).await.err().unwrap();
        assert_eq!(error.downcast_ref(), Some(&TimedOut::Headers(STEP)));
        assert_eq!(before.elapsed(), STEP);
    }

    #[tokio::test(start_paused = true)]
    async fn i8_an_answer_that_stops_or_trickles_is_an_error_in_time() {
        for (sent, text, error, seconds) in [
            (&[][..], "", TimedOut::Stalled(STEP), 9),
            (&[(2, "{"), (8, "\n")], "{\n", TimedOut::Stalled(STEP), 19),
            (&[(8, "x"); 20], "xxxxxxx", TimedOut::Whole(WHOLE), 60),
        ] {
            let ended = ask("/api/v1/pods?limit=500", sent).await;
            assert_eq!(ended, (text.to_owned(), error, seconds), "{sent:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn i8_a_watch_may_be_silent_between_two_lines_and_not_within_one() {
        for (sent, text, error, seconds) in [
            (&[(600, "{}\n"), (600, "{")][..], "{}\n{", TimedOut::Stalled(STEP), 1209),
            (&[(1, "{"), (8, "}\n"), (600, "{}\n{")], "{}\n{}\n{", TimedOut::Stalled(STEP), 618),
            (
                &[
                    (100, "x"),
                    (8, "x"),
                    (8, "x"),
                    (8, "x"),
                    (8, "x"),
                    (8, "x"),
                    (8, "x"),
                    (8, "x"),
                    (8, "\n"),
                ],
                "xxxxxxxx",
                TimedOut::Whole(WHOLE),
                160,
            ),
            // Many lines that straddle their frames are no line that does not end.
            (&[(8, "}\n{"); 20], &"}\n{".repeat(20), TimedOut::Stalled(STEP), 169),
        ] {
            let ended = ask("/api/v1/pods?watch=true&timeoutSeconds=240", sent).await;
            assert_eq!(ended, (text.to_owned(), error, seconds), "{sent:?}");
        }
    }
}
