//! W1, W3: while the rollout of a Workload is paused, no WD gets another template and none is created; all
//! else goes on.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use fedhub_api::facts::Digest;
use fedhub_cache::digest::Version;
use fedhub_core::names::{PlaneName, RESTARTED_AT, ROLLOUT_PAUSED, WORKLOAD_FINALIZER, WORKLOAD_UID};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_planes::{ServiceState, WriteState};
use fedhub_workload::locations::{Authority, Locations};
use fedhub_workload::networks::Networks;
use fedhub_workload::workload_controller::desired::desired;
use fedhub_workload::workload_controller::plan::{WorkloadPlan, plan};
use fedhub_workload::workload_controller::snapshot::{Learnt, Snapshot};
use fedhub_workload::workload_controller::summary::Summary;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::workload_controller::support::*;

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "1/1 instances are ready");
const CITIES: [&str; 3] = ["DFW", "LHR", "ORD"];

fn paused(value: Option<&str>) -> Value {
    json!({"metadata": {"annotations": {ROLLOUT_PAUSED: value}}})
}

/// A Workload in some cities whose rollout is paused or not.
pub fn web(cities: &[&str], image: &str, restarted: Option<&str>, is_paused: bool) -> Object {
    let mut web = workload("web", cities);
    web["metadata"]["uid"] = json!("u");
    web["metadata"]["resourceVersion"] = json!("1");
    web["metadata"]["finalizers"] = json!([WORKLOAD_FINALIZER]);
    web["spec"]["template"] = template(image);
    if let Some(time) = restarted {
        web["spec"]["template"]["metadata"] = json!({"annotations": {RESTARTED_AT: time}});
    }
    if is_paused {
        web["metadata"]["annotations"] = json!({ROLLOUT_PAUSED: "true"});
    }
    serde_json::from_value(web).unwrap()
}

/// What is seen of `web` beside these WDs, whose deletion a live read has confirmed.
pub fn seen(web: &Object, deployments: &[Object]) -> Snapshot {
    let plane = PlaneId::Project(PlaneName::new("alpha").unwrap());
    let digest = |kind: Kind, object: &Object| Digest::new(&plane, kind, object);
    let deployments = deployments.iter();
    Snapshot {
        key: Key { plane: plane.clone(), kind: Kind::Workload, namespace: SPACE.into(), name: "web".into() },
        workload: Some(digest(Kind::Workload, web)),
        deployments: deployments
            .map(|wd| (wd.name().to_owned(), digest(Kind::WorkloadDeployment, wd)))
            .collect(),
        rollout: None,
        locations: Locations { by: Authority::Cells, cities: CITIES.map(str::to_owned).into() },
        type_state: None,
        networks: Networks::Unknown,
        writes: WriteState::Active,
        service: ServiceState::Active,
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
        stalled: Duration::ZERO,
        options: OPTIONS,
        learnt: Learnt { confirmed: Some(Version::new("1")), unrecorded: true, ..Learnt::default() },
        turns: OnceLock::new(),
    }
}

/// What is planned where the status says already what it is to say.
pub fn planned(mut seen: Snapshot) -> WorkloadPlan {
    seen.learnt.status_settled = seen.facts().map(|facts| Summary::new(&seen, facts, "u").content());
    plan(&seen)
}

/// The WDs that the controller makes of `web`.
pub fn made_of(web: &Object) -> Vec<Object> {
    let seen = seen(web, &[]);
    let sites = seen.sites("u").into_iter().flat_map(|(_, sites)| sites);
    sites.map(|site| desired(web, &site.name, &site.wanted, None)).collect()
}

pub fn written(create: &[&str], update: &[&str], delete: &[&str]) -> WorkloadPlan {
    let names = |names: &[&str]| names.iter().map(|name| format!("web-{name}")).collect();
    WorkloadPlan::Write { create: names(create), update: names(update), delete: names(delete) }
}

