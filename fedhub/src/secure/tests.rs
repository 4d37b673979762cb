//! Over real TLS, on loopback, with an API server that answers reviews.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::routing::any;
use http::{Request, Response, Uri};
use kube::client::Body;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub mod authority;
mod bounds;
mod cluster;
mod head;
mod trusting;

use authority::{Authority, authority, client, signed, write};
use cluster::Cluster;
use trusting::Trusting;

use super::server::HANDSHAKE;
use super::*;
use crate::admin::{self, Status};
use crate::status;
use crate::status_page::StatusPage;

/// Where the callers are whose address is of no importance.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

struct Process;

impl Status for Process {
    fn ready(&self) -> Result<(), Vec<String>> {
        Ok(())
    }

    fn metrics(&self) -> Result<String, String> {
        Ok("fedhub_leader 1\n".to_owned())
    }
}

/// In place of the status page: it says who asks.
async fn named(Extension(Reader(caller)): Extension<Reader>, uri: Uri) -> String {
    format!("{uri} for {caller}\n")
}

fn status_page() -> Router {
    Router::new().route("/status", any(named)).route("/status/{*page}", any(named))
}

fn flags(directory: &Path) -> MetricsArgs {
    MetricsArgs {
        tls_cert: Some(directory.join("tls.crt")),
        tls_key: Some(directory.join("tls.key")),
        ..MetricsArgs::default()
    }
}

struct Server {
    at: SocketAddr,
    metrics: Metrics,
    cluster: Cluster,
    stop: CancellationToken,
}

impl Server {
    async fn from_args(args: &MetricsArgs) -> Self {
        Self::with(args, status_page()).await
    }

    async fn with(args: &MetricsArgs, page: Router) -> Self {
        let pages = admin::pages(Arc::new(Process), page);
        let metrics = Metrics::new().unwrap();
        let cluster = Cluster::default();
        let stop = CancellationToken::new();
        let secure = Secure::from_args(args, pages, cluster.client(), metrics.clone()).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let at =
            secure.serve(any, Duration::from_millis(10), stop.clone(), &TaskTracker::new()).await.unwrap();
        Self { at, metrics, cluster, stop }
    }

