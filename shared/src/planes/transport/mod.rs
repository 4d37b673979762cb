//! The HTTP stack of one plane: patience, limit on requests in flight, metrics, base path, authentication, time-out to
//! headers, over hyper.
//!
//! kube's own client waits for ever on a server that accepts and never answers, and retries 5xx silently up to
//! fifteen times; here the first is an error after a few seconds and the second is the queue's business.

mod body;
mod connect;
mod measure;
mod pace;
mod patience;
mod pool;
mod server;
mod timeout;
mod watches;

use std::time::Duration;

use kube::{Client, Config};
use tower::BoxError;

pub use measure::MeasureLayer;
pub use pace::{APART, PaceLayer};
pub use patience::PatienceLayer;
pub use pool::Pools;
pub use server::Server;
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
        Ok(self.server(config)?.client(plane))
    }

    /// The server that `config` describes, for clients of several planes behind it, and for credentials that change.
    pub fn server(&self, config: &Config) -> Result<Server, UnusableConfig> {
        Server::new(config, self)
    }

    /// HTTP/2 connections that are open now, to all planes.
    pub fn connections(&self) -> usize {
        self.pools.connections()
    }
}
