//! Made-up data for every page.

use std::time::Duration;

use fedhub_api::RolloutCityState;

use crate::explain;
use crate::explain::Cause;
use crate::status_page::data::{
    Anchor, Cell, City, Controller, Convergence, Explained, Failure, Head, HopLag, KindCount, Lane,
    OpenCircuit, PlaneDetail, PlaneRow, PlaneState, RolloutRow, RolloutState, Rollouts, Snapshot, Withheld,
};
use crate::status_page::explainer;
use crate::status_page::samples::{KEPT, Trend};

/// What a tenant might call something.
pub const HOSTILE: &str =
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u{202e}javascript:alert(3)";

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A line that goes up and down, with gaps where nothing moved.
#[allow(clippy::cast_precision_loss)]
fn trend(level: f32, seed: usize, samples: usize) -> Trend {
    Trend(
        (0..samples)
            .map(|n| {
                let wave = (((n * 7 + seed * 13) % 23) as f32 / 23.0).mul_add(0.6, 0.7);
                let burst = if (n + seed * 11) % 67 < 4 { 2.2 } else { 1.0 };
                ((n / 9 + seed) % 7 != 3).then_some(level * wave * burst)
            })
            .collect(),
    )
}

fn row(name: &str, state: PlaneState) -> PlaneRow {
    PlaneRow {
        name: name.to_owned(),
        role: "management",
        state,
        since: Some(seconds(3 * 86400 + 4000)),
        oldest: None,
        keys: 0,
        objects: 240,
        circuit_open: false,
        error: None,
    }
}

fn refused_connection(name: &str) -> PlaneRow {
    let error = "cannot watch workloaddeployments: failed to connect: tcp connect to 10.4.18.20:6443: Connection refused (os error 111)";
    PlaneRow {
        since: Some(seconds(312)),
        oldest: Some(seconds(305)),
        keys: 14,
        circuit_open: true,
        error: Some(error.to_owned()),
        ..row(name, PlaneState::Unreachable)
    }
}

/// A process that leads, with a dozen planes and nothing to worry about.
pub fn calm() -> Snapshot {
    let hop = |hop, level, seed, per_minute| HopLag { hop, trend: trend(level, seed, KEPT), per_minute };
    let controller = |name, seed, depth| Controller {
        name,
        trend: trend(0.4, seed, KEPT),
        oldest: (depth > 0).then_some(seconds(1)),
        depth,
    };
    let city = |code: &str, policies, p95| City {
        code: code.to_owned(),
        policies,
        cells: vec![Cell {
            name: format!("cell-{}", code.to_lowercase()),
            reachable: Some(true),
            down: None,
        }],
        convergence: Convergence { median: Some(p95 / 2.3), p95: Some(p95), karmada_p95: Some(p95 * 0.8) },
    };
    Snapshot {
        head: Head {
            version: "0.1.0",
            roles: vec![("management", true)],
            not_ready: Vec::new(),
            now: "2026-01-20T13:05:22Z".parse().unwrap(),
        },
        anchors: vec![Anchor {
            name: "hub".to_owned(),
            role: "management",
            state: PlaneState::Engaged,
            since: seconds(4 * 86400),
            objects: 12_480,
            error: None,
        }],
        planes: (1..=12).map(|n| row(&format!("project-{n:05}"), PlaneState::Engaged)).collect(),
        hops: vec![
            hop("project_to_hub", 0.042, 1, 96),
            hop("hub_to_project_status", 0.08, 2, 212),
            hop("hub_to_project_instance", 0.06, 3, 148),
        ],
        controllers: vec![
            controller("federator", 1, 3),
            controller("projector", 2, 0),
            controller("lost_cells", 4, 0),
        ],
        circuits: Vec::new(),
        cities: vec![city("DFW", 412, 2.1), city("LHR", 97, 3.4), city("ORD", 288, 1.9)],
        rollouts: Rollouts::default(),
        withheld: Withheld::default(),
        covered: seconds(1800),
    }
}

