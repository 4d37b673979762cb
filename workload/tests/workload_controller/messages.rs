//! What users read of a Workload, in `tests/snapshots`.

use std::sync::OnceLock;
use std::time::Duration;

use fedhub_api::conditions::{find, said};
use fedhub_api::facts::workload::NETWORK_NOT_FOUND;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_api::reason::Reason;
use fedhub_core::names::{PlaneName, ROLLOUT_PAUSED};
use fedhub_core::object::{Key, Kind, Object, PlaneId};
use fedhub_planes::{ServiceState, WriteState};
use fedhub_testing::{Messages, assert_messages};
use fedhub_workload::locations::{Authority, Locations};
use fedhub_workload::networks::Networks;
use fedhub_workload::workload_controller::desired::desired;
use fedhub_workload::workload_controller::revisions::not_recorded;
use fedhub_workload::workload_controller::snapshot::{Learnt, RefusedDeployment, Snapshot};
use fedhub_workload::workload_controller::summary::Summary;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::workload_controller::support;

fn plane() -> PlaneId {
    PlaneId::Project(PlaneName::new("alpha").unwrap())
}

fn object(value: Value) -> Object {
    let mut object: Object = serde_json::from_value(value).unwrap();
    object.metadata.uid.get_or_insert_with(|| "u".to_owned());
    object.metadata.generation.get_or_insert(1);
    object
}

/// A WD of the Workload in DFW whose condition `Available` is that, with counters.
fn deployment(workload_uid: &str, available: (&str, &str, &str), updated: i32) -> Digest {
    let (status, reason, message) = available;
    let workload = object(support::workload("web", &["DFW"]));
    let empty = seen(&workload, None, Authority::Cells);
    let site = empty.sites(workload_uid).remove(0).1.remove(0);
    let mut wd = desired(&workload, &site.name, &site.wanted, None);
    wd.metadata.generation = Some(1);
    wd.data["status"] = json!({
        "observedGeneration": 1, "replicas": 3, "desiredReplicas": 3, "updatedReplicas": updated,
        "readyReplicas": if status == "True" { 3 } else { 0 },
        "conditions": [support::condition("Available", status, reason, message)],
    });
    Digest::new(&plane(), Kind::WorkloadDeployment, &wd)
}

fn seen(workload: &Object, deployments: Option<Digest>, by: Authority) -> Snapshot {
    let digest = Digest::new(&plane(), Kind::Workload, workload);
    Snapshot {
        type_state: None,
        key: Key {
            plane: plane(),
            kind: Kind::Workload,
            namespace: support::SPACE.into(),
            name: "web".into(),
        },
        workload: Some(digest),
        deployments: deployments.into_iter().map(|wd| ("web-us-dfw".to_owned(), wd)).collect(),
        rollout: None,
        locations: Locations { by, cities: ["DFW".to_owned()].into() },
        networks: Networks::Unknown,
        writes: WriteState::Active,
        service: ServiceState::Active,
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
        stalled: Duration::ZERO,
        options: support::OPTIONS,
        learnt: Learnt::default(),
        turns: OnceLock::new(),
    }
}

/// What the conditions of the Workload say.
fn told(seen: &Snapshot, workload: &Object, quoted: (&str, &str)) -> String {
    let facts = seen.workload.as_ref().and_then(|it| it.workload()).unwrap();
    let status = Summary::new(seen, facts, "u").render(workload, quoted, Timestamp::UNIX_EPOCH);
    let conditions = ["Available", "Progressing"].map(|kind| {
        let (status, reason, message) = said(find(&status, kind).unwrap());
        format!("{kind}={status}, {reason}: {message}")
    });
    let placements = status["placements"].as_array().into_iter().flatten().map(|placement| {
        let (status, reason, message) = said(find(placement, "Available").unwrap());
        format!("placement Available={status}, {reason}: {message}")
    });
    let missing = find(&status, NETWORK_NOT_FOUND.as_str()).map(|missing| {
        let (status, reason, message) = said(missing);
        format!("{NETWORK_NOT_FOUND}={status}, {reason}: {message}")
    });
    conditions.into_iter().chain(placements).chain(missing).collect::<Vec<_>>().join("\n")
}

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "3/3 instances are ready");

/// What is said of a Workload whose rollout is paused; its WD in DFW has the template of `nginx:1`.
fn paused(cities: &[&str], image: &str) -> String {
    let mut workload = object(support::workload("web", cities));
    workload.metadata.annotations = Some([(ROLLOUT_PAUSED.to_owned(), "true".to_owned())].into());
    workload.data["spec"]["template"] = support::template(image);
    let mut seen = seen(&workload, Some(deployment("u", READY, 3)), Authority::Cells);
    seen.locations.cities.insert("ORD".to_owned());
    told(&seen, &workload, ("", ""))
}

/// What is said of a Workload that has left DFW for another city.
fn moved(city: &str) -> String {
    let workload = object(support::workload("web", &[city]));
    let mut seen = seen(&workload, Some(deployment("u", READY, 3)), Authority::Cells);
    seen.locations.cities.insert("ORD".to_owned());
    told(&seen, &workload, ("", ""))
}

/// What is said of a Workload one of whose instances does not get ready, and has not for that long.
fn unready(stalled: Duration) -> String {
    let workload = object(support::workload("web", &["DFW"]));
    let crashing = ("False", "InstancesProvisioning", "2/3 instances are ready. No action required");
    let seen = seen(&workload, Some(deployment("u", crashing, 3)), Authority::Cells);
    told(&Snapshot { stalled, ..seen }, &workload, (crashing.1, crashing.2))
}

