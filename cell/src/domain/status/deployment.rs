//! The status of a deployment in its cell.

use fedhub_api::conditions::{find, is_default, is_true, put, remove, said, standing};
use fedhub_api::facts::deployment::FEDERATED;
use fedhub_api::instance_power::is_stopped;
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_core::message::Quoted;
use fedhub_core::names::{SUSPENDED, WORKLOAD_DEPLOYMENT_NAME};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::blocker::{ConditionUpdate, foremost, weight};
use super::facts::DeploymentFacts;
use super::gates::{self, QUOTA, REFERENCED_DATA};
use super::network::Location;
use super::{
    AVAILABLE, PROGRAMMED, QUOTA_GRANTED, READY, REFERENCED_DATA_READY, REPLICAS_READY, SCALING_ACTIVE,
};
use crate::domain::referenced_data;

/// Whether a WD is suspended.
pub fn suspended(deployment: &Object) -> bool {
    deployment.annotation(SUSPENDED) == Some("true")
}

/// The whole status as it should stand; equal to the one that stands where nothing is to be written (I7).
pub fn status(seen: &DeploymentFacts<'_>) -> Value {
    let old = seen.deployment.status();
    let mut status = standing(old);
    if find(&status, FEDERATED).is_some_and(is_default) {
        // The schema's word for the project's plane (U1).
        remove(&mut status, FEDERATED);
    }
    let counts = Counts::from_snapshot(seen);
    status["replicas"] = json!(counts.listed);
    status["updatedReplicas"] = json!(counts.updated);
    status["currentReplicas"] = json!(counts.current);
    status["readyReplicas"] = json!(counts.ready);
    status["desiredReplicas"] = json!(seen.desired);
    if counts.stopped > 0 {
        status["stoppedReplicas"] = json!(counts.stopped);
    } else if let Some(fields) = status.as_object_mut() {
        fields.remove("stoppedReplicas");
    }
    // On every plane, where the UID is another (C13): what it selects is what the scale subresource there is
    // about.
    status["selector"] = json!(format!("{WORKLOAD_DEPLOYMENT_NAME}={}", seen.deployment.name()));
    status["suspended"] = json!(suspended(seen.deployment));
    // A terminating WD is torn down, whatever it has become since: its Instances never ran that generation.
    if let Some(generation) = seen.deployment.metadata.generation
        && !seen.deployment.is_terminating()
    {
        status["observedGeneration"] = json!(generation);
    }
    if let Location::Serving(name) = seen.location {
        // A location that is gone or in doubt takes nothing back: the Instances still run where they ran.
        if status["location"]["name"] != json!(name) {
            status["location"] = json!({"name": name});
        }
    }
    let blocker = foremost(blockers(seen, counts));
    for (kind, words) in [
        (REPLICAS_READY, replicas_ready(seen, counts, blocker.as_ref())),
        (AVAILABLE, available(seen, counts, blocker)),
    ] {
        let words = with_overdue(seen, words);
        put(&mut status, words.condition_since(find(old, kind), kind, moved(seen), seen.now));
    }
    match seen.scaling {
        Some(words) => put(&mut status, words.condition(find(old, SCALING_ACTIVE), SCALING_ACTIVE, seen.now)),
        None => remove(&mut status, SCALING_ACTIVE),
    }
    match overdue(seen)
        .reduce(|one, next| ConditionUpdate { message: format!("{}. {}", one.message, next.message), ..one })
    {
        Some(overdue) => {
            let overdue = ConditionUpdate { status: "True".to_owned(), ..overdue };
            put(
                &mut status,
                overdue.condition(find(old, TERMINATION_OVERDUE), TERMINATION_OVERDUE, seen.now),
            );
        }
        None => remove(&mut status, TERMINATION_OVERDUE),
    }
    status
}

