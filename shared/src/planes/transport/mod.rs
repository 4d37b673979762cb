//! The HTTP stack of one plane: base path, authentication, limit on requests in flight, time-out to headers,
//! metrics, over hyper.
//!
//! kube's own client waits for ever on a server that accepts and never answers, and retries 5xx silently up to
//! fifteen times; here the first is an error after a few seconds and the second is the queue's business.

mod body;
mod connect;
mod measure;
mod pace;
mod patience;
mod pool;
mod timeout;

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use kube::client::ConfigExt;
use kube::client::middleware::{AuthLayer, BaseUriLayer};
use kube::{Client, Config};
use tower::layer::layer_fn;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{BoxError, Layer, ServiceBuilder};

pub use measure::MeasureLayer;
pub use pace::{APART, PaceLayer};
pub use patience::PatienceLayer;
pub use pool::Pools;
pub use timeout::{HeaderTimeoutLayer, TimedOut};

use crate::metrics::Metrics;
use crate::object::PlaneId;

/// Limits of a plane's transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportConfig {
    /// How long a server may take to the headers of its answer. Watches answer headers at once.
    pub header_timeout: Duration,
    /// How long a TCP and TLS connection may take.
    pub connect_timeout: Duration,
    /// Requests to one plane that may wait for headers at once.
    pub in_flight: usize,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(9),
            connect_timeout: Duration::from_secs(5),
            in_flight: 64,
        }
    }
}

/// Makes the clients of planes. Planes behind one server with one trust share its connections.
#[derive(Clone)]
pub struct Transport {
    limits: TransportConfig,
    metrics: Metrics,
    pools: Pools,
    pace: PaceLayer,
}

/// A configuration that makes no client.
#[derive(Debug, thiserror::Error)]
#[error("this configuration makes no client")]
pub struct UnusableConfig(#[source] BoxError);

impl Transport {
    /// A transport with these limits for each plane.
    pub fn new(limits: TransportConfig, metrics: Metrics) -> Self {
        Self { limits, metrics, pools: Pools::default(), pace: PaceLayer::default() }
    }

    /// A client for the plane that `config` describes.
    pub fn client(&self, config: &Config, plane: &PlaneId) -> Result<Client, UnusableConfig> {
        self.server(config)?.client(config.cluster_url.clone(), plane)
    }

    /// The server that `config` describes, for clients of several planes behind it.
    pub fn server(&self, config: &Config) -> Result<Server, UnusableConfig> {
        let built = || -> Result<Server, BoxError> {
            let connector = connect::Connector::of(config, self.limits.connect_timeout)?;
            Ok(Server {
                pool: self.pools.get(connect::Endpoint::of(config), || connector),
                auth: config.auth_layer()?.map(Arc::new),
                config: config.clone(),
                transport: self.clone(),
            })
        };
        built().map_err(UnusableConfig)
    }

    /// HTTP/2 connections that are open now, to all planes.
    pub fn connections(&self) -> usize {
        self.pools.connections()
    }
}

/// A server and who we are to it: planes that are told apart by their path share its connections and, where the
/// credentials are a token that is read or asked for anew, that one token.
pub struct Server {
    pool: pool::Pool,
    auth: Option<Arc<AuthLayer>>,
    config: Config,
    transport: Transport,
}

impl Server {
    /// A client for the plane at `url`, which has to be of this server: only its path counts.
    pub fn client(&self, url: Uri, plane: &PlaneId) -> Result<Client, UnusableConfig> {
        let Transport { limits, metrics, .. } = &self.transport;
        let headers = self.config.extra_headers_layer().map_err(|e| UnusableConfig(e.into()))?;
        let auth = self.auth.clone().map(|auth| layer_fn(move |service| auth.layer(service)));
        let service = ServiceBuilder::new()
            // Outside of all limits and time-outs: who waits here holds nothing.
            .layer(self.transport.pace.clone())
            .layer(BaseUriLayer::new(url))
            .option_layer(auth)
            .layer(headers)
            .layer(PatienceLayer::default())
            .layer(GlobalConcurrencyLimitLayer::new(limits.in_flight))
            .layer(MeasureLayer::new(plane, metrics))
            .layer(HeaderTimeoutLayer::new(limits.header_timeout))
            .service(self.pool.clone());
        Ok(Client::new(service, self.config.default_namespace.clone()))
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
}
