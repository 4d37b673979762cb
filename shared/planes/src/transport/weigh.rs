//! Every answer is weighed before it is decoded, and large ones are paid for out of the memory that all
//! planes share (I8).
//!
//! What an answer may take follows from its request. A request of a kind that is not known here is held to
//! the limit of one object: nothing has to be registered for its answer to be bounded. Answers that are read
//! object by object are marked with [`InPieces`]: their reader weighs each object and holds no more than one,
//! so that only their length is bounded here.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use fedhub_cache::budget::{FREE, MemoryBudget, Reserved};
use fedhub_core::errors::Excess;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::PlaneId;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::{Request, Response, Uri};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use prometheus::IntCounterVec;
use tower::{BoxError, Layer, Service};

use super::measure::describe;
use super::page_counts::PageCounts;
use super::watches::{asks, is_watch, parameter};
use crate::transport::reader::reader;
use crate::transport::weight::Scale;

/// How many bytes are taken before other tasks have their turn. Whoever reads them decodes them in the same
/// turn, and what waits in a connection would come without a pause.
const TURN: usize = 16 << 10;
/// The memory that a part of a body takes besides its bytes: servers may send them one by one.
const PART: usize = 128;

/// Marks a request, as one of its extensions, whose answer is read object by object, and each object weighed
/// by who reads it. Answers that are no success are read whole by everybody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPieces;

/// The kind of answer that is expected, which is also the label of what was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AnswerKind {
    /// The metadata of an object, a namespace, or an error.
    Small,
    /// One object, or anything else.
    Object,
    /// A page of a list, whose request limits the number of objects.
    Page,
    /// The lines of a watch, of which each is decoded by itself.
    Lines,
    /// Objects that are cut out of it one by one.
    Pieces,
}

/// How much an answer, or a line of a watch, may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Allowance {
    /// Bytes on the way.
    bytes: usize,
    /// Bytes of memory once it is decoded.
    memory: usize,
}

/// The allowance of metadata: as much as a server stores with all annotations.
const SMALL: Allowance = Allowance { bytes: 256 << 10, memory: 4 << 20 };
/// The allowance of an object: more than any server stores.
const OBJECT: Allowance = Allowance { bytes: 4 << 20, memory: 16 << 20 };
/// The allowance of a page: several times what 500 Secrets with kubeconfigs need.
const PAGE: Allowance = Allowance { bytes: 16 << 20, memory: 32 << 20 };

/// Bytes of an object that is cut out of its answer, with its `managedFields`, which are not kept.
const CUT_OBJECT: usize = 8 << 20;
/// Bytes of a page of which objects are cut out.
const CUT_PAGE: usize = 64 << 20;
/// Bytes of a line of a watch of which an object is cut out.
const CUT_LINE: usize = 16 << 20;

impl AnswerKind {
    /// Returns the kind of answer to expect for a request.
    fn expected<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        if request.extensions().get::<InPieces>().is_some() {
            return Self::Pieces;
        }
        if is_watch(uri) {
            return Self::Lines;
        }
        let (verb, resource) = describe(request.method(), uri.path(), uri.query());
        let accept =
            request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        match (verb, resource.as_str()) {
            ("list", _) => Self::Page,
            (_, "namespaces") => Self::Small,
            _ if accept.contains("as=PartialObjectMetadata;") => Self::Small,
            _ => Self::Object,
        }
    }

    /// How much of it is taken; of a page by the number of objects that it was asked for. None where its
    /// reader weighs it.
    fn allowance(self, objects: usize) -> Option<Allowance> {
        match self {
            Self::Small => Some(SMALL),
            Self::Object | Self::Lines => Some(OBJECT),
            Self::Page => Some(Allowance {
                bytes: SMALL.bytes.saturating_mul(objects).min(PAGE.bytes),
                memory: SMALL.memory.saturating_mul(objects).min(PAGE.memory),
            }),
            Self::Pieces => None,
        }
    }
}

/// How many objects a page is asked for.
fn page_size(query: Option<&str>) -> usize {
    let limit = parameter(query, "limit").and_then(|limit| limit.parse().ok());
    limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

/// How long an answer may be that is read object by object.
fn length_in_pieces(uri: &Uri) -> usize {
    if is_watch(uri) {
        CUT_LINE
    } else if asks(uri.query(), "limit=") {
        CUT_PAGE
    } else {
        CUT_OBJECT
    }
}

/// Weighs the answers of a plane, and counts its pages.
#[derive(Clone, Debug)]
pub struct WeighLayer {
    plane: PlaneId,
    budget: MemoryBudget,
    given_up: GivenUp,
    pages: PageCounts,
}

/// Counts what was given up.
#[derive(Clone, Debug)]
struct GivenUp {
    counters: IntCounterVec,
    plane_kind: &'static str,
}

impl GivenUp {
    fn count(&self, answer: AnswerKind) {
        self.counters.with_label_values(&[self.plane_kind, answer.into()]).inc();
    }
}

impl WeighLayer {
    /// Answers of `plane` are paid for out of `budget`.
    pub fn new(plane: &PlaneId, budget: &MemoryBudget, metrics: &Metrics) -> Self {
        let given_up = GivenUp { counters: metrics.too_large.clone(), plane_kind: plane.kind() };
        Self { plane: plane.clone(), budget: budget.clone(), given_up, pages: PageCounts::default() }
    }
}

impl<S> Layer<S> for WeighLayer {
    type Service = Weigh<S>;

    fn layer(&self, inner: S) -> Weigh<S> {
        Weigh { inner, layer: self.clone() }
    }
}

/// A service whose answers are weighed.
#[derive(Clone, Debug)]
pub struct Weigh<S> {
    inner: S,
    layer: WeighLayer,
}

impl<S, R, B> Service<Request<R>> for Weigh<S>
where
    S: Service<Request<R>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<Weighed<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let layer = self.layer.clone();
        let expected = AnswerKind::expected(&request);
        // The reader of an answer in pieces counts its pages by itself, with the objects on them.
        if expected == AnswerKind::Page
            && let Err(excess) = layer.pages.count(request.uri())
        {
            layer.given_up.count(expected);
            return Box::pin(async move { Err(excess.into()) });
        }
        let objects = page_size(request.uri().query());
        let length = Length::new(length_in_pieces(request.uri()), is_watch(request.uri()));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            let expected = if answer.status().is_success() { expected } else { AnswerKind::Small };
            let gauge = match expected.allowance(objects) {
                Some(allowance) => Gauge::Whole(Box::new(Weighing::new(layer, expected, allowance))),
                None => Gauge::Pieces(length, layer.given_up),
            };
            Ok(answer.map(|body| Weighed { body, gauge, turn: 0 }))
        })
    }
}

