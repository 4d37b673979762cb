//! F6, F10: WDs that change their city, with a Karmada in memory between the federator's writes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::names::{CITY_CODE, CLAIMED_BY, MOVING, TOUCHED};
use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::{Value, json};

use crate::controller::support::*;

const DEPLOYMENT: &str = "WorkloadDeployment";
const POLICY: &str = "PropagationPolicy";
pub(super) const BINDING: &str = "ResourceBinding";

/// The part of Karmada that a move needs, in the order of its detector: a policy that changed releases what
/// it does not select; what is unclaimed is claimed by the policy that selects it; what is claimed and
/// selected is bound to the city's cell.
pub(super) struct Karmada {
    hub: ApiServer,
    /// Policies by name and space, at the version that was looked at.
    seen: RefCell<BTreeMap<(String, String), String>>,
    /// Touches to be overlooked, as where a cache lags behind.
    lost: RefCell<u32>,
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn selected(policy: &Value) -> &Value {
    &policy["spec"]["resourceSelectors"][0]["labelSelector"]["matchLabels"][CITY_CODE]
}

impl Karmada {
    fn from_world(world: &World) -> Self {
        Self { hub: world.hub.clone(), seen: RefCell::default(), lost: RefCell::new(0) }
    }

    /// Does all that there is to do now.
    fn step(&self) {
        for policy in self.hub.list(POLICY) {
            let space = text(&policy, "/metadata/namespace");
            let name = text(&policy, "/metadata/name");
            let key = (space.to_owned(), name.to_owned());
            let version = text(&policy, "/metadata/resourceVersion").to_owned();
            let before = self.seen.borrow_mut().insert(key, version.clone());
            if before.is_none_or(|before| before == version) {
                continue;
            }
            if *self.lost.borrow() > 0 {
                *self.lost.borrow_mut() -= 1;
                continue;
            }
            for wd in self.of_space(space) {
                let claimed = wd["metadata"]["annotations"][CLAIMED_BY] == name;
                if claimed && wd["metadata"]["labels"][CITY_CODE] != *selected(&policy) {
                    self.claim(&wd, &Value::Null);
                }
            }
        }
        for wd in self.hub.list(DEPLOYMENT) {
            self.detect(&wd);
        }
    }

    fn of_space(&self, space: &str) -> Vec<Value> {
        let all = self.hub.list(DEPLOYMENT).into_iter();
        all.filter(|wd| text(wd, "/metadata/namespace") == space).collect()
    }

    fn detect(&self, wd: &Value) {
        let space = text(wd, "/metadata/namespace");
        let name = text(wd, "/metadata/name");
        let city = &wd["metadata"]["labels"][CITY_CODE];
        let claim = wd["metadata"]["annotations"][CLAIMED_BY].as_str();
        let policy = if let Some(claim) = claim {
            let Some(policy) = self.hub.get(POLICY, space, claim) else {
                return self.claim(wd, &Value::Null);
            };
            policy
        } else {
            let mut all = self.hub.list(POLICY).into_iter();
            let Some(policy) = all.find(|p| text(p, "/metadata/namespace") == space && selected(p) == city)
            else {
                return;
            };
            self.claim(wd, &policy["metadata"]["name"]);
            policy
        };
        if selected(&policy) != city {
            return;
        }
        let cells =
            self.hub.list("Cluster").into_iter().filter(|c| c["metadata"]["labels"][CITY_CODE] == *city);
        let clusters: Vec<Value> = cells.map(|c| json!({"name": c["metadata"]["name"]})).take(1).collect();
        let binding = format!("{name}-workloaddeployment");
        match self.hub.get(BINDING, space, &binding) {
            None => {
                let made = json!({
                    "apiVersion": "work.karmada.io/v1alpha2", "kind": BINDING,
                    "metadata": {"namespace": space, "name": binding}, "spec": {"clusters": clusters},
                });
                self.hub.put(made).unwrap();
            }
            Some(bound) if bound["spec"]["clusters"] != json!(clusters) => {
                self.hub.patch(BINDING, space, &binding, &json!({"spec": {"clusters": clusters}})).unwrap();
                self.hub.patch_status(BINDING, space, &binding, &json!({"aggregatedStatus": []})).unwrap();
            }
            Some(_) => {}
        }
    }

