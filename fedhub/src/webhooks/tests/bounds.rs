//! What reviews may take: of threads, of memory, of time, and of connections.

use std::time::Duration;

use fedhub_core::object::Object;
use fedhub_workload::admission::{Judgement, Kind, Types};
use futures::future::join_all;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::secure::tests::authority::{Authority, authority, client, write};
use crate::webhooks::body::ARRIVES_WITHIN;

static GOES_ON: AtomicBool = AtomicBool::new(false);

/// Rules that take long.
fn slow(_: Kind, _: Types<'_>, _: Option<&Object>, _: &Object) -> Judgement {
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while !GOES_ON.load(Ordering::SeqCst) && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    Judgement::default()
}

#[tokio::test(start_paused = true)]
async fn w4_rules_that_take_long_stop_nothing_else_and_are_not_waited_for() {
    let mut world = world(Discovery::Kubeconfigs).await;
    world.webhooks.rules = Rules::new(None).judging_by(slow);
    let all = world.webhooks.rules.left();
    let user = user("net");
    let workload = workload();
    let others = async {
        let completed = world.create(MUTATE, user.clone(), &workload).await;
        let room = world.webhooks.rules.left();
        tokio::time::advance(ANSWERS_WITHIN).await;
        (completed, room)
    };
    let (late, (completed, room)) = tokio::join!(world.create(VALIDATE, user.clone(), &workload), others);
    assert_eq!(completed["allowed"], true);
    assert!(room < all, "what is under way has its room");
    assert_eq!(late["status"]["code"], 503);
    let message = late["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("fedhub did not finish its review"), "{message}");
    assert!(world.webhooks.rules.left() < all, "until it ends, whoever waits for it");
    let seconds = world.webhooks.metrics.admission_seconds.with_label_values(&["validate", "Workload"]);
    assert_eq!((world.counted("create", "unanswered"), seconds.get_sample_count()), (1, 1));
    GOES_ON.store(true, Ordering::SeqCst);
    while world.webhooks.rules.left() < all {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_review_that_takes_memory_out_of_proportion_is_refused_in_words() {
    let world = world(Discovery::Kubeconfigs).await;
    let mut heavy = workload();
    heavy["spec"]["template"]["spec"]["junk"] = json!(vec![json!({"a": 1}); 100_000]);
    let asked = review("Workload", user("net"), None, &heavy);
    assert!(asked.to_string().len() < 1 << 20);
    let (code, words) = world.ask(VALIDATE, &asked).await.unwrap_err();
    assert_eq!(code, 413);
    assert!(words.contains("too many fields"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn i8_many_identities_take_no_more_memory_and_push_out_the_oldest_answers() {
    const MOST: usize = 64;
    let mut world = world(Discovery::Kubeconfigs).await;
    let access = Access::new(world.planes.clone(), world.webhooks.metrics.clone());
    world.webhooks.access = access.remembering(MOST);
    let asked = || world.plane.asked.lock().len();
    let of = |n: usize| {
        let mut user = user("net");
        user["username"] = json!(format!("user-{n}"));
        user
    };
    let workload = workload();
    // The answer about the first ends a moment before the others.
    world.create(VALIDATE, of(0), &workload).await;
    tokio::time::advance(Duration::from_millis(10)).await;
    for n in 1..=MOST {
        assert_eq!(world.create(VALIDATE, of(n), &workload).await["allowed"], true);
    }
    assert_eq!(asked(), MOST + 1);
    world.create(VALIDATE, of(MOST), &workload).await;
    assert_eq!(asked(), MOST + 1);
    world.create(VALIDATE, of(0), &workload).await;
    assert_eq!(asked(), MOST + 2, "the oldest is asked about again");
}

/// A server, not listening, with the CA of its certificate.
pub(super) struct Server {
    pub(super) world: World,
    pub(super) https: TlsServer,
    pub(super) ca: Authority,
    pub(super) never: CancellationToken,
}

impl Server {
    pub(super) async fn new(client_ca: Option<&Authority>, trust_network: bool) -> Self {
        let world = world(Discovery::Kubeconfigs).await;
        let ca = authority();
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &ca);
        let file = |name: &str| directory.path().join(name);
        if let Some(ca) = client_ca {
            std::fs::write(file("clients.crt"), ca.pem()).unwrap();
        }
        let args = WebhookArgs {
            enabled: true,
            address: "127.0.0.1:0".parse().unwrap(),
            tls_cert: Some(file("tls.crt")),
            tls_key: Some(file("tls.key")),
            client_ca: client_ca.map(|_| file("clients.crt")),
            trust_network,
        };
        let planes = world.planes.clone();
        let metrics = Metrics::new().unwrap();
        let https = Webhooks::from_args(&args, Discovery::Kubeconfigs, planes, None, metrics).unwrap();
        Self { world, https, ca, never: CancellationToken::new() }
    }

    /// A connection, for as long as `talk` goes on or longer. Returns what that does, and when the server
    /// ended it.
    async fn connect<T>(&self, talk: impl AsyncFnOnce(TlsStream<DuplexStream>) -> T) -> (T, Duration) {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let tls = client(&self.ca.pem(), None);
        let name = ServerName::try_from("localhost").unwrap();
        let began = Instant::now();
        let served = async {
            self.https.connection(theirs, [127, 0, 0, 1].into(), &self.never).await;
            began.elapsed()
        };
        let talking = async { talk(tls.connect(name, ours).await.unwrap()).await };
        tokio::join!(talking, served)
    }
}

fn head(length: usize) -> Vec<u8> {
    format!("POST {VALIDATE} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n").into_bytes()
}

pub(super) fn whole() -> Vec<u8> {
    let body = review("Workload", user("net"), None, &workload()).to_string();
    [head(body.len()), body.into_bytes()].concat()
}

/// The status line of an answer.
async fn status(stream: &mut TlsStream<DuplexStream>) -> String {
    let mut said = vec![0; 4096];
    let length = stream.read(&mut said).await.unwrap_or_default();
    String::from_utf8_lossy(&said[..length]).split("\r\n").next().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn i8_slow_bodies_keep_no_review_waiting_and_end_soon() {
    let server = Server::new(None, true).await;
    let began = Instant::now();
    let slow = (0..16).map(|_| {
        server.connect(async |mut stream| {
            stream.write_all(&head(4_194_304)).await.unwrap();
            let (mut read, mut write) = tokio::io::split(stream);
            let trickle = async {
                while write.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            let mut said = vec![0; 12];
            tokio::select! {
                () = trickle => {}
                read = read.read_exact(&mut said) => assert!(read.is_ok()),
            }
            String::from_utf8(said).unwrap()
        })
    });
    let other = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        server
            .connect(async |mut stream| {
                stream.write_all(&whole()).await.unwrap();
                (status(&mut stream).await, began.elapsed())
            })
            .await
            .0
    };
    let (slow, (answer, after)) = tokio::join!(join_all(slow), other);
    assert_eq!(answer, "HTTP/1.1 200 OK");
    assert!(after < Duration::from_millis(1100), "{after:?}");
    for (said, after) in slow {
        assert_eq!(said, "HTTP/1.1 408");
        assert!(after <= ARRIVES_WITHIN + Duration::from_millis(500), "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_body_that_says_it_is_too_large_is_not_read() {
    let server = Server::new(None, true).await;
    let (said, after) = server
        .connect(async |mut stream| {
            stream.write_all(&head(5 << 20)).await.unwrap();
            status(&mut stream).await
        })
        .await;
    assert_eq!(said, "HTTP/1.1 413 Payload Too Large");
    assert!(after < Duration::from_millis(100), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn i8_who_connects_asks_soon_or_goes_and_who_asked_may_take_longer_for_the_next() {
    let server = Server::new(None, true).await;
    let until_it_ends = async |mut stream: TlsStream<DuplexStream>| {
        let mut rest = Vec::new();
        let _end = stream.read_to_end(&mut rest).await;
    };
    let ((), after) = server.connect(until_it_ends).await;
    assert!(after <= LIMITS.first + Duration::from_millis(10), "{after:?}");
    let ((), after) = server
        .connect(async |mut stream| {
            stream.write_all(&whole()).await.unwrap();
            assert_eq!(status(&mut stream).await, "HTTP/1.1 200 OK");
            tokio::time::sleep(Duration::from_mins(2)).await;
            stream.write_all(&whole()).await.unwrap();
            assert_eq!(status(&mut stream).await, "HTTP/1.1 200 OK");
            until_it_ends(stream).await;
        })
        .await;
    assert!(after > Duration::from_mins(4) && after <= Duration::from_mins(6), "{after:?}");
    server.world.planes.stop().await;
}
