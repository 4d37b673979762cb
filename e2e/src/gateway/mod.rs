//! A gateway before the planes of an instance, as Milo is one: the planes of projects are below paths of one
//! server.
//!
//! `/apis/resourcemanager.miloapis.com/v1alpha1/projects/<name>/control-plane/...` is answered by the plane
//! of that project, everything else by the management plane, where the Projects are. It speaks HTTP/2 and
//! allows as many streams on a connection as API servers do. fedhub has a token of its own on every plane,
//! and Milo takes one for all: callers show that of the management plane, and the gateway sends each request
//! on with the one of the plane that it is for. The same for a user, with other kubeconfigs.
//!
//! Where there are more projects than servers, a project's plane is one namespace of a server. A plane can be
//! made unhealthy while all goes on (`faults`).

mod answer;
mod faults;
pub(crate) mod route;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(crate) use self::answer::{Answer, Content, Problem, content, json_answer, json_content, refusal};
use self::faults::Faults;
use crate::Error;
use crate::output::complain;
use crate::topology::Layout;
use crate::topology::kubeconfig::{self, Credential};
use crate::topology::planes::{MANAGEMENT, Plane};

/// How many streams a connection may carry at once: what API servers allow.
const STREAMS: u32 = 100;

/// A gateway that listens.
pub struct Gateway {
    listener: TcpListener,
    tls: TlsAcceptor,
    planes: Arc<Behind>,
}

/// The servers behind the gateway.
struct Behind {
    management: Client,
    projects: BTreeMap<String, Project>,
    faults: Faults,
    /// The `Authorization` header that callers have to send.
    authorization: String,
}

/// A project's plane.
struct Project {
    server: Client,
    /// The only namespace of the server that belongs to the project; the whole server if `None`.
    namespace: Option<String>,
}

impl Gateway {
    /// Listens before an instance. `projects` says which plane is the control plane of which project:
    /// `PLANE`, or `PLANE/NAMESPACE` for one that is a namespace of it. `callers` has a kubeconfig with a
    /// token for each of these planes, `PLANE.yaml`; without it they are fedhub's. `file` becomes the
    /// kubeconfig of that caller for this gateway.
    pub async fn listen(
        layout: &Layout,
        projects: &BTreeMap<String, String>,
        callers: Option<&Path>,
        file: &Path,
    ) -> Result<Self, Error> {
        let identity = |plane: &str| match callers {
            Some(directory) => directory.join(format!("{plane}.yaml")),
            None => layout.fedhub_kubeconfig(plane),
        };
        let (management, token) = client(&identity(MANAGEMENT)).await?;
        let mut planes = BTreeMap::new();
        for (project, behind) in projects {
            let (plane, namespace) = match behind.split_once('/') {
                Some((plane, namespace)) => (plane, Some(namespace.to_owned())),
                None => (behind.as_str(), None),
            };
            let server = client(&identity(Plane::named(plane)?.name)).await?.0;
            planes.insert(project.clone(), Project { server, namespace });
        }
        let tls = tls(layout)?;
        let (ca, _) = crate::topology::pki::read(&layout.pki())?;
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let unusable = Error::file("listen on", any.to_string());
        let listener = TcpListener::bind(any).await.map_err(unusable)?;
        let bound = listener.local_addr().map_err(Error::file("listen on", any.to_string()))?;
        let authorization = format!("Bearer {token}");
        let planes = Behind { management, projects: planes, faults: Faults::default(), authorization };
        // Written last: who finds it finds us.
        kubeconfig::write(file, "gateway", &format!("https://{bound}"), &ca, Credential::Token(&token))?;
        Ok(Self { listener, tls, planes: Arc::new(planes) })
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        loop {
            match self.listener.accept().await {
                Ok((tcp, _)) => {
                    let planes = self.planes.clone();
                    tokio::spawn(connection(tcp, self.tls.clone(), move |request| {
                        let planes = planes.clone();
                        async move { planes.answer(request).await }
                    }));
                }
                Err(error) => complain(format_args!("gateway: cannot accept a connection: {error}")),
            }
        }
    }
}

