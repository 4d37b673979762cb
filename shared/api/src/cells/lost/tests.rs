//! Which cells are lost, by example.

use serde_json::json;

use fedhub_core::object::{Kind, bare, set_field};

use fedhub_core::names::LOST;

use super::*;
use crate::cells::source::tests::marked;

pub(in crate::cells) fn cluster(name: &str, id: &str, lost: Option<&str>) -> Arc<Object> {
    let mut cluster = bare(Kind::Cluster, "", name);
    set_field(&mut cluster, "spec", json!({"id": id}));
    cluster.metadata.annotations = lost.map(|at| [(LOST.to_owned(), at.to_owned())].into());
    Arc::new(cluster)
}

fn now() -> Timestamp {
    "2026-02-01T00:00:00Z".parse().unwrap()
}

#[test]
fn c11_a_declaration_is_checked_against_the_clock_and_against_what_is_known() {
    let long_ago = "2026-01-01T00:00:00Z";
    let declared = "2026-01-20T00:00:00Z";
    let just_now = "2026-02-01T00:04:00Z";
    for (what, annotation, at, ready, refused) in [
        ("Karmada does not reach it", LOST, declared, Some(("False", declared)), None),
        ("Karmada says nothing of it", LOST, declared, None, None),
        ("a clock that is a little ahead", LOST, just_now, None, None),
        ("a year ahead", LOST, "2027-01-20T00:00:00Z", Some(("False", declared)), Some("yet to come")),
        (
            "it runs",
            LOST,
            declared,
            Some(("True", long_ago)),
            Some("Karmada reaches the cell since 2026-01-01"),
        ),
        ("it runs since then", LOST, declared, Some(("True", declared)), Some("Karmada reaches the cell")),
        ("it came back", LOST, declared, Some(("True", "2026-01-21T00:00:00Z")), None),
        ("nobody knows since when it runs", LOST, declared, Some(("True", "")), Some("reaches the cell;")),
        ("another cluster", "lost.federation.datumapis.com/old", declared, Some(("True", long_ago)), None),
        (
            "that very one",
            "lost.federation.datumapis.com/k",
            declared,
            None,
            Some("the cluster of dfw itself"),
        ),
        ("no UID", "lost.federation.datumapis.com/a_b", declared, None, Some("does not end with the UID")),
        (
            "ahead by UID",
            "lost.federation.datumapis.com/old",
            "2027-01-20T00:00:00Z",
            None,
            Some("yet to come"),
        ),
    ] {
        let mut dfw = Object::clone(&cluster("dfw", "k", None));
        dfw.metadata.annotations = Some([(annotation.to_owned(), at.to_owned())].into());
        if let Some((status, since)) = ready {
            let ready = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
            set_field(&mut dfw, "status", json!({"conditions": [ready]}));
        }
        let dfw = Arc::new(dfw);
        let refusal = Declaration::refusal(&dfw, now());
        assert_eq!(refusal.is_some(), refused.is_some(), "{what}: {refusal:?}");
        let words = refusal.unwrap_or_default();
        assert!(refused.is_none_or(|refused| words.contains(refused)), "{what}: {words}");
        assert_eq!(declares(&declaring(&dfw, now(), |_| true)), refused.is_none(), "{what}");
    }
}

#[test]
fn c11_only_an_rfc_3339_time_declares_a_cell_lost() {
    for (value, declares) in [
        ("2026-01-02T15:04:05Z", true),
        ("2026-01-02t15:04:05z", true),
        ("2026-01-02T15:04:05.123Z", true),
        ("2026-01-02T15:04:05+01:00", true),
        ("", false),
        ("true", false),
        ("yesterday", false),
        ("2026-01-02", false),
        ("2026-01-02T15:04Z", false),
        ("2026-01-02T15:04:05", false),
        ("2026-13-02T15:04:05Z", false),
        ("2026-01-02T15:04:05Z[UTC]", false),
        ("20260102T150405Z", false),
        ("1767366245", false),
        ("ü026-01-02T15:04:05Z", false),
    ] {
        let cluster = cluster("cell-1", "", Some(value));
        assert_eq!(lost_since(&cluster).is_some(), declares, "{value}");
        let refusal = Declaration::refusal(&cluster, now());
        assert_eq!(refusal.is_none(), declares, "{value}");
        assert!(refusal.is_none_or(|words| words.contains("cell-1") && words.contains("RFC 3339")));
    }
    assert_eq!(Declaration::from_cluster(&cluster("cell-1", "", None)), None);
}

