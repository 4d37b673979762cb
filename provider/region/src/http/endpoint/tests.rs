use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

use tower::service_fn;
use tower::util::BoxCloneSyncService;

use super::super::wire::WireFailure;
use super::*;

/// What a service without a socket does.
#[derive(Clone, Copy)]
enum Does {
    Answer(u16, Option<&'static str>),
    Lose,
    Refuse,
    Hang,
}

/// A service that does what it is told to, and counts.
#[derive(Clone)]
struct Fake {
    does: Arc<Mutex<Does>>,
    asked: Arc<AtomicUsize>,
}

impl Fake {
    fn new(does: Does) -> Self {
        Self { does: Arc::new(Mutex::new(does)), asked: Arc::default() }
    }

    fn now(&self, does: Does) {
        *self.does.lock() = does;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn wire(&self) -> Wire {
        let fake = self.clone();
        BoxCloneSyncService::new(service_fn(move |_: Request<Full<Bytes>>| {
            let does = *fake.does.lock();
            fake.asked.fetch_add(1, Ordering::Relaxed);
            async move {
                let lost = |sent| WireFailure { sent, message: "gone".to_owned() };
                match does {
                    Does::Answer(status, after) => {
                        let mut answer = Response::builder().status(status);
                        if let Some(after) = after {
                            answer = answer.header(header::RETRY_AFTER, after);
                        }
                        let body = Full::new(Bytes::from_static(b"{}"));
                        let body = body.map_err(|never: Infallible| match never {}).boxed_unsync();
                        Ok(answer.body(body).unwrap())
                    }
                    Does::Lose => Err(lost(true)),
                    Does::Refuse => Err(lost(false)),
                    Does::Hang => std::future::pending().await,
                }
            }
        }))
    }
}

fn endpoint(in_flight: u32, per_second: u32) -> Endpoint {
    let config = EndpointConfig {
        name: "region eu".to_owned(),
        server: "http://127.0.0.1".to_owned(),
        path: String::new(),
        in_flight,
        per_second,
    };
    Endpoint::new(config, 7, Clock::from_tokio("2026-11-28T12:00:00Z".parse().unwrap()))
}

fn ask(method: Method) -> Ask {
    Ask { method, path: "/x".to_owned(), body: None, headers: HeaderMap::new(), limit: 1 << 10 }
}

async fn get(endpoint: &Endpoint, fake: &Fake) -> Result<u16, Failure> {
    endpoint.send(fake.wire(), ask(Method::GET)).await.map(|answer| answer.status.as_u16())
}

#[tokio::test(start_paused = true)]
async fn v7_a_region_that_is_away_is_asked_by_one_at_a_time() {
    let endpoint = endpoint(16, 1_000);
    let fake = Fake::new(Does::Refuse);
    for _ in 0..circuit::THRESHOLD {
        assert_eq!(get(&endpoint, &fake).await.unwrap_err().kind, FailureKind::Unavailable);
    }
    let asked = fake.asked();
    let failure = get(&endpoint, &fake).await.unwrap_err();
    let after = failure.after.unwrap();
    assert!(after <= circuit::FIRST && after >= circuit::FIRST / 2, "{after:?}: jitter over the upper half");
    assert!(!failure.may_have_acted);
    assert_eq!(fake.asked(), asked, "it is not asked");

    tokio::time::advance(after).await;
    fake.now(Does::Hang);
    let wire = fake.wire();
    let probe = endpoint.send(wire, ask(Method::GET));
    tokio::pin!(probe);
    assert!(futures_now(&mut probe).await.is_none());
    assert_eq!(fake.asked(), asked + 1);
    let failure = get(&endpoint, &fake).await.unwrap_err();
    assert_eq!(failure.after, Some(circuit::FIRST), "one asks, the others wait for what it hears");
    assert_eq!(fake.asked(), asked + 1);
}

/// What a future has come to by now.
async fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = tokio::task::yield_now() => None,
    }
}

