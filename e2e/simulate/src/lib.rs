//! Simulated services: the provider that runs Instances, the network service, the metrics service and the
//! quota service. For tests and demonstrations, where the real ones do not run.
//!
//! They are no part of fedhub: nothing here calls fedhub's controllers or is called by them, and each part
//! can be left out where the real service runs.
//!
//! # The way through
//!
//! [`run`] runs parts ([`Part`]) until they are asked to end. A part is a pure [`Step`] (object in, status
//! out) and a thin loop around it, kube's own `Controller`, for a part serves one cluster: [`provider`] with
//! [`teardown`], [`network`] with [`subnet`], [`quota`] with [`admission`]. [`metrics`] answers requests
//! instead of watching, and [`pods`] makes what it measures.
//!
//! Annotations ask for faults and durations: [`FAULT`], [`START_TIME`], [`TEARDOWN_FAULT`],
//! [`TEARDOWN_TIME`], [`QUOTA`].

mod annotations;
mod drive;
mod power;
mod step;

pub mod admission;
pub mod metrics;
pub mod network;
pub mod pods;
pub mod provider;
pub mod quota;
pub mod subnet;
pub mod teardown;

pub use annotations::{
    FAULT, PREFIX, PROVIDER_FINALIZER, QUOTA, START_TIME, TEARDOWN_FAULT, TEARDOWN_TIME, Times,
};
use fedhub_core::clock::Clock;
use futures::future::{BoxFuture, FutureExt, join, join_all};
use kube::Client;
pub use step::Step;

/// A service that is simulated on one cluster.
pub enum Part {
    /// The hypervisor's provider, on a cell.
    Provider(Client),
    /// The network service, on a cell.
    Network(Client),
    /// The metrics service, on a cell, with the Pods that it measures.
    Metrics(Client),
    /// The quota service, on the project plane of that name.
    Quota(String, Client),
}

/// Simulates the parts for as long as the future is polled.
pub async fn run(parts: Vec<Part>, times: Times, clock: Clock) {
    let running = parts.into_iter().map(|part| -> BoxFuture<'static, ()> {
        match part {
            Part::Provider(client) => provider::run(client, times, clock.clone()).boxed(),
            Part::Network(client) => {
                let subnets = subnet::run(client.clone(), clock.clone());
                join(network::run(client, times.start, clock.clone()), subnets).map(|_| ()).boxed()
            }
            Part::Metrics(client) => {
                join(pods::run(client.clone()), metrics::run(client, clock.clone())).map(|_| ()).boxed()
            }
            Part::Quota(plane, client) => quota::run(plane, client, clock.clone()).boxed(),
        }
    });
    join_all(running).await;
}
