use fedhub_api::cells::CellId;
use fedhub_api::instance_types::Size;
use fedhub_cell::domain::quota::claim::{self, ClaimOwnership, is_free, ownership, remarked};
use fedhub_cell::domain::quota::sizing::Sizing;
use fedhub_core::object::{Kind, Object};
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
    ProjectNamespace::of(&space(&labels)).unwrap()
}

fn cell(name: &str, uid: &str) -> CellId {
    CellId { name: name.into(), uid: uid.into() }
}

fn dfw() -> CellId {
    cell("dfw", "k")
}

fn had_none(_: &str) -> bool {
    false
}

fn wd_0() -> Object {
    instance("wd-0", &["Quota"], &[])
}

#[test]
fn a_claim_says_who_asks_for_what() {
    let size = Size { millicores: 1000, mebibytes: 2048 };
    let made = claim::of(&wd_0(), &dfw(), &consumer(), &Sizing::Known(size));
    let project = json!({"apiGroup": "resourcemanager.miloapis.com", "kind": "Project", "name": "alpha"});
    let projection = json!({
        "apiGroup": "compute.datumapis.com", "kind": "Instance", "name": "wd-0", "namespace": "shop",
    });
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({
            "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
            "metadata": {
                "name": "instance-wd-0", "namespace": "shop",
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
    let counted = claim::of(&wd_0(), &dfw(), &consumer(), &Sizing::Unknown("x".to_owned()));
    let count = json!([{"resourceType": "compute.datumapis.com/instances", "amount": 1}]);
    assert_eq!(counted.data["spec"]["requests"], count);
}

#[test]
fn a_namespace_without_both_labels_names_no_consumer() {
    let (plane, name) = ("meta.datumapis.com/upstream-cluster-name", "meta.datumapis.com/upstream-namespace");
    for labels in [
        &[][..],
        &[(plane, "cluster-a")],
        &[(name, "shop")],
        &[(plane, "cluster-"), (name, "shop")],
        &[(plane, "cluster-a"), (name, "")],
    ] {
        assert_eq!(ProjectNamespace::of(&space(labels)), None, "{labels:?}");
    }
}

fn marked(mark: Option<&str>) -> Object {
    let made = claim::of(&wd_0(), &dfw(), &consumer(), &Sizing::Unknown(String::new()));
    let bare = but(made, |c| c.metadata.annotations = None);
    match mark {
        Some(mark) => annotated(bare, "federation.datumapis.com/cell-source", mark),
        None => bare,
    }
}

#[test]
fn c8_a_claim_is_told_from_an_earlier_instances_and_another_cells() {
    let made = || claim::of(&wd_0(), &dfw(), &consumer(), &Sizing::Unknown(String::new()));
    let next = || but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()));
    let ownership =
        |claim: &Object, instance: &Object, cell: &CellId| ownership(claim, instance, cell, had_none);
    assert_eq!(ownership(&made(), &wd_0(), &dfw()), ClaimOwnership::Ours);
    assert_eq!(claim::instance_of(&made(), &dfw()), Some(("ns-a", "wd-0")));
    assert_eq!(claim::instance_of(&made(), &cell("ord", "k")), Some(("ns-a", "wd-0")), "C10: renamed");
    assert_eq!(claim::instance_of(&made(), &cell("ord", "l")), None);
    assert_eq!(ownership(&made(), &wd_0(), &cell("ord", "k")), ClaimOwnership::Ours);
    assert_eq!(ownership(&made(), &next(), &cell("ord", "k")), ClaimOwnership::Previous);
    assert_eq!(ownership(&marked(None), &wd_0(), &dfw()), ClaimOwnership::Ours, "older");
    assert_eq!(ownership(&but(made(), dying), &wd_0(), &dfw()), ClaimOwnership::Terminating);
    assert_eq!(ownership(&made(), &next(), &dfw()), ClaimOwnership::Previous);
    assert_eq!(ownership(&made(), &wd_0(), &cell("ord", "l")), ClaimOwnership::Foreign);
    assert_eq!(
        ownership(&made(), &but(wd_0(), |i| i.metadata.namespace = Some("ns-b".to_owned())), &dfw()),
        ClaimOwnership::Foreign
    );
    assert_eq!(
        ownership(&but(made(), |c| c.metadata.labels = None), &wd_0(), &dfw()),
        ClaimOwnership::Foreign
    );
}

#[test]
fn c10_a_claim_is_this_cells_by_its_uid_and_by_its_name_only_where_it_had_the_instance() {
    let next = but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()));
    for (mark, had, of_this, of_next) in [
        ("dfw/k/uid-of-wd-0", false, ClaimOwnership::Ours, ClaimOwnership::Previous),
        ("dfw/twin/uid-of-wd-0", true, ClaimOwnership::Namesake, ClaimOwnership::Namesake),
        ("dfw/uid-of-wd-0", false, ClaimOwnership::Ours, ClaimOwnership::Namesake),
        ("dfw/uid-of-wd-0", true, ClaimOwnership::Ours, ClaimOwnership::Previous),
        ("ord/uid-of-wd-0", true, ClaimOwnership::Namesake, ClaimOwnership::Namesake),
        ("dfw", true, ClaimOwnership::Namesake, ClaimOwnership::Namesake),
    ] {
        let had_it = |uid: &str| had && uid == "uid-of-wd-0";
        assert_eq!(ownership(&marked(Some(mark)), &wd_0(), &dfw(), had_it), of_this, "{mark}");
        assert_eq!(ownership(&marked(Some(mark)), &next, &dfw(), had_it), of_next, "{mark} {had}");
        // Only what is this cell's is ever deleted.
        let gone = is_free(&marked(Some(mark)), &dfw(), true, None, had_it);
        assert_eq!(gone, of_next == ClaimOwnership::Previous, "{mark} {had}");
    }
}

