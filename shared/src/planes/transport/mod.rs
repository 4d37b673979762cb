//! The HTTP stack of one plane: patience, limit on requests in flight, metrics, time-outs, base path, authentication,
//! over hyper.
//!
//! kube's own client waits for ever on a server that accepts and never answers, or that begins an answer and does not
//! go on, and retries 5xx silently up to fifteen times; here the first two are errors after a few seconds and the
//! third is the queue's business.

mod body;
mod connect;
mod health;
mod liveness;
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

pub use health::{HealthLayer, ServerHealth, WatchStarts};
pub use measure::MeasureLayer;
pub use pace::{APART, PaceLayer};
pub use patience::PatienceLayer;
pub use pool::Pools;
pub use server::{Connection, ConnectionAttempt, Server};
pub use timeout::{HeaderTimeoutLayer, TimedOut};

use crate::metrics::Metrics;
use crate::object::PlaneId;

/// Limits of a plane's transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportConfig {
    /// How long a server may take to the headers of its answer, and from any of its bytes to the next. Watches answer
    /// headers at once, and may be silent between two lines.
    pub header_timeout: Duration,
    /// How long a server may take from a request to the end of its answer; of a watch, from the beginning of a line to
    /// its end.
    pub request_timeout: Duration,
    /// How long a TCP and TLS connection may take.
    pub connect_timeout: Duration,
    /// Requests to one plane that may wait for headers at once.
    pub in_flight: usize,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(9),
            request_timeout: timeout::WHOLE,
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
        Self { limits, metrics, pools: Pools::new(limits.header_timeout), pace: PaceLayer::default() }
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