/// Whether two statuses differ only in how many Instances their provider has begun with, and in the progress
/// of networks: stages, with more to come soon (see [`super::debounce`]).
pub fn same_but_for_stages(one: &Value, other: &Value) -> bool {
    let without = |status: &Value| {
        let mut status = status.clone();
        if let Some(fields) = status.as_object_mut() {
            fields.remove("updatedReplicas");
            fields.remove("currentReplicas");
            for condition in fields.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if condition["reason"] == Reason::NetworkProvisioning.as_str() {
                    condition["message"] = Value::Null;
                }
            }
        }
        status
    };
    without(one) == without(other)
}

/// When an Instance came or went last, or became or ceased to be ready: a large deployment may take its time
/// as long as they move. One that wants no Instance waits for nothing.
pub fn moved(seen: &DeploymentFacts<'_>) -> Option<Timestamp> {
    if seen.desired == 0 {
        return Some(seen.now);
    }
    let of = |i: &ObjectRef| {
        let turned =
            find(i.status(), READY).and_then(|ready| ready["lastTransitionTime"].as_str()?.parse().ok());
        let metadata = [&i.metadata.creation_timestamp, &i.metadata.deletion_timestamp];
        metadata.into_iter().flatten().map(|at| at.0).chain(turned).max()
    };
    seen.instances.iter().filter_map(of).max()
}

/// How many Instances there are of each kind. One that is being deleted is none of them (C12).
///
/// Those that a rollout adds count as listed and as ready, since they serve. They are no updated ones, and
/// beside them only what is ready is: whoever compares the numbers takes a rollout for complete when it is,
/// and not while an added Instance stands in for one that is still to come (C2).
#[derive(Clone, Copy)]
struct Counts {
    listed: usize,
    updated: usize,
    current: usize,
    ready: usize,
    stopped: usize,
}

impl Counts {
    fn from_snapshot(seen: &DeploymentFacts<'_>) -> Self {
        let is = |kind: &'static str| move |i: &&ObjectRef| is_true(i.status(), kind);
        let beside_added = seen.staying().any(|i| seen.is_added(i));
        let updated = seen.staying().filter(|i| {
            let observed = i.status().pointer("/controller/observedTemplateHash").and_then(Value::as_str);
            // What is stopped before it ever ran is nothing that a provider observes.
            let counts = observed.is_none() && is_stopped(i) && seen.is_of_newest(i);
            (observed == Some(seen.template_hash) || counts)
                && (!beside_added || is_true(i.status(), READY) && !seen.is_added(i))
        });
        Self {
            listed: seen.staying().count(),
            current: updated.clone().filter(is(PROGRAMMED)).count(),
            updated: updated.count(),
            ready: seen.staying().filter(is(READY)).count(),
            stopped: seen.staying().filter(|i| is_stopped(i)).count(),
        }
    }
}

/// True only when all that are wanted are ready; else the most important of what is in the way.
fn replicas_ready(
    seen: &DeploymentFacts<'_>,
    counts: Counts,
    blocker: Option<&ConditionUpdate>,
) -> ConditionUpdate {
    if suspended(seen.deployment) {
        return suspension();
    }
    if let Some(quota) = waiting(seen, (QUOTA_GRANTED, QUOTA), quota_reason(seen), "are pending quota") {
        return quota;
    }
    let data = (REFERENCED_DATA_READY, REFERENCED_DATA);
    // Where only what a rollout adds waits for data, as many as are wanted may be ready. A lack of quota is
    // reported in any case, since it blocks the rollout until the quota is raised.
    if held(seen, data).iter().any(|(i, _)| !seen.is_added(i))
        && let Some(data) =
            waiting(seen, data, Reason::AwaitingPropagation, "are waiting for referenced data companions")
    {
        return data;
    }
    let words = format!("{}/{} replicas available", counts.ready, seen.desired);
    // As many may be ready as are wanted, and none of them comes to the template before its user acts (V5).
    if let Some(denied) = seen.obstacle.filter(|obstacle| obstacle.reason == Reason::DisruptionDenied) {
        return ConditionUpdate::no(&denied.reason, format!("{words}. {}", denied.message));
    }
    if counts.ready >= seen.desired as usize {
        return ConditionUpdate::yes(Reason::ReplicasAvailable, words);
    }
    match blocker {
        Some(b) => ConditionUpdate::no(&b.reason, format!("{words}. {}", b.message)),
        None => ConditionUpdate::no(Reason::InstancesProvisioning, words),
    }
}

