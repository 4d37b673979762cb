//! A server and who we are to it. The credentials can be replaced while clients use them: requests that begin
//! after that go with the new ones, over connections of their own; those under way end as they began.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use fedhub_core::object::PlaneId;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use kube::client::middleware::{AuthLayer, BaseUriLayer, ExtraHeadersLayer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use parking_lot::RwLock;
use tokio::time::Instant;
use tower::layer::layer_fn;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};

use super::body::AnswerBody;
use super::connect;
use super::health::{HealthLayer, ServerHealth, WatchStarts};
use super::measure::MeasureLayer;
use super::pool::Pool;
use super::retry_after::RetryAfterLayer;
use super::stack::{Transport, UnusableConfig};
use super::timeout::{HeaderTimeoutLayer, Timed};
use super::weigh::WeighLayer;
use crate::transport::backoff::{AttemptFailure, Backoffs};
use crate::transport::served::ServedKinds;

/// A server and the credentials for it, as they are now. Planes that differ in their path share its
/// connections and, where the credentials are a token that is requested again, that one token. Clones are the
/// same server.
#[derive(Clone)]
pub struct Server {
    access: LatestAccess,
    transport: Transport,
    default_namespace: String,
    discovery: ServedKinds,
}

/// The credentials as they are now.
type LatestAccess = Arc<RwLock<Arc<Access>>>;

fn latest(access: &LatestAccess) -> Arc<Access> {
    access.read().clone()
}

/// A set of credentials and the connections that were made with it.
struct Access {
    url: Uri,
    pool: Pool,
    auth: Option<AuthLayer>,
    headers: ExtraHeadersLayer,
}

impl Access {
    fn from_config(config: &Config, transport: &Transport) -> Result<Self, UnusableConfig> {
        let built = || -> Result<Self, BoxError> {
            let connector = connect::Connector::from_config(config, transport.limits.connect_timeout)?;
            if !token_fits(config) {
                return Err(
                    "its token holds characters that no request can carry, such as a line break".into()
                );
            }
            Ok(Self {
                url: config.cluster_url.clone(),
                pool: transport.pools.get(connect::Endpoint::from_config(config), || connector),
                auth: config.auth_layer()?,
                headers: config.extra_headers_layer()?,
            })
        };
        built().map_err(UnusableConfig)
    }

    /// Returns the URI of the plane whose path is `path`; without one, that of the configuration.
    fn base(&self, path: Option<&PathAndQuery>) -> Uri {
        let Some(path) = path else { return self.url.clone() };
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(path.clone());
        // Whatever has a scheme and an authority has them with any path.
        Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone())
    }
}

/// Whether requests can carry the token: the client panics at one that they cannot.
fn token_fits(config: &Config) -> bool {
    // As JSON, for a secret is blacked out where it is printed.
    let auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
    auth["token"].as_str().is_none_or(|token| HeaderValue::from_str(token).is_ok())
}

impl Transport {
    /// A client for the plane that `config` describes.
    pub fn client(&self, config: &Config, plane: &PlaneId) -> Result<Client, UnusableConfig> {
        Ok(self.server(config)?.client(plane))
    }

    /// The server that `config` describes, for clients of several planes behind it, and for credentials that
    /// change.
    pub fn server(&self, config: &Config) -> Result<Server, UnusableConfig> {
        Server::new(config, self)
    }
}

impl Server {
    fn new(config: &Config, transport: &Transport) -> Result<Self, UnusableConfig> {
        Ok(Self {
            access: Arc::new(RwLock::new(Arc::new(Access::from_config(config, transport)?))),
            transport: transport.clone(),
            default_namespace: config.default_namespace.clone(),
            discovery: ServedKinds::default(),
        })
    }

    /// Sends requests as `config` says from now on, including those of existing clients of this server. A
    /// configuration that makes no client changes nothing.
    pub fn replace(&self, config: &Config) -> Result<(), UnusableConfig> {
        let access = Arc::new(Access::from_config(config, &self.transport)?);
        *self.access.write() = access;
        Ok(())
    }

    /// A client for the plane that the configuration names.
    pub fn client(&self, plane: &PlaneId) -> Client {
        self.connection(plane).client()
    }

    /// Returns a connection to the plane that the configuration names, with what its watches need to know of
    /// the server.
    pub fn connection(&self, plane: &PlaneId) -> Connection {
        self.at(None, plane)
    }

    /// Returns a connection to another plane of this server: the one at `path`, in place of the
    /// configuration's own path. All planes of a server serve the same kinds.
    pub fn connection_at(&self, path: PathAndQuery, plane: &PlaneId) -> Connection {
        Connection { discovery: self.discovery.clone(), ..self.at(Some(path), plane) }
    }

    fn at(&self, path: Option<PathAndQuery>, plane: &PlaneId) -> Connection {
        let starts = WatchStarts::default();
        let Transport { limits, metrics, budget, .. } = &self.transport;
        let service = ServiceBuilder::new()
            // Outside of all limits and time-outs: who waits here holds nothing.
            .layer(self.transport.throttle.clone())
            .layer(RetryAfterLayer::default())
            .layer(GlobalConcurrencyLimitLayer::new(limits.in_flight))
            .layer(WeighLayer::new(plane, budget, metrics))
            .layer(MeasureLayer::new(plane, metrics))
            .service(Latest {
                access: self.access.clone(),
                path,
                timeouts: HeaderTimeoutLayer::new(limits.response_header_timeout)
                    .whole(limits.request_timeout),
                starts: starts.clone(),
            });
        let namespace = self.default_namespace.clone();
        let make = move || Client::new(service.clone(), namespace.clone());
        let client = match plane {
            PlaneId::Project(_) => Clients::Made(Arc::new(make)),
            PlaneId::Hub | PlaneId::Management | PlaneId::Cell => Clients::Kept(make()),
        };
        let health = Some(Health { server: Source::Server(self.access.clone()), starts });
        Connection { client, health, discovery: ServedKinds::default() }
    }
}

