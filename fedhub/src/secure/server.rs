//! An HTTPS server with a certificate that reloads, whose connections are bounded (`crate::connections`).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use fedhub_core::metrics::Metrics;
use http::{HeaderValue, header};
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::tls::Tls;
use crate::connections::{Limits, accept};

/// How long a TLS handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(5);
/// The other end of a connection.
pub struct Caller {
    /// The address that it connects from.
    pub address: IpAddr,
    /// The client certificate that it has shown, which was verified.
    pub certificate: Option<CertificateDer<'static>>,
}

/// The server.
pub struct TlsServer {
    routes: Router,
    tls: Arc<Tls>,
    limits: Limits,
    metrics: Metrics,
    room: Arc<Semaphore>,
}

impl TlsServer {
    /// One that does not listen yet. Each request has an [`Arc`] of its [`Caller`] among its extensions.
    pub fn new(routes: Router, tls: Arc<Tls>, limits: Limits, metrics: Metrics) -> Self {
        let room = Arc::new(Semaphore::new(limits.connections));
        Self { routes, tls, limits, metrics, room }
    }

    /// Listens on `address` and answers until `stop`, with files that are looked at every `interval`.
    /// Connections that are open at its end finish what is under way, among `tasks`. Returns the address that
    /// was bound.
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
                (place, accept(&listener).await)
            };
            let (place, (stream, peer)) = tokio::select! {
                () = stop.cancelled() => return,
                accepted = accepted => accepted,
            };
            // Answers are small: they do not wait for the acknowledgement of others.
            let _as_it_is = stream.set_nodelay(true);
            let this = self.clone();
            let stop = stop.clone();
            tasks.spawn(async move {
                this.connection(stream, peer.ip(), &stop).await;
                drop(place);
            });
        }
    }

    /// Serves one connection to its end. A caller that does not keep to the protocols is no concern of the
    /// others'.
    pub(crate) async fn connection<S>(&self, stream: S, address: IpAddr, stop: &CancellationToken)
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
        let chain = stream.get_ref().1.peer_certificates();
        let certificate = chain.and_then(|chain| chain.first()).map(|shown| shown.clone().into_owned());
        let caller = Arc::new(Caller { address: address.to_canonical(), certificate });
        let answer = async |mut request: Request| {
            request.extensions_mut().insert(caller.clone());
            let mut answer = self.routes.clone().oneshot(request).await?;
            // Others wait to be accepted: this caller comes back behind them.
            if self.room.available_permits() == 0 {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(answer)
        };
        self.limits.serve(stream, answer, stop).await;
    }
}
