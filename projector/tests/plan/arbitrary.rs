//! Random worlds: what a decision may be is said here a second time, in other words than the plan's.

use std::sync::Arc;

use crate::plan::world::Observed;
use crate::plan::world::{Decision, plan};
use fedhub_api::facts::DigestExt;
use fedhub_api::facts::deployment::mark_hash;
use fedhub_core::names::{
    FEDERATION_NAMESPACE, INSTANCE_LABELS, PROJECTED_FROM, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID,
};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use fedhub_planes::Distrust;
use fedhub_planes::Write;
use fedhub_projector::snapshot::Live;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use crate::plan::support::*;

fn maybe<T: Clone + std::fmt::Debug + 'static>(
    of: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    prop_oneof![1 => Just(None), 3 => of.prop_map(Some)].boxed()
}

/// Mostly the right one.
fn mostly<T: Clone + std::fmt::Debug + 'static>(right: T, others: Vec<T>) -> BoxedStrategy<T> {
    prop_oneof![3 => Just(right), 2 => select(others)].boxed()
}

fn statuses() -> BoxedStrategy<Value> {
    let others = vec![Value::Null, json!({}), defaults(), json!({"suspended": true, "odd": [1]})];
    mostly(reported(), others)
}

fn specs() -> BoxedStrategy<Value> {
    mostly(json!({"size": "small"}), vec![Value::Null, json!({}), json!({"size": "large", "odd": {"x": 1}})])
}

prop_compose! {
    fn instances()(
        uid in mostly(INSTANCE_UID, vec!["another"]),
        plane in mostly(Some("cluster-alpha"), vec![None, Some("cluster-beta"), Some("nonsense"), Some("cluster-x_alpha")]),
        space in mostly(Some(SPACE), vec![None, Some("other"), Some("")]),
        wd in mostly(Some("wd"), vec![None, Some("")]),
        controller in mostly(Some(HUB_WD_UID), vec![None, Some("dead")]),
        spec in specs(),
        status in statuses(),
        going in mostly(false, vec![true]),
    ) -> Object {
        let mut i = instance();
        i.metadata.uid = Some(uid.to_owned());
        let labels = i.metadata.labels.get_or_insert_default();
        for (key, value) in [(UPSTREAM_CLUSTER, plane), (UPSTREAM_NAMESPACE, space), (WORKLOAD_DEPLOYMENT_NAME, wd)] {
            labels.remove(key);
            labels.extend(value.map(|v| (key.to_owned(), v.to_owned())));
        }
        i.metadata.owner_references = controller.map(|uid| vec![wd_reference("wd", uid, Some(true))]);
        i.data = json!({"spec": spec, "status": status});
        if going {
            dying(&mut i);
        }
        i
    }
}

prop_compose! {
    fn wds(namespace: &'static str, uid: &'static str)(
        uid in mostly(uid, vec!["made-anew"]),
        federated in mostly(Some(HUB_SPACE), vec![None, Some("ns-b")]),
        source in mostly(Some(OWNER_UID), vec![None, Some("made-anew")]),
        status in statuses(),
        going in mostly(false, vec![true]),
    ) -> Object {
        let mut wd = object(fedhub_core::object::Kind::WorkloadDeployment, namespace, "wd", uid);
        let annotations = [(FEDERATION_NAMESPACE, federated), (SOURCE_UID, source)];
        wd.metadata.annotations =
            Some(annotations.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?.to_owned()))).collect());
        wd.data = json!({"status": status});
        if going {
            dying(&mut wd);
        }
        wd
    }
}

