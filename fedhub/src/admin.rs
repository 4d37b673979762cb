//! The process's own HTTP server: `/livez` and `/readyz` for everybody; the read-only pages, `/metrics` and
//! the status page, and `/log` for callers on the same host. Others read those pages over `crate::secure`.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::connections::Limits;
use crate::log_filter::LogFilter;

/// The path that Prometheus scrapes.
pub const METRICS: &str = "/metrics";
const TEXT: &str = "text/plain; charset=utf-8";
/// How long a log filter may be, in bytes.
const LONGEST_FILTER: usize = 4096;
/// What connections may take: as many of callers on this host, and as many of all others. A browser sends its
/// cookies of `localhost` to every port of it.
const LIMITS: Limits = Limits {
    connections: 64,
    headers: 16 << 10,
    first: Duration::from_secs(5),
    idle: Duration::from_secs(30),
    lasts: Some(Duration::from_mins(5)),
};
/// What a caller from elsewhere is told.
const ELSEWHERE: &str = "only from the same host: use kubectl port-forward, or for pages --metrics-address, which \
                         serves them over HTTPS to callers with the right to them (deploy/components/metrics-auth)\n";

/// What of its readiness a caller is answered that is elsewhere, or does not name this host.
const NOT_READY: &str = "not ready; why is answered on the same host\n";

/// What the admin page asks the process.
pub trait Status: Send + Sync + 'static {
    /// Whether the process can do its work; else why not, a line for each cause.
    fn ready(&self) -> Result<(), Vec<String>>;
    /// The text of a scrape.
    fn metrics(&self) -> Result<String, String>;
}

/// An answer to a request.
pub type Answer = Response<Full<Bytes>>;

/// An answer that is being made.
pub type Making<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A read-only page, or several of them below a path.
pub trait Page: Send + Sync + 'static {
    /// Whether it has that path.
    fn has(&self, path: &str) -> bool;
    /// The answer for a path that it has. `caller` is who asks, as far as the server knows: what takes long
    /// is done for each one at a time.
    fn answer<'a>(&'a self, request: &'a Parts, caller: &'a str) -> Making<'a>;
}

/// The read-only pages of the process, for callers who may read them. Who may is decided by the server that
/// is asked: here by where the caller is, in `crate::secure` by who the caller is.
#[derive(Clone)]
pub struct Pages(Arc<[Arc<dyn Page>]>);

impl Pages {
    /// `/metrics` of a process, and its other page.
    pub fn of(status: Arc<dyn Status>, other: Arc<dyn Page>) -> Self {
        let metrics: Arc<dyn Page> = Arc::new(Scrape(status));
        Self([metrics, other].into())
    }

    /// The page at that path.
    pub fn at(&self, path: &str) -> Option<&dyn Page> {
        self.0.iter().find(|page| page.has(path)).map(AsRef::as_ref)
    }
}

/// `/metrics`.
struct Scrape(Arc<dyn Status>);

impl Page for Scrape {
    fn has(&self, path: &str) -> bool {
        path == METRICS
    }

