//! A consistent world has no findings, and each single change of it has its finding.

mod edits;
mod fixtures;

use std::collections::BTreeSet;
use std::time::Duration;

use fedhub_core::object::PlaneId;
use jiff::SignedDuration;
use proptest::prelude::*;
use strum::VariantArray;

use super::*;
use crate::audit::finding::Discrepancy;
use edits::{EDITS, Edit};
use fixtures::{Shape, Target, world};

fn ids(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|it| it.discrepancy.id()).collect()
}

#[test]
fn u4_a_consistent_world_has_no_findings() {
    let (world, _) = world(&Shape::default());
    assert!(world.hub.deployments.iter().count() > 3 && world.hub.instances.iter().count() > 5);
    assert_eq!(audit(&world), []);
}

#[test]
fn u4_each_change_has_its_finding_and_no_other() {
    for Edit { what, expected, apply } in EDITS {
        let (mut world, targets) = world(&Shape::default());
        apply(&mut world, &targets[0]);
        let findings = audit(&world);
        assert_eq!(ids(&findings), [expected.id()], "{what}: {findings:#?}");
        assert!(!findings[0].settling && !findings[0].detail.is_empty(), "{what}: {findings:#?}");
        assert!(findings[0].rests_on.contains(&findings[0].subject), "{what}");
    }
}

#[test]
fn u4_each_discrepancy_is_found_by_some_change() {
    let found: BTreeSet<_> = EDITS.iter().map(|it| it.expected).collect();
    let missing: Vec<_> = Discrepancy::VARIANTS.iter().filter(|it| !found.contains(it)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn f7_u4_a_policy_is_not_missed_while_another_of_its_city_stands() {
    let (mut world, targets) = world(&Shape::default());
    edits::replace_policy(&mut world, &targets[0]);
    assert_eq!(audit(&world), []);
}

/// What changed a moment ago may be under way.
#[test]
fn u4_what_differs_since_a_moment_settles() {
    for Edit { what, expected, apply } in EDITS {
        let (mut world, targets) = world(&Shape::default());
        apply(&mut world, &targets[0]);
        let since = audit(&world)[0].since;
        let Some(since) = since else { panic!("{what}: nothing tells since when") };
        world.grace = Duration::from_secs(30);
        world.now = since + SignedDuration::from_secs(29);
        let findings = audit(&world);
        let found = findings.iter().find(|it| it.discrepancy == *expected);
        assert!(found.is_none_or(|it| it.settling && !it.is_problem()), "{what}: {findings:#?}");
    }
}

/// F11, I4: what a plane that was not read has on the hub is never called an orphan, nor anything else.
#[test]
fn u4_nothing_is_said_of_a_plane_that_was_not_read() {
    for Edit { what, apply, .. } in EDITS {
        let (mut world, targets) = world(&Shape::default());
        apply(&mut world, &targets[0]);
        world.projects.remove(&targets[0].home.plane);
        world.cells.clear();
        assert_eq!(audit(&world), [], "{what}");
    }
}

/// W5: a WD that refers to a copy needs it, and one that counts for it and holds its finalizer releases it by
/// itself.
#[test]
fn w5_u4_a_copy_that_a_wd_needs_or_releases_is_not_left_over() {
    use fedhub_core::names::REFERENCED_DATA_FINALIZER;
    use fedhub_core::object::{Kind, set_field};
    for kind in [Kind::ConfigMap, Kind::Secret] {
        let with = |edit: &dyn Fn(&mut fedhub_core::object::Object)| {
            let (mut world, targets) = world(&Shape::default());
            let copies = world.objects_mut(&PlaneId::Hub, kind).unwrap();
            fixtures::put(copies, PlaneId::Hub, kind, edits::companion(&targets[0], kind));
            edits::on_wd(&mut world, &targets[0], edit);
            let found = audit(&world);
            found.iter().any(|it| it.discrepancy == Discrepancy::CompanionLeft)
        };
        let volume = match kind {
            Kind::Secret => serde_json::json!([{"secret": {"secretName": "db"}}]),
            _ => serde_json::json!([{"configMap": {"name": "db"}}]),
        };
        assert!(with(&|_| {}), "nothing needs it");
        assert!(!with(&|wd| {
            let mut spec = wd.data["spec"].clone();
            spec["template"]["spec"] = serde_json::json!({"volumes": volume});
            set_field(wd, "spec", spec);
        }));
        assert!(!with(&|wd| {
            wd.metadata.finalizers.get_or_insert_default().push(REFERENCED_DATA_FINALIZER.to_owned());
        }));
    }
}

/// W5: a copy in a hub namespace that is not the WD's serves no cell, and neither does one whose count cannot
/// be read and that no template refers to, whatever holds its WDs.
#[test]
fn w5_u4_a_copy_that_no_wd_uses_is_left_over() {
    use fedhub_core::names::{
        REFERENCED_BY, REFERENCED_DATA_FINALIZER, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    };
    use fedhub_core::object::{Kind, set_field};
    let (mut world, targets) = world(&Shape::default());
    let of = &targets[0];
    let former = Target { space: "ns-former".to_owned(), ..of.clone() };
    let mut namespace = fixtures::object(Kind::Namespace, "", &former.space, "former");
    let labels = [
        (UPSTREAM_CLUSTER, fedhub_core::names::encode_plane(&of.home.plane)),
        (UPSTREAM_NAMESPACE, of.home.namespace.clone()),
    ];
    namespace.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value)).into());
    fixtures::put(&mut world.hub.namespaces, PlaneId::Hub, Kind::Namespace, namespace);
    let mut uncounted = edits::companion(&former, Kind::Secret);
    edits::annotate(&mut uncounted, REFERENCED_BY, "[]");
    fixtures::put(&mut world.hub.secrets, PlaneId::Hub, Kind::Secret, uncounted);
    let mut unread = edits::companion(of, Kind::ConfigMap);
    edits::annotate(&mut unread, REFERENCED_BY, "corrupt");
    fixtures::put(&mut world.hub.config_maps, PlaneId::Hub, Kind::ConfigMap, unread);
    edits::on_wd(&mut world, of, |wd| {
        wd.metadata.finalizers.get_or_insert_default().push(REFERENCED_DATA_FINALIZER.to_owned());
        let mut spec = wd.data["spec"].clone();
        spec["template"]["spec"] = serde_json::json!({"volumes": [{"secret": {"secretName": "db"}}]});
        set_field(wd, "spec", spec);
    });
    let found = audit(&world).into_iter().filter(|it| it.discrepancy == Discrepancy::CompanionLeft);
    let found: BTreeSet<_> = found.map(|it| (it.subject.kind, it.subject.namespace.into_string())).collect();
    assert_eq!(found, [(Kind::ConfigMap, of.space.clone()), (Kind::Secret, former.space)].into());
}