prop_compose! {
    fn projections()(
        mark in mostly(
            Some(format!("{HUB_SPACE}/{HUB_SPACE_UID}/{INSTANCE_UID}")),
            vec![
                None,
                Some("garbage".to_owned()),
                Some(format!("ns-b/{HUB_SPACE_UID}/{INSTANCE_UID}")),
                Some(format!("{HUB_SPACE}/old/{INSTANCE_UID}")),
                Some(format!("{HUB_SPACE}/{HUB_SPACE_UID}/another")),
            ],
        ),
        ours in mostly(true, vec![false]),
        label in mostly("DFW", vec!["ORD"]),
        owners in prop::collection::vec(select(vec![
            wd_reference("wd", OWNER_UID, None), wd_reference("wd", "dead", None), wd_reference("wd", "made-anew", Some(true)),
            reference("v1", "Pod", "p", "p uid", None),
        ]), 0..4),
        foreign in any::<bool>(),
        spec in specs(),
        status in statuses(),
        going in mostly(false, vec![true]),
    ) -> Object {
        let mut p = projection();
        p.metadata.annotations = mark.map(|m| [(PROJECTED_FROM.to_owned(), m)].into());
        let labels = p.metadata.labels.get_or_insert_default();
        labels.insert("compute.datumapis.com/city-code".to_owned(), label.to_owned());
        if !ours {
            labels.clear();
        }
        if foreign {
            labels.insert("app".to_owned(), "theirs".to_owned());
            p.metadata.annotations.get_or_insert_default().insert("note".to_owned(), "theirs".to_owned());
            p.metadata.finalizers = Some(vec!["their/hold".to_owned()]);
        }
        p.metadata.owner_references = Some(owners);
        p.data = json!({"spec": spec, "status": status});
        if going {
            dying(&mut p);
        }
        p
    }
}

prop_compose! {
    fn lives()(
        namespace in maybe(mostly((HUB_SPACE_UID, false), vec![("made-anew", false), (HUB_SPACE_UID, true)])),
        there in prop_oneof![3 => Just(None), 2 => instances().prop_map(Some)],
        deployment in maybe(wds(HUB_SPACE, HUB_WD_UID)),
        replicas in prop::option::of(1..3u64),
        copies in 0..3u64,
    ) -> Live {
        let namespace = namespace.map(|(uid, going)| {
            let mut space = hub_namespace();
            space.metadata.uid = Some(uid.to_owned());
            if going {
                dying(&mut space);
            }
            Arc::new(space)
        });
        let deployment = deployment.map(|mut wd| {
            if let (Some(replicas), Some(status)) = (replicas, wd.data["status"].as_object_mut()) {
                status.insert("replicas".to_owned(), json!(replicas));
            }
            Arc::new(wd)
        });
        Live { namespace, instance: there.map(Arc::new), deployment, copies }
    }
}

prop_compose! {
    /// Any world about one name.
    pub fn worlds()(
        instance in prop_oneof![1 => Just(None), 2 => instances().prop_map(Some)],
        hub_deployment in maybe(wds(HUB_SPACE, HUB_WD_UID)),
        owner in maybe(wds(SPACE, OWNER_UID)),
        projection in maybe(projections()),
        seen_deleted in mostly(None, vec![Some(INSTANCE_UID), Some("another"), Some("")]),
        live in prop_oneof![1 => Just(None), 2 => lives().prop_map(Some)],
        distrust in mostly(None, vec![Some(Distrust::Restored), Some(Distrust::Unverified)]),
        age in select(vec![0u64, 60, 899, 901, 100_000]),
    ) -> Observed {
        Observed {
            instance: instance.map(Arc::new),
            hub_deployment: hub_deployment.as_ref().map(on_hub),
            owner: owner.as_ref().map(on_project),
            projection: projection.map(Arc::new),
            seen_deleted: seen_deleted.map(str::to_owned),
            live,
            distrust,
            now: now() + std::time::Duration::from_secs(age),
            ..seen()
        }
    }
}

fn uid_is(object: Option<&ObjectRef>, uid: &str) -> bool {
    object.is_some_and(|o| o.uid() == uid)
}

