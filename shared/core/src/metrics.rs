//! The Prometheus metrics of section 7. Labels are bounded: never an object's name, never a message.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::proto::{LabelPair, MetricFamily};
use prometheus::{
    Encoder, Error, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};
use strum::VariantArray;

/// The way that a change travelled: the label `hop` of `fedhub_propagation_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::AsRefStr, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Hop {
    /// WD, project plane to hub.
    ProjectToHub,
    /// WD status, hub to project plane.
    HubToProjectStatus,
    /// Instance, hub to project plane.
    HubToProjectInstance,
    /// Instance, cell to hub.
    CellToHub,
}

/// Buckets for durations that range from a millisecond to minutes.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];

/// Gauges, without `fedhub_`, of what only the leader works on: a standby does not export them, so that rules
/// need not ask who leads.
pub const LEADER_ONLY: [&str; 15] = [
    "oldest_unsynced_seconds",
    "oldest_unsynced_plane_seconds",
    "lagging_planes",
    "lagging_planes_ratio",
    "objects",
    "quarantined_objects",
    "queue_depth",
    "circuit_breakers_open",
    "finalizers_held",
    "rollouts",
    "cells_for_city",
    "cell_ready",
    "hub_restored",
    "entitlements_missing",
    "identities_unstored",
];

/// Buckets for the way through Karmada and a cell. There is a series of each for every city.
const CONVERGENCE_SECONDS: [f64; 12] =
    [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0];

fn buckets(name: &str) -> Vec<f64> {
    if name.starts_with("convergence") { CONVERGENCE_SECONDS.to_vec() } else { SECONDS.to_vec() }
}

/// The prefix of all names.
const PREFIX: &str = "fedhub";

