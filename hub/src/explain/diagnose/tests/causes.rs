//! A chain for each cause (U4).

use fedhub_core::object::Object;
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_planes::pauses::stored::Pause;
use serde_json::{Value, json};
use strum::VariantArray;

use super::super::super::cause::Cause;
use super::super::super::chain::{Chain, Failure, LeaseFacts, Read, SubjectKind};
use super::super::{State, diagnose};
use super::fixtures::{
    MADE, RECENT, at, cell_says, cluster, condition, failed, healthy, instance, object, patch, patch_object,
    set_conditions,
};

/// What has the chain in sync end in a cause and a state.
type Case = (Cause, State, fn(&mut Chain));

fn first(read: &mut Read<Vec<Object>>, with: &Value) {
    let Read::Found(objects) = read else { panic!("not found") };
    patch_object(&mut objects[0], with);
}

fn refused(chain: &mut Chain, reason: &str) {
    chain.hub.wd = Read::Absent;
    set_conditions(&mut chain.project.wd, &[condition("Federated", "False", reason, "the message")]);
}

fn not_available(chain: &mut Chain, reason: &str) {
    set_conditions(&mut chain.project.wd, &[condition("Available", "False", reason, "the message")]);
}

fn suspended(chain: &mut Chain) {
    let annotations = json!({"compute.datumapis.com/suspended": "true"});
    patch(&mut chain.hub.wd, &json!({"metadata": {"annotations": annotations}}));
}

fn deleted(chain: &mut Chain) {
    patch(&mut chain.project.wd, &json!({"metadata": {"deletionTimestamp": MADE}}));
}

fn no_cell(chain: &mut Chain) {
    chain.cells.clear();
}

const PLANES: &[Case] = &[
    (Cause::InSync, State::InSync, |_| {}),
    (Cause::ManagementUnreachable, State::Blocked, |c| c.management.source = failed(Failure::Unreachable)),
    (Cause::PlaneNotKnown, State::Blocked, |c| c.management.source = Read::Absent),
    (Cause::PlaneTooLarge, State::Blocked, |c| c.project.wd = failed(Failure::TooLarge)),
    (Cause::PlaneSecretInvalid, State::Blocked, |c| c.management.source = failed(Failure::Invalid)),
    (Cause::PlaneUnreachable, State::Blocked, |c| c.project.wd = failed(Failure::Unreachable)),
    (Cause::PlaneCredentialsRefused, State::Blocked, |c| c.project.wd = failed(Failure::Unauthorized)),
    (Cause::PlaneForbidden, State::Blocked, |c| c.project.wd = failed(Failure::Forbidden)),
    (Cause::PlaneCrdMissing, State::Blocked, |c| c.project.wd = failed(Failure::NotServed)),
    (Cause::PlaneIdentityRefused, State::Blocked, |c| c.management.identity_matches = Read::Found(false)),
    (Cause::HubUnreachable, State::Blocked, |c| c.hub.wd = failed(Failure::Unreachable)),
    (Cause::HubForbidden, State::Blocked, |c| c.hub.clusters = failed(Failure::Forbidden)),
    (Cause::HubCrdMissing, State::Blocked, |c| c.hub.binding = failed(Failure::NotServed)),
    (Cause::WdNotFound, State::Blocked, |c| {
        (c.project.wd, c.hub.wd) = (Read::Absent, Read::Absent);
        no_cell(c);
    }),
    (Cause::InstanceNotFound, State::Blocked, |c| {
        (c.subject.kind, c.subject.name) = (SubjectKind::Instance, "web-9".to_owned());
    }),
    (Cause::InvalidCityCode, State::Blocked, |c| {
        patch(&mut c.project.wd, &json!({"spec": {"cityCode": "New York"}}));
    }),
    (Cause::InvalidName, State::Blocked, |c| c.deployment = "n".repeat(64)),
    (Cause::ObjectTooLarge, State::Blocked, |c| not_available(c, "ObjectTooLarge")),
    (Cause::NamespaceTerminating, State::Blocked, |c| {
        patch(&mut c.project.namespace, &json!({"metadata": {"deletionTimestamp": MADE}}));
    }),
    (Cause::NamespaceGone, State::Blocked, |c| c.project.namespace = Read::Absent),
];

