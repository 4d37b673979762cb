//! The Prometheus metrics of section 7. Labels are bounded: never an object's name, never a message.

use std::time::Duration;

use prometheus::{
    Encoder, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

/// Which way a change travelled: the label `hop` of `fedhub_propagation_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Hop {
    fn label(self) -> &'static str {
        match self {
            Self::ProjectToHub => "project_to_hub",
            Self::HubToProjectStatus => "hub_to_project_status",
            Self::HubToProjectInstance => "hub_to_project_instance",
            Self::CellToHub => "cell_to_hub",
        }
    }
}

/// All metrics of the process, in a registry of their own. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    propagation: HistogramVec,
    /// Oldest change that is not in sync yet, in seconds, by controller.
    pub oldest_unsynced: GaugeVec,
    /// The same for the ten planes that lag most, by controller and plane.
    pub oldest_unsynced_plane: GaugeVec,
    /// Objects by controller and state.
    pub objects: IntGaugeVec,
    /// Quarantined Instances by reason.
    pub quarantined: IntGaugeVec,
    /// Keys that wait for a worker, by controller.
    pub queue_depth: IntGaugeVec,
    /// Planes whose keys wait because the plane fails, by controller; the hub is one of them.
    pub circuit_breakers_open: IntGaugeVec,
    /// Time from when a key was ready to when a worker took it.
    pub queue_wait: Histogram,
    /// Passes by controller and outcome (an error's category, or `unchanged`, `updated`, `waiting`).
    pub reconciles: IntCounterVec,
    /// Time of a pass, by controller.
    pub reconcile_seconds: HistogramVec,
    /// Passes that found everything in order.
    pub noop_reconciles: IntCounter,
    /// API requests by plane kind, verb, resource and status code.
    pub api_requests: IntCounterVec,
    /// Time to the headers of an answer, by plane kind and verb.
    pub api_request_seconds: HistogramVec,
    /// Project planes by state.
    pub planes: IntGaugeVec,
    /// HTTP/2 connections that are open, to all planes.
    pub plane_connections: IntGauge,
    /// Whose credentials on disk cannot be used, so that older ones stay in use: 1 or 0.
    pub credentials_stale: IntGaugeVec,
    /// How often whose credentials were replaced.
    pub credentials_reloads: IntCounterVec,
    /// Watches that were started anew, by plane kind and reason.
    pub watch_restarts: IntCounterVec,
    /// Watch events that led nowhere, by reason.
    pub events_dropped: IntCounterVec,
    /// Kubernetes Events that were not stored, by reason (U3).
    pub events_not_stored: IntCounterVec,
    /// Deletions not done, by reason (I4).
    pub deletes_withheld: IntCounterVec,
    /// Finalizers held, by reason (I3).
    pub finalizers_held: IntGaugeVec,
    /// Writes whose answer lacked fields that were sent (I1).
    pub fields_pruned: IntCounter,
    /// Hub WDs that Karmada was made to apply anew (F8).
    pub resyncs: IntCounter,
    /// Cities by how many Clusters carry their code: `none`, `one`, `many`.
    pub cells_for_city: IntGaugeVec,
    /// Whether this process leads: 1 or 0.
    pub leader: IntGauge,
    /// Objects that were seen to be in order without a pass, by controller.
    pub reconciles_skipped: IntCounterVec,
    /// Objects in the stores.
    pub cache_objects: IntGauge,
    /// Bytes that their digests and names take, about.
    pub cache_bytes: IntGauge,
    /// Whether the hub was restored from a backup, so that no deletion is inferred on it: 1 or 0.
    pub hub_restored: IntGauge,
    /// Why the cell is not ready although it is in sync, by reason: 1 or 0.
    pub cell_refused: IntGaugeVec,
    /// Whether this process writes a cell's Instances back to the hub: 1 or 0.
    pub writeback_enabled: IntGauge,
}

/// Buckets for spans that range from a millisecond to minutes.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];

