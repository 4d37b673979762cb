//! F9, C7: a hub WD outlives the copies of its Instances, as far as their cells can be waited for.

use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_core::names::{CELL_SOURCE, DELETION_PROTECTED, PROPAGATED_BY, RECALLED};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_federator::teardown::{Left, Teardown, TeardownLimits, left_of};
use fedhub_planes::Write;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{annotate, deleting, hub_wd, in_order, label, marked, now, shared, with};
use crate::plan::observed::{Observed, Plan, only, plan};
use crate::plan::states;

const LIMITS: TeardownLimits =
    TeardownLimits { deadline: Duration::from_mins(20), away: Duration::from_mins(10) };

fn ago(time: Duration) -> Timestamp {
    now() - SignedDuration::try_from(time).unwrap()
}

/// An Instance of cell-dfw, which Karmada has not reached for that long.
fn left(away: Option<Duration>) -> Left {
    Left { instance: "web-dfw-0".to_owned(), cell: "cell-dfw".to_owned(), away: away.map(down) }
}

fn down(time: Duration) -> CellDown {
    CellDown { cell: "cell-dfw".to_owned(), since: ago(time).to_string(), lost: false }
}

/// A WD in order that is being deleted, recalled for that long, with these Instances.
fn leaving(recalled: Option<Duration>, cached: bool, left: Option<Vec<Left>>) -> Observed {
    let hub = with(hub_wd(), |_| ());
    let hub = match recalled {
        None => hub,
        Some(time) => with(hub, |wd| {
            wd.metadata.labels.as_mut().unwrap().remove(DELETION_PROTECTED.0);
            label(wd, PROPAGATED_BY.0, PROPAGATED_BY.1);
            annotate(wd, RECALLED, &ago(time).to_string());
        }),
    };
    Observed {
        project: shared(deleting(marked())),
        hub: Some(shared(hub)),
        teardown: Teardown { cached, left, limits: LIMITS },
        ..in_order()
    }
}

fn shown(plan: &Plan) -> Option<(String, String)> {
    let status = &plan.status.as_ref()?.status;
    let available = status["conditions"].as_array()?.iter().find(|c| c["type"] == "Available")?;
    Some((available["reason"].as_str()?.to_owned(), available["message"].as_str()?.to_owned()))
}

#[test]
fn f9_a_wd_with_copies_is_recalled_before_it_is_deleted() {
    assert!(plan(&leaving(None, false, None)).delete.is_some(), "without copies it goes at once");
    let asked = plan(&leaving(None, true, None));
    assert_eq!(asked, only(Intent::ReadCopies));
    assert!(plan(&leaving(None, true, Some(vec![]))).delete.is_some(), "the cache lags behind");

    let begun = plan(&leaving(None, true, Some(vec![left(None)])));
    assert!(begun.recall && begun.delete.is_none() && begun.release.is_none(), "{begun:?}");
    let Some(Write::Replace { object, .. }) = &begun.deployment else { panic!("{begun:?}") };
    assert_eq!(object.label(PROPAGATED_BY.0), Some(PROPAGATED_BY.1), "Karmada lets go of it");
    assert_eq!(object.annotation(RECALLED).and_then(|since| since.parse().ok()), Some(now()));
    assert_eq!(object.label(DELETION_PROTECTED.0), None, "an operator may end the wait by deleting it");
    assert!(shown(&begun).is_none(), "what takes a moment is not shown");
}

/// For how long it is recalled; for how long its cell is away; what is shown; when it is looked at again,
/// `None` where the hub WD is deleted.
type Row = (&'static str, u64, Option<u64>, Option<&'static str>, Option<u64>);

#[test]
fn f9_c7_a_teardown_that_lasts_is_shown_then_named_and_a_cell_that_is_away_is_given_up() {
    let table: [Row; 10] = [
        ("for a moment", 1, None, None, Some(4)),
        ("for longer", 5, None, Some("Terminating"), Some(1195)),
        ("up to its deadline", 1199, None, Some("Terminating"), Some(1)),
        ("past its deadline", 1200, None, Some("CleanupHeld"), Some(1200)),
        ("for a day", 86_400, None, Some("CleanupHeld"), Some(1200)),
        ("of a cell that went away before", 60, Some(86_400), Some("CleanupHeld"), Some(540)),
        ("of a cell that went away since", 60, Some(10), Some("CleanupHeld"), Some(590)),
        ("of a cell that went away just now", 60, Some(0), Some("CleanupHeld"), Some(600)),
        ("of a cell that has been away for too long", 600, Some(86_400), None, None),
        ("of a cell that went away long since", 86_400, Some(600), None, None),
    ];
    for (what, recalled, away, reason, next) in table {
        let seconds = Duration::from_secs;
        let seen = leaving(Some(seconds(recalled)), true, Some(vec![left(away.map(seconds))]));
        let plan = plan(&seen);
        assert_eq!(shown(&plan).map(|(reason, _)| reason).as_deref(), reason, "{what}");
        assert!(plan.release.is_none(), "{what}");
        let Some(next) = next.map(seconds) else {
            assert!(plan.delete.is_some() && !plan.recall, "{what}: {plan:?}");
            continue;
        };
        assert!(plan.recall && plan.delete.is_none(), "{what}: {plan:?}");
        assert_eq!(plan.deployment, None, "{what}: it is recorded once");
        let why = if away.is_some() { CleanupBlocked::CellUnreachable } else { CleanupBlocked::CellHolds };
        assert_eq!(plan.then, Some(Intent::End(Outcome::RequeueAfter(next))), "{what}");
        assert_eq!(plan.blocked, (reason == Some("CleanupHeld")).then_some(why), "{what}");
    }
}

