//! What users and operators read of a cell, in `tests/snapshots`.

mod needs;
mod networks;

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::CellSource;
use fedhub_api::conditions::{find, said};
use fedhub_cell::domain::instances::{Instance, InstanceWait};
use fedhub_cell::domain::status::blocker::ConditionUpdate;
use fedhub_cell::domain::status::deployment;
use fedhub_cell::domain::status::facts::DeploymentFacts;
use fedhub_cell::domain::status::instance::{self, InstanceFacts};
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_cell::domain::status::termination;
use fedhub_cell::identity::IdentityFault;
use fedhub_cell::write_back::refusal::WriteBackRefusal;
use fedhub_core::names::SUSPENDED;
use fedhub_core::object::{Object, ObjectRef};
use fedhub_testing::{Messages, assert_messages, one_of_each};
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use crate::domain::status::support::{
    HASH, annotated, but, condition, dying, instance as instance_with, now, ready, unready, wd,
};

/// A condition's status and reason, and its message.
type Shown = (String, String);

fn shown(condition: &Value) -> Shown {
    let (status, reason, message) = said(condition);
    (format!("{status} {reason}"), message.to_owned())
}

fn of_update(update: &ConditionUpdate) -> Shown {
    shown(&update.condition(None, "Any", now()))
}

fn of_status(status: &Value, kind: &str) -> Shown {
    shown(find(status, kind).unwrap())
}

fn instances() -> Vec<Shown> {
    let granted = condition("QuotaGranted", "True", "QuotaAvailable", "Quota is granted");
    let denied = condition("QuotaGranted", "False", "QuotaExceeded", "40 of 40 vCPUs are used");
    let pending = condition("QuotaGranted", "Unknown", "PendingEvaluation", "Waiting for quota evaluation");
    let programmed = condition("Programmed", "True", "Programmed", "");
    let available = condition("Available", "True", "Available", "");
    let crashing = condition("Available", "False", "InstanceCrashing", "Exit code 1");
    let halted = condition("Available", "False", "Stopped", "The server is powered off");
    let of = |gates: &[&str], conditions: &[Value], quota: &Value, suspended, stopped| {
        let instance = instance_with("wd-0", gates, conditions);
        let network = &Network::Ready;
        let instance = &instance;
        let facts = InstanceFacts {
            instance,
            quota,
            data: None,
            network,
            contexts: None,
            suspended,
            stopped,
            now: now(),
        };
        of_status(&instance::status(&facts), "Ready")
    };
    vec![
        of(&["Network", "Quota"], &[], &pending, false, false),
        of(&["Quota"], &[], &denied, false, false),
        of(&[], &[], &granted, false, false),
        of(&[], slice::from_ref(&programmed), &granted, false, false),
        of(&[], &[programmed.clone(), crashing], &granted, false, false),
        of(&[], &[programmed.clone(), available.clone()], &granted, false, false),
        of(&[], &[programmed.clone(), available.clone()], &granted, true, false),
        of(&[], &[programmed.clone(), available], &granted, false, true),
        of(&[], &[programmed.clone(), halted.clone()], &granted, false, true),
        of(&[], &[programmed, halted], &granted, false, false),
    ]
}

/// `Ready` of an Instance that has been terminating for so many minutes.
fn terminating(minutes: i64, finalizers: &[&str], conditions: &[Value]) -> Object {
    let instance = but(instance_with("wd-0", &[], conditions), |i| {
        i.metadata.deletion_timestamp = Some(Time(now() - SignedDuration::from_mins(minutes)));
        i.metadata.finalizers = Some(finalizers.iter().map(|&f| f.to_owned()).collect());
    });
    let (status, _) = termination::status(&instance, Duration::from_mins(10), now()).unwrap();
    but(instance, |i| i.data["status"] = status)
}

