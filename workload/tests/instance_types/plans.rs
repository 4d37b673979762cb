//! Plans of the catalogue, and what operators are told.

use std::collections::BTreeMap;

use fedhub_core::names::{CATALOG, CATALOG_UID};
use fedhub_core::object::{Kind, ObjectRef, bare, set_field};
use fedhub_engine::Intent;
use fedhub_planes::{Precondition, Write};
use fedhub_testing::{Messages, assert_messages, one_of_each};
use fedhub_workload::instance_types::plan::{CatalogPlan, Complaint, plan};
use fedhub_workload::instance_types::render;
use fedhub_workload::instance_types::snapshot::{CatalogSource, LearnedTypes, OnHub, Snapshot, SourceCrd};
use serde_json::json;

const UID: &str = "uid-of-crd";

fn declared(name: &str, cpu: &str) -> (String, ObjectRef) {
    let mut object = bare(Kind::InstanceType, "", name);
    set_field(&mut object, "spec", json!({"resources": {"cpu": cpu}}));
    (name.to_owned(), object.into())
}

/// A type on the hub, a copy where it has the UID of a CRD.
fn on_hub(name: &str, cpu: &str, crd: Option<&str>) -> (String, OnHub) {
    let mut object = declared(name, cpu).1.as_ref().clone();
    object.metadata.uid = Some(format!("uid-of-{name}"));
    if let Some(uid) = crd {
        object.metadata.labels = Some([(CATALOG.0.to_owned(), CATALOG.1.to_owned())].into());
        object.metadata.annotations = Some([(CATALOG_UID.to_owned(), uid.to_owned())].into());
    }
    (name.to_owned(), OnHub { object: object.into(), normalization: None })
}

/// With the policy as it should be.
fn seen<const D: usize, const H: usize>(
    of: [(String, ObjectRef); D],
    hub: [(String, OnHub); H],
    learned: LearnedTypes,
) -> Snapshot {
    let Some(Write::Create(policy)) = render::policy(None) else { panic!("no policy") };
    let policy = Some(OnHub { object: ObjectRef::from(*policy), normalization: None });
    Snapshot { source: CatalogSource::Known(of.into()), on_hub: hub.into(), policy, learned }
}

fn serving(uid: &str) -> LearnedTypes {
    LearnedTypes { crd: Some(SourceCrd::Serving(uid.to_owned())), ..LearnedTypes::default() }
}

/// What is done, in short.
fn done(plan: &CatalogPlan) -> Vec<String> {
    let name = |object: &fedhub_core::object::Object| object.metadata.name.clone().unwrap();
    let intents = plan.intents.iter().map(|intent| match intent {
        Intent::Put { write: Write::Create(object), .. } => format!("create {}", name(object)),
        Intent::Put { write: Write::Replace { object, .. }, .. } => format!("replace {}", name(object)),
        Intent::Delete { subject, precondition: Precondition::UidAndVersion, inferred: true } => {
            format!("delete {}", subject.key.name)
        }
        Intent::ReadLive(key) if key.kind == Kind::CustomResourceDefinition => "read crd".to_owned(),
        Intent::ReadLive(key) => format!("read {}", key.name),
        intent => panic!("{intent:?}"),
    });
    let told = plan.verdict.iter().map(|complaint| format!("{} {}", complaint.reason(), complaint.name()));
    intents.chain(told).collect()
}

#[test]
fn w8_what_stands_as_declared_costs_nothing() {
    let stands = || seen([declared("d1", "1")], [on_hub("d1", "1", Some(UID))], LearnedTypes::default());
    assert_eq!(plan(&stands()), CatalogPlan::default());
    let none: [&str; 0] = [];
    for source in [CatalogSource::Unknown, CatalogSource::Known(BTreeMap::new())] {
        let empty = Snapshot { source, on_hub: BTreeMap::new(), ..stands() };
        assert_eq!(done(&plan(&empty)), none);
    }
    // Nothing is known: nothing is done, whatever is on the hub.
    let unknown = Snapshot { source: CatalogSource::Unknown, policy: None, ..stands() };
    assert_eq!(done(&plan(&unknown)), none);
    let no_policy = Snapshot { policy: None, ..stands() };
    assert_eq!(done(&plan(&no_policy)), ["create instance-types"]);
}

#[test]
fn w8_writes_follow_the_crd_that_they_are_marked_with() {
    let of = || [declared("d1", "1"), declared("d2", "2"), declared("d3", "3"), declared("d4", "4")];
    let hub = || [on_hub("d1", "1", Some(UID)), on_hub("d2", "9", Some(UID)), on_hub("d4", "4", Some("old"))];
    assert_eq!(done(&plan(&seen(of(), hub(), LearnedTypes::default()))), ["read crd"]);
    let written = plan(&seen(of(), hub(), serving(UID)));
    // The mark of another source is refreshed where anything is written at all.
    assert_eq!(done(&written), ["replace d2", "create d3", "replace d4"]);
    for gone in [SourceCrd::Missing, SourceCrd::Terminating] {
        let learned = LearnedTypes { crd: Some(gone), ..LearnedTypes::default() };
        assert_eq!(plan(&seen(of(), hub(), learned)), CatalogPlan::default());
    }
}

#[test]
fn w8_i4_a_copy_goes_only_when_its_source_has_said_so() {
    let hub = || [on_hub("d1", "1", Some(UID)), on_hub("own", "1", None)];
    let of = |learned| done(&plan(&seen([], hub(), learned)));
    assert_eq!(of(LearnedTypes::default()), ["read crd"]);
    assert_eq!(of(serving(UID)), ["read d1"]);
    let names = || ["d1".to_owned()].into();
    assert_eq!(of(LearnedTypes { gone: names(), ..serving(UID) }), ["delete d1"]);
    let none: [&str; 0] = [];
    assert_eq!(of(LearnedTypes { there: names(), ..serving(UID) }), none, "the watch is behind");
    for gone in [SourceCrd::Missing, SourceCrd::Terminating] {
        let learned = LearnedTypes { crd: Some(gone), gone: names(), ..LearnedTypes::default() };
        assert_eq!(of(learned), ["InstanceTypeKept d1"]);
    }
    assert_eq!(of(LearnedTypes { gone: names(), ..serving("another") }), ["InstanceTypeKept d1"]);
}

#[test]
fn w8_what_is_not_a_copy_is_left_alone_and_named() {
    let hub = [on_hub("d1", "9", None)];
    assert_eq!(
        done(&plan(&seen([declared("d1", "1")], hub, LearnedTypes::default()))),
        ["InstanceTypeNameTaken d1"]
    );
    let cell = Snapshot {
        source: CatalogSource::IsCell("d1".to_owned()),
        policy: None,
        ..seen([], [on_hub("d2", "1", Some(UID))], serving(UID))
    };
    assert_eq!(done(&plan(&cell)), ["InstanceTypeSourceIsCell d1"]);
}

#[test]
fn messages_of_the_catalogue() {
    let name = || "d1-large".to_owned();
    let complaints = one_of_each![
        Complaint::NameTaken(_) => Complaint::NameTaken(name()),
        Complaint::SourceIsCell(_) => Complaint::SourceIsCell(name()),
        Complaint::SourceGone(_) => Complaint::SourceGone(name()),
        Complaint::SourceReplaced(_) => Complaint::SourceReplaced(name()),
    ];
    let mut messages = Messages::default();
    messages.section("Events for operators", complaints.map(|it| (it.reason().as_str(), it.message())));
    assert_messages!("instance_types", messages);
}
