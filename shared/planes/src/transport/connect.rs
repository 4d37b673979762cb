//! One connection to a server: TCP, TLS, and which HTTP it speaks.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::client::conn::http2;
use hyper::rt::bounds::Http2ClientConnExec;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::Config;
use kube::client::{Body, ConfigExt};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tower::{BoxError, Service};

/// How often a connection without traffic is pinged, and how long the answer may take: a dead one is found
/// within the sum.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5));
/// Flow control: what a stream may send ahead of its reader, and all streams of a connection together. A
/// reader that does not read stops its own stream, not the others' (I8).
const WINDOW: (u32, u32) = (256 << 10, 32 << 20);

/// How often a server's SETTINGS are looked for: before the first, and after.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(1));

/// Keyed per process, so that no author of a kubeconfig can make its trust look like another one's and be
/// given the connections of another client certificate.
static TRUST: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A server and the trust in it: planes with the same may share connections. Tokens are not part of it; they
/// travel with each request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// `https://host:port`.
    server: String,
    /// Name that the certificate has to carry, where it is not the host.
    server_name: Option<String>,
    /// Hash of the CA bundle, of the client certificate and of its key.
    trust: u64,
}

impl Endpoint {
    /// The endpoint of a plane's configuration.
    pub fn from_config(config: &Config) -> Self {
        let uri = &config.cluster_url;
        let auth = &config.auth_info;
        let certificate = (&auth.client_certificate, &auth.client_certificate_data, &auth.client_key);
        // Printed, a secret is blacked out; as JSON it is not.
        let key = auth.client_key_data.as_ref().and_then(|_| serde_json::to_value(auth).ok());
        let key = key.as_ref().map(|auth| &auth["client-key-data"]);
        let trust = format!(
            "{:?} {:?} {} {certificate:?} {key:?}",
            config.root_cert, config.root_cert_file, config.accept_invalid_certs
        );
        Self {
            server: format!(
                "{}://{}:{}",
                uri.scheme_str().unwrap_or("https"),
                uri.host().unwrap_or_default(),
                port(uri)
            ),
            server_name: config.tls_server_name.clone(),
            trust: TRUST.hash_one(trust),
        }
    }
}

impl Endpoint {
    /// `https://host:port`.
    pub fn server(&self) -> &str {
        &self.server
    }
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 })
}

/// The protocol that a server speaks.
pub enum Dialled {
    /// HTTP/2, on this connection.
    Http2(Http2),
    /// HTTP/1.1 only.
    Http1,
}

/// Opens connections to one server.
#[derive(Clone)]
pub struct Connector {
    host: String,
    port: u16,
    tls: Option<(Arc<rustls::ClientConfig>, ServerName<'static>)>,
    timeout: Duration,
}

impl Connector {
    /// Creates the connector of a plane's configuration.
    pub fn from_config(config: &Config, timeout: Duration) -> Result<Self, BoxError> {
        let uri = &config.cluster_url;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let tls = if uri.scheme_str() == Some("http") {
            None
        } else {
            let mut tls = config.rustls_client_config()?;
            tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            let name = config.tls_server_name.clone().unwrap_or_else(|| host.clone());
            Some((Arc::new(tls), ServerName::try_from(name)?))
        };
        Ok(Self { host, port: port(uri), tls, timeout })
    }

    /// Returns a connector that offers HTTP/1.1 only.
    pub fn http1_only(&self) -> Self {
        let mut connector = self.clone();
        if let Some((tls, _)) = &mut connector.tls {
            let mut only = tls.as_ref().clone();
            only.alpn_protocols = vec![b"http/1.1".to_vec()];
            *tls = Arc::new(only);
        }
        connector
    }

    /// Opens a connection and learns what the server speaks, and how many streams it allows.
    pub async fn dial(&self) -> Result<Dialled, BoxError> {
        let opened = tokio::time::timeout(self.timeout, async {
            let stream = self.open().await?;
            if !speaks_http2(&stream) {
                return Ok(Dialled::Http1);
            }
            Ok::<_, BoxError>(Dialled::Http2(handshake(stream).await?))
        });
        opened.await.map_err(|_| {
            io::Error::new(io::ErrorKind::TimedOut, format!("not connected within {:?}", self.timeout))
        })?
    }

    async fn open(&self) -> Result<Wire, BoxError> {
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
        tcp.set_nodelay(true)?;
        let tcp = TokioIo::new(tcp);
        Ok(match &self.tls {
            None => tcp.into(),
            Some((tls, name)) => {
                TlsConnector::from(tls.clone()).connect(name.clone(), TokioIo::new(tcp)).await?.into()
            }
        })
    }
}

/// An HTTP/2 connection.
#[derive(Clone)]
pub struct Http2 {
    /// The handle for sending requests.
    pub send: http2::SendRequest<Body>,
    /// How many streams the server allows at once; it may change its mind.
    pub limit: watch::Receiver<usize>,
    /// Cancelled, the connection ends with all that is under way on it.
    pub end: CancellationToken,
}

/// Starts HTTP/2 and waits for the server's SETTINGS, so that its limit on streams is known before the first.
async fn handshake(stream: Wire) -> Result<Http2, BoxError> {
    let end = CancellationToken::new();
    let stream = Ending { wire: stream, end: Box::pin(end.clone().cancelled_owned()) };
    let (send, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_max_send_streams(0)
        .initial_stream_window_size(WINDOW.0)
        .initial_connection_window_size(WINDOW.1)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .keep_alive_while_idle(true)
        .handshake::<_, Body>(stream)
        .await?;
    let (announced, mut limit) = watch::channel(0);
    tokio::spawn(drive(connection, announced));
    limit.wait_for(|streams| *streams > 0).await.map_err(|_| "the server ended the connection at once")?;
    Ok(Http2 { send, limit, end })
}

/// Drives a connection to its end and publishes what the server announces. Its SETTINGS come with no event
/// that could be awaited: they are looked for often until the first, and now and then after that.
async fn drive<E>(connection: http2::Connection<Ending, Body, E>, announced: watch::Sender<usize>)
where
    http2::Connection<Ending, Body, E>: Future<Output = hyper::Result<()>>,
    E: Http2ClientConnExec<Body, Ending> + Unpin,
{
    let mut connection = pin!(connection);
    loop {
        let now = connection.current_max_send_streams();
        announced.send_if_modified(|known| std::mem::replace(known, now) != now);
        let look = tokio::time::sleep(if now == 0 { LOOK.0 } else { LOOK.1 });
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(error = fedhub_core::errors::chain(&error), "connection closed");
                }
                return;
            }
            () = look => {}
        }
    }
}

/// A TCP connection, with or without TLS.
pub type Wire = MaybeHttpsStream<TokioIo<TcpStream>>;

fn speaks_http2(wire: &Wire) -> bool {
    match wire {
        Wire::Http(_) => false,
        Wire::Https(tls) => tls.inner().get_ref().1.alpn_protocol() == Some(b"h2"),
    }
}

/// A connection that can be ended with all that is under way on it: hyper keeps one open for as long as a
/// stream is.
pub struct Ending {
    wire: Wire,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Read for Ending {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.end.as_mut().poll(cx).is_ready() {
            let why = "requests time out on this connection, others of the server answer";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)));
        }
        Pin::new(&mut self.wire).poll_read(cx, buf)
    }
}

impl Write for Ending {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }
}

/// Used by the HTTP/1.1 client.
impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let opened = tokio::time::timeout(connector.timeout, connector.open());
            opened.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
        })
    }
}
