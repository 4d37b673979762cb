//! What is released, what is deleted, and what is left.

use std::collections::BTreeSet;

use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_testing::{Messages, assert_messages};
use serde_json::{Value, json};

use super::lease::runs_unelected;
use super::plan::{Hub, Place, Release, emptying, is_preserved, planes, release, unpreserved};
use super::report::{Entry, Line, Outcome, Uninstalled};
use fedhub_terminal::output::Format;
use fedhub_terminal::report::Report;

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn finalized(finalizers: &[&str], terminating: bool) -> Object {
    let mut metadata = json!({"name": "web", "namespace": "shop", "finalizers": finalizers});
    if terminating {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    object(json!({ "metadata": metadata }))
}

/// A Deployment without leader election runs fedhub as long as it has Pods, or is to have them.
#[test]
fn i3_a_deployment_that_runs_without_election_runs_fedhub() {
    let of = |args: &[&str], env: Option<&str>, wanted: Option<i32>, left: i32| {
        let env: Vec<Value> =
            env.iter().map(|it| json!({"name": "FEDHUB_LEADER_ELECT", "value": it})).collect();
        let container = json!({"name": "fedhub", "args": args, "env": env});
        let deployment = json!({
            "metadata": {"name": "fedhub"}, "status": {"replicas": left},
            "spec": {"replicas": wanted, "selector": {}, "template": {"spec": {"containers": [container]}}},
        });
        runs_unelected(&serde_json::from_value(deployment).unwrap())
    };
    for (args, env, wanted, left, expected) in [
        (&["run", "--leader-elect=false"][..], None, Some(1), 1, true),
        (&["run", "--leader-elect", "false"], None, None, 0, true),
        (&["run"], Some("false"), Some(1), 0, true),
        (&["run", "--leader-elect=false"], None, Some(0), 1, true),
        (&["run", "--leader-elect=false"], None, Some(0), 0, false),
        (&["run", "--leader-elect=true"], Some("false"), Some(1), 1, false),
        (&["run"], Some("true"), Some(2), 2, false),
        (&["run"], None, Some(2), 2, false),
        (&["serve", "--leader-elect=false"], None, Some(1), 1, false),
    ] {
        assert_eq!(of(args, env, wanted, left), expected, "{args:?} {env:?} {wanted:?} {left}");
    }
}

#[test]
fn i9_fedhub_s_finalizer_goes_and_every_other_stays() {
    let ours = "compute.datumapis.com/federator";
    let data = "compute.datumapis.com/referenced-data-controller";
    let other = "example.com/a";
    let foreign = "compute.datumapis.com/workload-controller";
    let strip = |others: &[&str]| Release::Strip(others.iter().map(ToString::to_string).collect());
    for (finalizers, terminating, abandon, expected) in [
        (&[][..], false, false, Release::Nothing),
        (&[other], true, true, Release::Nothing),
        (&[ours], false, false, strip(&[])),
        (&[other, ours, foreign], false, false, strip(&[other, foreign])),
        // I3: what it guards is not done.
        (&[ours], true, false, Release::Hold),
        (&[ours, other], true, true, strip(&[other])),
        // Both of fedhub's go with one write.
        (&[ours, other, data], false, false, strip(&[other])),
        (&[data], false, false, strip(&[])),
    ] {
        let released = release(&finalized(finalizers, terminating), &[ours, data], abandon);
        assert_eq!(released, expected, "{finalizers:?} {terminating} {abandon}");
    }
    // A Workload of a project plane and a WD of a cell have the same one.
    let named = |place: Place| {
        place.finalizers().iter().flat_map(|(_, names)| *names).copied().collect::<BTreeSet<_>>()
    };
    assert_eq!(named(Place::Project), BTreeSet::from([ours, data, foreign]));
    assert_eq!(named(Place::Cell), BTreeSet::from([foreign, "compute.datumapis.com/instance-controller"]));
}

fn namespace(name: &str, plane: Option<&str>) -> Object {
    let labels = plane.map(|plane| {
        json!({"meta.datumapis.com/upstream-cluster-name": plane, "meta.datumapis.com/upstream-namespace": "shop"})
    });
    object(json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}}))
}

fn on_hub(kind: &str, namespace: &str, name: &str, metadata: Value) -> Object {
    let mut all = json!({"name": name, "namespace": namespace});
    all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    object(json!({"kind": kind, "apiVersion": "compute.datumapis.com/v1alpha", "metadata": all}))
}

fn wd(namespace: &str, name: &str, mark: Option<&str>) -> Object {
    let annotations = mark.map(|mark| json!({"federation.datumapis.com/source": mark}));
    on_hub("WorkloadDeployment", namespace, name, json!({ "annotations": annotations }))
}

fn policy(namespace: &str, name: &str, city: Option<&str>) -> Object {
    let labels = city.map(|city| json!({"topology.datum.net/city-code": city}));
    on_hub("PropagationPolicy", namespace, name, json!({ "labels": labels }))
}

fn names(objects: &[Object]) -> Vec<String> {
    objects.iter().map(|it| format!("{}/{}", it.namespace(), it.name())).collect()
}

fn hub() -> Hub {
    Hub {
        namespaces: vec![
            namespace("ns-1", Some("cluster-a")),
            namespace("ns-2", Some("cluster-b")),
            namespace("other", None),
        ],
        deployments: vec![
            wd("ns-1", "web", Some("a/shop/web")),
            wd("ns-1", "db", Some("a/shop/db")),
            wd("ns-2", "web", Some("b/shop/web")),
            wd("other", "web", Some("a/shop/web")),
        ],
        policies: vec![
            policy("ns-1", "city-dfw", Some("DFW")),
            policy("ns-1", "mine", None),
            policy("ns-2", "city-dfw", Some("DFW")),
            policy("other", "city-dfw", Some("DFW")),
        ],
        instances: vec![
            on_hub("Instance", "ns-1", "web-0", json!({})),
            on_hub("Instance", "ns-2", "web-0", json!({})),
            on_hub("Instance", "other", "web-0", json!({})),
        ],
        companions: vec![(
            Kind::Secret,
            vec![on_hub("Secret", "ns-1", "db", json!({})), on_hub("Secret", "other", "db", json!({}))],
        )],
    }
}