/// A working day: a few planes need somebody.
pub fn busy() -> Snapshot {
    let mut snapshot = calm();
    let mut planes =
        vec![refused_connection("project-acme-production"), refused_connection("project-globex")];
    planes.push(PlaneRow {
        oldest: Some(seconds(94)),
        keys: 2210,
        objects: 10_400,
        ..row("project-initech-staging", PlaneState::Engaged)
    });
    planes.push(PlaneRow {
        oldest: Some(seconds(14)),
        keys: 40,
        ..row("project-hooli", PlaneState::Engaged)
    });
    let new = PlaneRow { since: Some(seconds(2)), objects: 0, ..row("project-new", PlaneState::Engaging) };
    planes.extend([new, row("project-on-hold", PlaneState::Suspended)]);
    planes.extend((1..=480).map(|n| row(&format!("project-{n:05}"), PlaneState::Engaged)));
    snapshot.planes = planes;
    snapshot.circuits = ["federator", "projector"]
        .map(|controller| OpenCircuit {
            controller,
            plane: "project-globex".to_owned(),
            half_open: controller == "projector",
        })
        .to_vec();
    snapshot.withheld.deletes = vec![("throttled".to_owned(), 3)];
    snapshot.rollouts = rollouts();
    snapshot
}

fn rollout(workload: &str, state: RolloutState, cities: &[(RolloutCityState, usize)]) -> RolloutRow {
    RolloutRow {
        state,
        plane: "project-acme-production".to_owned(),
        namespace: "shop".to_owned(),
        workload: workload.to_owned(),
        wave: None,
        cities: cities.to_vec(),
        since: None,
        deployment: None,
        remark: None,
    }
}

/// One that a city has stopped, one that waits for its approval, one by default, and one of a single city.
fn rollouts() -> Rollouts {
    let stalled = RolloutRow {
        wave: Some("canary".to_owned()),
        since: "2026-01-20T12:51:00Z".parse().ok(),
        deployment: Some("web-us-dfw".to_owned()),
        remark: Some("DFW failed by ImageUnavailable: The deployment makes no progress".to_owned()),
        ..rollout(
            "web",
            RolloutState::Stalled,
            &[(RolloutCityState::Failed, 1), (RolloutCityState::Waiting, 12)],
        )
    };
    let approval = RolloutRow {
        wave: Some("rest".to_owned()),
        remark: Some("ORD waits until the wave \"canary\" is approved after its last city".to_owned()),
        ..rollout(
            "api",
            RolloutState::InProgress,
            &[(RolloutCityState::Waiting, 2), (RolloutCityState::Complete, 1)],
        )
    };
    let by_default = RolloutRow {
        deployment: Some("batch-all-lhr".to_owned()),
        remark: Some("ORD waits until \"LHR\" is healthy on the new revision".to_owned()),
        ..rollout(
            "batch",
            RolloutState::InProgress,
            &[(RolloutCityState::Updating, 1), (RolloutCityState::Waiting, 2)],
        )
    };
    let single = rollout("single", RolloutState::InProgress, &[]);
    let counts = vec![(RolloutState::Stalled, 1), (RolloutState::InProgress, 61)];
    Rollouts { rows: vec![stalled, approval, by_default, single], counts }
}