/// Makes [`Metrics`] of one line for each metric: its help, its field and type, its name without `fedhub_`,
/// its labels.
macro_rules! metrics {
    ($($help:literal $visibility:vis $field:ident: $type:ty = $name:literal [$($label:literal),*];)+) => {
        /// All metrics of the process, in a registry of their own. Cheap to clone.
        #[derive(Clone, Debug)]
        pub struct Metrics {
            registry: Registry,
            $(#[doc = $help] $visibility $field: $type,)+
        }

        impl Metrics {
            fn register(registry: Registry) -> Result<Self, Error> {
                Ok(Self {
                    $($field: registered(&registry, <$type as Metric>::create($name, $help, &[$($label),*])?)?,)+
                    registry,
                })
            }

            #[cfg(test)]
            fn touch(&self) {
                $(tests::Touch::touch(&self.$field, &[$($label),*]);)+
            }
        }

        /// Name without prefix, type, help and labels of each.
        #[cfg(test)]
        const DECLARED: &[(&str, &str, &str, &[&str])] =
            &[$(($name, <$type as tests::Touch>::TYPE, $help, &[$($label),*])),+];
    };
}

metrics! {
    "From the watch event received to the write acknowledged."
    propagation: HistogramVec = "propagation_seconds" ["hop"];
    "From a generation's first sight on the project plane to its status back there."
    pub convergence: HistogramVec = "convergence_seconds" ["city"];
    "Share of Karmada and the cell in it: from the hub's write acknowledged to the status on the hub."
    pub convergence_karmada: HistogramVec = "convergence_karmada_seconds" ["city"];
    "Age of the oldest change that is not in sync."
    pub oldest_unsynced: GaugeVec = "oldest_unsynced_seconds" ["controller"];
    "The same for the planes that lag most."
    pub oldest_unsynced_plane: GaugeVec = "oldest_unsynced_plane_seconds" ["controller", "plane"];
    "Planes with a change that has not been in sync for five minutes."
    pub lagging_planes: IntGaugeVec = "lagging_planes" ["controller"];
    "Their share of the planes that fedhub works on."
    pub lagging_planes_ratio: GaugeVec = "lagging_planes_ratio" ["controller"];
    "Objects by state."
    pub objects: IntGaugeVec = "objects" ["controller", "state"];
    "Instances that no retry can project or write back."
    pub quarantined: IntGaugeVec = "quarantined_objects" ["reason"];
    "Keys that wait for a worker."
    pub queue_depth: IntGaugeVec = "queue_depth" ["controller"];
    "Planes whose keys wait because the plane fails."
    pub circuit_breakers_open: IntGaugeVec = "circuit_breakers_open" ["controller", "plane_kind"];
    "From ready to taken by a worker."
    pub queue_wait: Histogram = "queue_wait_seconds" [];
    "Reconciles by outcome."
    pub reconciles: IntCounterVec = "reconciles_total" ["controller", "outcome"];
    "Duration of a reconcile."
    pub reconcile_seconds: HistogramVec = "reconcile_seconds" ["controller"];
    "Reconciles that found nothing to do."
    pub noop_reconciles: IntCounter = "noop_reconciles_total" [];
    "API requests."
    pub api_requests: IntCounterVec = "api_requests_total" ["plane_kind", "verb", "resource", "code"];
    "Time to response headers."
    pub api_request_seconds: HistogramVec = "api_request_seconds" ["plane_kind", "verb"];
    "Project planes by state."
    pub planes: IntGaugeVec = "planes" ["state"];
    "HTTP/2 connections that are open."
    pub plane_connections: IntGauge = "plane_connections" [];
    "Whether credentials on disk cannot be used."
    pub credentials_stale: IntGaugeVec = "credentials_stale" ["credentials"];
    "Unix time at which credentials end."
    pub credentials_expiry: IntGaugeVec = "credentials_expiry_timestamp_seconds" ["credentials"];
    "Unix time from which on it is announced that credentials end."
    pub credentials_notice: IntGaugeVec = "credentials_notice_timestamp_seconds" ["credentials"];
    "Credentials that were replaced while the process ran."
    pub credentials_reloads: IntCounterVec = "credentials_reloads_total" ["credentials"];
    "Requests for pages at --metrics-address that were refused."
    pub page_requests_refused: IntCounterVec = "page_requests_refused_total" ["reason"];
    "Admission reviews that were answered."
    pub admission_requests: IntCounterVec = "admission_requests_total" ["webhook", "kind", "operation", "verdict"];
    "From an admission review's headers to its answer."
    pub admission_seconds: HistogramVec = "admission_seconds" ["webhook", "kind"];
    "Questions of admission whether a user may use a network."
    pub admission_access_reviews: IntCounterVec = "admission_access_reviews_total" ["answer"];
    "Watches that restarted after an error."
    pub watch_restarts: IntCounterVec = "watch_restarts_total" ["plane_kind", "reason"];
    "Watch events without consequence."
    pub events_dropped: IntCounterVec = "events_dropped_total" ["reason"];
    "Answers and lists that were given up because they are too large."
    pub too_large: IntCounterVec = "too_large_total" ["plane_kind", "what"];
    "Kubernetes Events that were not stored."
    pub events_not_stored: IntCounterVec = "events_not_stored_total" ["reason"];
    "Deletions that were not done."
    pub deletes_withheld: IntCounterVec = "deletes_withheld_total" ["reason"];
    "Writes of companions of referenced data on the hub."
    pub companion_writes: IntCounterVec = "companion_writes_total" ["verb"];
    "Objects whose cleanup cannot be proven done."
    pub finalizers_held: IntGaugeVec = "finalizers_held" ["reason"];
    "Writes whose response lacked or changed what was sent."
    pub fields_pruned: IntCounter = "fields_pruned_total" [];
    "Hub WDs that Karmada was made to apply again."
    pub resyncs: IntCounter = "resyncs_total" [];
    "Workloads by the state of their rollout."
    pub rollouts: IntGaugeVec = "rollouts" ["state"];
    "Cities in use by how many Clusters carry their code."
    pub cells_for_city: IntGaugeVec = "cells_for_city" ["state"];
    "Whether Karmada reaches a cell."
    pub cell_ready: IntGaugeVec = "cell_ready" ["cell", "city"];
    "Changes of the leader, as the Lease counts them."
    pub lease_transitions: IntCounterVec = "lease_transitions_total" ["lease"];
    "Whether this process leads in a role."
    pub leader: IntGaugeVec = "leader" ["role"];
    "Objects that were in sync by their digests, without a reconcile."
    pub reconciles_skipped: IntCounterVec = "reconciles_skipped_total" ["controller"];
    "Objects in the stores."
    pub cache_objects: IntGauge = "cache_objects" [];
    "Bytes that digests and names of objects take, about."
    pub cache_bytes: IntGauge = "cache_bytes" [];
    "Whether the hub was restored, so that no deletion is inferred on it."
    pub hub_restored: IntGauge = "hub_restored" [];
    "Projects whose entitlement to the service is missing and was not seen to be deleted."
    pub entitlements_missing: IntGauge = "entitlements_missing" [];
    "Whether that `ConfigMap` of plane identities, or of the hub's history, could not be stored."
    pub identities_unstored: IntGaugeVec = "identities_unstored" ["config_map"];
    "Whether a cell is not ready for that reason although it is in sync."
    pub cell_refused: IntGaugeVec = "cell_refused" ["reason"];
    "Whether a cell's Instances are written back to the hub."
    pub writeback_enabled: IntGaugeVec = "writeback_enabled" [];
}

/// A metric that is made from its name, its help and its labels.
trait Metric: Collector + Clone + 'static {
    fn create(name: &str, help: &str, labels: &[&str]) -> Result<Self, Error>;
}