    fn refused(&self, reason: &str) -> u64 {
        self.metrics.page_requests_refused.with_label_values(&[reason]).get()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Sends a request over a connection of its own, and returns code and body.
async fn send(
    at: SocketAddr,
    tls: &TlsConnector,
    line: &str,
    token: Option<&str>,
) -> std::io::Result<(u16, String)> {
    let stream = TcpStream::connect(at).await?;
    let mut stream = tls.connect(ServerName::try_from("localhost").unwrap(), stream).await?;
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!("{line} HTTP/1.1\r\nhost: fedhub\r\nconnection: close\r\n{token}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    Ok((head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned()))
}

#[tokio::test]
async fn the_cluster_says_who_may_read_a_page_and_is_asked_once() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let server = Server::from_args(&flags(directory.path())).await;
    let tls = client(&ca.pem(), None);
    for (line, token, code, says, asks) in [
        ("GET /metrics", None, 401, "no bearer token", 0),
        ("GET /metrics", Some("expired"), 401, "not valid", 1),
        ("GET /metrics", Some("tenant"), 403, "tenant may not get /metrics", 2),
        ("GET /metrics", Some("prometheus"), 200, "fedhub_leader 1\n", 2),
        // The cluster is asked about pages that there are, and about no other path.
        ("GET /readyz", Some("prometheus"), 404, "try /metrics", 0),
        ("GET /log", Some("prometheus"), 404, "try /metrics", 0),
        ("GET /", Some("unknown"), 404, "try /metrics", 0),
        ("PUT /metrics", Some("prometheus"), 405, "GET", 0),
        // Now the answers are known.
        ("GET /metrics", Some("expired"), 401, "not valid", 0),
        ("GET /metrics", Some("tenant"), 403, "fedhub-metrics-reader", 0),
        ("GET /metrics?again", Some("prometheus"), 200, "fedhub_leader 1\n", 0),
    ] {
        let before = server.cluster.asked();
        let (got, body) = send(server.at, &tls, line, token).await.unwrap();
        assert!(got == code && body.contains(says), "{line} {token:?}: {got} {body}");
        assert_eq!(server.cluster.asked() - before, asks, "{line} {token:?}");
    }
    for (reason, times) in [("no_credential", 1), ("invalid_token", 2), ("forbidden", 2), ("method", 1)] {
        assert_eq!(server.refused(reason), times, "{reason}");
    }
}

#[tokio::test]
async fn each_page_has_a_right_of_its_own_and_is_told_who_asks() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let server = Server::from_args(&flags(directory.path())).await;
    let tls = client(&ca.pem(), None);
    for (line, token, code, says) in [
        ("GET /status", None, 401, "no bearer token"),
        ("GET /status", Some("prometheus"), 403, "prometheus may not get /status"),
        // The Host is `fedhub`: who shows a token is not led here by another page.
        ("GET /status", Some("operator"), 200, "/status for operator\n"),
        ("GET /status/plane?name=a", Some("operator"), 200, "/status/plane?name=a for operator\n"),
        ("GET /status/object", Some("operator"), 403, "operator may not get /status/object"),
        ("POST /status", Some("operator"), 405, "GET"),
        ("GET /metrics", Some("operator"), 403, "operator may not get /metrics"),
    ] {
        let (got, body) = send(server.at, &tls, line, token).await.unwrap();
        assert!(got == code && body.contains(says), "{line} {token:?}: {got} {body}");
    }
}

/// Whatever is mounted is behind the gate: a page that is added later, too.
#[tokio::test]
async fn i14_no_address_of_the_status_page_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let (process, _) = status::tests::process(&fedhub_fake_apiserver::ApiServer::hub("hub"));
    let page = StatusPage::new(Arc::new(process), None);
    let server = Server::with(&flags(directory.path()), page.routes()).await;
    let tls = client(&ca.pem(), None);
    for (line, code) in [
        ("GET /status", 401),
        ("GET /status/", 401),
        ("GET /status/planes?page=2", 401),
        ("GET /status/plane?name=a", 401),
        ("GET /status/object?plane=a&namespace=b&name=c", 401),
        ("GET /status/other", 401),
        ("GET /status//planes", 401),
        ("GET /status/../metrics", 401),
        ("POST /status/planes", 405),
        ("GET /%73tatus", 404),
        ("GET /statusother", 404),
    ] {
        let (got, body) = send(server.at, &tls, line, None).await.unwrap();
        assert!(got == code && !body.contains("<main"), "{line}: {got} {body}");
    }
}

#[tokio::test]
async fn a_cluster_that_fails_lets_nobody_in_and_what_it_said_before_stands() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let server = Server::from_args(&flags(directory.path())).await;
    let tls = client(&ca.pem(), None);
    assert_eq!(send(server.at, &tls, "GET /metrics", Some("prometheus")).await.unwrap().0, 200);
    server.cluster.fails.store(true, Ordering::SeqCst);
    assert_eq!(send(server.at, &tls, "GET /metrics", Some("another")).await.unwrap().0, 503);
    assert_eq!(send(server.at, &tls, "GET /metrics", Some("prometheus")).await.unwrap().0, 200);
    server.cluster.fails.store(false, Ordering::SeqCst);
    assert_eq!(send(server.at, &tls, "GET /metrics", Some("another")).await.unwrap().0, 403);
    assert_eq!(server.refused("review_failed"), 1);
}

