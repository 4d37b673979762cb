//! A server and who we are to it. The credentials can be replaced while clients use them: requests that begin
//! after that go with the new ones, over connections of their own; those under way end as they began.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use kube::client::middleware::{AuthLayer, BaseUriLayer, ExtraHeadersLayer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::layer::layer_fn;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};

use super::measure::MeasureLayer;
use super::patience::PatienceLayer;
use super::pool::{AnswerBody, Pool};
use super::timeout::HeaderTimeoutLayer;
use super::{Transport, UnusableConfig, connect};
use crate::object::PlaneId;

/// A server and the credentials for it, as they are now. Planes that are told apart by their path share its
/// connections and, where the credentials are a token that is asked for anew, that one token. Clones are the same
/// server.
#[derive(Clone)]
pub struct Server {
    access: Arc<RwLock<Arc<Access>>>,
    transport: Transport,
    default_namespace: String,
}

/// One set of credentials and the connections that were made with it.
struct Access {
    url: Uri,
    pool: Pool,
    auth: Option<AuthLayer>,
    headers: ExtraHeadersLayer,
}

impl Access {
    fn of(config: &Config, transport: &Transport) -> Result<Self, UnusableConfig> {
        let built = || -> Result<Self, BoxError> {
            let connector = connect::Connector::of(config, transport.limits.connect_timeout)?;
            Ok(Self {
                url: config.cluster_url.clone(),
                pool: transport.pools.get(connect::Endpoint::of(config), || connector),
                auth: config.auth_layer()?,
                headers: config.extra_headers_layer()?,
            })
        };
        built().map_err(UnusableConfig)
    }

    /// Where the plane is whose path is `path`; without one, where the configuration says.
    fn base(&self, path: Option<&PathAndQuery>) -> Uri {
        let Some(path) = path else { return self.url.clone() };
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(path.clone());
        // Whatever has a scheme and an authority has them with any path.
        Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone())
    }
}

impl Server {
    pub(super) fn new(config: &Config, transport: &Transport) -> Result<Self, UnusableConfig> {
        Ok(Self {
            access: Arc::new(RwLock::new(Arc::new(Access::of(config, transport)?))),
            transport: transport.clone(),
            default_namespace: config.default_namespace.clone(),
        })
    }

    /// From now on requests go as `config` says, those of all clients of this server. A configuration that makes no
    /// client changes nothing.
    pub fn replace(&self, config: &Config) -> Result<(), UnusableConfig> {
        let access = Arc::new(Access::of(config, &self.transport)?);
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = access;
        Ok(())
    }

    fn access(&self) -> Arc<Access> {
        self.access.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A client for the plane that the configuration names.
    pub fn client(&self, plane: &PlaneId) -> Client {
        self.at(None, plane)
    }

    /// A client for another plane of this server: the one at `path`, in place of the configuration's own path.
    pub fn client_at(&self, path: PathAndQuery, plane: &PlaneId) -> Client {
        self.at(Some(path), plane)
    }

    fn at(&self, path: Option<PathAndQuery>, plane: &PlaneId) -> Client {
        let Transport { limits, metrics, .. } = &self.transport;
        let service = ServiceBuilder::new()
            .layer(PatienceLayer::default())
            .layer(GlobalConcurrencyLimitLayer::new(limits.in_flight))
            .layer(MeasureLayer::new(plane, metrics))
            .service(Latest { server: self.clone(), path, header_timeout: limits.header_timeout });
        Client::new(service, self.default_namespace.clone())
    }
}

/// Sends each request with the credentials of the moment in which it leaves.
#[derive(Clone)]
struct Latest {
    server: Server,
    path: Option<PathAndQuery>,
    header_timeout: Duration,
}

impl Service<Request<Body>> for Latest {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let access = self.server.access();
        let auth = access.auth.as_ref().map(|auth| layer_fn(|service| auth.layer(service)));
        let service = ServiceBuilder::new()
            .layer(BaseUriLayer::new(access.base(self.path.as_ref())))
            .option_layer(auth)
            .layer(access.headers.clone())
            .layer(HeaderTimeoutLayer::new(self.header_timeout))
            .service(access.pool.clone());
        Box::pin(service.oneshot(request))
    }
}