/// True when at least one is ready.
fn available(
    seen: &DeploymentFacts<'_>,
    counts: Counts,
    blocker: Option<ConditionUpdate>,
) -> ConditionUpdate {
    if suspended(seen.deployment) {
        return suspension();
    }
    if counts.ready > 0 {
        let words = format!("{}/{} instances are ready", counts.ready, counts.listed);
        return ConditionUpdate::yes(Reason::StableInstanceFound, words);
    }
    match blocker {
        Some(b) => ConditionUpdate::no(b.reason, b.message),
        None if seen.desired == 0 => {
            ConditionUpdate::no(Reason::InstancesProvisioning, "No instances are wanted: replicas is 0")
        }
        None => ConditionUpdate::no(Reason::InstancesProvisioning, "No instances available yet"),
    }
}

fn suspension() -> ConditionUpdate {
    ConditionUpdate::no(
        Reason::Suspended,
        "The deployment is suspended: its instances are kept, but do not run",
    )
}

/// Returns all obstacles. Of equals, the first precedes the others.
fn blockers(seen: &DeploymentFacts<'_>, counts: Counts) -> Vec<ConditionUpdate> {
    let city = seen.deployment.spec().get("cityCode").and_then(Value::as_str).unwrap_or_default();
    let mut all: Vec<ConditionUpdate> = Vec::new();
    all.extend(seen.location.blocker(city));
    all.extend(seen.network.blocker());
    all.extend(seen.obstacle.cloned());
    all.extend(referenced_data(seen.deployment));
    all.extend(waiting(seen, (QUOTA_GRANTED, QUOTA), Reason::QuotaNotGranted, "are pending quota"));
    let data = "are waiting for referenced data companions";
    all.extend(waiting(seen, (REFERENCED_DATA_READY, REFERENCED_DATA), Reason::ReferencedDataNotReady, data));
    let answering: Vec<_> = seen.unready().filter(|i| seen.is_of_newest(i)).collect();
    // An Instance's own reason. One that a person has to act on keeps its name; the others are stages.
    let lifted = answering.iter().filter_map(|i| {
        let (_, reason, message) = said(find(i.status(), READY)?);
        let known = weight(reason) > Reason::InstancesProvisioning.weight_in_cell();
        known.then(|| ConditionUpdate::no(lifted_reason(reason), of_instance(i, message)))
    });
    all.extend(lifted);
    all.extend(overdue(seen));
    all.extend(stage(seen, counts, answering.first().copied()));
    let going = seen.terminating(Reason::Terminating).filter(|(i, _)| seen.is_wanted(i));
    all.extend(
        going.map(|(i, message)| ConditionUpdate::no(Reason::InstancesProvisioning, of_instance(i, message))),
    );
    all
}

/// How many Instances are ready, what the first of those that answer says, and how many are on their way out.
fn stage(seen: &DeploymentFacts<'_>, counts: Counts, first: Option<&ObjectRef>) -> Option<ConditionUpdate> {
    let said = first.and_then(|first| Some((first, said(find(first.status(), READY)?))));
    let said = said.filter(|(_, (_, reason, _))| !reason.is_empty());
    let said = said.map(|(first, (_, reason, message))| of_instance(first, &format!("{reason}: {message}")));
    let replaced = match seen.unready().filter(|i| !seen.is_of_newest(i)).count() {
        0 => None,
        1 => Some("1 instance of an earlier template is not ready, and is replaced".to_owned()),
        count => Some(format!("{count} instances of an earlier template are not ready, and are replaced")),
    };
    (first.is_some() || replaced.is_some()).then(|| {
        let words = format!("{}/{} instances are ready", counts.ready, counts.listed);
        let all: Vec<_> = [Some(words), said, replaced].into_iter().flatten().collect();
        ConditionUpdate::no(Reason::InstancesProvisioning, all.join(". "))
    })
}