/// A project that is suspended is read and not written: its hub WDs alone say so.
#[test]
fn u4_a_suspended_project_is_as_it_should_be() {
    let (mut world, targets) = world(&Shape::default());
    edits::on_hub_wd(&mut world, &targets[0], |hub| {
        edits::annotate(hub, fedhub_core::names::SUSPENDED, "true");
    });
    assert_eq!(audit(&world), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn u4_any_consistent_world_has_no_findings_and_any_change_of_it_its_own(
        planes in 1..4_usize,
        namespaces in 1..3_usize,
        deployments in 1..4_usize,
        instances in 1..3_usize,
        at in any::<prop::sample::Index>(),
        edit in any::<prop::sample::Index>(),
    ) {
        let (mut world, targets) = world(&Shape { planes, namespaces, deployments, instances });
        prop_assert_eq!(audit(&world), []);
        let (target, Edit { what, expected, apply }): (&Target, _) = (at.get(&targets), edit.get(EDITS));
        apply(&mut world, target);
        let findings = audit(&world);
        prop_assert_eq!(ids(&findings), [expected.id()], "{}: {:#?}", what, findings);
        let ours = findings[0].plane == target.home.plane.as_str();
        let of_cell = findings[0].subject.plane == PlaneId::Cell;
        prop_assert!(ours || of_cell, "{}: {:#?}", what, findings);
    }
}
