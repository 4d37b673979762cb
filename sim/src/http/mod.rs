//! Any service of this crate over real sockets: HTTP/1.1 and HTTP/2, with TLS and without, all on one port.
//!
//! What a client speaks is seen from how it begins: a TLS handshake (then ALPN decides), HTTP/2's preface (prior
//! knowledge), or a line of HTTP/1.1.

mod census;
mod tls;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::TryFutureExt;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::{BoxError, Service, ServiceExt};

pub use census::{Census, Count};
use census::{Connection, Counted};
pub use tls::Identity;

use crate::service::AnswerBody;

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// How long a client may take to say its first byte, and to finish a TLS handshake.
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

/// Serves until it is dropped. `census` tells what is open.
///
/// An error of the service, or of the body that it answers with, breaks off that request alone on HTTP/2, and the
/// connection on HTTP/1.1.
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
    let builder = Arc::new(builder(&settings));
    loop {
        match listener.accept().await {
            Ok((tcp, _)) => {
                let (tls, builder, service) = (tls.clone(), builder.clone(), service.clone());
                let counted = census.connection();
                tokio::spawn(async move {
                    // A client that goes away, or speaks something else, is no concern of the others'.
                    let _ended = connection(tcp, &tls, &builder, service, counted).await;
                });
            }
            Err(error) => {
                eprintln!("fedhub-sim: cannot accept a connection: {error}");
                // Such as too many open files: the next attempt would fail at once.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn builder(settings: &Settings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.streams)
        // Clients that drop a thousand watches at once, and faults that break streams, are what this server is for.
        .max_local_error_reset_streams(None)
        .max_pending_accept_reset_streams(Some(1 << 16));
    builder
}

async fn connection<S>(
    tcp: TcpStream,
    tls: &TlsAcceptor,
    builder: &auto::Builder<TokioExecutor>,
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
    let mut first = [0];
    let said = tokio::time::timeout(PATIENCE, tcp.peek(&mut first)).await.map_err(late)??;
    if said == 1 && first[0] == HANDSHAKE {
        let tls = tokio::time::timeout(PATIENCE, tls.accept(tcp)).await.map_err(late)??;
        requests(TokioIo::new(tls), builder, service, counted).await
    } else {
        requests(TokioIo::new(tcp), builder, service, counted).await
    }
}

async fn requests<I, S>(
    io: I,
    builder: &auto::Builder<TokioExecutor>,
    service: S,
    counted: Connection,
) -> Result<(), BoxError>
where
    I: Read + Write + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = BoxError>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let service = service_fn(move |request| {
        let stream = counted.stream();
        let answer = service.clone().oneshot(request);
        answer.map_ok(move |answer| answer.map(|body| Counted::new(body, stream)))
    });
    builder.serve_connection(io, service).await
}