const DOWN: &[Case] = &[
    (Cause::FedhubNotRunning, State::Blocked, |c| {
        patch(&mut c.project.wd, &json!({"metadata": {"finalizers": null}}));
        let renewed = Some(at("2026-01-02T11:58:00Z"));
        let (holder, duration) = ("fedhub-0".to_owned(), std::time::Duration::from_secs(15));
        c.management.lease = Read::Found(LeaseFacts { holder, renewed, duration });
    }),
    (Cause::FederatorBehind, State::OnItsWay, |c| {
        let fresh = json!({"metadata": {"finalizers": null, "creationTimestamp": RECENT}});
        patch(&mut c.project.wd, &fresh);
    }),
    (Cause::NoCellForCity, State::Blocked, |c| c.hub.clusters = Read::Found(Vec::new())),
    (Cause::AmbiguousCity, State::Blocked, |c| {
        c.hub.clusters = Read::Found(vec![object(cluster("cell-1")), object(cluster("cell-2"))]);
    }),
    (Cause::HubIdentityRefused, State::Blocked, |c| {
        let other =
            json!({"metadata": {"annotations": {"federation.datumapis.com/source": "project-b/shop/web"}}});
        patch(&mut c.hub.wd, &other);
    }),
    (Cause::HubThrottled, State::Blocked, |c| refused(c, "Throttled")),
    (Cause::FedhubForbidden, State::Blocked, |c| refused(c, "Forbidden")),
    (Cause::HubRefusesContent, State::Blocked, |c| refused(c, "Pending")),
    (Cause::NamespaceRecreated, State::Stuck, |c| {
        patch(&mut c.project.namespace, &json!({"metadata": {"uid": "another"}}));
        c.hub.wd = Read::Absent;
    }),
    (Cause::HubStateLost, State::Stuck, |c| {
        (c.hub.namespace, c.hub.wd) = (Read::Absent, Read::Absent);
    }),
    (Cause::PlanePaused, State::Blocked, |c| {
        c.management.pause =
            Read::Found(Pause { reason: Some("etcd maintenance".to_owned()), ..Pause::default() });
    }),
    (Cause::ProjectSuspended, State::Blocked, suspended),
    (Cause::ServiceSuspended, State::Blocked, |c| {
        suspended(c);
        not_available(c, "ServiceSuspended");
    }),
    (Cause::ServiceNotActive, State::Blocked, |c| {
        c.hub.wd = Read::Absent;
        not_available(c, "ServiceNotActive");
    }),
    (Cause::PolicyMissing, State::Stuck, |c| c.hub.policies = Read::Found(Vec::new())),
    (Cause::PolicyNotMatched, State::Stuck, |c| c.hub.binding = Read::Absent),
    (Cause::KarmadaNotScheduled, State::Blocked, |c| {
        set_conditions(&mut c.hub.binding, &[condition("Scheduled", "False", "NoClusterFit", "0/1 fit")]);
    }),
    (Cause::KarmadaSlow, State::Stuck, |c| {
        patch(&mut c.hub.binding, &json!({"status": {"aggregatedStatus": []}}));
    }),
    (Cause::ApplyFailed, State::Blocked, |c| {
        first(
            &mut c.hub.works,
            &json!({"status": {"conditions": [
            condition("Applied", "False", "AppliedFailed", "no matches for kind WorkloadDeployment")]}}),
        );
    }),
    (Cause::Moving, State::OnItsWay, |c| {
        let moving = format!("ORD/{RECENT}");
        patch(
            &mut c.hub.wd,
            &json!({"metadata": {"annotations": {"federation.datumapis.com/moving": moving}}}),
        );
    }),
    (Cause::CellNotReady, State::Blocked, |c| {
        first(
            &mut c.hub.clusters,
            &json!({"status": {"conditions": [
            condition("Ready", "False", "ClusterNotReachable", "cluster is not reachable")]}}),
        );
    }),
    (Cause::CellLost, State::Blocked, |c| {
        first(
            &mut c.hub.clusters,
            &json!({"metadata": {"annotations": {"federation.datumapis.com/lost": MADE}}}),
        );
    }),
    (Cause::CellControllerBehind, State::Stuck, |c| {
        no_cell(c);
        patch(&mut c.hub.wd, &json!({"status": {"observedGeneration": 2}}));
    }),
    (Cause::KarmadaStatusSlow, State::Stuck, |c| {
        patch(&mut c.hub.wd, &json!({"status": {"observedGeneration": 2}}));
    }),
];

