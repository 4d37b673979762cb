use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fedhub_cache::budget::BudgetShare;
use fedhub_core::errors::ApiError;
use fedhub_core::names::PlaneName;
use futures::stream;
use http::Method;
use http_body_util::{BodyExt, StreamBody};
use strum::VariantArray;
use tower::{BoxError, ServiceExt, service_fn};

use super::super::page_counts::PAGES;
use super::*;

const MIB: usize = 1 << 20;

fn plane(name: &str) -> PlaneId {
    PlaneId::Project(PlaneName::new(name).unwrap())
}

/// A request of each kind: one that is added to [`AnswerKind`] has to be added here.
fn request(expected: AnswerKind) -> Request<()> {
    let wds = "/apis/compute.datumapis.com/v1alpha/namespaces/n/workloaddeployments";
    let uri = match expected {
        AnswerKind::Small => "/api/v1/namespaces/kube-system".to_owned(),
        AnswerKind::Object => "/version".to_owned(),
        AnswerKind::Page => format!("{wds}?limit=500"),
        AnswerKind::Lines => format!("{wds}?watch=true"),
        AnswerKind::Pieces => format!("{wds}/a"),
    };
    let mut request = Request::get(uri).body(()).unwrap();
    if expected == AnswerKind::Pieces {
        request.extensions_mut().insert(InPieces);
    }
    request
}

/// The excess that an error of the layer is.
fn excess(error: BoxError) -> Option<Excess> {
    match ApiError::from(kube::Error::Service(error)) {
        ApiError::TooLarge(excess) => Some(excess),
        _ => None,
    }
}

/// Reads the answer to a request, in these parts: how many bytes came, and how it ended.
async fn read(
    layer: &WeighLayer,
    request: Request<()>,
    status: u16,
    parts: impl Iterator<Item = Bytes> + Send + 'static,
) -> (usize, Option<Excess>) {
    let body = StreamBody::new(stream::iter(parts.map(|part| Ok::<_, Infallible>(Frame::data(part)))));
    let answer = std::sync::Mutex::new(Some(Response::builder().status(status).body(body).unwrap()));
    let server = service_fn(move |_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(answer.lock().unwrap().take().unwrap()))
    });
    let mut body = layer.layer(server).oneshot(request).await.unwrap().into_body();
    let mut came = 0;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => came += frame.data_ref().map_or(0, Bytes::len),
            Err(error) => return (came, excess(error)),
        }
    }
    (came, None)
}

fn layer(budget: &MemoryBudget) -> WeighLayer {
    WeighLayer::new(&plane("p"), budget, &Metrics::new().unwrap())
}

#[test]
fn i8_what_is_expected_of_an_answer_follows_from_its_request() {
    for expected in AnswerKind::VARIANTS {
        assert_eq!(AnswerKind::expected(&request(*expected)), *expected);
    }
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let projects = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/p/control-plane";
    for (method, uri, accept, expected) in [
        (Method::GET, "/api/v1/namespaces/n/secrets/a".to_owned(), metadata, AnswerKind::Small),
        (Method::PATCH, "/api/v1/namespaces/n/secrets/a".to_owned(), metadata, AnswerKind::Small),
        (Method::GET, "/api/v1/namespaces/n/secrets?limit=1".to_owned(), list, AnswerKind::Page),
        (Method::GET, format!("{projects}/api/v1/namespaces/n"), "", AnswerKind::Small),
        (Method::POST, "/api/v1/namespaces/n/events".to_owned(), "", AnswerKind::Object),
        (Method::GET, "/api/v1/namespaces".to_owned(), "", AnswerKind::Page),
        (Method::GET, "/apis".to_owned(), "", AnswerKind::Object),
        (Method::GET, "/whatever/is/to/come".to_owned(), "", AnswerKind::Object),
    ] {
        let request = Request::builder().method(method).uri(&uri).header(ACCEPT, accept).body(()).unwrap();
        assert_eq!(AnswerKind::expected(&request), expected, "{uri} {accept}");
    }
    assert_eq!(AnswerKind::Page.allowance(page_size(Some("limit=1"))), Some(SMALL));
    assert_eq!(AnswerKind::Page.allowance(page_size(Some("limit=0"))), Some(PAGE));
    assert_eq!(AnswerKind::Page.allowance(page_size(None)), Some(PAGE));
}

#[tokio::test]
async fn i8_no_answer_that_is_read_whole_takes_more_than_it_may_whatever_was_asked() {
    let maps = Bytes::from("{\"a\":1},".repeat(8 << 10));
    let deep = Bytes::from("[".repeat(64 << 10));
    let text = Bytes::from("x".repeat(64 << 10));
    let spaces = Bytes::from(" ".repeat(64 << 10));
    let byte = Bytes::from_static(b"1");
    let budget = MemoryBudget::from_bytes(64 * MIB);
    for expected in AnswerKind::VARIANTS {
        for (part, name) in
            [(&maps, "maps"), (&deep, "deep"), (&text, "text"), (&spaces, "spaces"), (&byte, "bytes")]
        {
            for status in [200, 500] {
                let endless = std::iter::repeat_n(part.clone(), 400_000);
                let (came, excess) = read(&layer(&budget), request(*expected), status, endless).await;
                if *expected == AnswerKind::Pieces && status == 200 {
                    assert!(came <= CUT_OBJECT, "its reader weighs it, {name}: {came}");
                    continue;
                }
                let most = if status == 500 { SMALL } else { expected.allowance(500).unwrap() };
                assert!(excess.is_some(), "{expected:?} {name}");
                assert!(came <= most.bytes, "{expected:?} {name}: {came}");
                let parts = came / part.len();
                assert!(parts * PART <= most.memory, "{expected:?} {name}: {parts} parts");
                if name == "maps" {
                    assert!(came * 50 <= most.memory, "{expected:?}: {came} bytes of maps");
                }
            }
        }
    }
}