#[test]
fn c8_a_claim_is_free_where_its_instance_is_gone_or_quota_is_off_and_it_is_this_cells() {
    let made = || claim::of(&wd_0(), &dfw(), &consumer(), &Sizing::Unknown(String::new()));
    let next = but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()));
    // The claim, what is there, and whether it is free with quota on and off (C6).
    let table = [
        (made(), None, true, true),
        (made(), Some(wd_0()), false, true),
        (made(), Some(but(wd_0(), dying)), false, true),
        (made(), Some(next.clone()), true, true),
        (but(made(), dying), None, false, false),
        (but(made(), |c| c.metadata.labels = None), None, false, false),
        (marked(None), None, false, false),
        (marked(None), Some(wd_0()), false, false),
        (marked(None), Some(next.clone()), false, false),
        (marked(Some("dfw/uid-of-wd-0")), Some(wd_0()), false, true),
        (marked(Some("dfw/uid-of-wd-0")), Some(next), false, false),
        (marked(Some("dfw/twin/uid-of-wd-0")), Some(wd_0()), false, false),
        (marked(Some("ord/1")), None, false, false),
        (marked(Some("dfw-2/k2/1")), None, false, false),
        (marked(Some("dfw")), None, false, false),
    ];
    for (row, (claim, there, on, off)) in table.into_iter().enumerate() {
        let free = |needed| is_free(&claim, &dfw(), needed, there.as_ref(), had_none);
        assert_eq!((free(true), free(false)), (on, off), "row {row}");
    }
    assert!(is_free(&made(), &cell("ord", "k"), true, None, had_none), "C10: renamed");
    assert!(!is_free(&made(), &cell("ord", "l"), true, None, had_none));
}

#[test]
fn c10_what_a_claim_says_of_its_cell_is_put_right_while_its_instance_stands() {
    let said = |name: &str| {
        Some(json!({
            "labels": {"compute.datumapis.com/source-cluster": name},
            "annotations": {"federation.datumapis.com/cell-source": format!("{name}/k/uid-of-wd-0")},
        }))
    };
    let whole = said("dfw");
    let next = || but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()));
    let elsewhere = || but(wd_0(), |i| i.metadata.namespace = Some("ns-b".to_owned()));
    for (mark, instance, expected) in [
        (Some("dfw/uid-of-wd-0"), wd_0(), &whole),
        (Some("dfw/uid-of-wd-0"), but(wd_0(), dying), &whole),
        (Some("dfw/uid-of-wd-0"), next(), &None),
        (Some("dfw/uid-of-wd-0"), elsewhere(), &None),
        (Some("dfw/k/uid-of-wd-0"), wd_0(), &None),
        (Some("dfw/twin/uid-of-wd-0"), wd_0(), &None),
        (Some("ord/uid-of-wd-0"), wd_0(), &None),
        (Some("dfw"), wd_0(), &None),
        (None, wd_0(), &None),
    ] {
        assert_eq!(remarked(&marked(mark), &instance, &dfw(), false), *expected, "{mark:?}");
    }
    assert_eq!(remarked(&but(marked(Some("dfw/uid-of-wd-0")), dying), &wd_0(), &dfw(), true), None);
    // Under another name it is the same cell; another cluster under that name is not.
    let made = || marked(Some("dfw/k/uid-of-wd-0"));
    assert_eq!(remarked(&made(), &wd_0(), &cell("ord", "k"), true), said("ord"));
    assert_eq!(remarked(&made(), &wd_0(), &cell("ord", "k"), false), None, "the name may be another's");
    assert_eq!(remarked(&made(), &wd_0(), &cell("ord", "l"), true), None);
    assert_eq!(remarked(&made(), &next(), &cell("ord", "k"), true), None);
}