#[tokio::test]
async fn a_client_certificate_of_the_ca_is_let_in_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    let clients = authority();
    write(directory.path(), &ca);
    let bundle = directory.path().join("clients.crt");
    std::fs::write(&bundle, clients.pem()).unwrap();
    let args = MetricsArgs { client_ca: Some(bundle), ..flags(directory.path()) };
    let server = Server::from_args(&args).await;
    let with = |shows| client(&ca.pem(), shows);
    let known = with(Some(signed(&clients)));
    assert_eq!(send(server.at, &known, "GET /metrics", None).await.unwrap().0, 200);
    // It has no user whose right to another page could be asked about.
    assert_eq!(send(server.at, &known, "GET /status", None).await.unwrap().0, 401);
    assert_eq!(server.cluster.asked(), 0);
    assert_eq!(send(server.at, &known, "GET /status", Some("prometheus")).await.unwrap().0, 403);
    assert_eq!(send(server.at, &known, "GET /status", Some("operator")).await.unwrap().0, 200);
    send(server.at, &with(Some(signed(&ca))), "GET /metrics", Some("prometheus")).await.unwrap_err();
    // Without one, by token as before.
    assert_eq!(send(server.at, &with(None), "GET /metrics", None).await.unwrap().0, 401);
    assert_eq!(send(server.at, &with(None), "GET /metrics", Some("prometheus")).await.unwrap().0, 200);
    // Without a CA none counts.
    let server = Server::from_args(&flags(directory.path())).await;
    assert_eq!(send(server.at, &known, "GET /metrics", None).await.unwrap().0, 401);
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let met = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), met).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let old = authority();
    let new = authority();
    write(directory.path(), &old);
    let server = Server::from_args(&flags(directory.path())).await;
    let scrape = async |ca: &Authority| {
        let sent = send(server.at, &client(&ca.pem(), None), "GET /metrics", Some("prometheus")).await;
        sent.is_ok_and(|(code, _)| code == 200)
    };
    let stale = || server.metrics.credentials_stale.with_label_values(&["metrics"]).get();
    assert!(scrape(&old).await && !scrape(&new).await);
    // Half of a change: the key is still that of the other certificate.
    let (certificate, key) = signed(&new);
    std::fs::write(directory.path().join("tls.crt"), certificate).unwrap();
    until("it says that the pair does not fit", async || stale() == 1).await;
    assert!(scrape(&old).await);
    std::fs::write(directory.path().join("tls.key"), key).unwrap();
    until("the new certificate is used", async || scrape(&new).await).await;
    until("it is told", async || stale() == 0).await;
    assert!(!scrape(&old).await);
    assert_eq!(server.metrics.credentials_reloads.with_label_values(&["metrics"]).get(), 1);
    assert!(server.metrics.credentials_expiry.with_label_values(&["metrics"]).get() > 0);
    std::fs::remove_file(directory.path().join("tls.crt")).unwrap();
    until("it says that the file is missing", async || stale() == 1).await;
    assert!(scrape(&new).await);
}

#[tokio::test]
async fn without_a_certificate_the_process_makes_one() {
    let server = Server::from_args(&MetricsArgs::default()).await;
    let other = Server::from_args(&MetricsArgs::default()).await;
    // Nobody can verify it, as nobody vouches for it.
    let tls = client(&authority().pem(), None);
    send(server.at, &tls, "GET /metrics", Some("prometheus")).await.unwrap_err();
    let mut seen = Vec::new();
    let trusting = Arc::new(Trusting::default());
    for at in [server.at, other.at] {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(trusting.clone())
            .with_no_client_auth();
        let tls = TlsConnector::from(Arc::new(config));
        assert_eq!(send(at, &tls, "GET /metrics", Some("prometheus")).await.unwrap().0, 200);
        seen.push(trusting.seen.lock().take().unwrap());
    }
    assert_ne!(seen[0], seen[1]);
}