#[tokio::test(start_paused = true)]
async fn v7_a_probe_that_is_given_up_lets_the_next_one_ask() {
    let endpoint = endpoint(16, 1_000);
    let fake = Fake::new(Does::Lose);
    for _ in 0..circuit::THRESHOLD {
        get(&endpoint, &fake).await.unwrap_err();
    }
    tokio::time::advance(circuit::FIRST).await;
    fake.now(Does::Hang);
    {
        let probe = endpoint.send(fake.wire(), ask(Method::GET));
        tokio::pin!(probe);
        assert!(futures_now(&mut probe).await.is_none());
    }
    fake.now(Does::Answer(200, None));
    assert_eq!(get(&endpoint, &fake).await.unwrap(), 200);
    assert_eq!(get(&endpoint, &fake).await.unwrap(), 200, "the circuit is closed");
}

#[tokio::test(start_paused = true)]
async fn v7_the_wait_doubles_to_a_minute_and_ends_with_the_first_answer() {
    let endpoint = endpoint(16, 1_000);
    let fake = Fake::new(Does::Answer(500, None));
    let mut waits = Vec::new();
    for _ in 0..40 {
        match get(&endpoint, &fake).await {
            Ok(status) => assert_eq!(status, 500),
            Err(failure) => {
                waits.push(failure.after.unwrap());
                tokio::time::advance(failure.after.unwrap()).await;
            }
        }
    }
    assert!(waits.iter().max().unwrap() > &Duration::from_secs(30), "{waits:?}");
    assert!(waits.iter().max().unwrap() <= &circuit::LONGEST, "{waits:?}");
    fake.now(Does::Answer(404, None));
    tokio::time::advance(circuit::LONGEST).await;
    for _ in 0..5 {
        assert_eq!(get(&endpoint, &fake).await.unwrap(), 404, "a refusal is an answer");
    }
}

#[tokio::test(start_paused = true)]
async fn v7_a_service_that_asks_to_be_left_alone_is() {
    for (status, after, least, most) in
        [(429, Some("7"), 7.0, 8.75), (503, Some("4"), 4.0, 5.0), (429, None, 1.0, 1.25)]
    {
        let endpoint = endpoint(16, 1_000);
        let fake = Fake::new(Does::Answer(status, after));
        assert_eq!(get(&endpoint, &fake).await.unwrap(), status);
        let said = get(&endpoint, &fake).await.unwrap_err().after.unwrap().as_secs_f64();
        assert!((least..=most).contains(&said), "{status}: {said}");
        assert_eq!(fake.asked(), 1);
        fake.now(Does::Answer(200, None));
        tokio::time::advance(Duration::from_secs_f64(least)).await;
        assert_eq!(get(&endpoint, &fake).await.unwrap(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn v7_where_all_places_are_taken_the_next_comes_again() {
    let endpoint = endpoint(2, 1_000);
    let fake = Fake::new(Does::Hang);
    let first = endpoint.send(fake.wire(), ask(Method::GET));
    let second = endpoint.send(fake.wire(), ask(Method::GET));
    tokio::pin!(first, second);
    assert!(futures_now(&mut first).await.is_none() && futures_now(&mut second).await.is_none());
    let failure = get(&endpoint, &fake).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.after.unwrap() < Duration::from_secs(1), "{failure:?}");
    assert_eq!(fake.asked(), 2);
    assert_eq!(first.await.unwrap_err().kind, FailureKind::Unavailable, "it ends in its time");
    fake.now(Does::Answer(200, None));
    assert_eq!(get(&endpoint, &fake).await.unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn v1_an_order_that_left_may_have_been_carried_out() {
    for (does, method, expected) in [
        (Does::Lose, Method::POST, true),
        (Does::Hang, Method::POST, true),
        (Does::Hang, Method::DELETE, true),
        (Does::Refuse, Method::POST, false),
        (Does::Lose, Method::GET, false),
    ] {
        let fake = Fake::new(does);
        let failure = endpoint(16, 1_000).send(fake.wire(), ask(method.clone())).await.unwrap_err();
        assert_eq!(failure.may_have_acted, expected, "{method} {failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn v7_a_burst_keeps_the_rate() {
    let endpoint = endpoint(256, 20);
    let fake = Fake::new(Does::Answer(200, None));
    let start = Instant::now();
    let mut left = 500;
    while left > 0 {
        match get(&endpoint, &fake).await {
            Ok(_) => left -= 1,
            Err(failure) => tokio::time::advance(failure.after.unwrap().min(Duration::from_millis(50))).await,
        }
    }
    let took = start.elapsed().as_secs_f64();
    assert!((23.5..=25.5).contains(&took), "{took}: 500 at 20 a second, the first 20 at once");
    assert_eq!(fake.asked(), 500);
}
