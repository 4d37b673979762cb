//! The plan, by a table and by what holds for every snapshot.

use fedhub_api::facts::referenced::{References, source_hash};
use fedhub_api::facts::{Companion, Digest, DigestExt};
use fedhub_api::reason::Reason;
use fedhub_cache::digest::{Uid, Version};
use fedhub_core::names::{EXPECTED_REFERENCED_DATA, REFERENCED_DATA_FINALIZER};
use fedhub_core::object::{Kind, PlaneId, bare, set_field};
use fedhub_planes::{ProjectNamespace, ServiceState, WriteState};
use fedhub_workload::referenced_data::desired::{DataVerdict, condition};
use fedhub_workload::referenced_data::plan::{Annotations, ConditionChange, DataPlan, NextStep, plan};
use fedhub_workload::referenced_data::snapshot::{
    DataSource, Snapshot, SourceState, StandingCompanion, Unsupported,
};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use crate::referenced_data::support::plane_name;

const SPACE: &str = "ns-1";

/// A WD that refers to the Secret `db`, where all is as it should be.
fn in_sync() -> Snapshot {
    let mut wd = bare(Kind::WorkloadDeployment, "shop", "web");
    wd.metadata.generation = Some(3);
    wd.metadata.finalizers = Some(vec![REFERENCED_DATA_FINALIZER.to_owned()]);
    let expected = r#"{"generation":3,"expected":["Secret/db"]}"#.to_owned();
    wd.metadata.annotations = Some([(EXPECTED_REFERENCED_DATA.to_owned(), expected)].into());
    set_field(
        &mut wd,
        "spec",
        json!({"template": {"spec": {"volumes": [{"secret": {"secretName": "db"}}]}}}),
    );
    let said = condition(&DataVerdict::Ready(vec![]), None, 3, Timestamp::from_second(1_000_000).unwrap());
    let counted = json!({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "conditions": [said]});
    set_field(&mut wd, "status", counted);
    let digest = Digest::new(&PlaneId::Project(plane_name("alpha")), Kind::WorkloadDeployment, &wd);
    let version = source_hash("u", "7");
    Snapshot {
        home: ProjectNamespace { plane: plane_name("alpha"), namespace: "shop".to_owned() },
        name: "web".to_owned(),
        generation: 3,
        terminating: false,
        federated: true,
        unread: false,
        references: digest.deployment().unwrap().references().unwrap().clone(),
        writes: WriteState::Active,
        service: ServiceState::Active,
        space: Some(SPACE.to_owned()),
        sources: vec![source(SourceState::Stands { version, bytes: 0 })],
        companions: vec![companion(version, Some(&["shop/web"]))],
        is_live: false,
    }
}

fn source(state: SourceState) -> DataSource {
    DataSource { kind: Kind::Secret, name: "db".to_owned(), optional: false, state }
}

fn companion(copied_from: u64, by: Option<&[&str]>) -> StandingCompanion {
    let referenced_by = by.map(|by| by.iter().map(|by| (*by).into()).collect());
    StandingCompanion {
        space: SPACE.to_owned(),
        kind: Kind::Secret,
        name: "db".to_owned(),
        uid: Uid::new("c"),
        version: Version::new("9"),
        terminating: false,
        edited: false,
        facts: Companion { referenced_by, copied_from, bytes: 7 },
        others: Vec::new(),
    }
}

fn but(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut seen = in_sync();
    change(&mut seen);
    seen
}

