//! Which cause a chain has, beyond [one for each](super::causes) (U4).

use fedhub_federator::cleanup::CleanupBlocked;
use serde_json::json;
use strum::VariantArray;

use super::super::super::cause::Cause;
use super::super::super::chain::{Chain, Failure, Read, SubjectKind};
use super::super::super::hop::Hop;
use super::super::{State, diagnose};
use super::causes::{chain_of, deleted, first, no_cell};
use super::fixtures::{
    MADE, RECENT, SPACE, at, cell_says, condition, failed, healthy, instance, object, patch, patch_object,
    set_conditions,
};

#[test]
fn u4_slow_and_stuck_are_told_apart_by_the_deadlines() {
    for (made, expected) in [
        ("2026-01-02T11:59:57Z", State::OnItsWay),
        ("2026-01-02T11:59:30Z", State::Slow),
        ("2026-01-02T11:58:30Z", State::Stuck),
    ] {
        let mut chain = healthy();
        patch(&mut chain.project.wd, &json!({"metadata": {"finalizers": null, "creationTimestamp": made}}));
        let diagnosis = diagnose(&chain);
        assert_eq!((diagnosis.cause, diagnosis.state), (Cause::FederatorBehind, expected), "{made}");
    }
}

#[test]
fn u4_a_fedhub_that_does_not_run_is_no_trouble_of_what_is_in_sync() {
    let mut chain = healthy();
    chain.management.lease = Read::Absent;
    assert_eq!(diagnose(&chain).cause, Cause::InSync);
    chain.project.instances = Read::Found(Vec::new());
    assert_eq!(diagnose(&chain).cause, Cause::FedhubNotRunning);
}

#[test]
fn u4_without_the_cells_credentials_the_hub_tells_of_the_cell() {
    for cause in [Cause::InSync, Cause::ImageUnavailable, Cause::CopyMissing, Cause::CellNotReady] {
        let mut chain = chain_of(cause);
        no_cell(&mut chain);
        assert_eq!(diagnose(&chain).cause, cause);
        let mut chain = chain_of(cause);
        chain.cells.get_mut("cell-dfw").unwrap().wd = failed(Failure::Unreachable);
        chain.cells.get_mut("cell-dfw").unwrap().instances = failed(Failure::Unreachable);
        assert_eq!(diagnose(&chain).cause, cause, "the cell cannot be read");
    }
}

#[test]
fn u4_an_instance_is_explained_by_its_own_conditions() {
    let mut chain = healthy();
    let pulls = condition("Ready", "False", "ImageUnavailable", "no such image");
    let mut second = object(instance("ns-uid-shop", "web-1"));
    patch_object(&mut second, &json!({"status": {"conditions": [pulls]}}));
    let cell = chain.cells.get_mut("cell-dfw").unwrap();
    let Read::Found(instances) = &mut cell.instances else { panic!("not found") };
    instances.push(second);
    for (name, expected) in [("web-0", Cause::InSync), ("web-1", Cause::ImageUnavailable)] {
        (chain.subject.kind, chain.subject.name) = (SubjectKind::Instance, name.to_owned());
        assert_eq!(diagnose(&chain).cause, expected, "{name}");
    }
}

#[test]
fn u4_a_wd_without_replicas_is_in_sync_without_instances() {
    let mut chain = healthy();
    cell_says(&mut chain, "InstancesProvisioning");
    assert_eq!(diagnose(&chain).cause, Cause::InstancesChanging);
    patch(&mut chain.cells.get_mut("cell-dfw").unwrap().wd, &json!({"status": {"desiredReplicas": 0}}));
    assert_eq!(diagnose(&chain).cause, Cause::InSync);
    cell_says(&mut chain, "InvalidScaleSettings");
    assert_eq!(diagnose(&chain).cause, Cause::TemplateInvalid, "what needs action counts all the same");
}