impl Metrics {
    /// All metrics, registered.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new_custom(Some("fedhub".to_owned()), None)?;
        let r = &registry;
        let metrics = Self {
            propagation: histograms(
                r,
                "propagation_seconds",
                "From the watch event received to the write acknowledged.",
                &["hop"],
            )?,
            oldest_unsynced: ages(
                r,
                "oldest_unsynced_seconds",
                "Age of the oldest change that is not in sync.",
                &["controller"],
            )?,
            oldest_unsynced_plane: ages(
                r,
                "oldest_unsynced_plane_seconds",
                "The same for the planes that lag most.",
                &["controller", "plane"],
            )?,
            objects: gauges(r, "objects", "Objects by state.", &["controller", "state"])?,
            quarantined: gauges(
                r,
                "quarantined_objects",
                "Instances that no retry can project or write back.",
                &["reason"],
            )?,
            queue_depth: gauges(r, "queue_depth", "Keys that wait for a worker.", &["controller"])?,
            circuit_breakers_open: gauges(
                r,
                "circuit_breakers_open",
                "Planes whose keys wait because the plane fails.",
                &["controller"],
            )?,
            queue_wait: {
                let h = Histogram::with_opts(
                    HistogramOpts::new("queue_wait_seconds", "From ready to taken by a worker.")
                        .buckets(SECONDS.to_vec()),
                )?;
                r.register(Box::new(h.clone()))?;
                h
            },
            reconciles: counters(r, "reconciles_total", "Passes by outcome.", &["controller", "outcome"])?,
            reconcile_seconds: histograms(r, "reconcile_seconds", "Time of a pass.", &["controller"])?,
            noop_reconciles: counter(r, "noop_reconciles_total", "Passes that found everything in order.")?,
            api_requests: counters(
                r,
                "api_requests_total",
                "API requests.",
                &["plane_kind", "verb", "resource", "code"],
            )?,
            api_request_seconds: histograms(
                r,
                "api_request_seconds",
                "Time to the headers of an answer.",
                &["plane_kind", "verb"],
            )?,
            planes: gauges(r, "planes", "Project planes by state.", &["state"])?,
            plane_connections: {
                let g = IntGauge::new("plane_connections", "HTTP/2 connections that are open.")?;
                r.register(Box::new(g.clone()))?;
                g
            },
            credentials_stale: gauges(
                r,
                "credentials_stale",
                "Whether credentials on disk cannot be used.",
                &["credentials"],
            )?,
            credentials_reloads: counters(
                r,
                "credentials_reloads_total",
                "Credentials that were replaced while the process ran.",
                &["credentials"],
            )?,
            watch_restarts: counters(
                r,
                "watch_restarts_total",
                "Watches started anew.",
                &["plane_kind", "reason"],
            )?,
            events_dropped: counters(
                r,
                "events_dropped_total",
                "Watch events that led nowhere.",
                &["reason"],
            )?,
            events_not_stored: counters(
                r,
                "events_not_stored_total",
                "Kubernetes Events that were not stored.",
                &["reason"],
            )?,
            deletes_withheld: counters(
                r,
                "deletes_withheld_total",
                "Deletions that were not done.",
                &["reason"],
            )?,
            finalizers_held: gauges(r, "finalizers_held", "Finalizers that are held.", &["reason"])?,
            fields_pruned: counter(
                r,
                "fields_pruned_total",
                "Writes whose answer lacked or changed what was sent.",
            )?,
            resyncs: counter(r, "resyncs_total", "Hub WDs that Karmada was made to apply anew.")?,
            cells_for_city: gauges(
                r,
                "cells_for_city",
                "Cities in use by how many Clusters carry their code.",
                &["state"],
            )?,
            leader: {
                let g = IntGauge::new("leader", "Whether this process leads.")?;
                r.register(Box::new(g.clone()))?;
                g
            },
            reconciles_skipped: counters(
                r,
                "reconciles_skipped_total",
                "Objects that were seen to be in order without a pass.",
                &["controller"],
            )?,
            cache_objects: {
                let g = IntGauge::new("cache_objects", "Objects in the stores.")?;
                r.register(Box::new(g.clone()))?;
                g
            },
            cache_bytes: {
                let g = IntGauge::new("cache_bytes", "Bytes that digests and names of objects take, about.")?;
                r.register(Box::new(g.clone()))?;
                g
            },
            hub_restored: {
                let g = IntGauge::new(
                    "hub_restored",
                    "Whether the hub was restored, so that no deletion is inferred on it.",
                )?;
                r.register(Box::new(g.clone()))?;
                g
            },
            cell_refused: gauges(
                r,
                "cell_refused",
                "Whether a cell is not ready for that reason although it is in sync.",
                &["reason"],
            )?,
            writeback_enabled: {
                let g = IntGauge::new(
                    "writeback_enabled",
                    "Whether a cell's Instances are written back to the hub.",
                )?;
                r.register(Box::new(g.clone()))?;
                g
            },
            registry,
        };
        let info = IntGauge::with_opts(
            Opts::new("build_info", "Version of this build.")
                .const_label("version", env!("CARGO_PKG_VERSION")),
        )?;
        info.set(1);
        metrics.registry.register(Box::new(info))?;
        for hop in [Hop::ProjectToHub, Hop::HubToProjectStatus, Hop::HubToProjectInstance, Hop::CellToHub] {
            metrics.propagation.with_label_values(&[hop.label()]);
        }
        Ok(metrics)
    }

    /// A change arrived where it was bound for.
    pub fn propagated(&self, hop: Hop, took: Duration) {
        self.propagation.with_label_values(&[hop.label()]).observe(took.as_secs_f64());
    }

    /// The text that a scrape answers with.
    pub fn encode(&self) -> Result<String, prometheus::Error> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn counter(r: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    let c = IntCounter::new(name, help)?;
    r.register(Box::new(c.clone()))?;
    Ok(c)
}

fn counters(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    let c = IntCounterVec::new(Opts::new(name, help), labels)?;
    r.register(Box::new(c.clone()))?;
    Ok(c)
}

fn ages(r: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<GaugeVec, prometheus::Error> {
    let g = GaugeVec::new(Opts::new(name, help), labels)?;
    r.register(Box::new(g.clone()))?;
    Ok(g)
}

fn gauges(r: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
    let g = IntGaugeVec::new(Opts::new(name, help), labels)?;
    r.register(Box::new(g.clone()))?;
    Ok(g)
}

fn histograms(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    let h = HistogramVec::new(HistogramOpts::new(name, help).buckets(SECONDS.to_vec()), labels)?;
    r.register(Box::new(h.clone()))?;
    Ok(h)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hop_is_there_from_the_first_scrape() {
        let metrics = Metrics::new().unwrap();
        metrics.propagated(Hop::ProjectToHub, Duration::from_millis(20));
        let text = metrics.encode().unwrap();
        for hop in ["project_to_hub", "hub_to_project_status", "hub_to_project_instance", "cell_to_hub"] {
            assert!(text.contains(&format!("fedhub_propagation_seconds_count{{hop=\"{hop}\"}}")), "{text}");
        }
        assert!(text.contains("fedhub_propagation_seconds_bucket{hop=\"project_to_hub\",le=\"0.025\"} 1"));
    }
}
