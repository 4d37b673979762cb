//! Simulated services: the provider that runs Instances, the network service, the metrics service and the quota service.
//! For tests and demonstrations, where the real ones do not run.
//!
//! They are no part of fedhub: nothing here calls fedhub's controllers or is called by them, and each part can be left
//! out where the real service runs.
//!
//! # The way through
//!
//! [`run`] runs parts ([`Part`]) until they are asked to end. A part is a pure [`Step`] (object in, status out) and a thin
//! loop around it, kube's own `Controller`, for a part serves one cluster: [`provider`] with [`teardown`], [`network`] with
//! [`subnet`], [`quota`] with [`admission`]. [`metrics`] answers requests instead of watching, and [`pods`] makes what it measures.
//!
//! Annotations ask for faults and durations: [`FAULT`], [`START_TIME`], [`TEARDOWN_FAULT`], [`TEARDOWN_TIME`], [`QUOTA`].

mod drive;
mod step;

pub mod admission;
pub mod metrics;
pub mod network;
pub mod pods;
pub mod provider;
pub mod quota;
pub mod subnet;
pub mod teardown;

use std::time::Duration;

use fedhub_core::clock::Clock;
use futures::future::{BoxFuture, FutureExt, join, join_all};
use kube::Client;
pub use step::Step;

/// Begins every annotation that a part reads.
pub const PREFIX: &str = "simulate.fedhub.dev/";
/// On an Instance (from its template's annotations) or a `NetworkBinding` (and what is made for it): what goes wrong with it. The values are
/// those of [`provider::Fault`] and [`network::Fault`].
pub const FAULT: &str = "simulate.fedhub.dev/fault";
/// On an Instance or a `NetworkBinding`: how long it takes to come up, such as `5s`, in place of the default.
pub const START_TIME: &str = "simulate.fedhub.dev/start-time";
/// On an Instance: how long its teardown takes, such as `5s`, in place of the default. Without either, and without a
/// teardown fault, an Instance is deleted at once.
pub const TEARDOWN_TIME: &str = "simulate.fedhub.dev/teardown-time";
/// On an Instance: what goes wrong when it is torn down. The values are those of [`teardown::Fault`].
pub const TEARDOWN_FAULT: &str = "simulate.fedhub.dev/teardown-fault";
/// Finalizer of an Instance that is to be torn down before it goes.
pub const PROVIDER_FINALIZER: &str = "simulate.fedhub.dev/provider";
/// On a Namespace of a project plane: how many claims are granted in it at a time, or `invalid`. A claim that it has
/// refused stays refused.
pub const QUOTA: &str = "simulate.fedhub.dev/quota";

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

/// How long things take, where no annotation says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until an Instance or a network is up.
    pub start: Duration,
    /// Until an Instance is torn down; with none, no teardown is waited for.
    pub teardown: Duration,
}

/// Simulates the parts for as long as the future is polled.
pub async fn run(parts: Vec<Part>, times: Times, clock: Clock) {
    let running = parts.into_iter().map(|part| -> BoxFuture<'static, ()> {
        match part {
            Part::Provider(client) => provider::run(client, times, clock.clone()).boxed(),
            Part::Network(client) => network::run(client, times.start, clock.clone()).boxed(),
            Part::Metrics(client) => {
                join(pods::run(client.clone()), metrics::run(client, clock.clone())).map(|_| ()).boxed()
            }
            Part::Quota(plane, client) => quota::run(plane, client, clock.clone()).boxed(),
        }
    });
    join_all(running).await;
}