macro_rules! metric {
    ($($type:ty: |$name:ident, $help:ident, $labels:ident| $create:expr;)+) => {
        $(impl Metric for $type {
            fn create($name: &str, $help: &str, $labels: &[&str]) -> Result<Self, Error> {
                $create
            }
        })+
    };
}

metric! {
    IntCounter: |name, help, _labels| Self::new(name, help);
    IntCounterVec: |name, help, labels| Self::new(Opts::new(name, help), labels);
    IntGauge: |name, help, _labels| Self::new(name, help);
    IntGaugeVec: |name, help, labels| Self::new(Opts::new(name, help), labels);
    GaugeVec: |name, help, labels| Self::new(Opts::new(name, help), labels);
    Histogram: |name, help, _labels| Self::with_opts(HistogramOpts::new(name, help).buckets(buckets(name)));
    HistogramVec: |name, help, labels| Self::new(HistogramOpts::new(name, help).buckets(buckets(name)), labels);
}

fn registered<M: Collector + Clone + 'static>(registry: &Registry, metric: M) -> Result<M, Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

impl Metrics {
    /// All metrics, registered.
    pub fn new() -> Result<Self, Error> {
        let metrics = Self::register(Registry::new_custom(Some(PREFIX.to_owned()), None)?)?;
        let info = Opts::new("build_info", "Version of this build.");
        let info = info.const_label("version", env!("CARGO_PKG_VERSION"));
        registered(&metrics.registry, IntGauge::with_opts(info)?)?.set(1);
        for &hop in Hop::VARIANTS {
            metrics.propagation.with_label_values(&[hop.as_ref()]);
        }
        Ok(metrics)
    }

    /// Counts a change that arrived at its destination.
    pub fn propagated(&self, hop: Hop, took: Duration) {
        self.propagation.with_label_values(&[hop.as_ref()]).observe(took.as_secs_f64());
    }

    /// Collects all metrics. Series of [`LEADER_ONLY`] are omitted unless their controller leads by `leads`,
    /// which is called with `None` for series without a controller.
    pub fn gather(&self, leads: impl Fn(Option<&str>) -> bool) -> Vec<MetricFamily> {
        let mut families = self.registry.gather();
        for family in families.iter_mut().filter(|family| is_leader_only(family.name())) {
            let mut series = family.take_metric();
            series.retain(|series| {
                let controller = series.get_label().iter().find(|label| label.name() == "controller");
                leads(controller.map(LabelPair::value))
            });
            family.set_metric(series);
        }
        families.retain(|family| !family.get_metric().is_empty());
        families
    }

    /// Like [`Self::gather`], but in the text format of a scrape.
    pub fn encode(&self, leads: impl Fn(Option<&str>) -> bool) -> Result<String, Error> {
        encoded(&self.gather(leads))
    }
}

/// Metrics as a scrape has them.
pub fn encoded(families: &[MetricFamily]) -> Result<String, Error> {
    let mut out = Vec::new();
    TextEncoder::new().encode(families, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn is_leader_only(name: &str) -> bool {
    let bare = name.strip_prefix(PREFIX).and_then(|name| name.strip_prefix('_'));
    bare.is_some_and(|bare| LEADER_ONLY.contains(&bare))
}

#[cfg(test)]
mod tests;