/// A try of something over a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionAttempt {
    /// When it began.
    pub(crate) began: Instant,
    /// How often the server had come back by then.
    comebacks: u64,
}

/// Clients of a plane, and what its watches need to know of the server that the plane is behind.
#[derive(Clone)]
pub struct Connection {
    client: Clients,
    health: Option<Health>,
    discovery: ServedKinds,
}

/// The source of clients. All clients of one plane share its limits.
#[derive(Clone)]
enum Clients {
    Kept(Client),
    /// Each client is created when it is needed and not kept: it has room for requests that wait, ten
    /// kilobytes of it, and of thousands of planes almost all are idle.
    Made(Arc<dyn Fn() -> Client + Send + Sync>),
}

#[derive(Clone)]
struct Health {
    server: Source,
    starts: WatchStarts,
}

/// The source of a server's health.
#[derive(Clone)]
enum Source {
    /// Credentials may be replaced, and the connections with them.
    Server(LatestAccess),
    Fixed(ServerHealth),
}

/// A client to a server of which nothing is known.
impl From<Client> for Connection {
    fn from(client: Client) -> Self {
        Self { client: Clients::Kept(client), health: None, discovery: ServedKinds::default() }
    }
}

impl Connection {
    /// Creates a connection from a client that reports to `server` and `starts` through a [`HealthLayer`].
    pub fn new(client: Client, server: ServerHealth, starts: WatchStarts) -> Self {
        let health = Some(Health { server: Source::Fixed(server), starts });
        Self { health, ..client.into() }
    }

    /// Returns the discovery of its server, which planes of one server share.
    pub(crate) fn discovery(&self) -> &ServedKinds {
        &self.discovery
    }

    /// A client for requests that are made now. Whoever keeps it keeps the room that it has for them.
    pub fn client(&self) -> Client {
        match &self.client {
            Clients::Kept(client) => client.clone(),
            Clients::Made(make) => make(),
        }
    }

    /// Whether the server answers.
    fn server(&self) -> Option<ServerHealth> {
        self.health.as_ref().map(|health| match &health.server {
            Source::Server(access) => latest(access).pool.health().clone(),
            Source::Fixed(health) => health.clone(),
        })
    }

    /// Returns the name of the server in logs, if it is known.
    pub(crate) fn server_name(&self) -> Option<String> {
        self.server().map(|server| server.name().to_owned())
    }

    /// Whether the server came back a moment ago, and may not have started up yet.
    pub(crate) fn is_starting(&self) -> bool {
        self.server().is_some_and(|server| server.is_starting())
    }

    /// Begins an attempt to connect.
    pub(crate) fn attempt(&self) -> ConnectionAttempt {
        ConnectionAttempt {
            began: Instant::now(),
            comebacks: self.server().map_or(0, |server| server.comebacks()),
        }
    }

    /// Waits out a failed attempt: where the server did not answer, no longer than until it answers any
    /// request, and where it refused, no longer than until others of it work again.
    pub(crate) async fn wait(
        &self,
        wait: Duration,
        failure: AttemptFailure,
        attempt: &ConnectionAttempt,
        waits: &mut Backoffs,
    ) {
        match (failure, self.server()) {
            (AttemptFailure::Unreachable, Some(server)) => {
                server.wait(wait, attempt.comebacks, waits.chance()).await;
                if server.comebacks() != attempt.comebacks {
                    waits.came_back();
                }
            }
            (AttemptFailure::Refused, Some(server)) => server.wait_refused(wait).await,
            _ => tokio::time::sleep(wait).await,
        }
    }

    /// A watch that had failed works again.
    pub(crate) fn recovered(&self) {
        if let Some(server) = self.server() {
            server.recovered();
        }
    }

    /// Waits until the server has answered a watch of that resource which was asked for after `since`; for
    /// ever, where health is not observed.
    pub(crate) async fn watch_begins(&self, resource: &str, since: Instant) {
        match &self.health {
            Some(health) => health.starts.since(resource, since).await,
            None => std::future::pending().await,
        }
    }
}

/// Sends each request with the credentials of the moment in which it leaves.
#[derive(Clone)]
struct Latest {
    access: LatestAccess,
    path: Option<PathAndQuery>,
    timeouts: HeaderTimeoutLayer,
    starts: WatchStarts,
}

impl Service<Request<Body>> for Latest {
    type Response = Response<Timed<AnswerBody>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let access = latest(&self.access);
        let auth = access.auth.as_ref().map(|auth| layer_fn(|service| auth.layer(service)));
        let service = ServiceBuilder::new()
            .layer(HealthLayer::new(access.pool.health().clone(), self.starts.clone()))
            .layer(self.timeouts)
            .layer(BaseUriLayer::new(access.base(self.path.as_ref())))
            .option_layer(auth)
            .layer(access.headers.clone())
            .service(access.pool.of(&request));
        Box::pin(service.oneshot(request))
    }
}
