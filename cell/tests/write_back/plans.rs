//! The plan through random worlds: it agrees with the glance, comes to rest, and touches nothing that is not ours.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::Digest;
use fedhub_cell::write_back::copy::reference;
use fedhub_cell::write_back::decision::Decision;
use fedhub_cell::write_back::glance::Sight;
use fedhub_cell::write_back::plan::{Observed, Said, plan};
use fedhub_core::names::{
    CELL_SOURCE, INSTANCE_CITY, INSTANCE_FINALIZER, LINKING_LABELS, SERVICE_NAME, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId, bare, set_field};
use fedhub_planes::Write;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::status;

/// The marks of this cell begin so.
const CELL: &str = "dfw/uid-of-dfw";
const UID: &str = "uid-of-instance";
const WD_UID: &str = "uid-of-wd";
const DEFAULTS: &str = "1970-01-01T00:00:00Z";

/// All that the plan may see.
#[derive(Clone, Debug)]
struct Facts {
    instance: Option<Object>,
    namespace: Option<Object>,
    deployment: Option<Object>,
    copy: Option<Object>,
    /// How many copies were made.
    made: usize,
    /// Whether the cell itself is declared lost, and whether every other is.
    declared_lost: bool,
    others_lost: bool,
}

impl Facts {
    fn sight(&self, echoes: Option<ServerNormalization>) -> Sight {
        let digest = |kind, object: &Option<Object>| {
            object.as_ref().map(|object| Digest::of(&PlaneId::Hub, kind, object))
        };
        let named = self.instance.as_ref().and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME)) == Some("wd");
        Sight {
            cell: CellId { name: "dfw".into(), uid: "uid-of-dfw".into() },
            declared_lost: self.declared_lost,
            instance: self.instance.clone().map(Arc::new),
            hub_namespace: self.namespace.clone().map(Arc::new),
            deployment: digest(Kind::WorkloadDeployment, &self.deployment).filter(|_| named),
            copy: digest(Kind::Instance, &self.copy),
            spec_normalization: echoes,
            status_normalization: echoes,
            now: now(),
        }
    }

    fn seen(&self, echoes: Option<ServerNormalization>) -> Observed {
        let copy = self.copy.clone().map(Arc::new);
        let (sight, of_lost_cell) = (self.sight(echoes), self.others_lost);
        Observed { sight, copy, copy_proven: false, live_instance: None, live_deployment: None, of_lost_cell }
    }

    /// Does what is decided until nothing is; says what was done.
    fn settle(&mut self) -> Vec<Decision> {
        let mut done = Vec::new();
        let mut heard = self.seen(None);
        for _ in 0..12 {
            let now = self.seen(None);
            heard = Observed { sight: now.sight, copy: now.copy, ..heard };
            let decision = plan(&heard);
            done.push(decision.clone());
            match decision {
                Decision::Nothing
                | Decision::Park
                | Decision::Refuse(_)
                | Decision::Leaving
                | Decision::Hush(_) => return done,
                Decision::Mark(finalizers) | Decision::Release(finalizers) => {
                    let instance = self.instance.as_mut().unwrap();
                    instance.metadata.finalizers = serde_json::from_value(finalizers).unwrap();
                    if instance.is_terminating() && instance.metadata.finalizers.is_none() {
                        self.instance = None;
                    }
                }
                Decision::Write(Write::Create(mut made)) => {
                    assert!(self.copy.is_none());
                    self.made += 1;
                    made.metadata.uid = Some(format!("uid-of-copy-{}", self.made));
                    made.metadata.resource_version = Some("9".to_owned());
                    self.copy = Some(*made);
                }
                Decision::Write(Write::Replace { object, .. }) => {
                    assert_eq!(self.copy.as_ref().unwrap().uid(), object.uid());
                    self.copy = Some(*object);
                }
                Decision::Status(of, write) => {
                    let copy = self.copy.as_mut().unwrap();
                    assert_eq!(copy.uid(), of.uid());
                    set_field(copy, "status", write.status);
                }
                Decision::Delete { copy, .. } => {
                    assert_eq!(self.copy.as_ref().unwrap().uid(), copy.uid());
                    (self.copy, heard.copy_proven) = (None, true);
                }
                Decision::ReadCopy => heard.copy_proven = true,
                Decision::ReadInstance => {
                    heard.live_instance = Some(Said(self.instance.clone().map(Arc::new)));
                }
                Decision::ReadDeployment => {
                    heard.live_deployment = Some(Said(self.deployment.clone().map(Arc::new)));
                }
            }
        }
        panic!("does not come to rest: {done:?}");
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

/// It was made just now, and is not yet what it is to be.
fn coming_up(instance: &mut Object) {
    instance.metadata.creation_timestamp = Some(Time(now()));
    let ready = json!({"type": "Ready", "status": "False", "reason": "PendingProgramming", "message": ""});
    set_field(instance, "status", json!({"conditions": [ready]}));
}

/// It waits for its networks.
fn gate(instance: &mut Object) {
    let gates = json!({"schedulingGates": [{"name": "Network"}]});
    set_field(instance, "spec", json!({"size": "small", "controller": gates}));
}

fn labelled(object: &mut Object, labels: &[(&str, &str)]) {
    let all = object.metadata.labels.get_or_insert_default();
    all.extend(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
}

fn instance() -> Object {
    let mut instance = bare(Kind::Instance, "ns-a", "wd-0");
    instance.metadata.uid = Some(UID.to_owned());
    instance.metadata.resource_version = Some("5".to_owned());
    for key in LINKING_LABELS {
        labelled(&mut instance, &[(key, "x")]);
    }
    labelled(
        &mut instance,
        &[(WORKLOAD_DEPLOYMENT_NAME, "wd"), (UPSTREAM_CLUSTER, "cluster-evil"), (UPSTREAM_NAMESPACE, "evil")],
    );
    instance.metadata.annotations = Some([("note".to_owned(), "private".to_owned())].into());
    instance.metadata.finalizers = Some(vec![INSTANCE_FINALIZER.to_owned()]);
    set_field(&mut instance, "spec", json!({"size": "small"}));
    set_field(&mut instance, "status", status("True"));
    instance
}

fn right() -> Facts {
    let mut namespace = bare(Kind::Namespace, "", "ns-a");
    labelled(&mut namespace, &[(UPSTREAM_CLUSTER, "cluster-alpha"), (UPSTREAM_NAMESPACE, "shop")]);
    let mut deployment = bare(Kind::WorkloadDeployment, "ns-a", "wd");
    deployment.metadata.uid = Some(WD_UID.to_owned());
    let mut facts = Facts {
        instance: Some(instance()),
        namespace: Some(namespace),
        deployment: Some(deployment),
        copy: None,
        made: 0,
        declared_lost: false,
        others_lost: false,
    };
    facts.settle();
    facts
}

fn die(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
}

/// How a world may differ from one in which all is right.
fn worlds() -> impl Strategy<Value = Facts> {
    let presence = (0..8u8, 0..8u8, 0..8u8, 0..8u8);
    let edits = (0..12u8, 0..8u8, 0..10u8, 0..4u8, 0..6u8);
    (presence, edits, 0..6u8).prop_map(
        |((gone, dying, named, annotated), (owned, labels, status_is, spec, finalized), lost)| {
            let mut facts = right();
            (facts.declared_lost, facts.others_lost) = (lost == 0, lost == 1);
            let (instance, copy) = (facts.instance.as_mut().unwrap(), facts.copy.as_mut().unwrap());
            copy.metadata.annotations = match annotated {
                0 => None,
                1 => Some([(CELL_SOURCE.to_owned(), "ord/uid".to_owned())].into()),
                2 => Some([(CELL_SOURCE.to_owned(), format!("{CELL}/uid-of-earlier"))].into()),
                // Another cluster under this cell's name; and marks of an older version, by name alone.
                3 => Some([(CELL_SOURCE.to_owned(), format!("dfw/uid-of-twin/{UID}"))].into()),
                4 => Some([(CELL_SOURCE.to_owned(), format!("dfw/{UID}"))].into()),
                5 => Some([(CELL_SOURCE.to_owned(), "dfw/uid-of-earlier".to_owned())].into()),
                _ => copy.metadata.annotations.clone(),
            };
            let foreign = OwnerReference {
                kind: "ConfigMap".to_owned(),
                api_version: "v1".to_owned(),
                controller: Some(owned == 3),
                ..reference("friend", "uid-of-friend")
            };
            match owned {
                0 => copy.metadata.owner_references = None,
                1 => copy.metadata.owner_references = Some(vec![reference("wd", "dead")]),
                2 => copy.metadata.owner_references.as_mut().unwrap().push(reference("other", "dead")),
                3 => copy.metadata.owner_references = Some(vec![foreign]),
                4 => copy.metadata.owner_references.as_mut().unwrap().push(foreign),
                5 => copy.metadata.owner_references.as_mut().unwrap()[0].block_owner_deletion = None,
                _ => {}
            }
            match labels {
                0 => labelled(copy, &[(UPSTREAM_CLUSTER, "cluster-beta")]),
                1 => labelled(copy, &[(INSTANCE_CITY, "y"), ("karmada.io/x", "kept")]),
                2 => labelled(copy, &[(SERVICE_NAME.0, "other")]),
                3 => labelled(instance, &[(LINKING_LABELS[1], "changed")]),
                4 => labelled(instance, &[(LINKING_LABELS[4], "")]),
                _ => {}
            }
            let defaults = json!({"conditions": [{"type": "Ready", "lastTransitionTime": DEFAULTS}]});
            match status_is {
                0 => set_field(copy, "status", Value::Null),
                1 => set_field(copy, "status", defaults),
                2 => set_field(copy, "status", status("False")),
                3 => set_field(instance, "status", defaults),
                4 => set_field(instance, "status", Value::Null),
                5 => coming_up(instance),
                6 => {
                    coming_up(instance);
                    set_field(copy, "status", Value::Null);
                }
                _ => {}
            }
            match spec {
                0 => set_field(instance, "spec", json!({"size": "large", "unknown": 1})),
                1 => gate(instance),
                _ => {}
            }
            match finalized {
                0 => instance.metadata.finalizers = None,
                1 => {
                    instance.metadata.finalizers = Some(vec!["vm".to_owned(), INSTANCE_FINALIZER.to_owned()]);
                }
                2 => instance.metadata.finalizers = Some(vec!["vm".to_owned()]),
                _ => {}
            }
            match dying {
                0 | 1 => die(instance),
                2 => die(copy),
                3 => die(facts.deployment.as_mut().unwrap()),
                4 => die(facts.namespace.as_mut().unwrap()),
                _ => {}
            }
            match named {
                0 => facts.namespace.as_mut().unwrap().metadata.labels = None,
                1 => labelled(facts.namespace.as_mut().unwrap(), &[(UPSTREAM_CLUSTER, "nonsense")]),
                _ => {}
            }
            match gone {
                0 => facts.instance = None,
                1 => facts.copy = None,
                2 => facts.deployment = None,
                3 => facts.namespace = None,
                _ => {}
            }
            facts
        },
    )
}

fn mark(copy: &Object) -> Option<&str> {
    copy.annotation(CELL_SOURCE)
}

/// The same decision, as far as a digest can tell it.
fn same(glance: &Decision, plan: &Decision) -> bool {
    let uid = |copy: &ObjectRef| (copy.uid().to_owned(), copy.version().to_owned());
    match (glance, plan) {
        (Decision::Status(a, x), Decision::Status(b, y)) => uid(a) == uid(b) && x == y,
        (Decision::Delete { copy: a, inferred: x }, Decision::Delete { copy: b, inferred: y }) => {
            uid(a) == uid(b) && x == y
        }
        (a, b) => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn i7_the_glance_decides_what_the_plan_would(facts in worlds(), heard: bool) {
        let echoes = heard.then_some(ServerNormalization::Kept);
        let decided = plan(&facts.seen(echoes));
        if let Some(glance) = facts.sight(echoes).decide() {
            prop_assert!(same(&glance, &decided), "{glance:?} is not {decided:?}");
        }
    }

    #[test]
    fn c7_it_comes_to_rest_and_stays_there(facts in worlds()) {
        let (before, mut after) = (facts.clone(), facts);
        let done = after.settle();
        let again = after.clone().settle();
        prop_assert_eq!(again.len(), 1, "{:?} after {:?}", again, done);

        // What is not ours is not touched, unless its cell is declared lost: then it makes room.
        let is_ours = |f: &Facts, copy: &Object| mark(copy).is_none_or(|m| {
            m.starts_with("dfw/uid-of-dfw/") || f.instance.is_some() && m == "dfw/uid-of-instance"
        });
        if let Some(copy) = before.copy.as_ref().filter(|copy| !is_ours(&before, copy)) {
            let kept = after.copy.as_ref() == Some(copy);
            let made_room = after.copy.as_ref().is_none_or(|now| now.uid() != copy.uid());
            prop_assert!(kept || before.others_lost && made_room, "{:?}", after.copy);
        }
        // A cell that is declared lost writes nothing new (C11).
        if before.declared_lost && let Some(copy) = &after.copy {
            prop_assert_eq!(before.copy.as_ref(), Some(copy));
        }
        let alive = before.instance.as_ref().is_some_and(|i| !i.is_terminating());
        let owner = before.deployment.as_ref().is_some_and(|d| !d.is_terminating());
        if alive && !owner {
            prop_assert_eq!(&after.copy, &before.copy, "owner-gated");
        }
        // Whatever is written says whose it is by the namespace, and names the living WD.
        if let Some(copy) = after.copy.as_ref().filter(|c| before.copy.as_ref() != Some(*c)) {
            prop_assert_eq!(copy.label(UPSTREAM_CLUSTER), Some("cluster-alpha"));
            prop_assert_eq!(copy.label(UPSTREAM_NAMESPACE), Some("shop"));
            prop_assert_eq!(mark(copy), Some("dfw/uid-of-dfw/uid-of-instance"));
            prop_assert_eq!(copy.annotation("note"), None);
            let owners: Vec<_> = copy.metadata.owner_references.iter().flatten().collect();
            prop_assert_eq!(owners.iter().filter(|o| o.controller == Some(true)).count(), 1);
            prop_assert!(owners.iter().all(|o| o.kind == "ConfigMap" || o.uid == WD_UID));
            let held = |i: &Object| i.has_finalizer(INSTANCE_FINALIZER) || i.is_terminating();
            prop_assert!(after.instance.as_ref().is_some_and(held));
            prop_assert_eq!(copy.spec(), after.instance.as_ref().unwrap().spec());
            // Foreign keys are left (I9).
            let old = before.copy.as_ref().filter(|old| old.uid() == copy.uid());
            let kept = old.and_then(|old| old.label("karmada.io/x"));
            prop_assert!(kept.is_none() || copy.label("karmada.io/x") == kept);
        }
        // C7: a copy is not deleted while anybody else holds its Instance.
        let instance = before.instance.as_ref();
        let provided = instance.is_some_and(|i| i.metadata.finalizers.iter().flatten().any(|f| f == "vm"));
        let is_its = |mark| ["dfw/uid-of-dfw/uid-of-instance", "dfw/uid-of-instance"].contains(&mark);
        if provided && before.copy.as_ref().and_then(mark).is_some_and(is_its) {
            prop_assert!(after.copy.is_some());
        }
        // A finalizer goes only where no copy of ours is left.
        let held = |f: &Facts| f.instance.as_ref().is_some_and(|i| i.has_finalizer(INSTANCE_FINALIZER));
        if held(&before) && !held(&after) {
            let ours = |c: &Object| mark(c).is_some() && is_ours(&before, c);
            prop_assert!(after.copy.as_ref().is_none_or(|c| !ours(c)));
        }
    }
}

#[test]
fn i3_absence_that_only_a_watch_shows_releases_nothing() {
    let mut facts = right();
    facts.copy = None;
    die(facts.instance.as_mut().unwrap());
    assert_eq!(plan(&facts.seen(None)), Decision::ReadCopy);
    let proven = Observed { copy_proven: true, ..facts.seen(None) };
    assert_eq!(plan(&proven), Decision::Release(Value::Null));
}

#[test]
fn i5_a_copy_that_stood_once_is_made_anew_only_for_the_wd_that_the_hub_has() {
    let facts = Facts { copy: None, ..right() };
    let seen = facts.seen(None);
    assert_eq!(plan(&seen), Decision::ReadDeployment);
    let mut new = Facts { copy: None, ..right() };
    new.instance.as_mut().unwrap().metadata.creation_timestamp = Some(Time(now()));
    assert!(matches!(plan(&new.seen(None)), Decision::Write(Write::Create(_))), "no copy of it stood yet");
    let mut other = facts.deployment.clone().unwrap();
    other.metadata.uid = Some("another".to_owned());
    for live in [None, Some(Arc::new(other))] {
        let stale = Observed { live_deployment: Some(Said(live)), ..seen.clone() };
        assert_eq!(plan(&stale), Decision::Park);
    }
    let known = Observed { live_deployment: Some(Said(facts.deployment.clone().map(Arc::new))), ..seen };
    assert!(matches!(plan(&known), Decision::Write(Write::Create(_))));
}

#[test]
fn i4_a_copy_without_its_instance_goes_only_by_the_cells_own_word() {
    let facts = Facts { instance: None, ..right() };
    let seen = facts.seen(None);
    assert_eq!(plan(&seen), Decision::ReadInstance);
    let there = Observed { live_instance: Some(Said(Some(Arc::new(instance())))), ..seen.clone() };
    assert_eq!(plan(&there), Decision::Park);
    let mut other = instance();
    other.metadata.uid = Some("another".to_owned());
    for live in [None, Some(Arc::new(other))] {
        let proven = Observed { live_instance: Some(Said(live)), ..seen.clone() };
        assert!(matches!(plan(&proven), Decision::Delete { inferred: true, .. }));
    }
}

#[test]
fn c7_a_status_is_probed_only_where_nobody_remembers_what_became_of_the_last() {
    let mut facts = right();
    set_field(facts.instance.as_mut().unwrap(), "status", status("False"));
    let probes = |echo| match plan(&facts.seen(echo)) {
        Decision::Status(_, write) => write.probe,
        other => panic!("{other:?}"),
    };
    assert!(probes(None) && !probes(Some(ServerNormalization::Kept)));
    assert_eq!(facts.sight(None).decide(), None, "the glance leaves that to the plan");
}

#[test]
fn c7_a_stage_is_no_status_to_write_yet_and_the_spec_is() {
    let mut facts = right();
    coming_up(facts.instance.as_mut().unwrap());
    let hush = Decision::Hush(Duration::from_secs(2));
    assert_eq!((plan(&facts.seen(None)), facts.sight(None).decide()), (hush.clone(), Some(hush.clone())));
    facts.copy = None;
    let done = facts.settle();
    assert!(matches!(&done[..], [Decision::Write(Write::Create(_)), last] if *last == hush), "{done:?}");
}

#[test]
fn c6_a_copy_waits_for_gates_that_open_in_a_moment_and_for_no_others() {
    let mut facts = Facts { copy: None, ..right() };
    let gated = |facts: &mut Facts, age: i64, reason: &str| {
        let instance = facts.instance.as_mut().unwrap();
        coming_up(instance);
        gate(instance);
        instance.metadata.creation_timestamp = Some(Time(now() - SignedDuration::from_secs(age)));
        instance.data["status"]["conditions"][0]["reason"] = json!(reason);
    };
    let makes = |facts: &Facts| matches!(plan(&facts.seen(None)), Decision::Write(Write::Create(_)));
    for (age, left) in [(0, 2), (1, 1)] {
        gated(&mut facts, age, "SchedulingGatesPresent");
        assert_eq!(plan(&facts.seen(None)), Decision::Hush(Duration::from_secs(left)), "{age}");
    }
    gated(&mut facts, 2, "SchedulingGatesPresent");
    assert!(makes(&facts), "it has waited long enough to be told");
    for reason in ["PendingQuota", "NetworkNotFound", "SourceNotFound", "Suspended"] {
        gated(&mut facts, 0, reason);
        assert!(makes(&facts), "{reason} is told at once");
    }
    gated(&mut facts, 0, "SchedulingGatesPresent");
    let held = facts.instance.as_mut().unwrap();
    held.metadata.finalizers.as_mut().unwrap().push("vm".to_owned());
    held.metadata.deletion_timestamp = Some(Time(now()));
    assert!(makes(&facts), "C7: a deletion that takes long is visible");
}
