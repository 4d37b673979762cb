//! Random states of the world, the unlikely ones included.

use fedhub_api::facts::deployment::{COUNTERS, reported};
use fedhub_core::names::{
    CITY_CODE, CLAIMED_BY, DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST,
    HUB_NAMESPACE_UID, MIRRORED_ANNOTATIONS, MOVING, RESYNC, SOURCE, SOURCE_UID, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Object, set_field};
use fedhub_planes::Distrust;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::plan::fixtures::{
    CITY, FOREIGN, HUB_SPACE, HUB_SPACE_UID, SPACE, UID, annotate, deleting, fresh, hub_namespace, hub_wd,
    label, live, now, policy, seen, source, spec, status_of, unannotate, with,
};
use crate::plan::observed::Observed;

/// Any JSON: nulls, empty lists and objects, zeros, numbers of all kinds, odd keys.
pub fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0i64), Just(-1), any::<i64>()].prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        select(vec!["", "0", "null", "\"\\", "\u{fc}\n", "a/b~c"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key(), inner, 0..4).prop_map(Value::from_iter),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    select(vec!["", "a", "B", "c/d", "~", "e f", "\u{df}"]).prop_map(str::to_owned)
}

/// Fields that this version does not know.
pub fn unknown_fields() -> impl Strategy<Value = Value> {
    btree_map(key().prop_map(|k| format!("x{k}")), json_value(), 0..4).prop_map(Value::from_iter)
}

pub fn merged(mut base: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

pub fn city() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(CITY.to_owned()),
        1 => Just("ORD".to_owned()),
        1 => Just("dfw".to_owned()),
        1 => Just("A_b.c".to_owned()),
        1 => Just("New York".to_owned()),
        1 => Just(String::new()),
    ]
}

/// `right`, something else, or nothing.
fn maybe(right: &str) -> impl Strategy<Value = Option<String>> + use<> {
    prop_oneof![
        3 => Just(Some(right.to_owned())),
        1 => Just(Some("other".to_owned())),
        1 => Just(None),
    ]
}

fn set(object: &mut Object, key: &str, value: Option<&String>) {
    match value {
        Some(value) => annotate(object, key, value),
        None => unannotate(object, key),
    }
}

fn chance(weight: u32) -> impl Strategy<Value = bool> {
    prop_oneof![weight => Just(false), 1 => Just(true)]
}