#[test]
fn i7_w5_the_table_of_plans() {
    let db = || vec![(Kind::Secret, "db".to_owned())];
    let then = |then| DataPlan { then, ..DataPlan::default() };
    let version = source_hash("u", "7");
    let copy = || DataPlan { copies: db(), ..then(NextStep::Requeue) };
    let gone = |seen: &mut Snapshot| (seen.terminating, seen.federated) = (true, false);
    let counted = || vec![companion(version, Some(&["shop/web"]))];
    for (what, seen, expected) in [
        ("in sync", in_sync(), DataPlan::default()),
        ("paused", but(|s| s.writes = WriteState::Paused), then(NextStep::AwaitChange)),
        ("suspended", but(|s| s.writes = WriteState::Suspended), then(NextStep::AwaitChange)),
        (
            "too large to be read",
            but(|s| (s.unread, s.references) = (true, held())),
            then(NextStep::AwaitChange),
        ),
        ("not held", but(|s| s.references.held = false), DataPlan { hold: true, ..then(NextStep::Requeue) }),
        ("not listed", but(|s| s.sources = vec![source(SourceState::Unknown)]), then(NextStep::AwaitChange)),
        ("not federated", but(|s| s.space = None), then(NextStep::AwaitChange)),
        ("not copied", but(|s| s.companions.clear()), copy()),
        ("another version", but(|s| s.companions[0].facts.copied_from = 1), copy()),
        ("count unread", but(|s| s.companions[0].facts.referenced_by = None), copy()),
        (
            "another's too",
            but(|s| s.companions = vec![companion(version, Some(&["shop/api"]))]),
            DataPlan { counts: db(), ..then(NextStep::Requeue) },
        ),
        ("deleted, still on the hub", but(|s| s.terminating = true), then(NextStep::AwaitChange)),
        ("deleted", but(gone), DataPlan { releases: counted(), ..then(NextStep::Requeue) }),
        (
            "released by the caches",
            but(|s| {
                gone(s);
                s.companions.clear();
            }),
            then(NextStep::ReadLive),
        ),
        (
            "released by a live read",
            but(|s| {
                gone(s);
                s.companions.clear();
                s.is_live = true;
            }),
            DataPlan { release: true, ..DataPlan::default() },
        ),
    ] {
        assert_eq!(plan(&seen), expected, "{what}");
    }
}

/// What is kept of a WD that is held, and of which nothing else is known.
fn held() -> References {
    let mut wd = bare(Kind::WorkloadDeployment, "shop", "web");
    wd.metadata.finalizers = Some(vec![REFERENCED_DATA_FINALIZER.to_owned()]);
    let digest = Digest::new(&PlaneId::Project(plane_name("alpha")), Kind::WorkloadDeployment, &wd);
    digest.deployment().unwrap().references().unwrap().clone()
}

/// Returns a changed snapshot that has a companion of another Secret, to which the template referred before.
fn with_former(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    but(|seen| {
        let former = StandingCompanion { name: "old".to_owned(), ..companion(1, Some(&["shop/web"])) };
        seen.companions.push(former);
        change(seen);
    })
}

#[test]
fn w5_i3_a_wd_that_is_deleted_is_released_also_where_it_may_not_be_written_or_read() {
    let gone = |change: fn(&mut Snapshot)| {
        but(|seen| {
            (seen.terminating, seen.federated) = (true, false);
            change(seen);
        })
    };
    for seen in
        [gone(|s| s.writes = WriteState::Suspended), gone(|s| (s.unread, s.references) = (true, held()))]
    {
        let planned = plan(&seen);
        assert_eq!((planned.releases.len(), planned.then), (1, NextStep::Requeue));
    }
}

