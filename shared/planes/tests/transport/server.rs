//! A small HTTPS server: `/version` below any path answers its path, `/whoami` who asks, `/never` does not
//! answer, a watch answers one line and then stays silent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// What the server offers.
#[derive(Clone, Copy)]
pub enum Speaks {
    Http1,
    Http2 { streams: u32 },
}

/// A certificate that is its own authority, and its key.
pub struct Identity(rcgen::CertifiedKey<rcgen::KeyPair>);

impl Identity {
    pub fn new(name: &str) -> Self {
        Self(rcgen::generate_simple_self_signed([name.to_owned()]).unwrap())
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.0.cert.der().clone()
    }

    pub fn certificate_pem(&self) -> String {
        self.0.cert.pem()
    }

    pub fn key_pem(&self) -> String {
        self.0.signing_key.serialize_pem()
    }
}

pub struct Server {
    pub port: u16,
    pub ca: Vec<u8>,
    /// Watches that are open now.
    pub open: Arc<AtomicUsize>,
    /// Connections that were ever made.
    pub accepted: Arc<AtomicUsize>,
    /// Connections that are open now.
    pub live: Arc<AtomicUsize>,
    speaks: Speaks,
    acceptor: Arc<Mutex<TlsAcceptor>>,
    connections: Arc<Mutex<CancellationToken>>,
    /// Cancelled, connections that were made before answer nothing more.
    hung: Arc<Mutex<CancellationToken>>,
}

fn acceptor(speaks: Speaks, identity: &Identity, clients: &[&Identity]) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.0.signing_key.serialize_der()));
    let chain = vec![identity.certificate()];
    let builder = rustls::ServerConfig::builder();
    let builder = if clients.is_empty() {
        builder.with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        for client in clients {
            roots.add(client.certificate()).unwrap();
        }
        let verifier =
            WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated().build().unwrap();
        builder.with_client_cert_verifier(verifier)
    };
    let mut tls = builder.with_single_cert(chain, key).unwrap();
    tls.alpn_protocols = match speaks {
        Speaks::Http1 => vec![b"http/1.1".to_vec()],
        Speaks::Http2 { .. } => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    TlsAcceptor::from(Arc::new(tls))
}

impl Server {
    pub async fn start(speaks: Speaks) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let identity = Identity::new("localhost");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            ca: identity.certificate().to_vec(),
            open: Arc::default(),
            accepted: Arc::default(),
            live: Arc::default(),
            speaks,
            acceptor: Arc::new(Mutex::new(acceptor(speaks, &identity, &[]))),
            connections: Arc::default(),
            hung: Arc::default(),
        };
        let hung = server.hung.clone();
        let open = server.open.clone();
        let connections = server.connections.clone();
        let accepted = server.accepted.clone();
        let live = server.live.clone();
        let current = server.acceptor.clone();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let acceptor = current.lock().unwrap().clone();
                let open = open.clone();
                let live = Held::new(&live);
                let end = connections.lock().unwrap().clone();
                let hung = hung.lock().unwrap().clone();
                tokio::spawn(async move {
                    let _live = live;
                    let Ok(tls) = acceptor.accept(tcp).await else { return };
                    let client = tls.get_ref().1.peer_certificates().map(|chain| chain[0].to_vec());
                    let service = service_fn(move |request: Request<Incoming>| {
                        let open = open.clone();
                        let client = client.clone();
                        let hung = hung.clone();
                        async move {
                            if hung.is_cancelled() || request.uri().path().ends_with("/never") {
                                std::future::pending::<()>().await;
                            }
                            Ok::<_, Infallible>(answer(&request, client.as_deref(), &open))
                        }
                    });
                    match speaks {
                        Speaks::Http1 => tokio::select! {
                            _ = http1::Builder::new().serve_connection(TokioIo::new(tls), service) => (),
                            () = end.cancelled() => (),
                        },
                        Speaks::Http2 { streams } => {
                            let mut builder = http2::Builder::new(TokioExecutor::new());
                            builder.max_concurrent_streams(streams);
                            tokio::select! { _ = builder.serve_connection(TokioIo::new(tls), service) => (), () = end.cancelled() => () }
                        }
                    }
                });
            }
        });
        server
    }

    /// From now on new connections meet this certificate, and are asked for one of `clients`.
    pub fn present(&self, identity: &Identity, clients: &[&Identity]) {
        *self.acceptor.lock().unwrap() = acceptor(self.speaks, identity, clients);
    }

    /// Connections that are open answer no request any more, though they stay open and answer pings.
    pub fn hang(&self) {
        std::mem::take(&mut *self.hung.lock().unwrap()).cancel();
    }

    /// Ends every connection without a word.
    pub fn hang_up(&self) {
        std::mem::take(&mut *self.connections.lock().unwrap()).cancel();
    }
}

fn answer(request: &Request<Incoming>, client: Option<&[u8]>, open: &Arc<AtomicUsize>) -> Response<Answer> {
    let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
    let text = match request.uri().path() {
        _ if watch => "begun\n".to_owned(),
        path if path.ends_with("/whoami") => {
            let token = request.headers().get("authorization").map_or("anonymous", |v| v.to_str().unwrap());
            client.map_or(token.to_owned(), |der| format!("{token} {:02x?}", &der[..32]))
        }
        path => path.to_owned(),
    };
    Response::new(Answer { text: Some(Bytes::from(text)), held: watch.then(|| Held::new(open)) })
}

/// Counts an open watch or connection for as long as it lives.
struct Held(Arc<AtomicUsize>);

impl Held {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

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