    fn claim(&self, wd: &Value, by: &Value) {
        let space = text(wd, "/metadata/namespace");
        let name = text(wd, "/metadata/name");
        let patch = json!({"metadata": {"annotations": {CLAIMED_BY: by}}});
        self.hub.patch(DEPLOYMENT, space, name, &patch).unwrap();
    }

    /// The cells that `alpha`'s WD is bound to.
    pub(super) fn bound(&self, world: &World, name: &str) -> Vec<String> {
        let space = hub_space(&world.alpha);
        let binding = self.hub.get(BINDING, &space, &format!("{name}-workloaddeployment"));
        let clusters = binding.map(|b| b["spec"]["clusters"].as_array().cloned().unwrap_or_default());
        clusters.into_iter().flatten().map(|c| text(&c, "/name").to_owned()).collect()
    }

    /// The cell that has `alpha`'s WD reports on it.
    fn report(&self, world: &World, name: &str, replicas: u64) {
        let cell = self.bound(world, name).remove(0);
        let status = by(&cell, replicas);
        let items = json!({"aggregatedStatus": [{"clusterName": cell, "status": status}]});
        let binding = format!("{name}-workloaddeployment");
        self.hub.patch_status(BINDING, &hub_space(&world.alpha), &binding, &items).unwrap();
        world.report(name, &status);
    }

    /// Works until that holds.
    pub(super) async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        for _ in 0..60_000 {
            if holds() {
                return;
            }
            self.step();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("in vain: {what}");
    }