/// The client of a kubeconfig, patient with watches that have no news, and its token.
pub(crate) async fn client(path: &Path) -> Result<(Client, String), Error> {
    let unreadable = |error| Error::Kubeconfig { path: path.to_owned(), cause: Box::new(error) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(unreadable)?;
    let missing =
        |what: &str| Error::Manifest { path: path.to_owned(), problem: format!("it has no {what}") };
    // A kubeconfig hands its token out to those only who write it down.
    let written = serde_json::to_value(&kubeconfig).map_err(|_| missing("user"))?;
    let token = written["users"][0]["user"]["token"].as_str().ok_or_else(|| missing("token"))?.to_owned();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(unreadable)?;
    config.read_timeout = None;
    let client = Client::try_from(config).map_err(Error::api(format!("client for {}", path.display())))?;
    Ok((client, token))
}

/// Returns a TLS acceptor with the certificate of the instance's servers.
pub(crate) fn tls(layout: &Layout) -> Result<TlsAcceptor, Error> {
    let file = |name: &str| layout.pki().join(name);
    let bad = |name: &str, problem: String| Error::Manifest { path: file(name), problem };
    let chain = CertificateDer::pem_file_iter(file("server.crt"))
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad("server.crt", error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(file("server.key"))
        .map_err(|error| bad("server.key", error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| bad("server.crt", error.to_string()))?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(tls)))
}

/// Serves a connection, each request by itself.
pub(crate) async fn connection<F>(
    tcp: TcpStream,
    tls: TlsAcceptor,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Answer> + Send + 'static,
{
    // Small answers must not wait for the next one.
    let _ = tcp.set_nodelay(true);
    let Ok(stream) = tls.accept(tcp).await else { return };
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request: Request<Incoming>| {
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let io = TokioIo::new(stream);
    // However a connection ends, it is the caller's business.
    if http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let _ = builder.max_concurrent_streams(STREAMS).serve_connection(io, service).await;
    } else {
        let _ = http1::Builder::new().serve_connection(io, service).await;
    }
}

impl Behind {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if shown != Some(&self.authorization) {
            return refusal(StatusCode::UNAUTHORIZED, "Unauthorized", "the gateway does not know this token");
        }
        let asked = request.uri().path_and_query().map_or("/", |whole| whole.as_str()).to_owned();
        let done = if let Some(project) = Faults::project(&asked) {
            self.fault(project, request).await
        } else if let Some((project, path)) = route::project(&asked) {
            self.plane(project, path, request).await
        } else {
            let answer = forward(&self.management, asked, request).await;
            answer.map(|answer| answer.map(|body| body.map_err(Into::into).boxed_unsync()))
        };
        done.unwrap_or_else(|problem| refusal(StatusCode::BAD_GATEWAY, "ServiceUnavailable", &problem))
    }

    /// Forwards a request to the plane of a project.
    async fn plane(&self, project: &str, path: &str, request: Request<Incoming>) -> Result<Answer, String> {
        let there = self.projects.get(project).and_then(|plane| match &plane.namespace {
            None => Some((plane, path.to_owned())),
            Some(namespace) => Some((plane, route::within(namespace, path)?)),
        });
        let Some((plane, path)) = there else {
            return Ok(refusal(
                StatusCode::NOT_FOUND,
                "NotFound",
                "the gateway knows nothing of this project there",
            ));
        };
        let mut health = self.faults.of(project);
        let list = route::is_list(&path);
        let fault = health.borrow_and_update().and_then(|fault| fault.shows(list));
        if let Some(fault) = fault
            && let Some(answer) = fault.answer().await
        {
            return Ok(answer);
        }
        let answer = forward(&plane.server, path, request).await?;
        Ok(answer.map(|body| faults::cut(body, health, list)))
    }

    /// A request for the gateway itself, which sets the fault of a plane.
    async fn fault(&self, project: &str, request: Request<Incoming>) -> Result<Answer, String> {
        if request.method() == Method::DELETE {
            return Ok(self.faults.set(project, None));
        }
        let word = request.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        Ok(self.faults.set(project, Some(&String::from_utf8_lossy(&word))))
    }
}

/// Sends a request on. Its body is taken whole, as API servers do; the answer's is passed on as it comes.
pub(crate) async fn forward(
    plane: &Client,
    path: String,
    request: Request<Incoming>,
) -> Result<Response<Body>, String> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let mut onward = Request::new(Body::from(body));
    *onward.method_mut() = parts.method;
    *onward.uri_mut() = Uri::try_from(path).map_err(|error| error.to_string())?;
    *onward.headers_mut() = parts.headers;
    of_one_connection(onward.headers_mut());
    // The plane's own is added by its client.
    onward.headers_mut().remove(header::AUTHORIZATION);
    let mut answer = plane.send(onward).await.map_err(|error| error.to_string())?;
    *answer.version_mut() = http::Version::HTTP_11;
    of_one_connection(answer.headers_mut());
    Ok(answer)
}

/// Removes the hop-by-hop headers.
fn of_one_connection(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::HOST] {
        headers.remove(name);
    }
}
