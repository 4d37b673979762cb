//! Collects the state of the process for the page. Reads memory only: the registries, the queues, the
//! metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_api::cells::{CellDown, is_reachable};
use fedhub_core::metrics::Hop;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, ObjectView, PlaneId};
use fedhub_engine::LaneStatus;
use fedhub_engine::circuit::Stance;
use fedhub_planes::{Health, Plane, Planes};
use jiff::Timestamp;
use prometheus::proto::MetricFamily;
use strum::VariantArray;

use super::data::{
    Anchor, Cell, City, Controller, Convergence, Failure, Head, HopLag, KindCount, Lane, OpenCircuit,
    PlaneDetail, PlaneRow, PlaneState, Rollouts, Snapshot, Withheld,
};
use super::figures::{Buckets, counts, label, series};
use super::rollouts::rollouts;
use super::samples::{Measured, Samples};
use crate::admin::Status as _;
use crate::run::runtime::Role;
use crate::status::{self, Status};

/// How many WDs of a plane are named.
const DEPLOYMENTS: usize = 100;

/// The message about a plane whose project an operator has to decide on (I4).
const MISSES_ENTITLEMENT: &str = "the project's ServiceEntitlement is missing and was not seen to be deleted: what runs is kept; \
     create it again, or run fedhub planes withdraw";