    /// Works for so many seconds.
    async fn work(&self, seconds: u64) {
        for _ in 0..seconds * 20 {
            self.step();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A cell's report, whose reason identifies the cell.
fn by(cell: &str, replicas: u64) -> Value {
    let mut status = reported(replicas);
    status["conditions"][0]["reason"] = json!(cell.replace('-', ""));
    status
}

pub(super) fn go_to(world: &World, name: &str, city: &str) {
    world.alpha.patch(DEPLOYMENT, SPACE, name, &json!({"spec": {"cityCode": city}})).unwrap();
}

fn is_moving(world: &World, name: &str) -> bool {
    world.hub_wd(name).unwrap()["metadata"]["annotations"][MOVING].is_string()
}

pub(super) fn says(world: &World, name: &str) -> String {
    reason(&world.wd(name).unwrap()).unwrap_or_default()
}

/// Two WDs in DFW on which its cell has reported.
pub(super) async fn two_in_dfw(world: &World) -> (Run, Karmada) {
    put_wd(&world.alpha, "sibling", "DFW");
    let run = world.federated().await;
    let karmada = Karmada::from_world(world);
    for name in [WD, "sibling"] {
        karmada.until("it to be bound", || karmada.bound(world, name) == ["cell-1"]).await;
        karmada.report(world, name, 1);
        karmada.until("the report", || says(world, name) == "cell1").await;
    }
    (run, karmada)
}

/// It is in ORD, whose cell reports, and all comes to rest.
pub(super) async fn arrives(world: &World, karmada: &Karmada, hub_uid: &str) {
    karmada.until("the other cell", || karmada.bound(world, WD) == ["cell-2"]).await;
    karmada.report(world, WD, 2);
    karmada.until("the end of the move", || !is_moving(world, WD) && says(world, WD) == "cell2").await;
    assert_eq!(uid(&world.hub_wd(WD).unwrap()), hub_uid, "it is the same hub WD");
}

#[tokio::test(start_paused = true)]
async fn f6_a_wd_that_changes_its_city_moves_and_its_sibling_is_not_disturbed() {
    let world = World::new();
    let (run, karmada) = two_in_dfw(&world).await;
    let hub_uid = uid(&world.hub_wd(WD).unwrap());
    let sibling = world.hub_wd("sibling");
    go_to(&world, WD, "ORD");
    until("it to say so", || says(&world, WD) == "Moving").await;
    karmada.until("the other cell", || karmada.bound(&world, WD) == ["cell-2"]).await;
    quiet(600).await;
    assert_eq!(says(&world, WD), "Moving", "what the old cell said is no answer");
    arrives(&world, &karmada, &hub_uid).await;
    karmada.work(60).await;
    assert_eq!(world.hub_wd("sibling"), sibling);
    assert!(world.policy("city-dfw").is_some() && world.policy("city-ord").is_some());
    let events = world.alpha.list("events.events.k8s.io");
    let moved: Vec<_> = events.iter().filter(|e| e["reason"] == "Moved").collect();
    assert_eq!(moved.len(), 1, "{events:?}");
    assert_eq!(moved[0]["note"], "moved from city \"DFW\" to city \"ORD\"");
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.asked(from), nothing(), "steady state");
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(60).await;
    assert_eq!(world.writes(from), nothing(), "nor after a restart");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_c11_a_wd_that_moves_to_a_cell_that_is_down_says_so_until_the_cell_is_back() {
    let ready = |status: &str| json!({"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-05T00:00:00Z"}]});
    let world = World::telling();
    let (run, karmada) = two_in_dfw(&world).await;
    let hub_uid = uid(&world.hub_wd(WD).unwrap());
    world.hub.patch_status("Cluster", "", "cell-2", &ready("Unknown")).unwrap();
    go_to(&world, WD, "ORD");
    let both =
        |reason: &str| says(&world, WD) == reason && federated(&world.wd(WD).unwrap()).unwrap().1 == reason;
    until("the cell to be named", || both("CellUnreachable")).await;
    karmada.work(600).await;
    assert!(both("CellUnreachable"));
    world.hub.patch_status("Cluster", "", "cell-2", &ready("True")).unwrap();
    until("the move", || both("Moving")).await;
    // While it moves, the cell goes down once more.
    world.hub.patch_status("Cluster", "", "cell-2", &ready("False")).unwrap();
    until("the cell to be named", || both("CellUnreachable")).await;
    world.hub.patch_status("Cluster", "", "cell-2", &ready("True")).unwrap();
    arrives(&world, &karmada, &hub_uid).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f6_f7_the_old_citys_policy_goes_with_the_last_wd_that_left() {
    let world = World::new();
    let (run, karmada) = two_in_dfw(&world).await;
    go_to(&world, WD, "ORD");
    go_to(&world, "sibling", "ORD");
    for name in [WD, "sibling"] {
        karmada.until("the other cell", || karmada.bound(&world, name) == ["cell-2"]).await;
        karmada.report(&world, name, 1);
    }
    karmada.until("the policy to go", || world.policy("city-dfw").is_none()).await;
    for name in [WD, "sibling"] {
        karmada.until("the end of the move", || !is_moving(&world, name)).await;
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f6_a_touch_that_karmada_overlooks_is_made_again_and_not_too_often() {
    let world = World::new();
    let (run, karmada) = two_in_dfw(&world).await;
    let hub_uid = uid(&world.hub_wd(WD).unwrap());
    *karmada.lost.borrow_mut() = 3;
    let from = world.positions();
    go_to(&world, WD, "ORD");
    karmada.until("the touches", || *karmada.lost.borrow() == 0).await;
    arrives(&world, &karmada, &hub_uid).await;
    let [hub, ..] = world.writes(from);
    let touches = hub.iter().filter(|w| *w == "patch propagationpolicies/city-dfw").count();
    assert_eq!(touches, 4, "{hub:?}");
    // Karmada is away for an hour; a sibling keeps the policy.
    put_wd(&world.alpha, "other", "ORD");
    until("the other", || world.hub_wd("other").is_some()).await;
    let from = world.positions();
    go_to(&world, WD, "DFW");
    quiet(3600).await;
    let touches = world.writes(from)[0].iter().filter(|w| w.starts_with("patch propagationpolicies")).count();
    assert!((10..80).contains(&touches), "{touches}");
    karmada.until("the first cell", || karmada.bound(&world, WD) == ["cell-1"]).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f6_back_and_forth_within_seconds_ends_where_it_was_told_to_go_last() {
    for millis in [0, 20, 300, 1500] {
        let world = World::new();
        let (run, karmada) = two_in_dfw(&world).await;
        let hub_uid = uid(&world.hub_wd(WD).unwrap());
        for city in ["ORD", "DFW", "ORD", "DFW", "ORD"] {
            go_to(&world, WD, city);
            for _ in 0..millis / 10 {
                karmada.step();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        arrives(&world, &karmada, &hub_uid).await;
        go_to(&world, WD, "DFW");
        quiet(1).await;
        karmada.until("the first cell", || karmada.bound(&world, WD) == ["cell-1"]).await;
        karmada.report(&world, WD, 3);
        karmada.until("the end", || !is_moving(&world, WD) && says(&world, WD) == "cell1").await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f6_a_kill_between_any_two_writes_of_a_move_ends_the_same() {
    // Each of these writes is the one before which the process is killed.
    for (verb, resource) in [
        ("create", "propagationpolicies"),
        ("update", "workloaddeployments"),
        ("patch", "propagationpolicies"),
        ("update", "workloaddeployments/status"),
    ] {
        for second in [false, true] {
            let world = World::new();
            let (run, karmada) = two_in_dfw(&world).await;
            let hub_uid = uid(&world.hub_wd(WD).unwrap());
            if second {
                // Of the two writes of that kind, the one that takes the mark off.
                go_to(&world, WD, "ORD");
                karmada.until("the other cell", || karmada.bound(&world, WD) == ["cell-2"]).await;
            }
            let dead = [&world.hub, &world.alpha].map(|s| (s, s.fault(Fault::Hang.on(verb, resource))));
            if second {
                karmada.report(&world, WD, 2);
            } else {
                go_to(&world, WD, "ORD");
            }
            quiet(5).await;
            run.queue.close();
            run.planes.stop().await;
            for (server, id) in dead {
                server.clear_fault(id);
            }
            karmada.work(5).await;
            let run = world.run();
            arrives(&world, &karmada, &hub_uid).await;
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f6_what_an_older_version_relabelled_without_moving_it_moves_now() {
    let world = World::new();
    let (run, karmada) = two_in_dfw(&world).await;
    let hub_uid = uid(&world.hub_wd(WD).unwrap());
    run.stop().await;
    go_to(&world, WD, "ORD");
    put_wd(&world.alpha, "other", "ORD");
    let relabel = json!({"metadata": {"labels": {CITY_CODE: "ORD"}}, "spec": {"cityCode": "ORD"}});
    world.hub.patch(DEPLOYMENT, &hub_space(&world.alpha), WD, &relabel).unwrap();
    let run = world.run();
    arrives(&world, &karmada, &hub_uid).await;
    assert!(world.policy("city-dfw").unwrap()["metadata"]["annotations"][TOUCHED].is_string());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i10_a_wd_stays_where_it_is_until_its_new_city_has_a_cell() {
    let world = World::new();
    let (run, karmada) = two_in_dfw(&world).await;
    let before = world.hub_wd(WD);
    go_to(&world, WD, "SEA");
    until("the refusal", || says(&world, WD) == "NoCellForCity").await;
    karmada.work(60).await;
    assert_eq!(world.hub_wd(WD), before);
    assert!(world.policy("city-dfw").is_some() && world.policy("city-sea").is_none());
    world.put_cell("cell-3", "SEA");
    karmada.until("the new cell", || karmada.bound(&world, WD) == ["cell-3"]).await;
    karmada.report(&world, WD, 2);
    karmada.until("the end", || !is_moving(&world, WD) && says(&world, WD) == "cell3").await;
    run.stop().await;
}
