//! Over HTTP, on loopback.

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

/// The status page of a process.
fn page() -> Arc<StatusPage> {
    let (status, _) = status::tests::process(&fedhub_fake_apiserver::ApiServer::hub("hub"));
    StatusPage::new(Arc::new(status), None)
}

/// Sends one request, and returns the code and the body.
async fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn probes_metrics_and_the_log_filter_are_served() {
    let ((log, set), stop) = (filter(), CancellationToken::new());
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let at = serve(any, Arc::new(Unready), page(), log, stop.clone()).await.unwrap();
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

#[test]
fn only_callers_on_the_same_host_change_the_log() {
    for (peer, local) in [
        ("127.0.0.1:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("10.0.0.7:1", false),
        ("[::ffff:10.0.0.7]:1", false),
        ("[2001:db8::1]:1", false),
    ] {
        assert_eq!(is_local(peer.parse().unwrap()), local, "{peer}");
    }
}

#[tokio::test]
async fn the_status_page_is_served_to_who_names_this_host_and_changes_nothing() {
    let ((log, _), stop) = (filter(), CancellationToken::new());
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let at = serve(any, Arc::new(Unready), page(), log, stop.clone()).await.unwrap();
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
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream
        .write_all(b"GET /status HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
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
        assert_eq!(names_this_host(host), own, "{host}");
    }
}
