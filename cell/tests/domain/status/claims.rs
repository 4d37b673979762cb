use fedhub_api::cells::CellId;
use fedhub_api::instance_types::Size;
use fedhub_cell::domain::quota::claim::{self, ClaimOwnership, is_free, is_same_request, ownership, renamed};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::ProjectNamespace;
use serde_json::json;

use super::support::*;

fn space(labels: &[(&str, &str)]) -> Object {
    but(object(Kind::Namespace, "ns-a"), |o| {
        o.metadata.labels = Some(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
    })
}

fn consumer() -> ProjectNamespace {
    let labels = [
        ("meta.datumapis.com/upstream-cluster-name", "cluster-org_alpha"),
        ("meta.datumapis.com/upstream-namespace", "shop"),
    ];
    ProjectNamespace::from_hub_namespace(&space(&labels)).unwrap()
}

fn cell(name: &str, uid: &str) -> CellId {
    CellId { name: name.into(), uid: uid.into() }
}

fn dfw() -> CellId {
    cell("dfw", "k")
}

fn wd_0() -> Object {
    instance("wd-0", &["Quota"], &[])
}

#[test]
fn a_claim_says_who_asks_for_what() {
    let size = Size { millicores: 1000, mebibytes: 2048 };
    let made = claim::of(&wd_0(), &dfw(), &consumer(), size);
    let project = json!({"apiGroup": "resourcemanager.miloapis.com", "kind": "Project", "name": "alpha"});
    let projection = json!({
        "apiGroup": "compute.datumapis.com", "kind": "Instance", "name": "wd-0", "namespace": "shop",
    });
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({
            "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
            "metadata": {
                "name": "instance-wd-0-k", "namespace": "shop",
                "labels": {"compute.datumapis.com/source-cluster": "dfw", "compute.datumapis.com/instance-namespace": "ns-a"},
                "annotations": {"federation.datumapis.com/cell-source": "dfw/k/uid-of-wd-0"},
            },
            "spec": {"consumerRef": project, "resourceRef": projection, "requests": [
                {"resourceType": "compute.datumapis.com/instances", "amount": 1},
                {"resourceType": "compute.datumapis.com/vcpus", "amount": 1000},
                {"resourceType": "compute.datumapis.com/memory", "amount": 2048},
            ]},
        })
    );
}

#[test]
fn a_namespace_without_both_labels_names_no_consumer() {
    let plane = "meta.datumapis.com/upstream-cluster-name";
    let name = "meta.datumapis.com/upstream-namespace";
    for labels in [
        &[][..],
        &[(plane, "cluster-a")],
        &[(name, "shop")],
        &[(plane, "cluster-"), (name, "shop")],
        &[(plane, "cluster-a"), (name, "")],
    ] {
        assert_eq!(ProjectNamespace::from_hub_namespace(&space(labels)), None, "{labels:?}");
    }
}

fn made() -> Object {
    claim::of(&wd_0(), &dfw(), &consumer(), Size { millicores: 500, mebibytes: 1024 })
}

fn marked(mark: Option<&str>) -> Object {
    let bare = but(made(), |c| c.metadata.annotations = None);
    match mark {
        Some(mark) => annotated(bare, "federation.datumapis.com/cell-source", mark),
        None => bare,
    }
}

fn next() -> Object {
    but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()))
}

fn elsewhere() -> Object {
    but(wd_0(), |i| i.metadata.namespace = Some("ns-b".to_owned()))
}

fn unlabelled() -> Object {
    but(made(), |c| c.metadata.labels = None)
}

#[test]
fn c10_the_name_of_a_claim_has_the_uid_of_its_cell() {
    assert_eq!(claim::name("wd-0", &dfw()), "instance-wd-0-k");
    assert_eq!(claim::instance_of(&made(), &dfw()), Some(("ns-a", "wd-0")));
    assert_eq!(claim::instance_of(&made(), &cell("ord", "k")), Some(("ns-a", "wd-0")), "renamed");
    assert_eq!(claim::instance_of(&made(), &cell("dfw", "l")), None, "another cluster of the name");
    assert_eq!(claim::instance_of(&unlabelled(), &dfw()), None);
    for name in ["wd-0-k", "instance-wd-0", "instance-wd-0k", "instance-wd-0-kk", "instance-k"] {
        let other = but(made(), |c| c.metadata.name = Some(name.to_owned()));
        assert_eq!(claim::instance_of(&other, &dfw()), None, "{name}");
    }
    let long = "w".repeat(63);
    let uid = "2f6b1c0e-6c1f-4d5f-9a3c-0c5e6b1f2a3d";
    assert!(claim::name(&format!("{long}-999"), &cell("dfw", uid)).len() <= 253);
}

