//! Any service of this crate over real sockets: HTTP/1.1 and HTTP/2, with TLS and without, all on one port.
//!
//! What a client speaks is seen from how it begins: a TLS handshake (then ALPN decides), HTTP/2's preface
//! (prior knowledge), or a line of HTTP/1.1.

mod census;
mod tls;

use std::io::{self, Cursor, Write};
use std::sync::Arc;
use std::time::Duration;

pub use census::{Census, Count};
use census::{Connection, Counted};
use futures::TryFutureExt;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
pub use tls::Identity;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::{BoxError, Service, ServiceExt};

use crate::service::AnswerBody;

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// How HTTP/2 begins, and no request of HTTP/1.1 does.
const PREFACE: [u8; 4] = *b"PRI ";
/// How long a client may take to begin, and to finish a TLS handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a server speaks.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many streams an HTTP/2 connection may carry at once, as the server announces it.
    pub streams: u32,
}

impl Default for Settings {
    /// A hundred streams, as API servers announce.
    fn default() -> Self {
        Self { streams: 100 }
    }
}

/// Serves until it is dropped, and all connections with it. `census` counts what is open.
///
/// An error of the service, or of the body that it answers with, breaks off that request alone on HTTP/2, and
/// the connection on HTTP/1.1.
pub async fn serve<S>(
    listener: TcpListener,
    identity: &Identity,
    settings: Settings,
    service: S,
    census: Arc<Census>,
) where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = BoxError>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let tls = TlsAcceptor::from(identity.server());
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((tcp, _)) => {
                let tls = tls.clone();
                let settings = settings.clone();
                let service = service.clone();
                let counted = census.connection();
                connections.spawn(async move {
                    // A client that goes away, or speaks something else, is no concern of the others'.
                    let _ended = connection(tcp, &tls, &settings, service, counted).await;
                });
            }
            Err(error) => {
                // Where nobody reads that, it goes on all the same.
                let _gone =
                    writeln!(io::stderr(), "fedhub-fake-apiserver: cannot accept a connection: {error}");
                // Such as too many open files: the next attempt would fail at once.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection<S>(
    mut tcp: TcpStream,
    tls: &TlsAcceptor,
    settings: &Settings,
    service: S,
    counted: Connection,
) -> Result<(), BoxError>
where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = BoxError>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    tcp.set_nodelay(true)?;
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let mut first = PREFACE;
    tokio::time::timeout(PATIENCE, tcp.read_exact(&mut first)).await.map_err(late)??;
    let (read, write) = tcp.into_split();
    let whole = tokio::io::join(Cursor::new(first).chain(read), write);
    if first[0] == HANDSHAKE {
        let tls = tokio::time::timeout(PATIENCE, tls.accept(whole)).await.map_err(late)??;
        let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        requests(tls, http2, settings, service, counted).await
    } else {
        requests(whole, first == PREFACE, settings, service, counted).await
    }
}

async fn requests<I, S>(
    io: I,
    http2: bool,
    settings: &Settings,
    service: S,
    counted: Connection,
) -> Result<(), BoxError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = BoxError>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let service = service_fn(move |request| {
        let stream = counted.stream();
        let answer = service.clone().oneshot(request);
        answer.map_ok(move |answer| answer.map(|body| Counted::new(body, stream)))
    });
    if !http2 {
        return Ok(http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(io), service)
            .await?);
    }
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.streams)
        // Clients that drop a thousand watches at once, and faults that break streams, are what this server
        // is for.
        .max_local_error_reset_streams(None)
        .max_pending_accept_reset_streams(1 << 16)
        .serve_connection(TokioIo::new(io), service);
    Ok(connection.await?)
}