/// A WD has one reason for quota that is denied and quota that is pending; its Instances tell them apart.
#[test]
fn u4_quota_that_is_pending_is_not_denied() {
    for (reason, expected) in [("PendingQuota", Cause::QuotaPending), ("QuotaExceeded", Cause::QuotaDenied)] {
        let mut chain = healthy();
        cell_says(&mut chain, "QuotaNotGranted");
        let waits = condition("Ready", "False", reason, "");
        let instances = &mut chain.cells.get_mut("cell-dfw").unwrap().instances;
        first(instances, &json!({"status": {"conditions": [waits]}}));
        assert_eq!(diagnose(&chain).cause, expected);
    }
}

/// A projection of an Instance that was replaced under its name.
#[test]
fn u4_a_projection_of_an_earlier_instance_is_behind() {
    let mut chain = healthy();
    first(&mut chain.hub.copies, &json!({"metadata": {"uid": "another"}}));
    assert_eq!(diagnose(&chain).cause, Cause::ProjectorBehind);
}

/// What the federator's plan has still to do is behind, whatever the generations say.
#[test]
fn u4_what_the_federator_would_write_is_behind() {
    type Edit = (Hop, &'static str, fn(&mut Chain));
    let edits: [Edit; 4] = [
        (
            Hop::HubWd,
            "the former WorkloadDeployment of this name on the federation hub is being deleted",
            |c| {
                patch(&mut c.hub.wd, &json!({"metadata": {"deletionTimestamp": MADE}}));
            },
        ),
        (Hop::HubWd, "deletion-protected", |c| {
            let labels = json!({"resourcetemplate.karmada.io/deletion-protected": null});
            patch(&mut c.hub.wd, &json!({"metadata": {"labels": labels}}));
        }),
        (Hop::HubWd, "source-generation", |c| {
            patch(&mut c.project.wd, &json!({"metadata": {"generation": 4}}));
        }),
        (Hop::ProjectWd, "marked", |c| {
            let unrecorded = json!({"federation.datumapis.com/hub-namespace-uid": null});
            patch(&mut c.project.wd, &json!({"metadata": {"annotations": unrecorded}}));
        }),
    ];
    for (hop, evidence, edit) in edits {
        let mut chain = healthy();
        edit(&mut chain);
        let diagnosis = diagnose(&chain);
        assert_eq!((diagnosis.cause, diagnosis.hop), (Cause::FederatorBehind, hop), "{diagnosis:?}");
        assert!(diagnosis.evidence.contains(evidence), "{diagnosis:?}");
    }
}

/// An unmarked hub WD is this one's where its hub namespace is, and else another's (I6).
#[test]
fn u4_i6_whose_an_unmarked_hub_wd_is_its_hub_namespace_says() {
    let unmarked = json!({"metadata": {"annotations": {
        "federation.datumapis.com/source": null, "federation.datumapis.com/source-uid": null}}});
    let mut chain = healthy();
    patch(&mut chain.hub.wd, &unmarked);
    assert_eq!(diagnose(&chain).cause, Cause::FederatorBehind);
    patch(&mut chain.hub.namespace, &json!({"metadata": {"labels": null}}));
    let diagnosis = diagnose(&chain);
    assert_eq!((diagnosis.cause, diagnosis.hop), (Cause::HubIdentityRefused, Hop::HubWd), "{diagnosis:?}");
}

/// The federator releases a WD whose hub WD is another's in all of its mark. One that may be its own holds
/// it.
#[test]
fn u4_i3_a_hub_wd_of_another_holds_no_deletion() {
    for (source, expected) in
        [("project-a/shop/web", Cause::CleanupConflict), ("project-b/shop/web", Cause::FederatorBehind)]
    {
        let mut chain = healthy();
        deleted(&mut chain);
        let mark =
            json!({"federation.datumapis.com/source": source, "federation.datumapis.com/source-uid": "x"});
        patch(&mut chain.hub.wd, &json!({"metadata": {"annotations": mark}}));
        assert_eq!(diagnose(&chain).cause, expected, "{source}");
    }
}

/// A tenant's own Instance is not written, whatever its labels are (P4), and a projection whose loss is not
/// proven is kept (I4).
#[test]
fn u4_p4_i4_what_the_projector_leaves_alone_is_said() {
    let mut chain = healthy();
    chain.project.instances = Read::Found(vec![object(instance("shop", "web-0"))]);
    assert_eq!(diagnose(&chain).cause, Cause::ProjectionQuarantined);
    let mut chain = healthy();
    chain.hub.copies = Read::Found(Vec::new());
    chain.cells.get_mut("cell-dfw").unwrap().instances = Read::Found(Vec::new());
    let from = json!({"federation.datumapis.com/projected-from": format!("{SPACE}/another/uid")});
    first(&mut chain.project.instances, &json!({"metadata": {"annotations": from}}));
    let diagnosis = diagnose(&chain);
    assert_eq!(diagnosis.cause, Cause::ProjectorBehind);
    assert!(diagnosis.evidence.ends_with("fedhub keeps it: namespace_lost"), "{diagnosis:?}");
}

/// A namespace that is created again leaves its WD in the hub namespace that has it.
#[test]
fn u4_a_wd_stays_in_the_hub_namespace_that_holds_it() {
    let mut chain = healthy();
    patch(&mut chain.project.namespace, &json!({"metadata": {"uid": "another"}}));
    assert_eq!(diagnose(&chain).cause, Cause::InSync);
}

/// A replacement of many Instances lasts longer than the deadline of one.
#[test]
fn u4_a_stage_is_stuck_only_where_no_instance_moves() {
    let mut chain = healthy();
    cell_says(&mut chain, "InstancesProvisioning");
    assert_eq!(diagnose(&chain).state, State::Stuck);
    let instances = &mut chain.cells.get_mut("cell-dfw").unwrap().instances;
    first(instances, &json!({"metadata": {"creationTimestamp": RECENT}}));
    assert_eq!(diagnose(&chain).state, State::OnItsWay);
    // One that has reported nothing has what the schema puts there.
    let instances = &mut chain.cells.get_mut("cell-dfw").unwrap().instances;
    let mut pending = condition("Ready", "Unknown", "Pending", "");
    pending["lastTransitionTime"] = json!("1970-01-01T00:00:00Z");
    first(instances, &json!({"status": {"conditions": [pending]}}));
    assert_eq!(diagnose(&chain).state, State::OnItsWay);
}

/// `managedFields` tell what changed, and when: a status on its way is as old as its last write.
#[test]
fn u4_a_status_is_on_its_way_since_it_was_written() {
    let mut chain = healthy();
    patch(&mut chain.project.wd, &json!({"status": {"observedGeneration": 2}}));
    assert_eq!(diagnose(&chain).state, State::Stuck);
    let write = json!({"manager": "karmada", "operation": "Update", "subresource": "status", "time": RECENT});
    patch(&mut chain.hub.wd, &json!({"metadata": {"managedFields": [write]}}));
    let diagnosis = diagnose(&chain);
    assert_eq!((diagnosis.cause, diagnosis.state), (Cause::FederatorBehind, State::OnItsWay));
    let edit = json!({"manager": "kubectl", "operation": "Update", "time": RECENT});
    let mut chain = healthy();
    patch(&mut chain.project.wd, &json!({"metadata": {"generation": 4, "managedFields": [edit]}}));
    let diagnosis = diagnose(&chain);
    assert_eq!((diagnosis.cause, diagnosis.state), (Cause::FederatorBehind, State::OnItsWay));
}

/// The federator's own condition, so that a changed message is recognised here too.
#[test]
fn u4_a_blocked_cleanup_has_the_cause_that_the_federator_reports() {
    for &why in CleanupBlocked::VARIANTS {
        let mut chain = healthy();
        deleted(&mut chain);
        chain.hub.wd = Read::Absent;
        let status = fedhub_federator::status::blocked(&json!({}), why, None, at(MADE));
        patch(&mut chain.project.wd, &json!({"status": status}));
        let expected = match why {
            CleanupBlocked::HubUnreachable => Cause::CleanupHubUnreachable,
            CleanupBlocked::HubRefuses | CleanupBlocked::ProjectRefuses => Cause::CleanupRefused,
            CleanupBlocked::CellHolds | CleanupBlocked::CellUnreachable => Cause::DeletionAwaitsCell,
            CleanupBlocked::HubObjectHeld => Cause::KarmadaSlow,
            CleanupBlocked::HubStateLost => Cause::HubStateLost,
            CleanupBlocked::TenantConflict => Cause::CleanupConflict,
            CleanupBlocked::NamespaceGone => Cause::NamespaceGone,
        };
        assert_eq!(diagnose(&chain).cause, expected, "{why}");
    }
}

/// While its gates stand, an Instance says of its quota what a person has to act on.
#[test]
fn u4_a_gate_that_waits_for_a_persons_action_names_it() {
    for (quota, expected) in [
        ("QuotaClaimTaken", Cause::QuotaClaimTaken),
        ("InstanceTypeUnavailable", Cause::InstanceTypeUnavailable),
        ("QuotaBackendUnavailable", Cause::QuotaServiceFailed),
        ("PendingEvaluation", Cause::InstancesChanging),
    ] {
        let mut chain = healthy();
        cell_says(&mut chain, "InstancesProvisioning");
        let gated = condition("Ready", "False", "SchedulingGatesPresent", "Scheduling gates present: Quota");
        let granted = condition("QuotaGranted", "Unknown", quota, "");
        let instances = &mut chain.cells.get_mut("cell-dfw").unwrap().instances;
        first(instances, &json!({"status": {"conditions": [gated, granted]}}));
        assert_eq!(diagnose(&chain).cause, expected, "{quota}");
    }
}

/// What the cell refuses is named in the place of finalizers that only wait for it.
#[test]
fn u4_a_deletion_that_the_cell_refuses_is_no_fault_of_its_finalizers() {
    let refused = condition("TerminationOverdue", "True", "DeletionRefused", "nothing may be deleted");
    for gone_from_hub in [true, false] {
        let mut chain = healthy();
        deleted(&mut chain);
        if gone_from_hub {
            (chain.project.wd, chain.hub.wd) = (Read::Absent, Read::Absent);
        } else {
            patch(&mut chain.hub.wd, &json!({"metadata": {"deletionTimestamp": MADE}}));
        }
        let cell = &mut chain.cells.get_mut("cell-dfw").unwrap().wd;
        patch(cell, &json!({"metadata": {"deletionTimestamp": MADE, "finalizers": ["a/b"]}}));
        set_conditions(cell, std::slice::from_ref(&refused));
        let diagnosis = diagnose(&chain);
        assert_eq!((diagnosis.cause, diagnosis.state), (Cause::DeletionRefused, State::Blocked));
        assert_eq!(diagnosis.evidence, "nothing may be deleted");
    }
    let mut chain = healthy();
    (chain.project.wd, chain.hub.wd) = (Read::Absent, Read::Absent);
    let diagnosis = diagnose(&chain);
    assert_eq!(diagnosis.cause, Cause::KarmadaSlow, "Karmada has yet to delete it there: {diagnosis:?}");
}

#[test]
fn u4_a_cell_that_lacks_rights_is_not_said_to_be_behind() {
    let mut chain = healthy();
    cell_says(&mut chain, "CellMisconfigured");
    let cell = &mut chain.cells.get_mut("cell-dfw").unwrap().wd;
    patch(cell, &json!({"status": {"observedGeneration": null}}));
    assert_eq!(diagnose(&chain).cause, Cause::CellMisconfigured);
    no_cell(&mut chain);
    assert_eq!(diagnose(&chain).cause, Cause::CellMisconfigured, "the hub has it too");
}

/// Karmada tells of it on the Work and on the `ResourceBinding`, the federator on the WD.
#[test]
fn c9_u4_what_a_cell_does_not_take_has_one_cause_whoever_tells_of_it() {
    let mut by_binding = healthy();
    let item = json!({"clusterName": "cell-dfw", "applied": false, "appliedMessage": "no matches for kind"});
    patch(&mut by_binding.hub.binding, &json!({"status": {"aggregatedStatus": [item]}}));
    let mut by_condition = healthy();
    cell_says(&mut by_condition, "RefusedByCell");
    for (chain, words) in [(by_binding, "no matches for kind"), (by_condition, "the message of the cell")] {
        let diagnosis = diagnose(&chain);
        assert_eq!((diagnosis.cause, diagnosis.state), (Cause::ApplyFailed, State::Blocked), "{diagnosis:?}");
        assert!(diagnosis.evidence.contains(words), "{diagnosis:?}");
    }
}
