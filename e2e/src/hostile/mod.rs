//! A plane behind a server that plays tricks (I8): it passes requests on, but for those that the current
//! trick is about.
//!
//! A second port chooses the trick: `POST /` with two words, such as `fields namespaces`, begins one
//! (`tricks`), an empty body ends it, and `GET /` answers how many requests it has met. Whenever the trick
//! changes, all connections are closed, so that nothing of the last one goes on.

mod headers;
mod tricks;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use self::tricks::{Asked, Trick};
use crate::Error;
use crate::gateway::{self, Answer, connection, json_content, refusal, tls};
use crate::topology::kubeconfig::{self, Credential};
use crate::topology::planes::Plane;
use crate::topology::{Layout, pki};

/// The namespace whose UID a plane is known by.
const IDENTITY: &str = "kube-system";

/// A hostile server that listens.
pub struct Hostile {
    listener: TcpListener,
    control: TcpListener,
    tls: TlsAcceptor,
    state: Arc<State>,
}

struct State {
    /// The plane behind it, with fedhub's own credential.
    plane: Client,
    /// The UID of its namespace `kube-system`: a trick that is taken in must not look like another plane.
    uid: String,
    trick: watch::Sender<Option<Trick>>,
    /// How many requests met the trick.
    met: AtomicU64,
}

impl Hostile {
    /// Listens in front of a plane. `file` becomes fedhub's kubeconfig for the plane by way of this server.
    pub async fn listen(layout: &Layout, plane: &str, file: &Path) -> Result<Self, Error> {
        let (client, token) = gateway::client(&layout.fedhub_kubeconfig(Plane::named(plane)?.name)).await?;
        let identity = Api::<Namespace>::all(client.clone()).get(IDENTITY).await;
        let identity = identity.map_err(Error::api(format!("get namespace {IDENTITY} on {plane}")))?;
        let listener = bind().await?;
        let address = listener.local_addr().map_err(Error::file("listen for", file))?;
        let (ca, _) = pki::read(&layout.pki())?;
        let state = State {
            plane: client,
            uid: identity.uid().unwrap_or_default(),
            trick: watch::Sender::default(),
            met: AtomicU64::new(0),
        };
        let hostile = Self { listener, control: bind().await?, tls: tls(layout)?, state: Arc::new(state) };
        kubeconfig::write(file, plane, &format!("https://{address}"), &ca, Credential::Token(&token))?;
        Ok(hostile)
    }

    /// Where tricks are chosen.
    pub fn control(&self) -> String {
        self.control.local_addr().map(|bound| format!("http://{bound}/")).unwrap_or_default()
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        let Self { listener, control, tls, state } = self;
        tokio::join!(serve_plane(&listener, &tls, &state), serve_control(&control, &state));
    }
}

async fn bind() -> Result<TcpListener, Error> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    TcpListener::bind(any).await.map_err(Error::file("listen on", any.to_string()))
}

async fn serve_plane(listener: &TcpListener, tls: &TlsAcceptor, state: &Arc<State>) {
    while let Ok((tcp, _)) = listener.accept().await {
        tokio::spawn(state.clone().serve(tcp, tls.clone()));
    }
}

async fn serve_control(listener: &TcpListener, state: &Arc<State>) {
    while let Ok((tcp, _)) = listener.accept().await {
        let state = state.clone();
        let service = service_fn(move |request| {
            let state = state.clone();
            async move { Ok::<_, Infallible>(state.command(request).await) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(tcp), service));
    }
}

impl State {
    /// Serves a connection until the trick changes.
    async fn serve(self: Arc<Self>, tcp: TcpStream, tls: TlsAcceptor) {
        let mut trick = self.trick.subscribe();
        let endless_headers = trick.borrow_and_update().is_some_and(Trick::is_in_headers);
        let served = async {
            if endless_headers {
                self.flood(tcp, tls).await;
            } else {
                let state = self.clone();
                connection(tcp, tls, move |request| state.clone().answer(request)).await;
            }
        };
        tokio::select! {
            _ = trick.changed() => {}
            () = served => {}
        }
    }

    async fn flood(&self, tcp: TcpStream, tls: TlsAcceptor) {
        let Ok(stream) = tls.accept(tcp).await else { return };
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        // It ends with an error when the caller has had enough.
        let _ = headers::flood(stream, http2, || self.meet()).await;
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let path = request.uri().path_and_query().map_or("/", |whole| whole.as_str()).to_owned();
        let asked = Asked::by(request.method(), &path);
        let trick = *self.trick.borrow();
        if let Some(trick) = trick.filter(|trick| trick.is_about(asked)) {
            self.meet();
            return json_content(trick.content(asked, &path, &self.uid));
        }
        match gateway::forward(&self.plane, path, request).await {
            Ok(answer) => answer.map(|body| body.map_err(Into::into).boxed_unsync()),
            Err(problem) => refusal(StatusCode::BAD_GATEWAY, "ServiceUnavailable", &problem),
        }
    }

    fn meet(&self) {
        self.met.fetch_add(1, Ordering::Relaxed);
    }

    async fn command(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() == Method::GET {
            return plain(StatusCode::OK, self.met.load(Ordering::Relaxed).to_string());
        }
        let words = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        match Trick::choose(&String::from_utf8_lossy(&words.unwrap_or_default())) {
            Ok(trick) => {
                self.trick.send_replace(trick);
                self.met.store(0, Ordering::Relaxed);
                plain(StatusCode::OK, String::new())
            }
            Err(problem) => plain(StatusCode::BAD_REQUEST, problem),
        }
    }
}

fn plain(code: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::from(text + "\n"));
    *answer.status_mut() = code;
    answer
}