#[tokio::test]
async fn i8_lines_of_a_watch_are_weighed_each_by_itself_however_they_arrive() {
    let budget = MemoryBudget::from_bytes(64 * MIB);
    let line = Bytes::from(format!("{}\n", "{\"a\":1},".repeat(20_000)));
    let (came, excess) =
        read(&layer(&budget), request(AnswerKind::Lines), 200, std::iter::repeat_n(line.clone(), 50)).await;
    assert_eq!((came, excess), (50 * line.len(), None));
    let split = line.clone();
    let halves = (0..50).flat_map(move |_| [split.slice(..70_000), split.slice(70_000..)]);
    assert_eq!(read(&layer(&budget), request(AnswerKind::Lines), 200, halves).await.1, None);
    let longer = Bytes::from("{\"a\":1},".repeat(30_000));
    let (_, excess) = read(&layer(&budget), request(AnswerKind::Lines), 200, std::iter::once(longer)).await;
    assert_eq!(excess, Some(Excess::Memory(OBJECT.memory)));
}

#[tokio::test(start_paused = true)]
async fn i8_a_large_answer_waits_for_its_turn_and_a_small_one_does_not() {
    let budget = MemoryBudget::from_bytes(MIB);
    let hub = WeighLayer { plane: PlaneId::Hub, ..layer(&budget) };
    let held = [(); 4].map(|()| budget.reading(BudgetShare::Single, FREE + 1, 16 * MIB));
    let held = futures::future::join_all(held).await;
    let answer = |bytes: usize| std::iter::repeat_n(Bytes::from("x".repeat(1024)), bytes / 1024);
    assert_eq!(read(&hub, request(AnswerKind::Object), 200, answer(FREE)).await, (FREE, None));
    let large = read(&hub, request(AnswerKind::Object), 200, answer(4 * FREE));
    assert!(tokio::time::timeout(Duration::from_secs(9), large).await.is_err(), "all is taken");
    drop(held);
    assert_eq!(read(&hub, request(AnswerKind::Object), 200, answer(4 * FREE)).await, (4 * FREE, None));
    // It was given back with the body.
    tokio::time::timeout(Duration::from_secs(1), budget.reading(BudgetShare::Single, FREE + 1, 16 * MIB))
        .await
        .unwrap();
}

#[tokio::test]
async fn i8_others_have_their_turn_while_an_answer_comes_without_a_pause() {
    let turns = Arc::<AtomicUsize>::default();
    let counted = turns.clone();
    let other = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let budget = MemoryBudget::from_bytes(64 * MIB);
    for expected in AnswerKind::VARIANTS {
        let before = turns.load(Ordering::Relaxed);
        let parts = std::iter::repeat_n(Bytes::from("x".repeat(TURN / 4)), 16);
        assert_eq!(
            read(&layer(&budget), request(*expected), 200, parts).await,
            (4 * TURN, None),
            "{expected:?}"
        );
        let turns = turns.load(Ordering::Relaxed) - before;
        assert!(turns >= 3, "{expected:?}: {turns} turns");
    }
    other.abort();
}

#[test]
fn i8_what_is_read_object_by_object_has_a_length_and_a_watch_one_for_each_line() {
    let line = vec![b'x'; MIB];
    let longest = |uri: &'static str, end: &[u8]| {
        let uri = Uri::from_static(uri);
        let mut length = Length::new(length_in_pieces(&uri), is_watch(&uri));
        (1..=100).take_while(|_| length.came(&line).and_then(|()| length.came(end)).is_ok()).count()
    };
    assert_eq!(longest("/api/v1/pods/a", b""), 8);
    assert_eq!(longest("/api/v1/pods?limit=500", b"\n"), 64 - 1, "lines are nothing to it");
    assert_eq!(longest("/api/v1/pods?watch=true", b""), 16);
    assert_eq!(longest("/api/v1/pods?a=1&watch=true", b"\n{"), 100);
}

/// The error of one more page of a list whose server has always another.
async fn another_page(layer: &WeighLayer, in_pieces: bool) -> Option<Excess> {
    let mut request = Request::get("/api/v1/secrets?limit=500&continue=more").body(()).unwrap();
    if in_pieces {
        request.extensions_mut().insert(InPieces);
    }
    let server = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(String::new())) });
    let answer = layer.layer(server).oneshot(request).await;
    answer.err().and_then(excess)
}

#[tokio::test]
async fn i8_a_list_that_is_decoded_page_by_page_ends() {
    let layer = layer(&MemoryBudget::unlimited());
    for _ in 1..PAGES {
        assert_eq!(another_page(&layer, false).await, None);
    }
    assert_eq!(another_page(&layer, false).await, Some(Excess::Pages(PAGES)));
    assert_eq!(another_page(&layer, true).await, None, "its reader counts them, and its objects");
}
