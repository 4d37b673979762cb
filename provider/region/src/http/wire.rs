//! One HTTP client: connections under one trust. A parameter of all above it, so that tests go without.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, service_fn};

/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a connection without a request stays open.
const IDLE: Duration = Duration::from_mins(1);
/// Bytes of the headers of an answer.
const HEADERS: usize = 64 << 10;

/// The body of an answer, as it comes.
pub type Incoming = UnsyncBoxBody<Bytes, io::Error>;

/// Sends requests.
pub type Wire = BoxCloneSyncService<Request<Full<Bytes>>, Response<Incoming>, WireFailure>;

/// A request that no answer came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFailure {
    /// Whether it may have reached the service.
    pub sent: bool,
    /// What happened.
    pub message: String,
}

/// A client under this trust, with at most `connections` connections that wait for the next request.
/// Redirects are not followed.
pub fn wire(tls: rustls::ClientConfig, connections: usize) -> Wire {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
    let connector = Patient(https.wrap_connector(tcp));
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(connections)
        .http1_max_buf_size(HEADERS)
        .build(connector);
    BoxCloneSyncService::new(service_fn(move |request: Request<Full<Bytes>>| {
        let client = client.clone();
        async move {
            match client.request(request).await {
                Ok(answer) => Ok(answer.map(|body| body.map_err(io::Error::other).boxed_unsync())),
                Err(error) => Err(WireFailure {
                    sent: !error.is_connect(),
                    message: fedhub_core::errors::chain(&error),
                }),
            }
        }
    }))
}

/// A connector that gives up after [`CONNECT`], TLS included, of which the one below knows nothing.
#[derive(Clone)]
struct Patient(HttpsConnector<HttpConnector>);

impl Service<Uri> for Patient {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT, connecting).await {
                Ok(connected) => connected,
                Err(_) => {
                    Err(io::Error::new(io::ErrorKind::TimedOut, format!("not connected within {CONNECT:?}"))
                        .into())
                }
            }
        })
    }
}