    fn answer<'a>(&'a self, _: &'a Parts, _: &'a str) -> Making<'a> {
        let answer = match self.0.metrics() {
            Ok(text) => answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// What the server answers from.
pub struct Admin {
    /// The process.
    pub status: Arc<dyn Status>,
    /// Its pages.
    pub pages: Pages,
    /// Its log.
    pub log: Arc<LogFilter>,
}

impl Admin {
    /// Listens on `address` and answers until `stop`. Returns the address that was bound (port 0 asks for
    /// any).
    pub async fn serve(self, address: SocketAddr, stop: CancellationToken) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        tokio::spawn(Arc::new(self).accept(listener, stop));
        Ok(bound)
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let mut open = Open::default();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.take_in(&mut open, stream, peer, stop.clone()),
                Err(error) => {
                    // Out of file descriptors, most often: do not spin on it.
                    tracing::warn!(
                        error = errors::chain(&error),
                        "failed to accept a connection to the admin server"
                    );
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Serves a connection in a task of its own.
    fn take_in<S>(self: &Arc<Self>, open: &mut Open, stream: S, peer: SocketAddr, stop: CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let this = self.clone();
        let task = async move { LIMITS.serve(stream, |request| this.answer(request, peer), &stop).await };
        open.add(is_local(peer), tokio::spawn(task).abort_handle());
    }

    async fn answer<B>(&self, request: Request<B>, peer: SocketAddr) -> Answer
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        // A page of another site that a browser loads may have its name lead to this host by now (DNS
        // rebinding).
        let by_name = names_this_host(request.headers());
        match request.uri().path() {
            "/livez" => text(StatusCode::OK, "ok\n"),
            "/readyz" => match self.status.ready() {
                Ok(()) => text(StatusCode::OK, "ok\n"),
                // The causes name addresses of servers, and say what these answered.
                Err(_) if !(is_local(peer) && by_name) => text(StatusCode::SERVICE_UNAVAILABLE, NOT_READY),
                Err(causes) => text(StatusCode::SERVICE_UNAVAILABLE, causes.join("\n") + "\n"),
            },
            // As `kubectl port-forward` is on the same host, the right to that is the right to these.
            _ if !is_local(peer) => text(StatusCode::FORBIDDEN, ELSEWHERE),
            _ if !by_name => text(StatusCode::MISDIRECTED_REQUEST, "ask for localhost, 127.0.0.1 or [::1]\n"),
            "/log" => change_log(request, &self.log).await,
            path => match self.pages.at(path) {
                None => text(StatusCode::NOT_FOUND, "try /livez, /readyz, /metrics, /log or /status\n"),
                Some(page) => page.answer(&request.into_parts().0, "localhost").await,
            },
        }
    }
}

/// The connections that are open, each kind the oldest first. Callers on this host have places of their own,
/// which no caller from elsewhere can take.
#[derive(Default)]
struct Open {
    here: VecDeque<AbortHandle>,
    elsewhere: VecDeque<AbortHandle>,
}

impl Open {
    /// Adds one, in place of the oldest where there are as many as there may be: a probe asks as soon as it
    /// connects and is answered at once, so that the oldest connection is never a probe's.
    fn add(&mut self, is_local: bool, connection: AbortHandle) {
        let open = if is_local { &mut self.here } else { &mut self.elsewhere };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= LIMITS.connections {
            open.pop_front().iter().for_each(AbortHandle::abort);
        }
        open.push_back(connection);
    }
}

/// An answer in plain text.
pub fn text(code: StatusCode, body: impl Into<String>) -> Answer {
    answer(code, TEXT, body)
}

/// An answer of that content type.
pub fn answer(code: StatusCode, content: &'static str, body: impl Into<String>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body.into())));
    *answer.status_mut() = code;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content));
    answer
}

/// Whether the Host of a request is this host, whatever the port: a forwarded one may differ.
fn names_this_host(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = host.and_then(|host| host.parse::<http::uri::Authority>().ok());
    authority.is_some_and(|authority| ["localhost", "127.0.0.1", "[::1]"].contains(&authority.host()))
}

/// Shows or changes the log filter.
async fn change_log<B>(request: Request<B>, log: &Arc<LogFilter>) -> Answer
where
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match *request.method() {
        Method::GET => {}
        Method::DELETE => log.reset(),
        Method::PUT => {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let body = std::pin::pin!(Limited::new(request.into_body(), LONGEST_FILTER));
            let Ok(body) = body.collect().await else {
                let refusal = format!("no log filter of up to {LONGEST_FILTER} bytes\n");
                return text(StatusCode::BAD_REQUEST, refusal);
            };
            let filter = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            if let Err(fault) = log.change(&filter, &query) {
                return text(StatusCode::BAD_REQUEST, fault + "\n");
            }
        }
        _ => return text(StatusCode::METHOD_NOT_ALLOWED, "try GET, PUT or DELETE\n"),
    }
    text(StatusCode::OK, log.show())
}

/// Whether the caller is on this host; an IPv4 one may come as an IPv6 address.
fn is_local(peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;
