//! The process's own HTTP server: `/livez` and `/readyz` for everybody; the read-only pages, `/metrics` and
//! the status page, and `/log` for callers on the same host. Others read those pages over `crate::secure`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Router};
use http::{HeaderMap, Method, StatusCode, header};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::connections::{Limits, accept};
use crate::log_filter::LogFilter;

/// The path that Prometheus scrapes.
pub const METRICS: &str = "/metrics";
/// How long a log filter may be, in bytes.
const LONGEST_FILTER: usize = 4096;
/// The limits of connections: those of callers on this host, and as many of all others. A browser sends its
/// cookies of `localhost` to every port of it.
const LIMITS: Limits = Limits {
    connections: 64,
    headers: 16 << 10,
    first: Duration::from_secs(5),
    idle: Duration::from_secs(30),
    lasts: Some(Duration::from_mins(5)),
};
/// The answer to a caller from another host.
const ELSEWHERE: &str = "only from the same host: use kubectl port-forward, or for pages --metrics-address, which \
                         serves them over HTTPS to callers with the right to them (deploy/components/metrics-auth)\n";

/// The answer about readiness to a caller that is on another host, or does not name this one.
const NOT_READY: &str = "not ready; why is answered on the same host\n";

/// The state of the process that the admin page shows.
pub trait Status: Send + Sync + 'static {
    /// Whether the process can do its work; else why not, a line for each cause.
    fn ready(&self) -> Result<(), Vec<String>>;
    /// The text of a scrape.
    fn metrics(&self) -> Result<String, String>;
}

/// Who reads a page, as far as the server knows that it is mounted in: what takes long is done for each one
/// at a time.
#[derive(Clone)]
pub struct Reader(pub String);

/// The read-only pages of a process, `/metrics` and others. Who may read them is decided by the server that
/// they are mounted in: here by where the caller is, in `crate::secure` by who the caller is.
pub fn pages(status: Arc<dyn Status>, others: Router) -> Router {
    others.route(METRICS, any(scrape).with_state(status))
}

async fn scrape(State(status): State<Arc<dyn Status>>) -> Response {
    match status.metrics() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error).into_response(),
    }
}

/// The state from which the admin server answers.
pub struct Admin {
    /// The process.
    pub status: Arc<dyn Status>,
    /// Its pages.
    pub pages: Router,
    /// Its log.
    pub log: Arc<LogFilter>,
}

impl Admin {
    /// Listens on `address` and answers until `stop`. Returns the address that was bound (port 0 asks for
    /// any).
    pub async fn serve(self, address: SocketAddr, stop: CancellationToken) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let routes = self.routes();
        tokio::spawn(async move {
            let mut open = Open::default();
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    (stream, peer) = accept(&listener) => open.take_in(&routes, stream, peer, stop.clone()),
                }
            }
        });
        Ok(bound)
    }

    fn routes(self) -> Router {
        let here = self
            .pages
            .route("/log", any(change_log).with_state(self.log))
            .fallback((StatusCode::NOT_FOUND, "try /livez, /readyz, /metrics, /log or /status\n"))
            .layer(Extension(Reader("localhost".to_owned())))
            .layer(from_fn(only_from_here));
        Router::new()
            .route("/livez", any("ok\n"))
            .route("/readyz", any(readyz).with_state(self.status))
            .fallback_service(here)
    }
}

/// The answer to a request of that caller.
fn answer(
    routes: &Router,
    mut request: Request,
    peer: SocketAddr,
) -> impl Future<Output = Result<Response, Infallible>> + use<> {
    request.extensions_mut().insert(peer);
    routes.clone().oneshot(request)
}

async fn readyz(
    State(status): State<Arc<dyn Status>>,
    Extension(peer): Extension<SocketAddr>,
    headers: HeaderMap,
) -> (StatusCode, String) {
    match status.ready() {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        // The causes name addresses of servers, and say what these answered.
        Err(causes) if is_local(peer) && names_this_host(&headers) => {
            (StatusCode::SERVICE_UNAVAILABLE, causes.join("\n") + "\n")
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, NOT_READY.to_owned()),
    }
}

/// Lets through callers on this host: whoever may use `kubectl port-forward` may read the pages. The name of
/// another site, whose page a browser has loaded, may lead to this host by now (DNS rebinding).
async fn only_from_here(Extension(peer): Extension<SocketAddr>, request: Request, next: Next) -> Response {
    if !is_local(peer) {
        return (StatusCode::FORBIDDEN, ELSEWHERE).into_response();
    }
    if !names_this_host(request.headers()) {
        return (StatusCode::MISDIRECTED_REQUEST, "ask for localhost, 127.0.0.1 or [::1]\n").into_response();
    }
    next.run(request).await
}

/// The connections that are open, each kind the oldest first. Callers on this host have places of their own,
/// which no caller from elsewhere can take.
#[derive(Default)]
struct Open {
    here: VecDeque<AbortHandle>,
    elsewhere: VecDeque<AbortHandle>,
}

impl Open {
    /// Serves a connection in a task of its own.
    fn take_in<S>(&mut self, routes: &Router, stream: S, peer: SocketAddr, stop: CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let routes = routes.clone();
        let task = async move { LIMITS.serve(stream, |request| answer(&routes, request, peer), &stop).await };
        self.add(is_local(peer), tokio::spawn(task).abort_handle());
    }

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

/// Whether the Host of a request is this host, whatever the port: a forwarded one may differ.
fn names_this_host(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = host.and_then(|host| host.parse::<http::uri::Authority>().ok());
    authority.is_some_and(|authority| ["localhost", "127.0.0.1", "[::1]"].contains(&authority.host()))
}

/// Shows or changes the log filter.
async fn change_log(State(log): State<Arc<LogFilter>>, request: Request) -> (StatusCode, String) {
    match *request.method() {
        Method::GET => {}
        Method::DELETE => log.reset(),
        Method::PUT => {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let Ok(body) = to_bytes(request.into_body(), LONGEST_FILTER).await else {
                let refusal = format!("no log filter of up to {LONGEST_FILTER} bytes\n");
                return (StatusCode::BAD_REQUEST, refusal);
            };
            if let Err(fault) = log.change(&String::from_utf8_lossy(&body), &query) {
                return (StatusCode::BAD_REQUEST, fault + "\n");
            }
        }
        _ => return (StatusCode::METHOD_NOT_ALLOWED, "try GET, PUT or DELETE\n".to_owned()),
    }
    (StatusCode::OK, log.show())
}

/// Whether the caller is on this host; an IPv4 one may come as an IPv6 address.
fn is_local(peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;
