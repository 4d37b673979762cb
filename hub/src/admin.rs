//! The process's own HTTP server: `/livez`, `/readyz`, `/metrics`, and for callers on the same host `/log` and the
//! status page.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use fedhub_core::errors;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::log_filter::LogFilter;

const TEXT: &str = "text/plain; charset=utf-8";
const ONLY_HERE: &str = "only from the same host: use kubectl port-forward\n";
/// How long a log filter may be, in bytes.
const LONGEST_FILTER: usize = 4096;

/// What the admin page asks the process.
pub trait Status: Send + Sync + 'static {
    /// Whether the process can do its work; else why not, a line for each cause.
    fn ready(&self) -> Result<(), Vec<String>>;
    /// The text of a scrape.
    fn metrics(&self) -> Result<String, String>;
}

/// A response that is being made.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Response<Full<Bytes>>> + Send + 'a>>;

/// Pages for people, which read only. Who may see them is for the listener to decide.
pub trait Page: Send + Sync + 'static {
    /// Whether it has that path.
    fn has(&self, path: &str) -> bool;
    /// The response for a path that it has. `caller` is who asks, as far as the listener knows: what takes long is done for
    /// each one at a time.
    fn answer<'a>(&'a self, method: &'a Method, uri: &'a Uri, caller: &'a str) -> Answer<'a>;
}

/// Listens on `address` and answers until `stop`. Returns the address that was bound (port 0 asks for any).
pub async fn serve(
    address: SocketAddr,
    status: Arc<dyn Status>,
    page: Arc<dyn Page>,
    log: Arc<LogFilter>,
    stop: CancellationToken,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let (stream, peer) = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        // Out of file descriptors, most often: do not spin on it.
                        tracing::warn!(error = errors::chain(&error), "failed to accept a connection to the admin server");
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                        continue;
                    }
                },
            };
            let (status, page, log, stop) = (status.clone(), page.clone(), log.clone(), stop.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let (status, page, log) = (status.clone(), page.clone(), log.clone());
                    async move {
                        let path = request.uri().path();
                        Ok::<_, Infallible>(if page.has(path) {
                            show(&request, peer, page.as_ref()).await
                        } else {
                            answer(request, peer, status.as_ref(), &log).await
                        })
                    }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service);
                tokio::select! { () = stop.cancelled() => (), _ = connection => () }
            });
        }
    });
    Ok(bound)
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    status: &dyn Status,
    log: &Arc<LogFilter>,
) -> Response<Full<Bytes>> {
    let (code, content, body) = match request.uri().path() {
        "/livez" => (StatusCode::OK, TEXT, "ok\n".to_owned()),
        "/readyz" => match status.ready() {
            Ok(()) => (StatusCode::OK, TEXT, "ok\n".to_owned()),
            Err(causes) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, causes.join("\n") + "\n"),
        },
        "/metrics" => match status.metrics() {
            Ok(text) => (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, error),
        },
        "/log" => {
            let (code, body) = change_log(request, peer, log).await;
            (code, TEXT, body)
        }
        _ => (StatusCode::NOT_FOUND, TEXT, "try /livez, /readyz, /metrics, /log or /status\n".to_owned()),
    };
    respond(code, content, body)
}

fn respond(code: StatusCode, content: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content));
    response
}

/// The status page, for callers on the same host who name it: a page of another origin whose name was made to lead here is
/// not served.
async fn show(request: &Request<Incoming>, peer: SocketAddr, page: &dyn Page) -> Response<Full<Bytes>> {
    if !is_local(peer) {
        return respond(StatusCode::FORBIDDEN, TEXT, ONLY_HERE.to_owned());
    }
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(names_this_host) {
        let refusal = "ask for localhost, 127.0.0.1 or [::1]\n";
        return respond(StatusCode::MISDIRECTED_REQUEST, TEXT, refusal.to_owned());
    }
    page.answer(request.method(), request.uri(), "localhost").await
}

/// Whether the Host of a request is this host, whatever the port: a forwarded one may differ.
fn names_this_host(host: &str) -> bool {
    let Ok(authority) = host.parse::<http::uri::Authority>() else { return false };
    ["localhost", "127.0.0.1", "[::1]"].contains(&authority.host())
}

/// Shows or changes the log filter. Only for callers on the same host, as `kubectl port-forward` is, so that the right to
/// that is the right to this.
async fn change_log(
    request: Request<Incoming>,
    peer: SocketAddr,
    log: &Arc<LogFilter>,
) -> (StatusCode, String) {
    if !is_local(peer) {
        return (StatusCode::FORBIDDEN, ONLY_HERE.to_owned());
    }
    match *request.method() {
        Method::GET => {}
        Method::DELETE => log.reset(),
        Method::PUT => {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let Ok(body) = Limited::new(request.into_body(), LONGEST_FILTER).collect().await else {
                return (StatusCode::BAD_REQUEST, format!("no log filter of up to {LONGEST_FILTER} bytes\n"));
            };
            let filter = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            if let Err(fault) = log.change(&filter, &query) {
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