#[test]
fn c9_what_holds_a_deletion_names_the_cell_and_the_instances() {
    let mut all = vec![left(None); 7];
    for (n, left) in all.iter_mut().enumerate() {
        left.instance = format!("web-dfw-{n}");
    }
    all[0] = Left { cell: "cell-ord".to_owned(), ..left(None) };
    let held = plan(&leaving(Some(Duration::from_hours(1)), true, Some(all)));
    let (reason, message) = shown(&held).unwrap();
    assert_eq!(reason, "CleanupHeld");
    for part in [
        "cell-ord (web-dfw-0)",
        "cell-dfw (web-dfw-1, web-dfw-2, web-dfw-3, web-dfw-4, web-dfw-5 and 1 more)",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(message.contains("Action required by the platform operator"), "{message}");
    let status = &held.status.unwrap().status;
    let stand = |kind: &str| {
        status["conditions"].as_array().unwrap().iter().any(|c| c["type"] == kind && c["status"] == "True")
    };
    assert!(!stand("Available") && !stand("ReplicasReady") && !stand("Federated"));
}

#[test]
fn f9_a_time_that_fedhub_did_not_write_begins_anew() {
    for since in ["soon", "2999-01-01T00:00:00Z"] {
        let mut seen = leaving(Some(Duration::from_mins(1)), true, Some(vec![left(None)]));
        seen.hub = seen.hub.map(|hub| shared(with(Object::clone(&hub), |wd| annotate(wd, RECALLED, since))));
        let plan = plan(&seen);
        let Some(Write::Replace { object, .. }) = &plan.deployment else { panic!("{since}: {plan:?}") };
        assert_eq!(object.annotation(RECALLED).and_then(|since| since.parse().ok()), Some(now()), "{since}");
    }
}

#[test]
fn f4_a_wd_that_stays_after_all_is_federated_as_before() {
    let mut seen = leaving(Some(Duration::from_mins(1)), true, None);
    seen.project = shared(marked());
    let Some(Write::Replace { object, .. }) = plan(&seen).deployment else { panic!("it follows") };
    assert_eq!(*object, hub_wd(), "so that Karmada binds it again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn c7_no_hub_wd_is_deleted_while_a_cell_that_is_reached_has_instances(
        seen in states::observed(), recalled in proptest::option::of(0u64..100_000),
    ) {
        let mut seen = seen;
        seen.teardown = Teardown { cached: true, left: Some(vec![left(None), left(Some(Duration::from_hours(9)))]), limits: LIMITS };
        if let (Some(hub), Some(time)) = (&seen.hub, recalled) {
            let since = ago(Duration::from_secs(time)).to_string();
            seen.hub = Some(shared(with(Object::clone(hub), |wd| annotate(wd, RECALLED, &since))));
        }
        let plan = plan(&seen);
        prop_assert!(plan.delete.is_none() || seen.cell_lost, "{plan:?}");
    }
}

fn cluster(name: &str, id: Option<&str>) -> ObjectRef {
    let mut cluster = bare(Kind::Cluster, "", name);
    set_field(&mut cluster, "spec", json!({"id": id}));
    shared(cluster)
}

#[test]
fn c10_only_copies_of_cells_that_can_be_waited_for_keep_a_hub_wd() {
    let copy = |owner: &str, mark: &str| {
        let mut copy = bare(Kind::Instance, "ns-1", "web-0");
        annotate(&mut copy, CELL_SOURCE, mark);
        copy.metadata.owner_references = Some(vec![OwnerReference {
            uid: owner.to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        }]);
        copy
    };
    let lost = with(Object::clone(&cluster("cell-lost", Some("k9"))), |c| {
        annotate(c, "federation.datumapis.com/lost", "2026-01-02T00:00:00Z");
    });
    let clusters = [cluster("cell-dfw", Some("k1")), cluster("cell-new", None), shared(lost)];
    for (what, owner, mark, cell) in [
        ("its own", "u", "cell-dfw/k1/i", Some("cell-dfw")),
        ("of an older cell, by name alone", "u", "cell-dfw/i", Some("cell-dfw")),
        ("of a cell that was renamed", "u", "cell-old/k1/i", Some("cell-dfw")),
        ("of a cell whose UID Karmada has not recorded", "u", "cell-new/k7/i", Some("cell-new")),
        ("of another WD", "v", "cell-dfw/k1/i", None),
        ("of another cluster under that name", "u", "cell-dfw/k2/i", None),
        ("of a cell that is not joined any more", "u", "cell-gone/k3/i", None),
        ("of a cell that is declared lost", "u", "cell-lost/k9/i", None),
        ("without a mark", "u", "", None),
    ] {
        let left = left_of(&copy(owner, mark), "u", &clusters);
        assert_eq!(left.map(|left| left.cell).as_deref(), cell, "{what}");
    }
}