/// The queues of a role, by controller, with what each has for each plane.
type Lanes = Vec<(&'static str, BTreeMap<PlaneId, LaneStatus>)>;

fn lanes(role: &Role) -> Lanes {
    role.controllers.iter().map(|it| (it.name, it.queue.lane_status())).collect()
}

/// Measures the values that trends are made of.
pub fn measure(status: &Status) -> Measured {
    let families = status.gathered();
    let hop = |hop: &Hop| {
        let name: &'static str = hop.into();
        let series = series(&families, "fedhub_propagation_seconds");
        let found = series.iter().find(|it| label(it, "hop") == name);
        (name, found.map(Buckets::read).unwrap_or_default())
    };
    let controllers = status.roles().iter().flat_map(|role| &role.controllers);
    let oldest = |queue: &fedhub_engine::Queue| {
        queue.oldest_by_lane().first().map_or(0.0, |(_, age)| age.as_secs_f32())
    };
    Measured {
        hops: Hop::VARIANTS.iter().map(hop).collect(),
        controllers: controllers.map(|it| (it.name, oldest(&it.queue))).collect(),
    }
}

/// All that is known of the fleet now.
pub fn snapshot(status: &Status, samples: &Samples) -> Snapshot {
    let families = status.gather();
    let mut snapshot = Snapshot {
        head: head(status),
        anchors: Vec::new(),
        planes: Vec::new(),
        hops: hops(status, samples),
        controllers: Vec::new(),
        circuits: Vec::new(),
        cities: Vec::new(),
        rollouts: Rollouts::default(),
        withheld: Withheld {
            quarantined: counts(&families, "fedhub_quarantined_objects", "reason"),
            finalizers: counts(&families, "fedhub_finalizers_held", "reason"),
            deletes: counts(&families, "fedhub_deletes_withheld_total", "reason"),
            entitlements: counts(&families, "fedhub_entitlements_missing", "").iter().map(|(_, n)| n).sum(),
            orphans: orphans(&families),
            hub_restored: series(&families, "fedhub_hub_restored")
                .iter()
                .any(|it| it.get_gauge().get_value() > 0.0),
        },
        covered: samples.covered(),
    };
    for role in status.roles() {
        add_role(&mut snapshot, role, samples, &families);
    }
    snapshot.planes.sort_by(|a, b| {
        let key = |row: &PlaneRow| (row.attention(), row.state, std::cmp::Reverse(row.oldest));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    snapshot
}

/// The orphans of all controllers.
fn orphans(families: &[MetricFamily]) -> u64 {
    let objects = counts(families, "fedhub_objects", "state");
    objects.iter().filter(|(state, _)| state == "orphaned").map(|(_, n)| n).sum()
}

fn add_role(snapshot: &mut Snapshot, role: &Role, samples: &Samples, families: &[MetricFamily]) {
    let lanes = lanes(role);
    for (registry, planes) in role.registries.iter().enumerate() {
        // The registry around a cell and the one around the hub may share their anchor.
        let anchor = anchor(role, planes);
        if registry == 0 || snapshot.anchors.iter().all(|it| it.name != anchor.name || it.role != role.name) {
            snapshot.anchors.push(anchor);
        }
        snapshot.planes.extend(planes.projects().iter().map(|plane| row(role, plane, &lanes)));
        snapshot.planes.extend(planes.refused().into_iter().map(|refused| refused_row(role, refused)));
    }
    if let Some(planes) = role.registries.first().filter(|planes| planes.anchor().id == PlaneId::Hub) {
        snapshot.cities.extend(cities(planes, families));
        snapshot.rollouts = rollouts(planes, snapshot.head.now);
    }
    for (controlled, (name, lanes)) in role.controllers.iter().zip(lanes) {
        snapshot.controllers.push(Controller {
            name,
            trend: samples.controller(name),
            oldest: lanes.values().filter_map(|lane| lane.oldest).max(),
            depth: controlled.queue.depth(),
        });
        let open = lanes.iter().filter(|(_, lane)| interrupts(lane));
        snapshot.circuits.extend(open.map(|(plane, lane)| OpenCircuit {
            controller: name,
            plane: name_of(plane),
            half_open: lane.circuit == Stance::HalfOpen,
        }));
    }
}

fn head(status: &Status) -> Head {
    Head {
        version: env!("CARGO_PKG_VERSION"),
        roles: status.roles().iter().map(|role| (role.name, role.leads())).collect(),
        not_ready: status.ready().err().unwrap_or_default(),
        now: Timestamp::now(),
    }
}

/// The hops that end in a role of this process.
fn hops(status: &Status, samples: &Samples) -> Vec<HopLag> {
    let is_here = |hop: &&Hop| {
        let controller = match hop {
            Hop::ProjectToHub | Hop::HubToProjectStatus => "federator",
            Hop::HubToProjectInstance => "projector",
            Hop::CellToHub => "write_back",
        };
        status.roles().iter().any(|role| role.has(controller))
    };
    Hop::VARIANTS
        .iter()
        .filter(is_here)
        .map(|hop| {
            let name: &'static str = hop.into();
            let (trend, per_minute) = samples.hop(name);
            HopLag { hop: name, trend, per_minute }
        })
        .collect()
}

fn state_of(plane: &Plane) -> (PlaneState, Option<String>) {
    let (state, error) = match plane.health() {
        Health::Engaging => (PlaneState::Engaging, None),
        Health::Engaged => (PlaneState::Engaged, None),
        Health::Suspended => (PlaneState::Suspended, None),
        Health::Paused => (PlaneState::Paused, None),
        Health::Unreachable(error) => (PlaneState::Unreachable, Some(error)),
    };
    // As `fedhub_planes` counts it: also where it does not answer.
    let is_paused = plane.state() == Health::Paused.state();
    (if is_paused { PlaneState::Paused } else { state }, error)
}

fn anchor(role: &Role, planes: &Planes) -> Anchor {
    let plane = planes.anchor();
    let (state, error) = state_of(plane);
    let since = plane.state_since().elapsed();
    Anchor { name: plane.id.to_string(), role: role.name, state, since, objects: plane.objects(), error }
}

fn interrupts(lane: &LaneStatus) -> bool {
    matches!(lane.circuit, Stance::Open | Stance::HalfOpen)
}

fn name_of(plane: &PlaneId) -> String {
    match plane {
        PlaneId::Project(name) => name.to_string(),
        other => other.to_string(),
    }
}

fn row(role: &Role, plane: &Plane, lanes: &Lanes) -> PlaneRow {
    let of_plane = || lanes.iter().filter_map(|(_, lanes)| lanes.get(&plane.id));
    let (state, error) = state_of(plane);
    PlaneRow {
        name: name_of(&plane.id),
        role: role.name,
        state,
        since: Some(plane.state_since().elapsed()),
        oldest: of_plane().filter_map(|lane| lane.oldest).max(),
        keys: of_plane().map(|lane| lane.keys).sum(),
        objects: plane.objects(),
        circuit_open: of_plane().any(interrupts),
        error: error.or_else(|| plane.misses_entitlement().then(|| MISSES_ENTITLEMENT.to_owned())),
    }
}

fn refused_row(role: &Role, (name, reason): (String, String)) -> PlaneRow {
    PlaneRow {
        name,
        role: role.name,
        state: PlaneState::Refused,
        since: None,
        oldest: None,
        keys: 0,
        objects: 0,
        circuit_open: false,
        error: Some(reason),
    }
}

fn cities(planes: &Planes, families: &[MetricFamily]) -> Vec<City> {
    let quantile = |metric: &str, city: &str, part: f64| {
        let series = series(families, metric);
        series.iter().find(|it| label(it, "city") == city).map(Buckets::read)?.quantile(part)
    };
    let city = |(code, city): (String, status::City)| City {
        convergence: Convergence {
            median: quantile("fedhub_convergence_seconds", &code, 0.5),
            p95: quantile("fedhub_convergence_seconds", &code, 0.95),
            karmada_p95: quantile("fedhub_convergence_karmada_seconds", &code, 0.95),
        },
        policies: city.policies,
        cells: city
            .cells
            .iter()
            .map(|cluster| Cell {
                name: cluster.name().to_owned(),
                reachable: is_reachable(cluster),
                down: CellDown::from_cluster(cluster).map(|down| down.to_string()),
            })
            .collect(),
        code,
    };
    status::cities(planes).into_iter().map(city).collect()
}

/// Collects one plane, in each role that has it.
pub fn plane(status: &Status, name: &str) -> Vec<PlaneDetail> {
    let mut found = Vec::new();
    for role in status.roles() {
        for planes in &role.registries {
            let engaged = PlaneName::new(name).ok().and_then(|name| planes.project(&name));
            if let Some(plane) = engaged {
                found.push(detail(role, &plane));
            } else if let Some(refused) = planes.refused().into_iter().find(|(refused, _)| refused == name) {
                found.push(PlaneDetail {
                    row: refused_row(role, refused),
                    kinds: Vec::new(),
                    bytes: 0,
                    last_failure: None,
                    lanes: Vec::new(),
                    deployments: Vec::new(),
                    deployments_total: 0,
                });
            }
        }
    }
    found
}

fn detail(role: &Role, plane: &Plane) -> PlaneDetail {
    let lanes = lanes(role);
    let deployments = plane.store(Kind::WorkloadDeployment);
    let mut room = DEPLOYMENTS;
    let named = deployments.select(None, |view| {
        room = room.checked_sub(1)?;
        Some((view.namespace.to_owned(), view.name.to_owned()))
    });
    let ago = |at: tokio::time::Instant| -> Duration { at.elapsed() };
    PlaneDetail {
        row: row(role, plane, &lanes),
        kinds: plane
            .kinds()
            .map(|kind| KindCount {
                kind: kind.resource().plural.clone(),
                objects: plane.store(kind).len(),
                synced: plane.store(kind).synced(),
            })
            .collect(),
        bytes: plane.bytes(),
        last_failure: plane.last_failure().map(|last| Failure {
            kind: last.kind.resource().plural.clone(),
            error: last.error,
            ago: ago(last.at),
        }),
        lanes: lanes
            .iter()
            .filter_map(|(controller, lanes)| {
                let lane = lanes.get(&plane.id)?;
                Some(Lane {
                    controller,
                    keys: lane.keys,
                    running: lane.running,
                    oldest: lane.oldest,
                    circuit: stance(lane.circuit),
                })
            })
            .collect(),
        deployments: named,
        deployments_total: deployments.len(),
    }
}

fn stance(stance: Stance) -> &'static str {
    match stance {
        Stance::Closed => "closed",
        Stance::Open => "open",
        Stance::HalfOpen => "half open",
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::metrics::Metrics;

    use super::*;

    #[test]
    fn f11_the_orphans_of_all_controllers_are_counted_and_nothing_else() {
        let metrics = Metrics::new().unwrap();
        for (controller, state, objects) in
            [("federator", "orphaned", 2), ("projector", "orphaned", 1), ("projector", "parked", 8)]
        {
            metrics.objects.with_label_values(&[controller, state]).set(objects);
        }
        assert_eq!(orphans(&metrics.gather(|_| true)), 3);
    }
}
