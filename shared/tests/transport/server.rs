//! A small HTTPS server: `/version` below any path answers its path, a watch answers one line and then stays silent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// What the server offers.
#[derive(Clone, Copy)]
pub enum Speaks {
    Http1,
    Http2 { streams: u32 },
}

pub struct Server {
    pub port: u16,
    pub ca: Vec<u8>,
    /// Watches that are open now.
    pub open: Arc<AtomicUsize>,
    /// Connections that were ever made.
    pub accepted: Arc<AtomicUsize>,
    connections: Arc<std::sync::Mutex<CancellationToken>>,
}

impl Server {
    pub async fn start(speaks: Speaks) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cert = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(cert.signing_key.serialize_der()));
        let chain = vec![cert.cert.der().clone()];
        let mut tls =
            rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        tls.alpn_protocols = match speaks {
            Speaks::Http1 => vec![b"http/1.1".to_vec()],
            Speaks::Http2 { .. } => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            ca: cert.cert.der().to_vec(),
            open: Arc::default(),
            accepted: Arc::default(),
            connections: Arc::default(),
        };
        let (open, connections) = (server.open.clone(), server.connections.clone());
        let accepted = server.accepted.clone();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let (acceptor, open) = (acceptor.clone(), open.clone());
                let end = connections.lock().unwrap().clone();
                tokio::spawn(async move {
                    let Ok(tls) = acceptor.accept(tcp).await else { return };
                    let service = service_fn(move |request: Request<Incoming>| {
                        let open = open.clone();
                        async move { Ok::<_, Infallible>(answer(&request, &open)) }
                    });
                    let io = TokioIo::new(tls);
                    match speaks {
                        Speaks::Http1 => tokio::select! {
                            _ = http1::Builder::new().serve_connection(io, service) => (),
                            () = end.cancelled() => (),
                        },
                        Speaks::Http2 { streams } => {
                            let mut builder = http2::Builder::new(TokioExecutor::new());
                            builder.max_concurrent_streams(streams);
                            tokio::select! { _ = builder.serve_connection(io, service) => (), () = end.cancelled() => () }
                        }
                    }
                });
            }
        });
        server
    }

    /// Ends every connection without a word.
    pub fn hang_up(&self) {
        std::mem::take(&mut *self.connections.lock().unwrap()).cancel();
    }
}

fn answer(request: &Request<Incoming>, open: &Arc<AtomicUsize>) -> Response<Answer> {
    let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
    let text = if watch { "begun\n".to_owned() } else { request.uri().path().to_owned() };
    let held = watch.then(|| {
        open.fetch_add(1, Ordering::SeqCst);
        Held(open.clone())
    });
    Response::new(Answer { text: Some(Bytes::from(text)), held })
}

/// Counts an open watch for as long as its body lives.
struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Answer {
    text: Option<Bytes>,
    held: Option<Held>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.text.take() {
            Some(text) => Poll::Ready(Some(Ok(Frame::data(text)))),
            None if self.held.is_some() => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}