#[test]
fn c11_the_cluster_of_a_mark_is_found_by_the_uid_and_else_by_the_name() {
    const AT: Option<&str> = Some("2026-01-02T15:04:05Z");
    let lost = |clusters: &[Arc<Object>], mark: &str| {
        source_lost_since(clusters, &CellSource::from_object(&marked(mark)).unwrap()).is_some()
    };
    let named = [cluster("dfw", "", AT), cluster("ord", "", None)];
    assert!(lost(&named, "dfw/k/i") && lost(&named, "dfw/i") && !lost(&named, "ord/k/i"));
    // The name of the Cluster is not that of the cell.
    let known = [cluster("a", "k", AT), cluster("b", "l", None)];
    assert!(lost(&known, "dfw/k/i") && !lost(&known, "dfw/l/i") && !lost(&known, "dfw/i"));
    // Another cluster has the lost one's name.
    let renamed = [cluster("dfw", "k", AT), cluster("dfw-2", "l", None)];
    assert!(!lost(&renamed, "dfw/l/i"));
    assert!(!lost(&[], "dfw/k/i"));
    // The cell was rebuilt under its name: what the old one left is lost by its UID.
    let rebuilt = |annotation: &str| {
        let mut dfw = Object::clone(&cluster("dfw", "new", AT));
        dfw.metadata
            .annotations
            .get_or_insert_default()
            .insert(annotation.to_owned(), AT.unwrap().to_owned());
        [Arc::new(dfw)]
    };
    assert!(lost(&rebuilt(LOST), "dfw/new/i") && lost(&rebuilt(LOST), "dfw/i"));
    assert!(!lost(&rebuilt(LOST), "dfw/old/i") && lost(&rebuilt(&lost_cluster("old")), "dfw/old/i"));
    let mut named = Object::clone(&cluster("dfw", "new", None));
    named.metadata.annotations = Some([(lost_cluster("new"), AT.unwrap().to_owned())].into());
    assert!(!lost(&[Arc::new(named)], "dfw/new/i"), "its own annotation declares it");
}

#[test]
fn c11_an_unmarked_copy_is_lost_with_all_cells_of_its_city() {
    const AT: Option<&str> = Some("2026-01-02T15:04:05Z");
    let serving = |name: &str, code: &str, lost| {
        let mut cluster = Object::clone(&cluster(name, name, lost));
        cluster.metadata.labels = Some([(CITY_CODE.to_owned(), code.to_owned())].into());
        Arc::new(cluster)
    };
    let mut copy = bare(Kind::Instance, "ns-1", "wd-0");
    let both = [serving("a", "DFW", AT), serving("b", "DFW", None), serving("c", "", AT)];
    assert!(!is_copy_lost(&both, &copy));
    for (code, expected) in [("DFW", true), ("ORD", false), ("", false)] {
        copy.metadata.labels = Some([(INSTANCE_CITY.to_owned(), code.to_owned())].into());
        assert!(!is_copy_lost(&both, &copy), "{code}");
        assert_eq!(is_copy_lost(&[both[0].clone(), both[2].clone()], &copy), expected, "{code}");
    }
}

#[test]
fn c11_a_step_of_a_cluster_is_news_where_it_may_change_who_is_lost() {
    const AT: Option<&str> = Some("2026-01-02T15:04:05Z");
    let serving = |code: Option<&str>, lost| {
        let mut cluster = Object::clone(&cluster("a", "k", lost));
        cluster.metadata.labels = code.map(|code| [(CITY_CODE.to_owned(), code.to_owned())].into());
        cluster
    };
    let reached = |cluster: &Object| {
        let mut cluster = cluster.clone();
        set_field(&mut cluster, "status", json!({"conditions": [{"type": "Ready", "status": "True"}]}));
        cluster
    };
    let dfw = serving(Some("DFW"), None);
    let lost = serving(Some("DFW"), AT);
    let nowhere = serving(None, None);
    for (old, new, expected) in [
        (None, Some(&dfw), false),
        (None, Some(&lost), true),
        (Some(&dfw), Some(&dfw), false),
        (Some(&dfw), Some(&lost), true),
        (Some(&lost), None, true),
        (Some(&dfw), None, true),
        (Some(&dfw), Some(&nowhere), true),
        (Some(&nowhere), Some(&dfw), false),
        (Some(&nowhere), None, false),
        (Some(&serving(None, AT)), Some(&lost), true),
        (Some(&lost), Some(&reached(&lost)), true),
        (Some(&dfw), Some(&reached(&dfw)), false),
    ] {
        assert_eq!(redeclares(old, new), expected, "{old:?} {new:?}");
    }
}

#[test]
fn c11_declarations_that_do_not_count_are_left_out() {
    let early = "2026-01-02T15:04:05Z";
    let mut cluster = Object::clone(&cluster("dfw", "k", Some(early)));
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    annotations.insert(lost_cluster("l"), "2026-01-03T00:00:00Z".to_owned());
    annotations.insert("other".to_owned(), early.to_owned());
    let cluster = Arc::new(cluster);
    let since: Timestamp = early.parse().unwrap();
    let counting = declaring(&cluster, now(), |at| at > since);
    assert_eq!(declarations(&counting).keys().copied().collect::<Vec<_>>(), [lost_cluster("l")]);
    assert_eq!(counting.annotation("other"), Some(early));
    assert!(Arc::ptr_eq(&declaring(&cluster, now(), |_| true), &cluster));
}
