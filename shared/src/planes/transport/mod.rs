//! The HTTP stack of one plane: base path, authentication, limit on requests in flight, time-out to headers,
//! metrics, over hyper.
//!
//! kube's own client waits for ever on a server that accepts and never answers, and retries 5xx silently up to
//! fifteen times; here the first is an error after a few seconds and the second is the queue's business.

mod measure;
mod timeout;

use std::time::Duration;

use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;

pub use measure::MeasureLayer;
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

/// A client for the plane that `config` describes.
pub fn client(
    mut config: Config,
    plane: &PlaneId,
    limits: TransportConfig,
    metrics: &Metrics,
) -> Result<Client, kube::Error> {
    config.connect_timeout = Some(limits.connect_timeout);
    let namespace = config.default_namespace.clone();
    let connector = config.rustls_https_connector()?;
    let pool = HyperClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_mins(1))
        .build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .layer(GlobalConcurrencyLimitLayer::new(limits.in_flight))
        .layer(MeasureLayer::new(plane, metrics))
        .layer(HeaderTimeoutLayer::new(limits.header_timeout))
        .service(pool);
    Ok(Client::new(service, namespace))
}
