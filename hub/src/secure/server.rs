//! An HTTPS server with a certificate that reloads, bounded in all: connections, and the time of each of their parts.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::metrics::Metrics;
use http::{HeaderValue, Request, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::tls::Tls;
use crate::admin::Answer;

/// How long a TLS handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a connection may go on with what is under way when it has to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// How large the headers of a request may be, in bytes: a token with many claims has room.
const HEADERS: usize = 32 << 10;

/// Who answers the requests of a server.
pub trait Answers: Send + Sync + 'static {
    /// The answer to a request. `is_certified`: its caller has shown a client certificate, which was verified.
    fn answer(&self, is_certified: bool, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many there may be; others wait to be accepted, and each that is open then ends after its answer.
    pub connections: usize,
    /// How long the headers of the first request may take: whoever connects means to ask.
    pub first: Duration,
    /// How long those of another may take, the wait for it included.
    pub idle: Duration,
    /// How long one may last; any time without it.
    pub lasts: Option<Duration>,
}

/// The server.
pub struct TlsServer<A> {
    answers: A,
    tls: Arc<Tls>,
    limits: Limits,
    metrics: Metrics,
    room: Arc<Semaphore>,
}

impl<A: Answers> TlsServer<A> {
    /// One that does not listen yet.
    pub fn new(answers: A, tls: Arc<Tls>, limits: Limits, metrics: Metrics) -> Self {
        let room = Arc::new(Semaphore::new(limits.connections));
        Self { answers, tls, limits, metrics, room }
    }

    /// Listens on `address` and answers until `stop`, with files that are looked at every `interval`. Connections that are
    /// open at its end finish what is under way, among `tasks`. Returns the address that was bound.
    pub async fn serve(
        self,
        address: SocketAddr,
        interval: Duration,
        stop: CancellationToken,
        tasks: &TaskTracker,
    ) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        tokio::spawn(self.tls.clone().follow(interval, self.metrics.clone(), stop.clone()));
        tokio::spawn(Arc::new(self).accept(listener, stop, tasks.clone()));
        Ok(bound)
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, stop: CancellationToken, tasks: TaskTracker) {
        loop {
            let accepted = async {
                let place = self.room.clone().acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                () = stop.cancelled() => return,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Answers are small: they do not wait for the acknowledgement of others.
                    let _as_it_is = stream.set_nodelay(true);
                    let (this, stop) = (self.clone(), stop.clone());
                    tasks.spawn(async move {
                        this.connection(stream, &stop).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    // Out of file descriptors, most often: do not spin on it.
                    tracing::warn!(error = errors::chain(&error), "failed to accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Serves one connection to its end. A caller that does not keep to the protocols is no concern of the others'.
    pub(crate) async fn connection<S>(&self, stream: S, stop: &CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(self.tls.current()).accept(stream));
        let stream = tokio::select! {
            () = stop.cancelled() => return,
            shaken = handshake => match shaken {
                Ok(Ok(stream)) => stream,
                _ => return,
            },
        };
        let is_certified = stream.get_ref().1.peer_certificates().is_some();
        let has_asked = &AtomicBool::new(false);
        let service = service_fn(|request: Request<Incoming>| async move {
            has_asked.store(true, Ordering::Relaxed);
            let mut answer = self.answers.answer(is_certified, request).await;
            // Others wait to be accepted: this caller comes back behind them.
            if self.room.available_permits() == 0 {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(answer)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .max_buf_size(HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let has_lasted = async {
            match self.limits.lasts {
                Some(lasts) => tokio::time::sleep(lasts).await,
                None => std::future::pending().await,
            }
        };
        let is_silent = async {
            tokio::time::sleep(self.limits.first).await;
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
