//! Connections over HTTP/1, each within limits: the size of a request's headers, and the time of each part.
//!
//! Routes are axum's; the connections are not, because its own server limits neither how large headers are
//! nor how long they take.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use fedhub_core::errors;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// How long a connection may go on with what is under way when it has to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// The next connection of a listener.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                // Out of file descriptors, most often: do not spin on it.
                tracing::warn!(error = errors::chain(&error), "failed to accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many there may be at a time.
    pub connections: usize,
    /// How large the headers of a request may be, in bytes; hyper takes no less than 8 KiB.
    pub headers: usize,
    /// How long the headers of the first request may take: whoever connects means to ask.
    pub first: Duration,
    /// How long those of another may take, the wait for it included.
    pub idle: Duration,
    /// How long one may last; any time without it.
    pub lasts: Option<Duration>,
}

impl Limits {
    /// Serves one connection to its end. A caller that does not keep to the protocol is no concern of the
    /// others'.
    pub async fn serve<S, F>(&self, stream: S, answer: impl Fn(Request) -> F, stop: &CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin,
        F: Future<Output = Result<Response, Infallible>>,
    {
        let has_asked = &AtomicBool::new(false);
        let service = service_fn(|request: http::Request<Incoming>| {
            has_asked.store(true, Ordering::Relaxed);
            answer(request.map(Body::new))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.idle)
            .max_buf_size(self.headers)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let has_lasted = async {
            match self.lasts {
                Some(lasts) => tokio::time::sleep(lasts).await,
                None => std::future::pending().await,
            }
        };
        let is_silent = async {
            tokio::time::sleep(self.first).await;
            if has_asked.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            _ = connection.as_mut() => return,
            () = is_silent => return,
            () = stop.cancelled() => {}
            () = has_lasted => {}
        }
        connection.as_mut().graceful_shutdown();
        let _cut_off = tokio::time::timeout(ENDS_WITHIN, connection).await;
    }
}
