//! What callers of the process's own server may take, and what none of them can take from the others (I8).

use tokio::io::DuplexStream;

use super::*;

struct Ready;

impl Status for Ready {
    fn ready(&self) -> Result<(), Vec<String>> {
        Ok(())
    }

    fn metrics(&self) -> Result<String, String> {
        Ok("fedhub_leader 1\n".to_owned())
    }
}

/// A server without a listener.
struct Server {
    routes: Router,
    open: Open,
    stop: CancellationToken,
}

impl Server {
    fn new() -> Self {
        let status = Arc::new(Ready);
        let pages = pages(status.clone(), Router::new());
        let routes = Admin { status, pages, log: filter().0 }.routes();
        Self { routes, open: Open::default(), stop: CancellationToken::new() }
    }

    /// A connection from that address, which has sent that much.
    async fn connect(&mut self, peer: &str, sent: &[u8]) -> DuplexStream {
        let (mut ours, theirs) = tokio::io::duplex(1 << 16);
        let peer = SocketAddr::new(peer.parse().unwrap(), 1);
        self.open.take_in(&self.routes, theirs, peer, self.stop.clone());
        // A server that has ended the connection already takes nothing.
        let _refused = ours.write_all(sent).await;
        ours
    }

    /// The first line of an answer to a request from that address.
    async fn ask(&mut self, peer: &str, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut stream = self.connect(peer, request.as_bytes()).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }
}

const OK: &str = "HTTP/1.1 200 OK";
/// The beginning of a request, whose headers do not end.
const UNFINISHED: &[u8] = b"GET /livez HTTP/1.1\r\nhost: fedhub\r\nx-pad: ";

/// Whether the server has ended the connection.
async fn has_ended(stream: &mut DuplexStream) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_millis(1), stream.read_to_end(&mut rest)).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn i8_callers_that_stall_take_no_place_from_probes_and_none_of_this_host() {
    let mut server = Server::new();
    let mut stalled = Vec::new();
    for _ in 0..300 {
        stalled.push(server.connect("10.0.0.7", UNFINISHED).await);
    }
    assert_eq!(server.ask("10.0.0.1", "/livez").await, OK, "the kubelet's probe");
    assert_eq!(server.ask("127.0.0.1", "/metrics").await, OK, "a caller on this host");
    let mut open = 0;
    for stream in &mut stalled {
        open += usize::from(!has_ended(stream).await);
    }
    assert_eq!(open, LIMITS.connections - 1, "the probe has taken a place, too");
    tokio::time::advance(LIMITS.first).await;
    for stream in &mut stalled {
        assert!(has_ended(stream).await, "whoever connects asks soon, or goes");
    }
}

#[tokio::test(start_paused = true)]
async fn i8_callers_on_this_host_keep_their_places_from_all_others() {
    let mut server = Server::new();
    let mut here = server.connect("127.0.0.1", UNFINISHED).await;
    let mut elsewhere = Vec::new();
    for _ in 0..=LIMITS.connections {
        elsewhere.push(server.connect("10.0.0.7", UNFINISHED).await);
    }
    assert!(has_ended(&mut elsewhere[0]).await, "the oldest makes room");
    assert!(!has_ended(&mut here).await);
    here.write_all(b"\r\n\r\n").await.unwrap();
    let mut answer = vec![0; OK.len()];
    here.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, OK.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn i8_headers_have_a_size() {
    let mut server = Server::new();
    let mut stream = server.connect("10.0.0.7", UNFINISHED).await;
    let mut sent = 0;
    while sent < 380 << 10 && stream.write_all(&[b'x'; 1 << 10]).await.is_ok() {
        sent += 1 << 10;
    }
    assert!(sent <= LIMITS.headers + (1 << 16), "{sent} bytes were taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}