fn lifted_reason(reason: &str) -> AnyReason {
    if reason == Reason::PendingQuota { Reason::QuotaNotGranted.into() } else { AnyReason::parse(reason) }
}

fn of_instance(instance: &Object, words: &str) -> String {
    format!("Instance {}: {words}", Quoted(instance.name()))
}

/// The one that the cell does not let go, then those that take longer to go than they may (C12).
fn overdue(seen: &DeploymentFacts<'_>) -> impl Iterator<Item = ConditionUpdate> {
    let late = seen.terminating(Reason::TerminationDeadlineExceeded).map(|(i, message)| {
        ConditionUpdate::no(Reason::TerminationDeadlineExceeded, of_instance(i, message))
    });
    seen.held.cloned().into_iter().chain(late)
}

/// The condition with the overdue Instances appended: they are reported in any case (C12).
fn with_overdue(seen: &DeploymentFacts<'_>, words: ConditionUpdate) -> ConditionUpdate {
    overdue(seen).fold(words, |mut words, overdue| {
        if !words.message.contains(&overdue.message) {
            words.message = format!("{}. {}", words.message, overdue.message);
        }
        words
    })
}

/// The reason for lacking quota: no budget where no claim was refused.
fn quota_reason(seen: &DeploymentFacts<'_>) -> Reason {
    let refused = |i: &ObjectRef| {
        waits(i, QUOTA) && find(i.status(), QUOTA_GRANTED).is_some_and(|c| said(c).0 == "False")
    };
    if seen.answering().any(refused) { Reason::QuotaExceeded } else { Reason::QuotaNoBudget }
}

/// Whether a gate of an Instance still stands. What has passed it waits for nothing (C6).
fn waits(instance: &Object, gate: &str) -> bool {
    gates::of(instance).contains(&gate)
}

/// The Instances whose gate waits for a condition that is `False`, or for a missing budget, by ordinal, with
/// the condition's message.
fn held<'a>(seen: &DeploymentFacts<'a>, (kind, gate): (&str, &str)) -> Vec<(&'a ObjectRef, &'a str)> {
    let mut held: Vec<_> = seen
        .answering()
        .filter(|i| waits(i, gate))
        .filter_map(|i| {
            let (status, reason, message) = said(find(i.status(), kind)?);
            (status == "False" || reason == Reason::QuotaNoBudget).then_some((i, message))
        })
        .collect();
    held.sort_by_key(|(i, _)| (i.name().len(), i.name()));
    held
}

/// The Instances that a gate holds: how many, and the first message.
fn waiting(
    seen: &DeploymentFacts<'_>,
    gate: (&str, &str),
    reason: Reason,
    what: &str,
) -> Option<ConditionUpdate> {
    let held = held(seen, gate);
    if held.is_empty() {
        return None;
    }
    let count = if held.iter().all(|(i, _)| seen.is_added(i)) {
        format!(
            "{} replicas that a rollout adds to the {} desired ones by maxSurge {what}",
            held.len(),
            seen.desired
        )
    } else {
        format!("{} of {} desired replicas {what}", held.len(), seen.desired)
    };
    let words = held.iter().find(|(_, message)| !message.is_empty());
    Some(ConditionUpdate::no(
        reason,
        words.map_or(count.clone(), |(_, message)| format!("{count}: {message}")),
    ))
}

/// Returns what blocks referenced data: the deployment's own condition, then the error of the project's side.
fn referenced_data(deployment: &Object) -> Vec<ConditionUpdate> {
    let own = find(deployment.status(), REFERENCED_DATA_READY).map(said);
    let own = own.filter(|(status, _, _)| *status != "True");
    let own = own.map(|(_, reason, message)| referenced_data::refusal(reason, message));
    own.into_iter().chain(referenced_data::error(deployment)).collect()
}