#[test]
fn files_that_make_no_server_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let refused = |args: &MetricsArgs| match Tls::from_files(args.tls()) {
        Ok(_) => panic!("{args:?}"),
        Err(error) => fedhub_core::errors::chain(&error),
    };
    assert!(refused(&flags(directory.path())).contains("tls.crt"));
    write(directory.path(), &authority());
    for (file, flag) in [("tls.crt", "--metrics-tls-cert"), ("tls.key", "--metrics-tls-key")] {
        let content = std::fs::read(at(file)).unwrap();
        std::fs::write(at(file), "nonsense").unwrap();
        assert!(refused(&flags(directory.path())).contains(flag), "{flag}");
        std::fs::write(at(file), content).unwrap();
    }
    std::fs::write(at("ca.crt"), "").unwrap();
    let args = MetricsArgs { client_ca: Some(at("ca.crt")), ..flags(directory.path()) };
    assert!(refused(&args).contains("--metrics-client-ca"));
    Tls::from_files(flags(directory.path()).tls()).unwrap();
}

/// I8: whoever does not begin, or does not go on, is not waited for, and cannot take all places for long.
#[tokio::test(start_paused = true)]
async fn i8_a_connection_that_stalls_ends() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let cluster = Cluster::default().client();
    let secure =
        Secure::from_args(&flags(directory.path()), status_page(), cluster, Metrics::new().unwrap()).unwrap();
    let never = CancellationToken::new();
    let began = tokio::time::Instant::now();
    let (_client, server) = tokio::io::duplex(1024);
    secure.connection(server, HERE, &never).await;
    assert_eq!(began.elapsed(), HANDSHAKE);
    let (client_side, server) = tokio::io::duplex(1 << 16);
    let tls = client(&ca.pem(), None);
    let name = ServerName::try_from("localhost").unwrap();
    let ((), connected) = tokio::join!(secure.connection(server, HERE, &never), async {
        let mut stream = tls.connect(name, client_side).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
        stream
    });
    assert!(began.elapsed() <= HANDSHAKE + LIMITS.first + Duration::from_secs(1));
    drop(connected);
}

#[tokio::test(start_paused = true)]
async fn i8_a_cluster_that_does_not_answer_is_not_waited_for() {
    let silent = tower::service_fn(|_: Request<Body>| {
        std::future::pending::<Result<Response<Body>, tower::BoxError>>()
    });
    let reviews = Reviews::new(kube::Client::new(silent, "default"));
    let began = tokio::time::Instant::now();
    let checks = (0..100).map(|n| {
        let reviews = &reviews;
        async move {
            let caller = IpAddr::from([10, 0, 0, n]);
            reviews.check(caller, &format!("token-{n}"), "/metrics").await
        }
    });
    for refused in futures::future::join_all(checks).await {
        assert_eq!(refused, Err(Refusal::ReviewFailed));
    }
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// I8: callers that keep their connections keep nobody out.
#[tokio::test]
async fn i8_a_connection_ends_after_its_answer_where_there_is_no_room_for_another() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let tls = Tls::from_files(flags(directory.path()).tls()).unwrap();
    let stop = CancellationToken::new();
    let minutes = Duration::from_mins(3);
    let limits = Limits { connections: 1, headers: 8 << 10, first: minutes, idle: minutes, lasts: None };
    let greeter = Router::new().route("/", any("hello\n"));
    let server = TlsServer::new(greeter, tls, limits, Metrics::new().unwrap());
    let tasks = TaskTracker::new();
    let interval = Duration::from_mins(1);
    let at = server.serve("127.0.0.1:0".parse().unwrap(), interval, stop.clone(), &tasks).await.unwrap();
    let tls = client(&ca.pem(), None);
    for _ in 0..2 {
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = tls.connect(name, TcpStream::connect(at).await.unwrap()).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        // Until the server ends it, whether with a close_notify or without.
        let _end = stream.read_to_end(&mut said).await;
        let said = String::from_utf8(said).unwrap();
        assert!(said.ends_with("hello\n") && said.contains("connection: close"), "{said}");
    }
    stop.cancel();
}
