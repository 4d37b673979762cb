use fedhub_cell::quota::claim::{self, Consumer, Whose, outlived, whose};
use fedhub_cell::quota::sizing::Sizing;
use fedhub_shared::object::{Kind, Object};
use serde_json::json;

use crate::support::*;

fn space(labels: &[(&str, &str)]) -> Object {
    but(object(Kind::Namespace, "ns-a"), |o| {
        o.metadata.labels = Some(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
    })
}

fn consumer() -> Consumer {
    let labels = [
        ("meta.datumapis.com/upstream-cluster-name", "cluster-org_alpha"),
        ("meta.datumapis.com/upstream-namespace", "shop"),
    ];
    Consumer::of(&space(&labels)).unwrap()
}

fn wd_0() -> Object {
    instance("wd-0", &["Quota"], &[])
}

#[test]
fn a_claim_says_who_asks_for_what() {
    let made = claim::of(&wd_0(), "dfw", &consumer(), &Sizing::Known { millicores: 1000, mebibytes: 2048 });
    let project = json!({"apiGroup": "resourcemanager.miloapis.com", "kind": "Project", "name": "alpha"});
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({
            "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
            "metadata": {
                "name": "instance-wd-0", "namespace": "shop",
                "labels": {"compute.datumapis.com/source-cluster": "dfw", "compute.datumapis.com/instance-namespace": "ns-a"},
                "annotations": {"federation.datumapis.com/cell-source": "dfw/uid-of-wd-0"},
            },
            "spec": {"consumerRef": project, "resourceRef": project, "requests": [
                {"resourceType": "compute.datumapis.com/instances", "amount": 1},
                {"resourceType": "compute.datumapis.com/vcpus", "amount": 1000},
                {"resourceType": "compute.datumapis.com/memory", "amount": 2048},
            ]},
        })
    );
    let counted = claim::of(&wd_0(), "dfw", &consumer(), &Sizing::Unknown("x".to_owned()));
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
        assert_eq!(Consumer::of(&space(labels)), None, "{labels:?}");
    }
}

#[test]
fn c8_a_claim_is_told_from_an_earlier_instances_and_another_cells() {
    let made = || claim::of(&wd_0(), "dfw", &consumer(), &Sizing::Unknown(String::new()));
    assert_eq!(whose(&made(), &wd_0(), "dfw"), Whose::Ours);
    assert_eq!(claim::instance_of(&made(), "dfw"), Some(("ns-a", "wd-0")));
    assert_eq!(claim::instance_of(&made(), "ord"), None);
    assert_eq!(whose(&but(made(), |c| c.metadata.annotations = None), &wd_0(), "dfw"), Whose::Ours, "older");
    assert_eq!(whose(&but(made(), dying), &wd_0(), "dfw"), Whose::Going);
    let next = but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()));
    assert_eq!(whose(&made(), &next, "dfw"), Whose::Earlier);
    assert_eq!(whose(&made(), &wd_0(), "ord"), Whose::Anothers);
    assert_eq!(
        whose(&made(), &but(wd_0(), |i| i.metadata.namespace = Some("ns-b".to_owned())), "dfw"),
        Whose::Anothers
    );
    assert_eq!(whose(&but(made(), |c| c.metadata.labels = None), &wd_0(), "dfw"), Whose::Anothers);
}

#[test]
fn c8_a_claim_has_outlived_its_instance_only_where_another_or_none_is_there() {
    let made = || claim::of(&wd_0(), "dfw", &consumer(), &Sizing::Unknown(String::new()));
    let marked = |mark: Option<&str>| {
        let bare = but(made(), |c| c.metadata.annotations = None);
        match mark {
            Some(mark) => annotated(bare, "federation.datumapis.com/cell-source", mark),
            None => bare,
        }
    };
    let next = but(wd_0(), |i| i.metadata.uid = Some("next".to_owned()));
    let table = [
        (made(), None, true),
        (made(), Some(wd_0()), false),
        (made(), Some(but(wd_0(), dying)), false),
        (made(), Some(next.clone()), true),
        (but(made(), dying), None, false),
        (but(made(), |c| c.metadata.labels = None), None, false),
        (marked(None), None, true),
        (marked(None), Some(next.clone()), false),
        (marked(Some("ord/1")), None, false),
        (marked(Some("dfw-2/1")), None, false),
        (marked(Some("dfw")), None, false),
    ];
    for (row, (claim, there, expected)) in table.into_iter().enumerate() {
        assert_eq!(outlived(&claim, "dfw", there.as_ref()), expected, "row {row}");
    }
    assert!(!outlived(&made(), "ord", None));
}
