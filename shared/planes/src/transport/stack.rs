//! The settings of all planes' HTTP stacks, and the parts that they share.

use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::metrics::Metrics;
use tower::BoxError;

use super::pool::Pools;
use super::timeout;
use super::watch_throttle::WatchThrottleLayer;

/// Limits of a plane's transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportConfig {
    /// How long a server may take to the headers of its answer, and from any of its bytes to the next.
    /// Watches answer headers at once, and may be silent between two lines.
    pub response_header_timeout: Duration,
    /// How long a server may take from a request to the end of its answer; of a watch, from the beginning of
    /// a line to its end.
    pub request_timeout: Duration,
    /// How long a TCP and TLS connection may take.
    pub connect_timeout: Duration,
    /// Requests to one plane that may wait for headers at once.
    pub in_flight: usize,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            response_header_timeout: Duration::from_secs(9),
            request_timeout: timeout::WHOLE,
            connect_timeout: Duration::from_secs(5),
            in_flight: 64,
        }
    }
}

/// Makes the clients of planes. Planes behind one server with one trust share its connections.
#[derive(Clone)]
pub struct Transport {
    pub(super) limits: TransportConfig,
    pub(super) metrics: Metrics,
    pub(super) pools: Pools,
    pub(super) throttle: WatchThrottleLayer,
    pub(super) budget: MemoryBudget,
}

/// A configuration that makes no client.
#[derive(Debug, thiserror::Error)]
#[error("this configuration makes no client")]
pub struct UnusableConfig(#[source] pub(super) BoxError);

impl Transport {
    /// A transport with these limits for each plane, whose large answers are paid for out of `budget`.
    pub fn new(limits: TransportConfig, metrics: Metrics, budget: MemoryBudget) -> Self {
        Self {
            limits,
            metrics,
            pools: Pools::new(limits.response_header_timeout),
            throttle: WatchThrottleLayer::default(),
            budget,
        }
    }

    /// Shares the connections, but with other limits.
    #[must_use]
    pub fn with_limits(&self, limits: TransportConfig) -> Self {
        Self { limits, ..self.clone() }
    }

    /// Returns the budget that large answers are charged to.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// HTTP/2 connections that are open now, to all planes.
    pub fn connections(&self) -> usize {
        self.pools.connections()
    }
}