#[test]
fn c10_a_claim_is_its_instances_by_the_mark_alone() {
    for (claim, instance, cell, expected) in [
        (made(), wd_0(), dfw(), ClaimOwnership::Ours),
        (made(), wd_0(), cell("ord", "k"), ClaimOwnership::Ours),
        (made(), next(), dfw(), ClaimOwnership::Previous),
        (made(), next(), cell("ord", "k"), ClaimOwnership::Previous),
        (made(), elsewhere(), dfw(), ClaimOwnership::Unmarked),
        (made(), wd_0(), cell("dfw", "l"), ClaimOwnership::Unmarked),
        (unlabelled(), wd_0(), dfw(), ClaimOwnership::Unmarked),
        (unlabelled(), next(), dfw(), ClaimOwnership::Unmarked),
        (but(made(), dying), wd_0(), dfw(), ClaimOwnership::Terminating),
        (marked(None), wd_0(), dfw(), ClaimOwnership::Unmarked),
        (marked(Some("dfw/uid-of-wd-0")), wd_0(), dfw(), ClaimOwnership::Unmarked),
        (marked(Some("dfw/twin/uid-of-wd-0")), wd_0(), dfw(), ClaimOwnership::Unmarked),
        (marked(Some("dfw")), wd_0(), dfw(), ClaimOwnership::Unmarked),
    ] {
        assert_eq!(ownership(&claim, &instance, &cell), expected, "{claim:?}");
        // Only what is this cell's is ever deleted (I9).
        let is_its = matches!(expected, ClaimOwnership::Ours | ClaimOwnership::Previous);
        assert!(is_its || instance.namespace() != "ns-a" || !is_free(&claim, &cell, true, None), "{claim:?}");
    }
}

#[test]
fn c6_a_claim_of_anything_else_is_not_the_request() {
    let sized = |millicores| claim::of(&wd_0(), &dfw(), &consumer(), Size { millicores, mebibytes: 2048 });
    assert!(is_same_request(&sized(1000), &sized(1000)));
    let changed = |pointer: &str, value: serde_json::Value| {
        but(sized(1000), |c| *c.data.pointer_mut(pointer).unwrap() = value)
    };
    for other in [
        sized(1),
        made(),
        changed("/spec/requests/0/amount", json!(0)),
        changed("/spec/consumerRef/name", json!("beta")),
        changed("/spec/resourceRef/name", json!("wd-1")),
        changed("/spec/requests", json!(null)),
        changed("/spec", json!(null)),
    ] {
        assert!(!is_same_request(&other, &sized(1000)), "{:?}", other.data);
    }
}

#[test]
fn c8_a_claim_is_free_where_its_instance_is_gone_or_quota_is_off_and_it_is_this_cells() {
    // The claim, what is there, and whether it is free with quota on and off (C6).
    let table = [
        (made(), None, true, true),
        (made(), Some(wd_0()), false, true),
        (made(), Some(but(wd_0(), dying)), false, true),
        (made(), Some(next()), true, true),
        (but(made(), dying), None, false, false),
        (unlabelled(), None, false, false),
        (marked(None), None, false, false),
        (marked(None), Some(next()), false, false),
        (marked(Some("dfw/uid-of-wd-0")), None, false, false),
        (marked(Some("dfw/uid-of-wd-0")), Some(wd_0()), false, false),
        (marked(Some("dfw/twin/uid-of-wd-0")), None, false, false),
        (marked(Some("ord/1")), None, false, false),
        (marked(Some("dfw-2/k2/1")), None, false, false),
        (marked(Some("dfw")), None, false, false),
    ];
    for (row, (claim, there, on, off)) in table.into_iter().enumerate() {
        let free = |needed| is_free(&claim, &dfw(), needed, there.as_ref());
        assert_eq!((free(true), free(false)), (on, off), "row {row}");
    }
    assert!(is_free(&made(), &cell("ord", "k"), true, None), "C10: renamed");
    assert!(!is_free(&made(), &cell("dfw", "l"), true, None));
}

#[test]
fn c10_a_claim_gets_the_name_that_the_cell_has_now() {
    assert_eq!(renamed(&made(), &wd_0(), &dfw()), None);
    let metadata = json!({
        "labels": {"compute.datumapis.com/source-cluster": "ord"},
        "annotations": {"federation.datumapis.com/cell-source": "ord/k/uid-of-wd-0"},
    });
    assert_eq!(renamed(&made(), &wd_0(), &cell("ord", "k")), Some(metadata));
}