/// What is said of a Workload whose service was withdrawn, and of one that is being deleted.
fn ends() -> [(&'static str, String); 4] {
    let mut web = object(support::workload("web", &["DFW", "LHR"]));
    let unserved = Snapshot { service: ServiceState::Withdrawn, ..seen(&web, None, Authority::Cells) };
    let withdrawn = told(&unserved, &web, ("", ""));
    web.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    let terminating = |wd: Option<Digest>, learnt: Learnt| {
        told(&Snapshot { learnt, ..seen(&web, wd, Authority::Cells) }, &web, ("", ""))
    };
    let wd = || Some(deployment("u", READY, 3));
    let message = "failed to delete workloaddeployments on the project plane alpha: denied".to_owned();
    let refusal = RefusedDeployment { reason: Reason::DeploymentsRefused, message };
    let refused = Learnt { refused: [("web-us-dfw".to_owned(), refusal)].into(), ..Learnt::default() };
    let stranger = Learnt { stranger: Some("web-us-dfw".to_owned()), ..Learnt::default() };
    [
        ("its service was withdrawn", withdrawn),
        ("it is being deleted", terminating(wd(), Learnt::default())),
        ("it is being deleted, and a WD is refused", terminating(wd(), refused)),
        ("it is being deleted, and owns a WD of another Workload", terminating(None, stranger)),
    ]
}

fn rollouts() -> [(&'static str, String); 7] {
    [
        ("its rollout is paused", paused(&["DFW"], "nginx:1")),
        ("its rollout is paused with a new template", paused(&["DFW"], "nginx:2")),
        ("its rollout is paused with a new template and cities", paused(&["DFW", "ORD"], "nginx:2")),
        ("its city was swapped for another", moved("ORD")),
        ("its city was swapped for one that cannot be placed", moved("LHR")),
        ("its instances are not ready", unready(Duration::ZERO)),
        ("its instances do not get ready", unready(Duration::from_mins(10))),
    ]
}

#[test]
fn w3_w7_i11_messages() {
    let web = |cities: &[&str]| object(support::workload("web", cities));
    let quota =
        ("False", "QuotaExceeded", "0 of 3 Instances. Action required by the user: ask for more quota");
    let of = |cities: &[&str], wd: Option<Digest>, by: Authority, quoted: (&str, &str)| {
        let workload = web(cities);
        told(&seen(&workload, wd, by), &workload, quoted)
    };
    let cells = Authority::Cells;
    let bindings = Authority::LocationBindings;
    let many = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];
    let mut refused = seen(&web(&["DFW"]), None, cells);
    let message = "failed to create workloaddeployments".to_owned();
    let refusal = RefusedDeployment { reason: Reason::DeploymentsRefused, message };
    refused.learnt.refused.insert("web-us-dfw".to_owned(), refusal);
    let mut broken = web(&["DFW"]);
    broken.data["spec"]["placements"] = json!("us");
    let without = |names: &[&str], wd: Option<Digest>| {
        let workload = web(&["DFW"]);
        let missing = names.iter().map(|name| Box::from(*name)).collect();
        told(
            &Snapshot { networks: Networks::Known { missing }, ..seen(&workload, wd, cells) },
            &workload,
            ("", ""),
        )
    };
    let mut messages = Messages::default();
    messages.section(
        "Conditions of a Workload",
        [
            ("nothing is known yet", of(&["DFW"], None, cells, ("", ""))),
            ("its WD is available", of(&["DFW"], Some(deployment("u", READY, 3)), cells, ("", ""))),
            ("a new template is on its way", of(&["DFW"], Some(deployment("u", READY, 1)), cells, ("", ""))),
            ("its WD is blocked", of(&["DFW"], Some(deployment("u", quota, 0)), cells, (quota.1, quota.2))),
            ("no cell", of(&["LHR"], None, cells, ("", ""))),
            (
                "no cell in one of two cities",
                of(&["DFW", "LHR"], Some(deployment("u", READY, 3)), cells, ("", "")),
            ),
            ("no location", of(&["LHR", "NRT"], None, bindings, ("", ""))),
            ("many cities without a location", of(&many, None, bindings, ("", ""))),
            ("a WD of another Workload", of(&["DFW"], Some(deployment("v", READY, 3)), cells, ("", ""))),
            ("a city that is no label value", of(&["New York"], None, cells, ("", ""))),
            ("a city twice", of(&["DFW", "dfw"], Some(deployment("u", READY, 3)), cells, ("", ""))),
            ("a WD that is refused", told(&refused, &web(&["DFW"]), ("", ""))),
            ("a network that does not exist", without(&["default"], None)),
            ("many networks that do not exist", without(&many, None)),
            (
                "a network that does not exist, and its WD is available",
                without(&["default"], Some(deployment("u", READY, 3))),
            ),
        ]
        .into_iter()
        .chain(rollouts())
        .chain([("a spec that cannot be read", told(&seen(&broken, None, cells), &broken, ("", "")))]),
    );
    messages.section("Conditions of a Workload that ends", ends());
    let error = "failed to update configmaps on the project plane alpha: field is immutable";
    let event = not_recorded("compute.datumapis.com-revision-history.web", error);
    messages.section("Events of a Workload", [(Reason::RevisionNotRecorded.as_str(), event)]);
    assert_messages!("workload_controller", messages);
}