const BACK: &[Case] = &[
    (Cause::WdSuspended, State::Blocked, |c| cell_says(c, "Suspended")),
    (Cause::QuotaDenied, State::Blocked, |c| cell_says(c, "QuotaExceeded")),
    (Cause::QuotaPending, State::Stuck, |c| cell_says(c, "PendingQuota")),
    (Cause::QuotaServiceFailed, State::Blocked, |c| cell_says(c, "QuotaBackendUnavailable")),
    (Cause::NetworkNotReady, State::Stuck, |c| cell_says(c, "NetworkProvisioning")),
    (Cause::NetworkFailed, State::Blocked, |c| cell_says(c, "NetworkFailedToCreate")),
    (Cause::NetworkInvalid, State::Blocked, |c| cell_says(c, "NetworkNotFound")),
    (Cause::LocationMisconfigured, State::Blocked, |c| cell_says(c, "AmbiguousServingLocation")),
    (Cause::ImageUnavailable, State::Blocked, |c| cell_says(c, "ImageUnavailable")),
    (Cause::InstanceCrashing, State::Blocked, |c| cell_says(c, "InstanceCrashing")),
    (Cause::TemplateInvalid, State::Blocked, |c| cell_says(c, "ConfigurationError")),
    (Cause::ReferencedDataMissing, State::Blocked, |c| cell_says(c, "SourceNotFound")),
    (Cause::ReferencedDataForbidden, State::Blocked, |c| cell_says(c, "SourceUnauthorized")),
    (Cause::ReferencedDataPending, State::Stuck, |c| cell_says(c, "AwaitingPropagation")),
    (Cause::InstancesRefused, State::Blocked, |c| cell_says(c, "InstancesRefused")),
    (Cause::CellNameTaken, State::Blocked, |c| cell_says(c, "CellNameTaken")),
    (Cause::AutoscalerFault, State::Blocked, |c| cell_says(c, "AutoscalerRefused")),
    (Cause::TerminationOverdue, State::Blocked, |c| {
        let overdue = condition("TerminationOverdue", "True", "TerminationDeadlineExceeded", "web-0 hangs");
        set_conditions(&mut c.cells.get_mut("cell-dfw").unwrap().wd, &[overdue]);
        set_conditions(&mut c.hub.wd, &[]);
    }),
    (Cause::InstancesChanging, State::Stuck, |c| cell_says(c, "InstancesProvisioning")),
    (Cause::CellReported, State::Stuck, |c| cell_says(c, "AProvidersOwn")),
    (Cause::CopyMissing, State::Stuck, |c| c.hub.copies = Read::Found(Vec::new())),
    (Cause::ProjectionMissing, State::Stuck, |c| c.project.instances = Read::Found(Vec::new())),
    (Cause::ProjectionQuarantined, State::Blocked, |c| {
        c.project.instances = Read::Found(Vec::new());
        c.project.in_its_place = Read::Found(object(instance("shop", "web-0")));
    }),
    (Cause::ProjectorBehind, State::Stuck, |c| {
        let pending = condition("Ready", "False", "Starting", "");
        first(&mut c.project.instances, &json!({"status": {"conditions": [pending]}}));
    }),
    (Cause::HubRestored, State::Blocked, |c| {
        c.management.hub_restored = Read::Found(true);
        c.hub.copies = Read::Found(Vec::new());
        c.cells.get_mut("cell-dfw").unwrap().instances = Read::Found(Vec::new());
    }),
];

const DELETION: &[Case] = &[
    (Cause::OrphanedOnHub, State::Blocked, |c| c.project.wd = Read::Absent),
    (Cause::DeletionAwaitsCell, State::Stuck, |c| {
        (c.project.wd, c.hub.wd) = (Read::Absent, Read::Absent);
        let held = json!({"metadata": {"deletionTimestamp": MADE, "finalizers": ["compute.datumapis.com/workload-controller"]}});
        patch(&mut c.cells.get_mut("cell-dfw").unwrap().wd, &held);
    }),
    (Cause::CleanupHubUnreachable, State::Blocked, |c| {
        deleted(c);
        c.hub.wd = failed(Failure::Unreachable);
    }),
    (Cause::CleanupConflict, State::Blocked, |c| {
        deleted(c);
        patch(
            &mut c.hub.wd,
            &json!({"metadata": {"annotations": {"federation.datumapis.com/source-uid": "another"}}}),
        );
    }),
    (Cause::CleanupRefused, State::Blocked, |c| {
        deleted(c);
        c.hub.wd = Read::Absent;
        let why = CleanupBlocked::ProjectRefuses;
        let status = fedhub_federator::status::blocked(&json!({}), why, Some("no"), at(MADE));
        patch(&mut c.project.wd, &json!({"status": status}));
    }),
    (Cause::ForeignFinalizer, State::Stuck, |c| {
        deleted(c);
        patch(&mut c.project.wd, &json!({"metadata": {"finalizers": ["example.com/backup"]}}));
    }),
];

fn cases() -> impl Iterator<Item = &'static Case> {
    [PLANES, DOWN, BACK, DELETION].into_iter().flatten()
}

/// A chain with that cause.
pub fn chain_of(cause: Cause) -> Chain {
    let (_, _, edit) = cases().find(|(of, ..)| *of == cause).unwrap();
    let mut chain = healthy();
    edit(&mut chain);
    chain
}

#[test]
fn u4_every_cause_has_a_chain_that_is_diagnosed_so() {
    for cause in Cause::VARIANTS {
        let of_cause: Vec<_> = cases().filter(|(of, ..)| of == cause).collect();
        assert_eq!(of_cause.len(), 1, "{cause:?} needs a case");
    }
    assert!(Cause::VARIANTS.len() >= 20);
    for (cause, state, edit) in cases() {
        let mut chain = healthy();
        edit(&mut chain);
        let diagnosis = diagnose(&chain);
        assert_eq!((diagnosis.cause, diagnosis.state), (*cause, *state), "{diagnosis:?}");
    }
}

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
            CleanupBlocked::HubObjectHeld => Cause::KarmadaSlow,
            CleanupBlocked::HubStateLost => Cause::HubStateLost,
            CleanupBlocked::TenantConflict => Cause::CleanupConflict,
            CleanupBlocked::NamespaceGone => Cause::NamespaceGone,
        };
        assert_eq!(diagnose(&chain).cause, expected, "{why}");
    }
}