#[test]
fn w1_a_pause_holds_back_templates_and_new_cities_and_nothing_else() {
    let time = Some("2026-01-01T00:00:00Z");
    let scaled = |mut web: Object| {
        web.data["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(3);
        web
    };
    let moved = |mut web: Object| {
        web.data["spec"]["placements"][0]["name"] = json!("eu");
        web
    };
    let unlabelled = |mut wds: Vec<Object>| {
        wds[0].metadata.labels.as_mut().unwrap().remove(WORKLOAD_UID);
        wds
    };
    let before = |cities: &[&str]| made_of(&web(cities, "a:1", None, false));
    let of = |cities: &[&str], image: &str, restarted| web(cities, image, restarted, true);
    let synced = WorkloadPlan::Synced;
    let update = || written(&[], &["us-dfw"], &[]);
    let moved_there = written(&["eu-dfw"], &[], &[]);
    for (what, web, deployments, expected, resumed) in [
        ("nothing", of(&["DFW"], "a:1", None), before(&["DFW"]), synced.clone(), synced.clone()),
        ("a new image", of(&["DFW"], "a:2", None), before(&["DFW"]), synced.clone(), update()),
        ("a restart", of(&["DFW"], "a:1", time), before(&["DFW"]), synced.clone(), update()),
        (
            "a new city",
            of(&["DFW", "ORD"], "a:1", None),
            before(&["DFW"]),
            synced.clone(),
            written(&["us-ord"], &[], &[]),
        ),
        ("no city yet", of(&["DFW"], "a:1", None), vec![], synced.clone(), written(&["us-dfw"], &[], &[])),
        ("a scale and an image", scaled(of(&["DFW"], "a:2", None)), before(&["DFW"]), update(), update()),
        ("a label", of(&["DFW"], "a:2", None), unlabelled(before(&["DFW"])), update(), update()),
        (
            "a city less",
            of(&["DFW"], "a:2", None),
            before(&["DFW", "ORD"]),
            written(&[], &[], &["us-ord"]),
            written(&[], &["us-dfw"], &["us-ord"]),
        ),
        (
            "another city in its place",
            of(&["DFW"], "a:1", None),
            before(&["ORD"]),
            synced.clone(),
            written(&["us-dfw"], &[], &[]),
        ),
        ("a placement's name", moved(of(&["DFW"], "a:1", None)), before(&["DFW"]), synced, moved_there),
    ] {
        assert_eq!(planned(seen(&web, &deployments)), expected, "{what}");
        let mut web = web;
        web.metadata.annotations = None;
        assert_eq!(planned(seen(&web, &deployments)), resumed, "{what}, resumed");
    }
}

/// A placement was renamed while paused: its WD stays, whatever becomes of the city meanwhile.
#[test]
fn w1_w7_while_paused_no_deployment_gives_way_to_one_that_cannot_be_created() {
    let mut web = web(&["DFW"], "a:1", None, true);
    let before = made_of(&web);
    web.data["spec"]["placements"][0]["name"] = json!("eu");
    let mut seen = seen(&web, &before);
    seen.locations.cities.remove("DFW");
    assert_eq!(planned(seen), WorkloadPlan::Synced);
}

proptest! {
    #[test]
    fn w1_of_a_paused_workload_no_template_changes_and_no_deployment_is_created(
        cities in proptest::sample::subsequence(CITIES.to_vec(), 1..=3),
        image in 0..3usize,
        restarted in proptest::option::of(0..3usize),
        wds in proptest::collection::vec(
            (proptest::bool::ANY, 0..3usize, proptest::option::of(0..3usize), 1..3i64, proptest::bool::ANY), 3),
    ) {
        let images = ["a:1", "a:2", "a:3"];
        let times = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "no time"];
        let web = web(&cities, images[image], restarted.map(|at| times[at]), true);
        let mut deployments = Vec::new();
        for (city, (exists, image, restarted, least, labelled)) in CITIES.into_iter().zip(wds) {
            let was = self::web(&[city], images[image], restarted.map(|at| times[at]), false);
            let mut wd = made_of(&was).remove(0);
            wd.data["spec"]["scaleSettings"]["minReplicas"] = json!(least);
            if !labelled {
                wd.metadata.labels = None;
            }
            deployments.extend(exists.then_some(wd));
        }
        let seen = seen(&web, &deployments);
        if let WorkloadPlan::Write { create, update, delete } = plan(&seen) {
            prop_assert_eq!(create, Vec::<String>::new());
            let sites: Vec<_> = seen.sites("u").into_iter().flat_map(|(_, sites)| sites).collect();
            for name in update {
                let site = sites.iter().find(|site| site.name == name).unwrap();
                let current = deployments.iter().find(|wd| wd.name() == name).unwrap();
                let written = desired(&web, &name, &site.wanted, Some(current));
                prop_assert_eq!(&written.spec()["template"], &current.spec()["template"]);
            }
            let wanted: BTreeSet<_> = sites.iter().map(|site| site.name.clone()).collect();
            prop_assert!(delete.iter().all(|name| !wanted.contains(name)), "{delete:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn w1_w3_a_paused_rollout_is_held_back_over_a_restart_until_it_is_resumed() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 1, READY);
    world.patch("web", &paused(Some("true")));
    quiet(5).await;
    let said = |expected: (&str, &str)| {
        let (status, reason, message) = world.said("web", "Progressing");
        assert_eq!(
            (status.as_str(), reason.as_str(), message.as_str()),
            (expected.0, "RolloutPaused", expected.1)
        );
    };
    said(("False", "The rollout is paused. All instances are on the newest template"));
    let before = world.wd("web-us-dfw").unwrap();
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    world.place("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!((world.wds(), world.wd("web-us-dfw").unwrap()), (vec!["web-us-dfw".to_owned()], before));
    let held =
        "The rollout is paused, which holds back a new template in \"DFW\" and new deployments in \"ORD\"";
    said(("Unknown", held));
    let web = world.workload("web");
    assert_eq!(web["status"]["observedGeneration"], web["metadata"]["generation"]);
    assert_eq!(world.said("web", "Available").1, "AvailablePlacementFound");
    // Nothing of it is kept in the process, and what was scaled meanwhile is passed on.
    run.stop().await;
    let from = position(&world.project);
    let run = world.run();
    quiet(600).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    let mut placements = web["spec"]["placements"].clone();
    placements[0]["scaleSettings"]["minReplicas"] = json!(3);
    world.patch("web", &json!({"spec": {"placements": placements}}));
    quiet(5).await;
    let wd = world.wd("web-us-dfw").unwrap();
    assert_eq!(wd["spec"]["scaleSettings"]["minReplicas"], 3);
    assert_eq!(wd["spec"]["template"], template("nginx:1"));
    world.patch("web", &paused(None));
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    for wd in ["web-us-dfw", "web-us-ord"] {
        assert_eq!(world.wd(wd).unwrap()["spec"]["template"], template("nginx:2"), "{wd}");
    }
    assert_eq!(world.said("web", "Progressing").1, "RolloutInProgress");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_w2_w10_a_pause_neither_holds_a_deletion_nor_the_history() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.patch("web", &paused(Some("true")));
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let current = "compute.datumapis.com/current-revision";
    assert_eq!(world.workload("web")["metadata"]["annotations"][current], "2");
    // What was edited by hand is put right, the template at the revision that the deployment carries (R2).
    let edit = json!({"spec": {"template": template("hand:1"), "scaleSettings": {"minReplicas": 9}}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &edit).unwrap();
    quiet(5).await;
    let wd = world.wd("web-us-dfw").unwrap();
    assert_eq!(
        (&wd["spec"]["template"], &wd["spec"]["scaleSettings"]["minReplicas"]),
        (&template("nginx:1"), &json!(1))
    );
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(5).await;
    assert!(world.wds().is_empty() && world.project.get("Workload", SPACE, "web").is_none());
    run.stop().await;
}