/// Everything that can be wrong, with names that tenants might choose.
pub fn broken() -> Snapshot {
    let mut snapshot = busy();
    snapshot.head.roles = vec![("management", true), ("cell", false)];
    snapshot.head.not_ready = vec![format!("hub: {HOSTILE}")];
    snapshot.anchors[0].state = PlaneState::Unreachable;
    snapshot.anchors[0].error = Some(format!("cannot list namespaces: {HOSTILE}"));
    snapshot.anchors[0].since = seconds(47);
    let refused = PlaneRow {
        error: Some(format!("Secret {HOSTILE}: key \"kubeconfig\" is not text")),
        since: None,
        objects: 0,
        ..row(HOSTILE, PlaneState::Refused)
    };
    snapshot.planes.insert(2, refused);
    let engaging = PlaneRow { since: Some(seconds(3600)), ..row("project-slow", PlaneState::Engaging) };
    snapshot.planes.insert(3, engaging);
    snapshot.cities[0].cells[0].reachable = Some(false);
    snapshot.cities[0].cells[0].down =
        Some("[operator] the cell cell-dfw has not been ready since 2026-01-20T12:58:02Z: what runs there is not known".to_owned());
    snapshot.cities[1].cells.clear();
    let second = Cell { name: HOSTILE.to_owned(), reachable: None, down: None };
    snapshot.cities[2].cells.push(second);
    snapshot.cities[1].convergence = Convergence::default();
    snapshot.withheld = Withheld {
        quarantined: vec![("ambiguous_city".to_owned(), 2), (HOSTILE.to_owned(), 1)],
        finalizers: vec![("hub_state_lost".to_owned(), 1)],
        deletes: vec![("hub_restored".to_owned(), 41)],
        entitlements: 2,
        orphans: 5,
        hub_restored: true,
    };
    let row = &mut snapshot.rollouts.rows[0];
    for name in [&mut row.plane, &mut row.namespace, &mut row.workload] {
        HOSTILE.clone_into(name);
    }
    row.wave = Some(HOSTILE.to_owned());
    row.deployment = Some(HOSTILE.to_owned());
    row.remark = Some(HOSTILE.to_owned());
    snapshot.hops[1].trend = Trend::default();
    snapshot.hops[2].trend = Trend(vec![None; KEPT]);
    snapshot
}

/// A fleet of that many planes, of which every thousandth fails.
pub fn fleet_of(planes: usize) -> Snapshot {
    let state = |n: usize| if n.is_multiple_of(1000) { PlaneState::Unreachable } else { PlaneState::Engaged };
    let mut rows: Vec<_> = (0..planes).map(|n| row(&format!("project-{n:05}"), state(n))).collect();
    rows.sort_by_key(PlaneRow::attention);
    Snapshot { planes: rows, ..busy() }
}

/// One plane in full.
pub fn detail(name: &str) -> PlaneDetail {
    let kind = |kind: &str, objects, synced| KindCount { kind: kind.to_owned(), objects, synced };
    let lane = |controller, keys, circuit| Lane {
        controller,
        keys,
        running: 1,
        oldest: Some(seconds(305)),
        circuit,
    };
    let error = refused_connection(name).error.unwrap_or_default();
    let hostile = name.contains('<');
    let mut row = refused_connection(name);
    if hostile {
        row.error = Some(name.to_owned());
    }
    PlaneDetail {
        row,
        kinds: vec![kind("workloaddeployments", 48, true), kind("instances", 192, false)],
        bytes: 96_400,
        last_failure: Some(Failure { kind: "instances".to_owned(), error, ago: seconds(3) }),
        lanes: vec![lane("federator", 12, "open"), lane("projector", 2, "closed")],
        deployments: (0..48)
            .map(|n| match n {
                0 if hostile => (name.to_owned(), name.to_owned()),
                _ => ("shop".to_owned(), format!("web-frontend-{n:02}-dfw")),
            })
            .collect(),
        deployments_total: 61,
    }
}

/// Chains: in sync, blocked, and one whose messages a tenant wrote.
pub fn explained() -> [Explained; 3] {
    let of = |cause| explainer::explained(&explain::fixtures::chain_of(cause), Duration::from_millis(84));
    let mut hostile = of(Cause::ApplyFailed);
    hostile.verdict.push(("Evidence", HOSTILE.to_owned()));
    for (row, _) in &mut hostile.hops {
        (row.object, row.state, row.detail) = (HOSTILE.to_owned(), HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    [of(Cause::InSync), of(Cause::ImageUnavailable), hostile]
}
