//! I6: no crossing between tenants.

use fedhub_core::names::{SOURCE, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane};
use fedhub_core::object::{Object, ObjectView, PlaneId};
use fedhub_federator::origin::is_ours;
use fedhub_federator::snapshot::Wd;
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{
    Edit, PLANE, SPACE, UID, annotate, body, hub_namespace, hub_wd, in_order, label, live, shared, source,
    status_of, unannotate, with, writes_hub,
};
use crate::plan::observed::plan;
use crate::plan::states;

fn facts(hub: Object) -> Wd {
    Wd::from_object(&PlaneId::Hub, &hub).unwrap()
}

/// Whether a hub WD's mark names anything that is not this WD.
fn another_origin(hub: &Object) -> bool {
    hub.annotation(SOURCE).is_some_and(|s| s != source())
        || hub.annotation(SOURCE_UID).is_some_and(|u| u != UID)
}

fn anothers(namespace: &Object) -> bool {
    let plane = namespace.label(UPSTREAM_CLUSTER).map(|l| decode_plane(l).map(|p| p.as_str().to_owned()));
    plane.is_some_and(|p| p.as_deref() != Some(PLANE))
        || namespace.label(UPSTREAM_NAMESPACE).is_some_and(|s| s != SPACE)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i6_a_hub_wd_of_another_origin_is_never_written_or_deleted(seen in states::observed()) {
        let plan = plan(&seen);
        let hubs = [seen.hub.as_ref(), seen.live.as_ref().and_then(|l| l.deployment.as_ref())];
        // What was read live is newer.
        let newest = hubs[1].or(hubs[0].filter(|_| seen.live.is_none()));
        if let Some(hub) = newest.filter(|h| another_origin(h)) {
            let deletion = plan.delete.is_some();
            prop_assert!(!deletion || seen.live.is_none() && !seen.project.is_terminating());
            if seen.live.is_none() || seen.project.is_terminating() {
                prop_assert!(plan.deployment.is_none(), "{:?}", hub.metadata.annotations);
            }
        }
        if hubs[0].is_some_and(|h| another_origin(h)) && !seen.project.is_terminating() {
            prop_assert!(!writes_hub(&plan));
        }
    }

    #[test]
    fn i6_a_hub_wd_without_any_mark_is_ours_where_the_namespace_names_this_project_namespace(seen in states::observed(), bald: bool) {
        let mut seen = seen;
        let hub = with(hub_wd(), |wd| {
            unannotate(wd, SOURCE);
            unannotate(wd, SOURCE_UID);
        });
        let namespace = with(hub_namespace(), |n| if bald { n.metadata.labels = None });
        seen.live = seen.live.map(|_| live(Some(namespace.clone()), Some(hub.clone())));
        seen.hub_namespace = Some(shared(namespace));
        seen.hub = Some(shared(hub));
        let plan = plan(&seen);
        if bald {
            prop_assert!(!writes_hub(&plan));
        }
        if let Some(write) = &plan.deployment {
            prop_assert_eq!(body(write).annotation(SOURCE), Some(&*source()));
            prop_assert_eq!(body(write).annotation(SOURCE_UID), Some(UID));
        }
        prop_assert!(plan.delete.is_none() || plan.deployment.is_some(), "its mark comes first");
    }

    #[test]
    fn i6_nothing_is_done_in_a_namespace_of_another_tenant(seen in states::observed()) {
        let plan = plan(&seen);
        let live = seen.live.as_ref().and_then(|l| l.namespace.as_ref());
        let known = seen.hub_namespace.as_ref();
        let judged = if seen.project.is_terminating() && seen.live.is_some() { live } else { known };
        if judged.is_some_and(|n| anothers(n)) {
            prop_assert!(!writes_hub(&plan), "{:?}", plan);
        }
    }

    #[test]
    fn i6_what_is_written_is_in_the_hub_namespace_and_carries_this_wds_mark(seen in states::observed()) {
        let plan = plan(&seen);
        for write in [&plan.policy, &plan.deployment].into_iter().flatten() {
            prop_assert_eq!(body(write).namespace(), &seen.hub_namespace_name);
        }
        if let Some(write) = plan.deployment.as_ref() && plan.delete.is_none() {
            prop_assert_eq!(body(write).name(), seen.project.name());
            prop_assert_eq!(body(write).annotation(SOURCE), Some(&*source()));
            prop_assert_eq!(body(write).annotation(SOURCE_UID), Some(UID));
        }
    }

    #[test]
    fn i6_the_status_of_another_origin_is_not_passed_on(status in states::status_value(), here in states::status_value()) {
        let mut seen = in_order();
        seen.project = shared(status_of(seen.project.as_ref().clone(), here));
        let foreign = with(hub_wd(), |wd| annotate(wd, SOURCE, "beta/shop/web-dfw"));
        seen.hub = Some(shared(status_of(foreign.clone(), status)));
        let first = plan(&seen);
        seen.hub = Some(shared(status_of(foreign, json!({}))));
        prop_assert_eq!(first, plan(&seen));
    }
}

#[test]
fn i6_the_table_of_origin_marks() {
    let seen = in_order();
    let table: [(&str, Edit, bool); 8] = [
        ("whole", |_| (), true),
        ("another plane", |wd| annotate(wd, SOURCE, "beta/shop/web-dfw"), false),
        ("another namespace", |wd| annotate(wd, SOURCE, "alpha/other/web-dfw"), false),
        ("another name", |wd| annotate(wd, SOURCE, "alpha/shop/web-ord"), false),
        ("another UID", |wd| annotate(wd, SOURCE_UID, "other"), false),
        ("source alone", |wd| unannotate(wd, SOURCE_UID), true),
        ("UID alone", |wd| unannotate(wd, SOURCE), true),
        (
            "none",
            |wd| {
                unannotate(wd, SOURCE);
                unannotate(wd, SOURCE_UID);
            },
            true,
        ),
    ];
    for (what, edit, ours) in table {
        assert_eq!(is_ours(&seen.snapshot(), &facts(with(hub_wd(), edit))), ours, "{what}");
    }
    let mut bald = in_order();
    bald.hub_namespace = Some(shared(with(hub_namespace(), |n| {
        n.metadata.labels.as_mut().unwrap().remove(UPSTREAM_NAMESPACE);
    })));
    let (_, none, _) = table[7];
    assert!(!is_ours(&bald.snapshot(), &facts(with(hub_wd(), none))), "its owner is unknown");
}

#[test]
fn i6_a_conflict_is_said_and_nothing_written_even_where_the_stranger_is_available() {
    let available = json!({"conditions": [{"type": "Available", "status": "True", "reason": "Stable"}]});
    let stranger =
        with(status_of(hub_wd(), available.clone()), |wd| annotate(wd, SOURCE, "beta/shop/web-dfw"));
    let taken = with(hub_namespace(), |n| label(n, UPSTREAM_CLUSTER, "cluster-beta"));
    let mut conflicts = [in_order(), in_order()];
    conflicts[0].hub = Some(shared(stranger));
    conflicts[1].hub_namespace = Some(shared(taken));
    conflicts[1].hub = Some(shared(status_of(hub_wd(), available)));
    for seen in conflicts {
        let plan = plan(&seen);
        assert!(!writes_hub(&plan) && plan.mark.is_none());
        let status = plan.status.unwrap().status;
        assert_eq!(status["conditions"][0]["reason"], "FederationConflict", "{status}");
        assert_eq!(status["conditions"][0]["status"], "False");
    }
}
