//! Connections to a region: over sockets, or within the process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tower::{BoxError, ServiceExt};

use crate::api::{self, Cut, Peer};
use crate::options::Options;
use crate::region::Region;
use crate::tls::{Authority, common_name};

/// How many bytes a connection within the process holds.
const PIPE: usize = 1 << 16;

/// A region that listens, until this is dropped.
#[derive(Debug)]
pub struct Running {
    /// The region.
    pub region: Region,
    /// Where it listens.
    pub address: SocketAddr,
    authority: Option<Arc<Authority>>,
    listens: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.listens.abort();
    }
}

impl Running {
    /// The root of its URLs.
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of its CA, in PEM; none where connections are not secured.
    pub fn ca(&self) -> Option<String> {
        self.authority.as_ref().map(|authority| authority.ca())
    }

    /// A certificate for a client of this name, and its key, in PEM.
    ///
    /// # Errors
    ///
    /// Where connections are not secured, or no key can be made.
    pub fn client_certificate(&self, name: &str) -> Result<[String; 2], BoxError> {
        self.authority.as_ref().ok_or("connections to this region are not secured")?.client(name)
    }
}

impl Region {
    /// Starts a region on a free port of the loopback address.
    ///
    /// # Errors
    ///
    /// Where there is no port, or no certificate can be made.
    pub async fn start(options: Options) -> Result<Running, BoxError> {
        Self::new(options).listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Listens at an address. Once that is dropped, the region may listen there again, with the same
    /// certificates: so it goes away for a while.
    ///
    /// # Errors
    ///
    /// Where the address cannot be had, or no certificate can be made.
    pub async fn listen(&self, address: SocketAddr) -> Result<Running, BoxError> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let authority = self.authority()?;
        let acceptor = authority.as_ref().map(|authority| TlsAcceptor::from(authority.server.clone()));
        let listens = tokio::spawn(accept(listener, acceptor, api::router(self)));
        Ok(Running { region: self.clone(), address, authority, listens })
    }

    /// A connection without a socket, which speaks HTTP/1.1: under paused time, a socket that is waited for
    /// would have the time go on.
    pub fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(PIPE);
        let router = api::router(self);
        tokio::spawn(async move {
            // A client that goes away is no concern of the region's.
            let _ended = serve(server, false, None, router).await;
        });
        client
    }
}

/// Takes connections until it is dropped, and all of them with it.
async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((tcp, _)) => {
                connections.spawn(connection(tcp, tls.clone(), router.clone()));
            }
            // Such as too many open files: the next attempt would fail at once.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// A client that goes away, or speaks something else, is no concern of the others'.
async fn connection(tcp: TcpStream, tls: Option<TlsAcceptor>, router: Router) {
    let _ended: Result<(), BoxError> = async {
        tcp.set_nodelay(true)?;
        let Some(tls) = tls else { return serve(tcp, false, None, router).await };
        let stream = tls.accept(tcp).await?;
        let session = stream.get_ref().1;
        let http2 = session.alpn_protocol() == Some(b"h2");
        let peer = session.peer_certificates().and_then(|chain| common_name(chain.first()?)).map(Peer);
        serve(stream, http2, peer, router).await
    }
    .await;
}

async fn serve<I>(io: I, http2: bool, peer: Option<Peer>, router: Router) -> Result<(), BoxError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        if let Some(peer) = peer.clone() {
            request.extensions_mut().insert(peer);
        }
        answer(router.clone(), request)
    });
    let io = TokioIo::new(io);
    if http2 {
        let server = http2::Builder::new(TokioExecutor::new());
        return Ok(server.serve_connection(io, service).await?);
    }
    Ok(http1::Builder::new().timer(TokioTimer::new()).serve_connection(io, service).await?)
}

/// An error breaks off the request alone on HTTP/2, and the connection on HTTP/1.1.
async fn answer(router: Router, request: Request<Body>) -> io::Result<Response<Body>> {
    let Ok(response) = router.oneshot(request).await;
    if response.extensions().get::<Cut>().is_some() {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    Ok(response)
}