#[test]
fn i6_the_hub_is_emptied_of_what_carries_every_mark_of_fedhub() {
    assert_eq!(planes(&hub()), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    let plan = emptying(&hub());
    assert_eq!(plan.namespaces, BTreeSet::from(["ns-1".to_owned(), "ns-2".to_owned()]));
    assert_eq!(names(&plan.deployments), ["ns-1/web", "ns-1/db", "ns-2/web"]);
    assert_eq!(names(&plan.policies), ["ns-1/city-dfw", "ns-2/city-dfw"]);
    assert_eq!(names(&plan.instances), ["ns-1/web-0", "ns-2/web-0"]);
    assert_eq!(names(&plan.companions[0].1), ["ns-1/db"]);
    assert_eq!(plan.left.iter().map(|(it, _)| it.name()).collect::<Vec<_>>(), ["mine"]);
    // A WD with another mark, or none: its namespace is left as it is.
    for mark in [None, Some("b/shop/db"), Some("a/shop/web")] {
        let mut hub = hub();
        hub.deployments[1] = wd("ns-1", "db", mark);
        let plan = emptying(&hub);
        assert_eq!(plan.namespaces, BTreeSet::from(["ns-2".to_owned()]), "{mark:?}");
        assert_eq!(names(&plan.deployments), ["ns-2/web"], "{mark:?}");
        assert_eq!(names(&plan.policies), ["ns-2/city-dfw"], "{mark:?}");
        assert_eq!(names(&plan.instances), ["ns-2/web-0"], "{mark:?}");
        assert!(plan.companions[0].1.is_empty(), "{mark:?}");
        let left: BTreeSet<_> = plan.left.iter().map(|(it, _)| it.name()).collect();
        assert_eq!(left, BTreeSet::from(["web", "db", "city-dfw", "mine"]), "{mark:?}");
    }
}

#[test]
fn i4_nothing_is_deleted_before_karmada_has_been_told_to_keep_it() {
    let of = |kind: &str, namespace: &str, id: Option<&str>, preserved: Option<bool>| {
        let labels = id.map(|id| json!({"resourcebinding.karmada.io/permanent-id": id}));
        object(json!({
            "kind": kind, "apiVersion": "work.karmada.io/v1alpha1",
            "metadata": {"name": "web", "namespace": namespace, "labels": labels},
            "spec": {"preserveResourcesOnDeletion": preserved},
        }))
    };
    let ours = BTreeSet::from(["ns-1".to_owned()]);
    let binding = |id, preserved| of("ResourceBinding", "ns-1", id, preserved);
    let work = |id, preserved| of("Work", "karmada-es-cell", Some(id), preserved);
    for (binding, works, open) in [
        (binding(Some("1"), Some(true)), vec![work("1", Some(true))], false),
        (binding(Some("1"), Some(true)), vec![], false),
        (binding(Some("1"), Some(true)), vec![work("1", Some(true)), work("2", None)], false),
        (binding(Some("1"), Some(true)), vec![work("1", Some(true)), work("1", None)], true),
        (binding(Some("1"), Some(true)), vec![work("1", Some(false))], true),
        (binding(Some("1"), Some(false)), vec![work("1", Some(true))], true),
        (binding(Some("1"), None), vec![], true),
        (binding(None, Some(true)), vec![], true),
        (of("ResourceBinding", "other", Some("1"), None), vec![], false),
    ] {
        assert_eq!(
            !unpreserved(&ours, std::slice::from_ref(&binding), &works).is_empty(),
            open,
            "{binding:?} {works:?}"
        );
    }
    assert!(!is_preserved(&policy("ns-1", "city-dfw", Some("DFW"))));
}

#[test]
fn the_report_of_uninstall_reads_well() {
    let entry = |name: &str, outcome: Outcome| Entry {
        kind: "WorkloadDeployment".to_owned(),
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        outcome,
    };
    let line = |plane: &str, entries: Vec<Entry>, problem: Option<&str>| Line {
        plane: plane.to_owned(),
        entries,
        problem: problem.map(str::to_owned),
    };
    let planned = Uninstalled::from_lines(vec![
        line("project-b", vec![], Some("plane-unreachable: no answer within 30 s")),
        line("project-a", vec![entry("web", Outcome::Planned), entry("db", Outcome::Planned)], None),
        line("cell cell-dfw", vec![entry("web", Outcome::Left("it is being deleted".to_owned()))], None),
    ]);
    assert_eq!((planned.planned(), planned.is_clean()), (2, false));
    let clean = Uninstalled::from_lines(vec![line(
        "project-a",
        vec![entry("web", Outcome::Done), entry("db", Outcome::Gone)],
        None,
    )]);
    assert!(clean.is_clean());
    let failed = Uninstalled::from_lines(vec![line(
        "project-a",
        vec![entry("web", Outcome::Failed("no".to_owned()))],
        None,
    )]);
    assert!(!failed.is_clean());
    let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
    let shown = formats.map(|(name, format)| (name, planned.print(format, false)));
    let mut report = Messages::default();
    report.section("Planned", shown).section("Done", [("table", clean.print(Format::Table, false))]);
    assert_messages!("uninstall", report);
}