pub fn status_value() -> impl Strategy<Value = Value> {
    let condition = (
        prop_oneof![Just("Available"), Just("ReplicasReady"), Just("ReferencedDataReady"), Just("Odd")],
        prop_oneof![Just("True"), Just("False"), Just("Unknown")],
        prop_oneof![Just("Stable"), Just("NoCellForCity"), Just("FederationConflict")],
    )
        .prop_map(|(kind, status, reason)| {
            (kind, json!({"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
        });
    prop_oneof![
        1 => Just(Value::Null),
        1 => Just(json!({})),
        4 => (vec(condition, 0..4), option::of(0i64..9), option::of(0i64..9), unknown_fields()).prop_map(|(conditions, generation, replicas, more)| {
            // A list of conditions has one of each type.
            let conditions: std::collections::BTreeMap<_, _> = conditions.into_iter().collect();
            let mut status = json!({"conditions": conditions.into_values().collect::<Vec<_>>()});
            if let Some(generation) = generation {
                status["observedGeneration"] = json!(generation);
            }
            if let Some(replicas) = replicas {
                status["replicas"] = json!(replicas);
            }
            merged(status, &more)
        }),
    ]
}

/// A status as a project plane keeps it: its schema requires the counters.
fn counted(mut status: Value) -> Value {
    if reported(&status) {
        let missing = COUNTERS.into_iter().filter(|counter| status.get(counter).is_none());
        for counter in missing.collect::<Vec<_>>() {
            status[counter] = json!(0);
        }
    }
    status
}

fn project() -> impl Strategy<Value = Object> {
    let metadata = (
        chance(2),
        chance(3).prop_map(|not| !not),
        any::<bool>(),
        maybe(HUB_SPACE),
        maybe(HUB_SPACE_UID),
        vec(option::of(select(vec!["", "a", "true"]).prop_map(str::to_owned)), MIRRORED_ANNOTATIONS.len()),
    );
    (metadata, city(), unknown_fields(), status_value()).prop_map(|(metadata, city, unknown, status)| {
        let (dying, ours, foreign, space, uid, mirrored) = metadata;
        let mut wd = status_of(fresh(), counted(status));
        set_field(&mut wd, "spec", merged(spec(&city), &unknown));
        let finalizers = [(ours, FEDERATOR_FINALIZER), (foreign, FOREIGN)];
        let finalizers: Vec<String> =
            finalizers.iter().filter(|(on, _)| *on).map(|(_, f)| (*f).to_owned()).collect();
        wd.metadata.finalizers = (!finalizers.is_empty()).then_some(finalizers);
        annotate(&mut wd, FOREIGN, "kept");
        label(&mut wd, FOREIGN, "kept");
        set(&mut wd, FEDERATION_NAMESPACE, space.as_ref());
        set(&mut wd, HUB_NAMESPACE_UID, uid.as_ref());
        for (key, value) in MIRRORED_ANNOTATIONS.iter().zip(&mirrored) {
            set(&mut wd, key, value.as_ref());
        }
        if dying { deleting(wd) } else { wd }
    })
}

pub fn namespace() -> impl Strategy<Value = Option<Object>> {
    let labels = prop_oneof![
        6 => Just((Some("cluster-alpha"), Some(SPACE))),
        1 => Just((Some("cluster-org_alpha"), Some(SPACE))),
        1 => Just((None, None)),
        1 => Just((Some("cluster-beta"), Some(SPACE))),
        1 => Just((Some("cluster-alpha"), Some("other"))),
        1 => Just((Some("garbage"), None)),
        1 => Just((None, Some("other"))),
    ];
    let some = (labels, chance(6), chance(4)).prop_map(|((cluster, space), dying, other_uid)| {
        let mut namespace = hub_namespace();
        let labels = namespace.metadata.labels.get_or_insert_default();
        labels.clear();
        labels.insert(FOREIGN.to_owned(), "kept".to_owned());
        labels.extend(cluster.map(|c| (UPSTREAM_CLUSTER.to_owned(), c.to_owned())));
        labels.extend(space.map(|s| (UPSTREAM_NAMESPACE.to_owned(), s.to_owned())));
        annotate(&mut namespace, FOREIGN, "kept");
        if other_uid {
            namespace.metadata.uid = Some("another-uid".to_owned());
        }
        if dying { deleting(namespace) } else { namespace }
    });
    option::weighted(0.8, some)
}

pub fn hub() -> impl Strategy<Value = Option<Object>> {
    let marks = (maybe(&source()), maybe(UID));
    let claim = select(vec!["city-dfw", "city-ord", "gone"]);
    let state = select(vec![None, None, None, Some(HUB_LOST), Some(RESYNC)]);
    let moving = select(vec!["DFW/2026-01-01T00:00:00Z", "ORD/2026-01-01T00:00:00Z", "junk"]);
    let some = (
        marks,
        city(),
        any::<bool>(),
        chance(5),
        vec(option::of(select(vec!["", "a", "true"]).prop_map(str::to_owned)), MIRRORED_ANNOTATIONS.len()),
        unknown_fields(),
        status_value(),
        (state, option::weighted(0.7, claim), option::weighted(0.3, moving)),
    )
        .prop_map(
            |((from, uid), city, protected, dying, mirrored, unknown, status, (state, claim, moving))| {
                let mut wd = status_of(hub_wd(), status);
                if let Some(key) = state {
                    annotate(&mut wd, key, "true");
                }
                for (key, value) in [(CLAIMED_BY, claim), (MOVING, moving)] {
                    if let Some(value) = value {
                        annotate(&mut wd, key, value);
                    }
                }
                set_field(&mut wd, "spec", merged(spec(&city), &unknown));
                set(&mut wd, SOURCE, from.as_ref());
                set(&mut wd, SOURCE_UID, uid.as_ref());
                label(&mut wd, CITY_CODE, &city);
                if !protected {
                    wd.metadata.labels.get_or_insert_default().remove(DELETION_PROTECTED.0);
                }
                for (key, value) in MIRRORED_ANNOTATIONS.iter().zip(&mirrored) {
                    set(&mut wd, key, value.as_ref());
                }
                label(&mut wd, FOREIGN, "kept");
                annotate(&mut wd, FOREIGN, "kept");
                wd.metadata.finalizers = Some(vec![FOREIGN.to_owned()]);
                wd.metadata.owner_references = Some(vec![OwnerReference {
                    api_version: "v1".to_owned(),
                    kind: "ConfigMap".to_owned(),
                    name: "owner".to_owned(),
                    uid: "uid-of-an-owner".to_owned(),
                    ..OwnerReference::default()
                }]);
                if dying { deleting(wd) } else { wd }
            },
        );
    option::weighted(0.7, some)
}

fn some_policy() -> impl Strategy<Value = Object> {
    let name = prop_oneof![Just("city-dfw"), Just("city-ord"), Just("by-hand"), Just("city-dfw-2")];
    let city =
        prop_oneof![2 => Just(Some(CITY)), 1 => Just(Some("ORD")), 1 => Just(Some("dfw")), 1 => Just(None)];
    (name, city, chance(2), chance(4)).prop_map(|(name, city, edited, dying)| {
        let mut made = policy(name, city.unwrap_or(CITY));
        if city.is_none() {
            made.metadata.labels = None;
        }
        label(&mut made, FOREIGN, "kept");
        annotate(&mut made, FOREIGN, "kept");
        if edited {
            made.data["spec"]["propagateDeps"] = json!(false);
        }
        if dying { deleting(made) } else { made }
    })
}

/// Any state of the world for one WD.
pub fn observed() -> impl Strategy<Value = Observed> {
    let looked = prop_oneof![3 => Just(None), 2 => (namespace(), hub()).prop_map(Some)];
    let distrust = (
        option::of(select(vec![Distrust::Restored, Distrust::Unverified])),
        any::<bool>(),
        option::of(Just(now())),
    );
    (
        project(),
        namespace(),
        hub(),
        vec(some_policy(), 0..3).prop_map(|mut policies| {
            policies.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
            policies.dedup_by(|a, b| a.metadata.name == b.metadata.name);
            policies
        }),
        0usize..4,
        looked,
        distrust,
    )
        .prop_map(
            |(project, namespace, hub, policies, cells, looked, (distrust, seen_deleted, last_restore))| {
                // Without its namespace a hub WD cannot be known.
                let hub = hub.filter(|_| namespace.is_some());
                let mut seen = seen(project, namespace, hub, policies);
                (seen.cells, seen.distrust, seen.seen_deleted) = (cells, distrust, seen_deleted);
                seen.last_restore = last_restore;
                // A namespace that is missing holds nothing.
                seen.live = looked.map(|(n, h)| {
                    let h = h.filter(|_| n.is_some());
                    live(n, h)
                });
                seen
            },
        )
}

/// A state that the federator alone made, of any WD that it would take.
pub fn federated() -> impl Strategy<Value = (Object, Object)> {
    let cities = prop_oneof![Just("DFW"), Just("ORD"), Just("A_b.c")];
    (
        cities,
        unknown_fields(),
        status_value(),
        vec(option::of(select(vec!["", "a", "true"]).prop_map(str::to_owned)), MIRRORED_ANNOTATIONS.len()),
    )
        .prop_map(|(city, unknown, status, mirrored)| {
            let mut wd = fresh();
            set_field(&mut wd, "spec", merged(spec(city), &unknown));
            for (key, value) in MIRRORED_ANNOTATIONS.iter().zip(&mirrored) {
                set(&mut wd, key, value.as_ref());
            }
            (wd, with(hub_wd(), |wd| set_field(wd, "status", status)))
        })
}
