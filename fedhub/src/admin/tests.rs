//! Over HTTP, on loopback.

mod bounds;

use axum::body::Body;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::log_filter::tests::filter;
use crate::status;
use crate::status_page::StatusPage;

struct Unready;

impl Status for Unready {
    fn ready(&self) -> Result<(), Vec<String>> {
        Err(vec!["the hub is not in sync".to_owned()])
    }

    fn metrics(&self) -> Result<String, String> {
        Ok("fedhub_leader 1\n".to_owned())
    }
}

fn admin(log: Arc<LogFilter>) -> Admin {
    let (process, _) = status::tests::process(&fedhub_fake_apiserver::ApiServer::hub("hub"));
    let status = Arc::new(Unready);
    let page = StatusPage::new(Arc::new(process), None);
    Admin { pages: pages(status.clone(), page.routes()), status, log }
}

/// Sends one request to `localhost`, and returns the code and the body.
async fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    send_to("localhost", address, method, path, body).await
}

async fn send_to(host: &str, address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn probes_metrics_and_the_log_filter_are_served() {
    let (log, set) = filter();
    let stop = CancellationToken::new();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let at = admin(log).serve(any, stop.clone()).await.unwrap();
    let too_long = "x".repeat(LONGEST_FILTER + 1);
    for (method, path, body, code, answer) in [
        ("GET", "/livez", "", 200, "ok\n"),
        ("GET", "/readyz", "", 503, "the hub is not in sync\n"),
        ("GET", "/metrics", "", 200, "fedhub_leader 1\n"),
        ("GET", "/", "", 404, "try /livez, /readyz, /metrics, /log or /status\n"),
        ("GET", "/log", "", 200, "info\n"),
        ("PUT", "/log", "loud", 400, "log filter \"loud\": invalid\n"),
        ("PUT", "/log", &too_long, 400, "no log filter of up to 4096 bytes\n"),
        ("POST", "/log", "debug", 405, "try GET, PUT or DELETE\n"),
        ("GET", "/log", "", 200, "info\n"),
    ] {
        assert_eq!(send(at, method, path, body).await, (code, answer.to_owned()), "{method} {path}");
    }
    let (code, answer) = send(at, "PUT", "/log?for=1h", "info,fedhub_planes=debug").await;
    assert!(code == 200 && answer.starts_with("info,fedhub_planes=debug, for 3"), "{code} {answer}");
    assert_eq!(*set.lock(), "info,fedhub_planes=debug");
    assert_eq!(send(at, "DELETE", "/log", "").await, (200, "info\n".to_owned()));
    assert_eq!(*set.lock(), "info");
    stop.cancel();
}

#[tokio::test]
async fn callers_elsewhere_get_the_probes_and_nothing_else() {
    let (log, set) = filter();
    let routes = admin(log.clone()).routes();
    for (peer, is_local) in [
        ("127.0.0.1:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("10.0.0.7:1", false),
        ("[::ffff:10.0.0.7]:1", false),
        ("[2001:db8::1]:1", false),
    ] {
        for (method, path, code) in [
            ("GET", "/livez", 200),
            ("GET", "/readyz", 503),
            ("GET", "/metrics", if is_local { 200 } else { 403 }),
            ("GET", "/log", if is_local { 200 } else { 403 }),
            ("PUT", "/log", if is_local { 200 } else { 403 }),
            ("GET", "/", if is_local { 404 } else { 403 }),
            ("GET", "/status", if is_local { 200 } else { 403 }),
        ] {
            let body = Body::from("debug");
            let request =
                Request::builder().method(method).uri(path).header("host", "localhost").body(body).unwrap();
            let answer = answer(&routes, request, peer.parse().unwrap()).await.unwrap();
            assert_eq!(answer.status().as_u16(), code, "{peer} {method} {path}");
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            let body = String::from_utf8_lossy(&body);
            assert!(code != 403 || body.contains("--metrics-address"), "{body:?}");
            // Why it is not ready names servers.
            assert!(path != "/readyz" || body.contains("the hub") == is_local, "{peer}: {body:?}");
        }
        assert_eq!(*set.lock() == "debug", is_local, "{peer}");
        log.reset();
    }
}

#[tokio::test]
async fn the_status_page_is_served_to_who_names_this_host_and_changes_nothing() {
    let (log, _) = filter();
    let stop = CancellationToken::new();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let at = admin(log).serve(any, stop.clone()).await.unwrap();
    for (method, path, code, part) in [
        ("GET", "/status", 200, "<main"),
        ("GET", "/status/planes?state=engaged&page=2", 200, "<main"),
        ("GET", "/status/plane?name=none", 404, "No plane has this name"),
        ("GET", "/status/object?plane=a&namespace=b&name=c", 404, "management role"),
        ("GET", "/status/other", 404, "There is no such page"),
        ("POST", "/status", 405, "try GET"),
        ("GET", "/statusother", 404, "try /livez"),
    ] {
        let (answered, body) = send(at, method, path, "").await;
        assert!(answered == code && body.contains(part), "{method} {path}: {answered} {body}");
    }
    stop.cancel();
}

/// A page that a browser loaded from elsewhere reaches a forwarded port under its own name (DNS rebinding).
#[tokio::test]
async fn i15_all_but_the_probes_are_served_to_who_names_this_host() {
    let (log, set) = filter();
    let stop = CancellationToken::new();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let at = admin(log).serve(any, stop.clone()).await.unwrap();
    for (method, path, code) in [
        ("GET", "/livez", 200),
        ("GET", "/readyz", 503),
        ("GET", "/status", 421),
        ("GET", "/status/planes", 421),
        ("GET", "/metrics", 421),
        ("GET", "/log", 421),
        ("PUT", "/log?for=24h", 421),
        ("DELETE", "/log", 421),
        ("GET", "/", 421),
    ] {
        for host in ["rebound.example", "localhost.example:8081", "10.0.0.7:8081", ""] {
            let (answered, body) = send_to(host, at, method, path, "trace").await;
            assert_eq!(answered, code, "{host} {method} {path}: {body}");
            assert!(!body.contains("hub"), "{host} {method} {path}: {body}");
            assert_ne!(*set.lock(), "trace", "{host} {method} {path}");
        }
        let (answered, _) = send_to("127.0.0.1:8081", at, method, path, "info").await;
        assert_ne!(answered, 421, "{method} {path}");
    }
    stop.cancel();
}

#[test]
fn only_names_of_this_host_are_its_own() {
    for (host, own) in [
        ("localhost", true),
        ("localhost:8080", true),
        ("127.0.0.1:1", true),
        ("[::1]:8080", true),
        ("localhost.example:8080", false),
        ("user@localhost.example", false),
        ("10.0.0.7:8080", false),
        ("", false),
    ] {
        let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
        assert_eq!(names_this_host(&headers), own, "{host}");
    }
    assert!(!names_this_host(&HeaderMap::new()));
}