fn terminations() -> Vec<Object> {
    let stopping = condition("Available", "False", "Stopping", "Instance is being torn down");
    let many: Vec<_> = (0..7).map(|n| format!("vm.example/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    vec![
        terminating(1, &["vm.example/provider", "example.com/hold"], &[stopping]),
        terminating(1, &many, &[]),
        terminating(11, &["vm.example/provider", "example.com/hold"], &[]),
    ]
}

/// `ReplicasReady`, `Available` and, where an Instance is overdue, `TerminationOverdue` of deployments.
fn deployments() -> Vec<(String, String)> {
    let with = |gate: &str, kind: &str, status: &str, reason: &str| {
        Arc::new(instance_with("wd-0", &[gate], &[condition(kind, status, reason, "Some detail")]))
    };
    let quota = with("Quota", "QuotaGranted", "False", "QuotaExceeded");
    let budget = with("Quota", "QuotaGranted", "Unknown", "QuotaNoBudget");
    let data = with("ReferencedData", "ReferencedDataReady", "False", "AwaitingPropagation");
    let starting = unready("wd-1", "Starting", "Some detail");
    let overdue = Arc::new(terminations().remove(2));
    let suspended = annotated(wd(), SUSPENDED, "true");
    let cases: [(&str, Object, Vec<ObjectRef>, u32); 11] = [
        ("suspended", suspended, vec![], 2),
        ("none desired", wd(), vec![], 0),
        ("none yet", wd(), vec![], 2),
        ("starting", wd(), vec![ready("wd-0"), starting], 2),
        ("ready", wd(), vec![ready("wd-0"), ready("wd-1")], 2),
        ("image", wd(), vec![unready("wd-0", "ImageUnavailable", "Some detail")], 2),
        ("quota", wd(), vec![quota], 2),
        ("budget", wd(), vec![budget], 2),
        ("data", wd(), vec![data], 2),
        ("terminating", wd(), vec![Arc::new(terminations().remove(0))], 1),
        ("overdue", wd(), vec![overdue], 1),
    ];
    let shown = cases.iter().flat_map(|(case, deployment, instances, desired)| {
        let status = deployment::status(&DeploymentFacts {
            deployment,
            instances,
            desired: *desired,
            template_hash: HASH,
            network: &Network::Ready,
            location: &Location::Unasked,
            scaling: None,
            obstacle: None,
            held: None,
            now: now(),
        });
        ["ReplicasReady", "Available", "TerminationOverdue"].into_iter().filter_map(move |kind| {
            let (label, message) = shown(find(&status, kind)?);
            Some((format!("{case}: {kind} {label}"), message))
        })
    });
    shown.collect()
}

#[test]
fn conditions_and_events_of_the_cell_read_well() {
    let web = but(instance_with("wd-0", &[], &[]), dying);
    let waits = one_of_each![
        InstanceWait::Deleting(_) => InstanceWait::Deleting(Instance::from_object(&web)),
        InstanceWait::NotReady(_) => InstanceWait::NotReady(Instance::from_object(&web)),
        InstanceWait::NameTaken(_) => InstanceWait::NameTaken(Instance::from_object(&web)),
        InstanceWait::UnknownPolicy(_) => InstanceWait::UnknownPolicy("Parallel"),
        InstanceWait::NoTemplate => InstanceWait::NoTemplate,
    ];
    let terminations = terminations();
    let mut messages = Messages::default();
    messages
        .section("Ready of an Instance", instances())
        .section(
            "Ready of a terminating Instance",
            terminations.iter().map(|i| of_status(&i.data["status"], "Ready")),
        )
        .section("QuotaGranted", needs::quota())
        .section("QuotaGranted: why the size of an Instance is not known", needs::sizes())
        .section("ReferencedDataReady", needs::data())
        .section("Networks and locations", networks::blockers())
        .section("Networks, stage by stage", networks::stages())
        .section("ScalingActive", needs::autoscaling())
        .section("What a rollout waits for", waits.map(|it| ("message", it.to_string())))
        .section("Conditions of a deployment", deployments());
    events_and_readiness(&mut messages);
    assert_messages!("cell", messages);
}

fn events_and_readiness(messages: &mut Messages) {
    let source = |cell_uid: Option<&str>| CellSource {
        cell: "cell-dfw".to_owned(),
        cell_uid: cell_uid.map(str::to_owned),
        instance_uid: "uid-of-an-instance".to_owned(),
    };
    let refusals = one_of_each![
        WriteBackRefusal::Unlinked(_) =>
            WriteBackRefusal::Unlinked(vec!["compute.datumapis.com/workload-uid", "topology.datum.net/city-code"]),
        WriteBackRefusal::Unidentifiable => WriteBackRefusal::Unidentifiable,
        WriteBackRefusal::NameTaken(_) => WriteBackRefusal::NameTaken(Some("cell-ord".to_owned())),
        WriteBackRefusal::CellNameTaken(_) => WriteBackRefusal::CellNameTaken(source(Some("uid-of-kube-system"))),
        WriteBackRefusal::UnprovenMark(_) => WriteBackRefusal::UnprovenMark(source(None)),
        WriteBackRefusal::DeclaredLost => WriteBackRefusal::DeclaredLost,
        WriteBackRefusal::Forbidden(_) => WriteBackRefusal::Forbidden(
            "failed to create instances on the hub: instances.compute.datumapis.com \"wd-0\" is forbidden: \
             ValidatingAdmissionPolicy 'fedhub-cells-own-instances' with binding 'fedhub-cells-own-instances' denied \
             request: the hub does not know cell cell-dfw (403)".to_owned(),
        ),
    ];
    let by_city = WriteBackRefusal::NameTaken(None);
    let faults = one_of_each![
        IdentityFault::Unidentified => IdentityFault::Unidentified,
        IdentityFault::NameTaken { .. } =>
            IdentityFault::NameTaken { name: "cell-dfw".into(), by: "uid-of-kube-system".into(), objects: 3 },
        IdentityFault::DeclaredLost { .. } => IdentityFault::DeclaredLost { cluster: "cell-dfw".to_owned(), since: now() },
    ];
    let refusals = refusals.iter().chain([&by_city]);
    messages
        .section("Events NotWrittenBack, by label", refusals.map(|it| (it.label(), it)))
        .section("Why a cell is not ready, by label", faults.iter().map(|it| (it.label(), it)));
}