#[test]
fn w5_what_a_wd_referred_to_goes_once_no_instance_needs_it() {
    let releases = |seen: &Snapshot| plan(seen).releases.into_iter().map(|c| c.name).collect::<Vec<_>>();
    let expected = |seen: &Snapshot| plan(seen).annotations.and_then(|it| it.expected);
    let none: [&str; 0] = [];
    assert_eq!(releases(&with_former(|_| {})), ["old"]);
    // The new reference fails: the Instances on the old template run on.
    let failing = with_former(|s| s.sources = vec![source(SourceState::Absent)]);
    assert_eq!((releases(&failing).len(), expected(&failing)), (0, None));
    // Its Instances are replaced one by one.
    let rolling = with_former(|s| s.references.rolled_out = false);
    assert_eq!(releases(&rolling), none);
    assert_eq!(expected(&rolling).unwrap(), r#"{"generation":3,"expected":["Secret/db","Secret/old"]}"#);
    // Nothing is on the hub.
    let local = with_former(|s| (s.federated, s.references.rolled_out) = (false, false));
    assert_eq!(releases(&local), ["old"]);
}

#[test]
fn w5_a_wd_that_refers_to_nothing_any_more_keeps_its_companions_while_instances_need_them() {
    let nothing = |change: fn(&mut Snapshot)| {
        but(|s| {
            s.sources.clear();
            s.references = held();
            (s.references.expected, s.references.rolled_out) = (5, true);
            change(s);
        })
    };
    let waits = DataPlan { then: NextStep::AwaitChange, ..DataPlan::default() };
    assert_eq!(plan(&nothing(|s| s.references.rolled_out = false)), waits);
    let error = plan(&nothing(|s| (s.references.rolled_out, s.references.error) = (false, 7)));
    assert_eq!(error.annotations, Some(Annotations::default()), "the error is about nothing any more");
    // The annotation that names them goes first.
    let first = plan(&nothing(|_| {}));
    assert!(first.releases.is_empty() && first.annotations.is_some_and(|it| it.clear));
    assert_eq!(plan(&nothing(|s| s.references.expected = 0)).releases.len(), 1);
    // A hub without its namespace has lost it, and proves nothing (I3).
    let lost = nothing(|s| {
        (s.space, s.is_live) = (None, true);
        s.companions.clear();
    });
    assert_eq!(plan(&lost), waits);
}

#[test]
fn i4_c6_what_may_not_be_read_any_more_stays_in_the_cell() {
    for optional in [true, false] {
        let seen = plan(&but(|s| {
            s.sources = vec![DataSource { optional, ..source(SourceState::Unauthorized) }];
        }));
        assert!(seen.releases.is_empty() && seen.annotations.is_none() && seen.condition.is_none());
        assert!(matches!(seen.then, NextStep::RequeueAfter(_)), "it is asked for again");
    }
}

#[test]
fn w5_what_is_there_keeps_its_place_under_the_limit() {
    let size = 220 << 10;
    let version = source_hash("u", "7");
    let names = ["b", "c", "d", "e"];
    let mut seen = but(|s| {
        s.companions = names
            .iter()
            .map(|name| StandingCompanion {
                name: (*name).to_owned(),
                facts: Companion { bytes: size, ..companion(version, Some(&["shop/web"])).facts },
                ..companion(version, None)
            })
            .collect();
        let of = |name: &str, bytes| DataSource {
            name: name.to_owned(),
            ..source(SourceState::Stands { version, bytes })
        };
        s.sources = [of("a", size as usize)].into_iter().chain(names.map(|name| of(name, 0))).collect();
    });
    let planned = plan(&seen);
    assert!(planned.copies.is_empty(), "{planned:?}");
    let Some(ConditionChange::Put(DataVerdict::Failed { reason, message })) = planned.condition else {
        panic!("{planned:?}")
    };
    assert!(reason == Reason::SourceTooLarge && message.contains("with Secret a"), "{message}");
    // Where its size is not known yet, it is read.
    seen.sources[0].state = SourceState::Stands { version, bytes: 0 };
    assert_eq!(plan(&seen).copies, [(Kind::Secret, "a".to_owned())]);
}

#[test]
fn w5_the_last_wd_that_is_counted_leaves_a_count_of_those_that_were_not() {
    let is_gone = |wd: &str| wd == "shop/gone";
    let mut companion = companion(1, Some(&["shop/api", "shop/gone", "shop/web"]));
    assert_eq!(companion.count_without("shop/web", is_gone), ["shop/api"]);
    companion.facts.referenced_by = Some(["shop/web".into()].into());
    assert!(companion.count_without("shop/web", is_gone).is_empty(), "it is deleted");
    companion.others = vec!["shop/new".into()];
    assert_eq!(companion.count_without("shop/web", is_gone), ["shop/new"]);
}

#[test]
fn w5_a_companion_that_ends_is_awaited_and_named() {
    let awaited = plan(&but(|s| s.companions[0].terminating = true));
    let Some(ConditionChange::Put(DataVerdict::Ends { message })) = awaited.condition else {
        panic!("{awaited:?}")
    };
    assert!(message.contains("Secret db"), "{message}");
    assert_eq!(awaited.then, NextStep::AwaitChange);
    let left = plan(&but(|s| {
        (s.terminating, s.federated, s.is_live) = (true, false, true);
        s.companions[0].terminating = true;
    }));
    assert!(left.releases.is_empty() && !left.release);
    assert_eq!(left.then, NextStep::AwaitChange);
}

prop_compose! {
    fn any_snapshot()(
        states in proptest::collection::vec(0..7usize, 1),
        terminating: bool, federated: bool, held: bool, is_live: bool, with_space: bool, optional: bool,
        copied in 0..3u64, by in 0..4usize, ends: bool, there: bool, rolled_out: bool, former: bool,
    ) -> Snapshot {
        let version = source_hash("u", "7");
        let state = match states[0] {
            0 => SourceState::Unknown,
            1 => SourceState::Absent,
            2 => SourceState::Unauthorized,
            3 => SourceState::NameTaken,
            4 => SourceState::Refused(403),
            5 => SourceState::Unsupported(Unsupported::Name),
            _ => SourceState::Stands { version, bytes: 0 },
        };
        but(|seen| {
            (seen.terminating, seen.federated, seen.is_live) = (terminating, federated, is_live);
            seen.references.held = held;
            seen.space = with_space.then(|| SPACE.to_owned());
            seen.sources = vec![DataSource { optional, ..source(state) }];
            let lists: [Option<&[&str]>; 4] = [None, Some(&[]), Some(&["shop/web"]), Some(&["shop/api", "shop/web"])];
            let copied_from = if copied == 0 { version } else { copied };
            let standing = StandingCompanion { terminating: ends, ..companion(copied_from, lists[by]) };
            seen.companions = if there { vec![standing] } else { Vec::new() };
            seen.references.rolled_out = held && rolled_out;
            if former {
                seen.companions.push(StandingCompanion { name: "old".to_owned(), ..companion(1, Some(&["shop/web"])) });
            }
        })
    }
}

proptest! {
    #[test]
    fn w5_nothing_that_is_needed_or_not_known_to_be_released_goes(seen in any_snapshot()) {
        let plan = plan(&seen);
        let counts_it = |c: &StandingCompanion| c.facts.is_of("shop/web");
        // Nothing is written before the finalizer, nor beside it.
        prop_assert!(!plan.hold || plan.copies.is_empty() && plan.releases.is_empty());
        prop_assert!(seen.references.held || plan.copies.is_empty() && plan.counts.is_empty());
        // No count that cannot be read, or is not this WD's, is touched by a release.
        prop_assert!(plan.releases.iter().all(counts_it));
        // The finalizer goes only when live reads showed no companion that counts the WD (I3).
        prop_assert!(!plan.release || seen.is_live && !seen.companions.iter().any(counts_it));
        if !seen.terminating {
            prop_assert!(!plan.release);
            let source = &seen.sources[0];
            let is_failing = !source.optional && matches!(source.state, SourceState::Absent | SourceState::NameTaken);
            let is_rolling = seen.federated && !seen.references.rolled_out;
            for released in &plan.releases {
                prop_assert!(released.name == "old" || source.optional);
                prop_assert!(released.name != "old" || !is_failing && !is_rolling);
            }
        } else if seen.federated {
            prop_assert!(plan.releases.is_empty() && !plan.release, "the WD is on the hub");
        }
        // The annotation names nothing that is not in order on the hub.
        if let Some(expected) = plan.annotations.and_then(|it| it.expected) && expected.contains("Secret/db") {
            let companion = seen.companion(Kind::Secret, "db");
            prop_assert!(companion.is_some_and(|c| c.facts.is_of("shop/web") && !c.terminating));
        }
    }
}