/// A body that ends with an error once it takes more than it may, and waits for its turn where it is large.
pub struct Weighed<B> {
    body: B,
    gauge: Gauge,
    /// Bytes since others had their turn.
    turn: usize,
}

enum Gauge {
    /// Limits the length alone: the answer, or the watch, is read object by object.
    Pieces(Length, GivenUp),
    /// Boxed: thousands of watches, which have none, must not hold room for it.
    Whole(Box<Weighing>),
}

impl Gauge {
    /// Counts a part of the body.
    fn came(&mut self, data: &[u8]) -> Result<(), Excess> {
        let (answer, came, given_up) = match self {
            Self::Pieces(length, given_up) => (AnswerKind::Pieces, length.came(data), &*given_up),
            Self::Whole(weighing) => (weighing.expected, weighing.came(data), &weighing.layer.given_up),
        };
        if came.is_err() {
            given_up.count(answer);
        }
        came
    }
}

/// The length of an answer, or of the line of it that is under way.
struct Length {
    most: usize,
    by_line: bool,
    read: usize,
}

impl Length {
    fn new(most: usize, by_line: bool) -> Self {
        Self { most, by_line, read: 0 }
    }

    fn came(&mut self, data: &[u8]) -> Result<(), Excess> {
        let last_line = data.iter().rposition(|byte| self.by_line && *byte == b'\n');
        self.read = last_line.map_or(self.read + data.len(), |at| data.len() - at - 1);
        if self.read > self.most { Err(Excess::Bytes(self.most)) } else { Ok(()) }
    }
}

struct Weighing {
    layer: WeighLayer,
    expected: AnswerKind,
    allowance: Allowance,
    /// The weight of the answer, or of the line that is under way.
    scale: Scale,
    bytes: usize,
    parts: usize,
    payment: Payment,
}

enum Payment {
    /// Nothing has to be paid so far.
    None,
    /// The answer waits for its turn.
    Awaited(BoxFuture<'static, Reserved>),
    /// The memory is reserved until the body is dropped, or its line has ended.
    Paid(#[expect(dead_code, reason = "given back when dropped")] Reserved),
}

impl Weighing {
    fn new(layer: WeighLayer, expected: AnswerKind, allowance: Allowance) -> Self {
        let payment = Payment::None;
        Self { layer, expected, allowance, scale: Scale::default(), bytes: 0, parts: 0, payment }
    }

    /// Counts a part of the body.
    fn came(&mut self, data: &[u8]) -> Result<(), Excess> {
        if self.expected != AnswerKind::Lines {
            return self.add(data);
        }
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            self.add(line)?;
            if line.ends_with(b"\n") {
                (self.scale, self.bytes, self.parts, self.payment) = (Scale::default(), 0, 0, Payment::None);
            }
        }
        Ok(())
    }

    fn add(&mut self, data: &[u8]) -> Result<(), Excess> {
        let Allowance { bytes, memory } = self.allowance;
        self.bytes += data.len();
        self.parts += 1;
        if self.bytes > bytes {
            return Err(Excess::Bytes(bytes));
        }
        self.scale.add(data);
        if self.memory() > memory {
            return Err(Excess::Memory(memory));
        }
        let size = self.bytes.max(self.scale.weight().size());
        if matches!(self.payment, Payment::None) && size > FREE {
            let WeighLayer { plane, budget, .. } = self.layer.clone();
            let reading = async move { budget.reading(reader(&plane), size, bytes).await };
            self.payment = Payment::Awaited(Box::pin(reading));
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.scale.weight().memory() + self.parts * PART
    }

    /// Ready once what is to be paid is paid.
    fn poll_payment(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Payment::Awaited(reserved) = &mut self.payment {
            let reserved = ready!(reserved.poll_unpin(cx));
            self.payment = Payment::Paid(reserved);
        }
        Poll::Ready(())
    }
}

impl<B> Body for Weighed<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // Before the next part is asked for: what is not read holds up its own stream alone.
        if let Gauge::Whole(weighing) = &mut self.gauge {
            ready!(weighing.poll_payment(cx));
        }
        if self.turn >= TURN {
            self.turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.turn += data.len();
            if let Err(excess) = self.gauge.came(data) {
                return Poll::Ready(Some(Err(excess.into())));
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
