//! The plan, by a table and by what holds for every snapshot.

use fedhub_api::facts::referenced::source_hash;
use fedhub_api::facts::{Companion, Digest, DigestExt};
use fedhub_cache::digest::{Uid, Version};
use fedhub_core::names::{EXPECTED_REFERENCED_DATA, REFERENCED_DATA_FINALIZER};
use fedhub_core::object::{Kind, PlaneId, bare, set_field};
use fedhub_planes::{ProjectNamespace, ServiceState, WriteState};
use fedhub_workload::referenced_data::desired::{Verdict, condition};
use fedhub_workload::referenced_data::plan::{DataPlan, NextStep, plan};
use fedhub_workload::referenced_data::snapshot::{Snapshot, Source, SourceState, Standing};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use crate::support::plane_name;

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
    let said = condition(&Verdict::Ready(vec![]), None, 3, Timestamp::from_second(1_000_000).unwrap());
    set_field(&mut wd, "status", json!({"conditions": [said]}));
    let digest = Digest::of(&PlaneId::Project(plane_name("alpha")), Kind::WorkloadDeployment, &wd);
    let version = source_hash("u", "7");
    Snapshot {
        home: ProjectNamespace { plane: plane_name("alpha"), namespace: "shop".to_owned() },
        name: "web".to_owned(),
        generation: 3,
        terminating: false,
        federated: true,
        references: digest.deployment().unwrap().references().unwrap().clone(),
        writes: WriteState::Active,
        service: ServiceState::Active,
        space: Some(SPACE.to_owned()),
        sources: vec![source(SourceState::Stands { version, bytes: 0 })],
        companions: vec![companion(version, Some(&["shop/web"]))],
        is_live: false,
    }
}

fn source(state: SourceState) -> Source {
    Source { kind: Kind::Secret, name: "db".to_owned(), optional: false, state }
}

fn companion(copied_from: u64, by: Option<&[&str]>) -> Standing {
    let referenced_by = by.map(|by| by.iter().map(|by| (*by).into()).collect());
    Standing {
        space: SPACE.to_owned(),
        kind: Kind::Secret,
        name: "db".to_owned(),
        uid: Uid::new("c"),
        version: Version::new("9"),
        terminating: false,
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
        ("not held", but(|s| s.references.held = false), DataPlan { hold: true, ..then(NextStep::Requeue) }),
        ("not listed", but(|s| s.sources = vec![source(SourceState::Unknown)]), then(NextStep::AwaitChange)),
        ("not federated", but(|s| s.space = None), then(NextStep::AwaitChange)),
        ("not copied", but(|s| s.companions.clear()), copy()),
        ("another version", but(|s| s.companions[0].facts.copied_from = 1), copy()),
        ("count unread", but(|s| s.companions[0].facts.referenced_by = None), copy()),
        ("companion ends", but(|s| s.companions[0].terminating = true), then(NextStep::AwaitChange)),
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

prop_compose! {
    fn any_snapshot()(
        states in proptest::collection::vec(0..5usize, 1),
        terminating: bool, federated: bool, held: bool, is_live: bool, with_space: bool, optional: bool,
        copied in 0..3u64, by in 0..4usize, ends: bool, there: bool,
    ) -> Snapshot {
        let version = source_hash("u", "7");
        let state = match states[0] {
            0 => SourceState::Unknown,
            1 => SourceState::Absent,
            2 => SourceState::Unauthorized,
            3 => SourceState::NameTaken,
            _ => SourceState::Stands { version, bytes: 0 },
        };
        but(|seen| {
            (seen.terminating, seen.federated, seen.is_live) = (terminating, federated, is_live);
            seen.references.held = held;
            seen.space = with_space.then(|| SPACE.to_owned());
            seen.sources = vec![Source { optional, ..source(state) }];
            let lists: [Option<&[&str]>; 4] = [None, Some(&[]), Some(&["shop/web"]), Some(&["shop/api", "shop/web"])];
            let copied_from = if copied == 0 { version } else { copied };
            let standing = Standing { terminating: ends, ..companion(copied_from, lists[by]) };
            seen.companions = if there { vec![standing] } else { Vec::new() };
        })
    }
}

proptest! {
    #[test]
    fn w5_nothing_that_is_needed_or_not_known_to_be_released_goes(seen in any_snapshot()) {
        let plan = plan(&seen);
        let counts_it = |c: &Standing| c.facts.is_of("shop/web");
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
            prop_assert!(plan.releases.is_empty() || source.optional);
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