/// I4 in its own words: whether a deletion is right, and whether by what was seen or by what was proven.
fn right_to_delete(seen: &Observed) -> Option<bool> {
    let projection = seen.projection.as_ref().filter(|p| seen.instance.is_none() && !p.is_terminating())?;
    let mark: Vec<_> = projection.annotation(PROJECTED_FROM)?.split('/').collect();
    let [space, space_uid, instance_uid] = mark[..] else { return None };
    if space != HUB_SPACE {
        return None;
    }
    if seen.seen_deleted.as_deref() == Some(instance_uid) {
        return Some(false);
    }
    let live = seen.live.as_ref().filter(|_| seen.distrust.is_none())?;
    let gone = !uid_is(live.instance.as_ref(), instance_uid);
    let stands = uid_is(live.namespace.as_ref(), space_uid);
    let wd = live.deployment.as_ref()?;
    let complete = wd.status()["replicas"].as_u64().is_some_and(|replicas| live.copies >= replicas);
    let proves = !live.namespace.as_ref()?.is_terminating() && (stands || complete);
    // U1: what its schema says of it is no report.
    let reported_on = !silent(wd.status()) && !wd.is_terminating();
    (gone && proves && reported_on).then_some(true)
}

/// I5 and I6 in their own words: the living owner on whose behalf something may be written.
pub fn living_owner(seen: &Observed) -> Option<String> {
    let instance = seen.instance.as_ref()?;
    let owner = seen.owner.as_ref().filter(|o| !o.terminating)?;
    let hub_wd = seen.hub_deployment.as_ref().filter(|d| !d.terminating)?;
    let controllers =
        instance.metadata.owner_references.iter().flatten().filter(|o| o.controller == Some(true));
    let agree = instance.label(UPSTREAM_NAMESPACE).is_none_or(|s| s == SPACE)
        && instance.label(UPSTREAM_CLUSTER).is_none_or(|c| c == "cluster-alpha" || c == "cluster-x_alpha")
        && owner.deployment().unwrap().counterpart == mark_hash(Some(HUB_SPACE))
        && hub_wd.deployment().unwrap().counterpart_uid == mark_hash(Some(&owner.uid.to_string()))
        && controllers.into_iter().all(|c| hub_wd.uid.is(&c.uid));
    agree.then(|| owner.uid.to_string())
}

/// P6: whether nothing but its deletion keeps the owner from being the living one, and what stands is the
/// projection of that very Instance.
pub fn shows_its_end(seen: &Observed) -> bool {
    let mut before = seen.clone();
    let Some(owner) = before.owner.as_mut().filter(|owner| owner.terminating) else { return false };
    owner.terminating = false;
    let uid = seen.instance.as_ref().map(|instance| instance.uid().to_owned()).unwrap_or_default();
    let projection = seen.projection.as_ref().filter(|projection| !projection.is_terminating());
    let mark = projection.and_then(|projection| projection.annotation(PROJECTED_FROM));
    living_owner(&before).is_some() && mark.is_some_and(|mark| mark.ends_with(&format!("/{uid}")))
}

/// P5, stated independently: the Instance that took the name of the projection's has no report yet, and the
/// status of the one before it is removed before the projection is written.
fn is_reset(seen: &Observed, projection: &Object) -> bool {
    let instance = seen.instance.as_ref().unwrap();
    let replaced = projection.annotation(PROJECTED_FROM).is_some_and(|mark| {
        mark.contains(&format!("/{HUB_SPACE_UID}/")) && !mark.ends_with(&format!("/{}", instance.uid()))
    });
    replaced
        && matches!(plan(seen), Decision::Status(_, write) if silent(&write.status))
        && !silent(projection.status())
}

