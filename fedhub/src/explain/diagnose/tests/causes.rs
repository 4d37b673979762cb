//! A chain for each cause (U4).

use fedhub_api::reason::Reason;
use fedhub_core::object::Object;
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_planes::pauses::stored::Pause;
use serde_json::{Value, json};
use strum::VariantArray;

use super::super::super::cause::Cause;
use super::super::super::chain::{Chain, Failure, LeaseFacts, Read, SubjectKind};
use super::super::{State, diagnose};
use super::fixtures::{
    Case, MADE, RECENT, at, cell_says, cluster, condition, failed, healthy, instance, object, patch,
    patch_object, set_conditions,
};
use super::rollouts::ROLLOUTS;

pub fn first(read: &mut Read<Vec<Object>>, with: &Value) {
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

pub fn deleted(chain: &mut Chain) {
    patch(&mut chain.project.wd, &json!({"metadata": {"deletionTimestamp": MADE}}));
}

pub fn no_cell(chain: &mut Chain) {
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
        let holder = "fedhub-0".to_owned();
        let duration = std::time::Duration::from_secs(15);
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
    (Cause::InstanceStopped, State::Blocked, |c| cell_says(c, "Stopped")),
    (Cause::QuotaDenied, State::Blocked, |c| cell_says(c, "QuotaExceeded")),
    (Cause::QuotaPending, State::Stuck, |c| cell_says(c, "PendingQuota")),
    (Cause::QuotaServiceFailed, State::Blocked, |c| cell_says(c, "QuotaBackendUnavailable")),
    (Cause::NetworkNotReady, State::Stuck, |c| cell_says(c, "NetworkProvisioning")),
    (Cause::NetworkFailed, State::Blocked, |c| cell_says(c, "NetworkFailedToCreate")),
    (Cause::NetworkInvalid, State::Blocked, |c| cell_says(c, "NetworkNotFound")),
    (Cause::LocationMisconfigured, State::Blocked, |c| cell_says(c, "AmbiguousServingLocation")),
    (Cause::ImageUnavailable, State::Blocked, |c| cell_says(c, "ImageUnavailable")),
    (Cause::InstanceCrashing, State::Blocked, |c| cell_says(c, "InstanceCrashing")),
    (Cause::ServerRefused, State::Blocked, |c| cell_says(c, "ServerRefused")),
    (Cause::ServerFailed, State::Blocked, |c| cell_says(c, "ServerFailed")),
    (Cause::ServerAmbiguous, State::Blocked, |c| cell_says(c, "AmbiguousServer")),
    (Cause::ProviderFault, State::Blocked, |c| cell_says(c, "ProviderDenied")),
    (Cause::TemplateInvalid, State::Blocked, |c| cell_says(c, "ConfigurationError")),
    (Cause::DisruptionDenied, State::Blocked, |c| cell_says(c, "DisruptionDenied")),
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
    (Cause::QuotaClaimTaken, State::Blocked, |c| cell_says(c, "QuotaClaimTaken")),
    (Cause::InstanceTypeUnavailable, State::Blocked, |c| cell_says(c, "InstanceTypeUnavailable")),
    (Cause::CellMisconfigured, State::Blocked, |c| cell_says(c, "CellMisconfigured")),
    (Cause::DeletionRefused, State::Blocked, |c| {
        let refused = condition("TerminationOverdue", "True", "DeletionRefused", "web-1 may not be deleted");
        set_conditions(&mut c.cells.get_mut("cell-dfw").unwrap().wd, &[refused]);
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
    [PLANES, DOWN, BACK, DELETION, ROLLOUTS].into_iter().flatten()
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

/// Nothing on the way down or back hides what a condition says: a new reason has the cause of its line, and
/// not that fedhub is behind.
#[test]
fn u4_every_reason_on_which_somebody_acts_has_its_cause() {
    let mut shown = 0;
    for reason in Reason::all() {
        let cause = Cause::of_reason(Some(reason));
        if reason.is_problem_of_cell() {
            let mut chain = healthy();
            cell_says(&mut chain, reason.as_str());
            assert_eq!(diagnose(&chain).cause, cause, "{reason}");
        }
        if reason.is_reported_by_federation() {
            let mut chain = healthy();
            refused(&mut chain, reason.as_str());
            // Some are what the objects show, which do not show it here.
            let found = diagnose(&chain).cause;
            assert!([cause, Cause::FederatorBehind].contains(&found), "{reason}: {found:?}");
            shown += usize::from(found == cause);
        }
        let is_read = reason.is_problem_of_cell() || reason.is_reported_by_federation() || reason.is_stage();
        assert!(!is_read || cause != Cause::CellReported, "{reason} has no cause");
    }
    assert!(shown >= 4, "{shown}");
}
