//! The process's own HTTP page: `/livez`, `/readyz`, `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use fedhub_core::errors;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What the admin page asks the process.
pub trait Status: Send + Sync + 'static {
    /// Whether the process can do its work; else why not, a line for each cause.
    fn ready(&self) -> Result<(), Vec<String>>;
    /// The text of a scrape.
    fn metrics(&self) -> Result<String, String>;
}

/// Listens on `address` and answers until `stop`. Returns the address that was bound (port 0 asks for any).
pub async fn serve(
    address: SocketAddr,
    status: Arc<dyn Status>,
    stop: CancellationToken,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of file descriptors, most often: do not spin on it.
                        tracing::warn!(error = errors::chain(&error), "failed to accept a connection to the admin server");
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                        continue;
                    }
                },
            };
            let (status, stop) = (status.clone(), stop.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let answer = answer(&request, status.as_ref());
                    async move { Ok::<_, Infallible>(answer) }
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

fn answer(request: &Request<Incoming>, status: &dyn Status) -> Response<Full<Bytes>> {
    let (code, content, body) = match request.uri().path() {
        "/livez" => (StatusCode::OK, "text/plain; charset=utf-8", "ok\n".to_owned()),
        "/readyz" => match status.ready() {
            Ok(()) => (StatusCode::OK, "text/plain; charset=utf-8", "ok\n".to_owned()),
            Err(causes) => {
                (StatusCode::SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", causes.join("\n") + "\n")
            }
        },
        "/metrics" => match status.metrics() {
            Ok(text) => (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", error),
        },
        _ => (
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            "try /livez, /readyz or /metrics\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content));
    response
}