fn silent(status: &Value) -> bool {
    [Value::Null, json!({}), defaults()].contains(status)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(600) })]

    #[test]
    fn i4_a_deletion_is_decided_exactly_where_it_is_right(seen in worlds()) {
        let decided = match plan(&seen) {
            Decision::Delete { projection, inferred } => {
                prop_assert_eq!(Some(&projection), seen.projection.as_ref(), "the one that was seen, by its UID");
                Some(inferred)
            }
            _ => None,
        };
        prop_assert_eq!(decided, right_to_delete(&seen));
    }

    #[test]
    fn i4_the_hub_is_read_live_only_where_an_absence_is_to_be_proven(seen in worlds()) {
        if plan(&seen) == Decision::ReadLive {
            prop_assert!(seen.instance.is_none() && seen.live.is_none() && seen.projection.is_some());
        }
    }

    #[test]
    fn i5_i6_nothing_is_written_without_a_living_owner_that_agrees(seen in worlds()) {
        let written = match plan(&seen) {
            Decision::Write(Write::Create(object) | Write::Replace { object, .. }) => object,
            Decision::Status(projection, _) => Box::new(projection.as_ref().clone()),
            _ => return Ok(()),
        };
        let owner = living_owner(&seen);
        if owner.is_none() {
            prop_assert!(shows_its_end(&seen) && matches!(plan(&seen), Decision::Status(..)));
            return Ok(());
        }
        if is_reset(&seen, &written) {
            return Ok(());
        }
        let owner = owner.unwrap();
        prop_assert_eq!((written.namespace(), written.name()), (SPACE, "wd-0"), "home comes from the hub namespace");
        let references = written.metadata.owner_references.as_deref().unwrap_or_default();
        let ours: Vec<_> = references.iter().filter(|o| o.kind == "WorkloadDeployment").collect();
        prop_assert_eq!(ours.len(), 1);
        prop_assert_eq!((ours[0].uid.as_str(), ours[0].controller), (owner.as_str(), None));
        prop_assert_eq!(written.label(WORKLOAD_DEPLOYMENT_UID), Some(owner.as_str()));
        prop_assert_eq!(written.label(UPSTREAM_CLUSTER), Some("cluster-alpha"));
        prop_assert_eq!(written.label(UPSTREAM_NAMESPACE), Some(SPACE));
        let uid = seen.instance.as_ref().unwrap().uid();
        let mark = format!("{HUB_SPACE}/{HUB_SPACE_UID}/{uid}");
        prop_assert_eq!(written.annotation(PROJECTED_FROM), Some(mark.as_str()));
    }

    #[test]
    fn i1_i9_a_write_carries_all_of_the_source_and_nothing_else_of_the_target_changes(seen in worlds()) {
        match plan(&seen) {
            Decision::Write(Write::Create(object) | Write::Replace { object, .. }) => {
                prop_assert_eq!(object.spec(), seen.instance.as_ref().unwrap().spec());
                let before = seen.projection.as_deref().cloned().unwrap_or_else(|| {
                    fedhub_core::object::bare(fedhub_core::object::Kind::Instance, SPACE, "wd-0")
                });
                prop_assert_eq!(without_ours(&object), without_ours(&before));
            }
            Decision::Status(projection, write) => {
                prop_assert_eq!(&write.status, seen.instance.as_ref().unwrap().status());
                prop_assert_eq!(Some(&projection), seen.projection.as_ref());
            }
            _ => {}
        }
    }

    #[test]
    fn p6_p7_a_world_without_an_owner_parks_or_quarantines(seen in worlds()) {
        if seen.instance.is_some() && living_owner(&seen).is_none() {
            let plan = plan(&seen);
            let shows = matches!(plan, Decision::Status(..) | Decision::InOrder) && shows_its_end(&seen);
            prop_assert!(shows || matches!(plan, Decision::Park(_) | Decision::Quarantine(_)), "{plan:?}");
        }
    }
}

/// An object less all that is ours in it.
fn without_ours(object: &Object) -> Value {
    let mut object = object.clone();
    let meta = &mut object.metadata;
    meta.labels.get_or_insert_default().retain(|k, _| !INSTANCE_LABELS.contains(&k.as_str()));
    meta.annotations.get_or_insert_default().remove(PROJECTED_FROM);
    meta.owner_references.get_or_insert_default().retain(|o| o.kind != "WorkloadDeployment");
    let mut value = serde_json::to_value(&object).unwrap();
    value.as_object_mut().unwrap().remove("spec");
    value
}
