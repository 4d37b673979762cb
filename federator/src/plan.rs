//! What a pass over one WD does: a pure function from what was observed to the writes, in their order.
//!
//! Decides I2, I9, F2, F3, F4 and F5.

use std::time::Duration;

use fedhub_api::conditions::{find, put};
use fedhub_cache::digest::deployment::{FEDERATED, reported};
use fedhub_cache::normalization::settled;
use fedhub_core::clock::stamp;
use fedhub_core::names::{
    CITY_CODE, DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST, HUB_NAMESPACE_UID,
    MIRRORED_ANNOTATIONS, MOVING, RESYNC, SOURCE, SOURCE_GENERATION, SOURCE_UID, SUSPENDED, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, encode_plane, policy_name,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use fedhub_planes::writer::probe;
use fedhub_planes::{StatusWrite, Write};
use serde_json::{Value, json};

use crate::held::Held;
use crate::moving::{Move, changes_city, under_way};
use crate::observe::{Known, Observed};
use crate::origin::{conflict, source};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::{finalize, loss, status};

/// The writes of one pass, performed in the order of the fields; the first that fails ends the pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Metadata to merge into the project WD (I2).
    pub mark: Option<Value>,
    /// The hub namespace.
    pub namespace: Option<Write>,
    /// The city's PropagationPolicy, before the WD that it carries (F5).
    pub policy: Option<Write>,
    /// The hub WD (F4).
    pub deployment: Option<Write>,
    /// The city that the WD has left for good, with that write (F6).
    pub moved: Option<String>,
    /// The hub WD to delete (F9).
    pub delete: Option<ObjectRef>,
    /// The project WD's status (F8).
    pub status: Option<StatusWrite>,
    /// Metadata to merge into the project WD that lets it go (I3).
    pub release: Option<Value>,
    /// What comes after the writes.
    pub then: Then,
}

/// What comes after the writes of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Then {
    /// Nothing: everything is as it should be.
    #[default]
    Done,
    /// Observe and plan again at once: the next write needs what a server answered.
    Again,
    /// Read the hub live, then plan again (I3).
    ReadLive,
    /// An event will come.
    Wait,
    /// The same, but its event may come from what is not watched: observe and plan again after this time.
    LookAgain(Duration),
    /// The finalizer is held, visibly (I3).
    Hold(Held),
}

/// Decides. See the specification, section 4, for the rules by their numbers.
pub fn plan(seen: &Observed) -> Plan {
    if seen.project.is_terminating() {
        return finalize::plan(seen);
    }
    let plan = follow(seen);
    if seen.suspended { reading_only(plan) } else { plan }
}

/// What remains of a plan while the project plane takes no writes: what concerns the hub, if the WD is marked (I2).
fn reading_only(plan: Plan) -> Plan {
    match plan.mark {
        Some(_) => Plan { then: Then::Wait, ..Plan::default() },
        None => Plan { status: None, moved: None, ..plan },
    }
}

/// Has the hub follow a WD that is not being deleted.
fn follow(seen: &Observed) -> Plan {
    if let Some(refusal) = Refusal::of(seen).or_else(|| conflict(seen)) {
        return Plan { status: status_write(seen, Some(&refusal)), ..Plan::default() };
    }
    let cells = Refusal::of_cells(seen.city(), seen.cells);
    let moving = under_way(seen).map(|m| Refusal::Moving(m.from, seen.city().to_owned()));
    let told = status_write(seen, cells.as_ref().or(moving.as_ref()));
    // I10: while nobody can say where a WD is to go, what is federated stays where it is.
    let stays = seen.hub.as_ref().is_some_and(|hub| hub.label(CITY_CODE) == Some(seen.city()));
    let waits = match cells {
        Some(Refusal::AmbiguousCity(_)) => !stays,
        Some(_) => changes_city(seen),
        None => false,
    };
    if waits {
        return Plan { status: told, ..Plan::default() };
    }
    federate(seen, told)
}

/// The writes that bring a WD to the hub, with the status to tell of it meanwhile.
pub(crate) fn federate(seen: &Observed, told: Option<StatusWrite>) -> Plan {
    let (mark, moving) = (mark(seen), under_way(seen));
    match &seen.hub_namespace {
        None => {
            let namespace = Some(Write::Create(Box::new(namespace(seen, None))));
            return Plan { mark, namespace, then: Then::Again, ..Plan::default() };
        }
        // It cannot be used before it is gone and made anew, under the same name.
        Some(namespace) if namespace.is_terminating() => {
            return Plan { mark, status: told, then: Then::Wait, ..Plan::default() };
        }
        Some(_) => {}
    }
    let policy = match policy(&seen.hub_namespace_name, seen.city(), &seen.policies) {
        PolicyStep::Write(write) => Some(write),
        PolicyStep::InOrder => None,
        // F7: a policy that is terminating counts as absent, and no other can be made under its name.
        PolicyStep::Terminating => return Plan { mark, status: told, then: Then::Wait, ..Plan::default() },
    };
    if seen.hub.as_ref().is_some_and(|hub| hub.is_terminating()) {
        return Plan { mark, policy, status: told, then: Then::Wait, ..Plan::default() };
    }
    let namespace = seen.hub_namespace.as_ref().and_then(|current| {
        let wanted = namespace(seen, Some(current));
        (wanted.metadata != current.metadata)
            .then(|| Write::Replace { object: Box::new(wanted), probe: false })
    });
    let moved = seen.hub.as_ref().filter(|_| moving.is_none()).and_then(|hub| Move::recorded(hub));
    Plan {
        mark,
        namespace,
        policy,
        deployment: deployment(seen, moving.as_ref()),
        moved: moved.map(|m| m.from),
        status: told,
        then: moving.map_or(Then::Done, |m| Then::LookAgain(m.look_again(seen.now))),
        ..Plan::default()
    }
}

/// Finalizer and annotations, in one patch; nothing is written to the hub before it is stored (I2, F2).
pub(crate) fn mark(seen: &Observed) -> Option<Value> {
    let project = &seen.project;
    let mut metadata = json!({});
    let first = !project.has_finalizer(FEDERATOR_FINALIZER);
    if first {
        let mut finalizers = project.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FEDERATOR_FINALIZER.to_owned());
        metadata["finalizers"] = json!(finalizers);
    }
    if project.annotation(FEDERATION_NAMESPACE) != Some(&seen.hub_namespace_name) {
        metadata["annotations"][FEDERATION_NAMESPACE] = json!(seen.hub_namespace_name);
    }
    let recorded = project.annotation(HUB_NAMESPACE_UID);
    match seen.hub_namespace.as_ref().filter(|n| !n.is_terminating() || project.is_terminating()) {
        // F9: which namespace was lost is remembered until the loss is over.
        Some(namespace) if !loss::stands(seen) && recorded != Some(namespace.uid()) => {
            metadata["annotations"][HUB_NAMESPACE_UID] = json!(namespace.uid());
        }
        // Copied from another object: of this one nothing was on the hub before.
        None if first && recorded.is_some() => metadata["annotations"][HUB_NAMESPACE_UID] = Value::Null,
        _ => {}
    }
    (metadata != json!({})).then_some(metadata)
}

/// The hub namespace with our two labels right and all else as it is (F3, I9).
fn namespace(seen: &Observed, current: Option<&ObjectRef>) -> Object {
    let mut namespace =
        current.map_or_else(|| bare(Kind::Namespace, "", &seen.hub_namespace_name), |c| c.as_ref().clone());
    let labels = namespace.metadata.labels.get_or_insert_default();
    labels.insert(UPSTREAM_CLUSTER.to_owned(), encode_plane(&seen.plane));
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), seen.project.namespace().to_owned());
    namespace
}

/// What a city's policy needs.
pub(crate) enum PolicyStep {
    InOrder,
    Write(Write),
    Terminating,
}

/// One policy for each city of a hub namespace, found by its label, not by its name (F5).
pub(crate) fn policy(namespace: &str, city: &str, policies: &[Known]) -> PolicyStep {
    let carries = |p: &&Known| p.object.label(CITY_CODE) == Some(city);
    let Some(Known { object: current, echo }) =
        policies.iter().filter(carries).min_by_key(|p| p.object.is_terminating()).or_else(|| {
            // Its label was taken off by hand: the name tells that it is ours.
            let names = [policy_name(city, |_| false), policy_name(city, |_| true)];
            let bald = |p: &&Known| p.object.label(CITY_CODE).is_none();
            policies.iter().filter(bald).find(|p| names.iter().any(|n| n == p.object.name()))
        })
    else {
        let taken = |name: &str| policies.iter().any(|p| p.object.name() == name);
        let mut policy = bare(Kind::PropagationPolicy, namespace, &policy_name(city, taken));
        policy.metadata.labels.get_or_insert_default().insert(CITY_CODE.to_owned(), city.to_owned());
        set_field(&mut policy, "spec", policy_spec(namespace, city));
        return PolicyStep::Write(Write::Create(Box::new(policy)));
    };
    if current.is_terminating() {
        return PolicyStep::Terminating;
    }
    let wanted = policy_spec(namespace, city);
    let differs = !settled(&wanted, current.spec(), *echo);
    if current.label(CITY_CODE) == Some(city) && !differs {
        return PolicyStep::InOrder;
    }
    let mut policy = current.as_ref().clone();
    policy.metadata.labels.get_or_insert_default().insert(CITY_CODE.to_owned(), city.to_owned());
    set_field(&mut policy, "spec", wanted);
    PolicyStep::Write(Write::Replace { object: Box::new(policy), probe: probe(differs, true, *echo) })
}

/// The whole spec, with what Karmada's webhook would put where nothing is said: so that what stands is what is meant.
fn policy_spec(namespace: &str, city: &str) -> Value {
    let resource = Kind::WorkloadDeployment.resource();
    let labels = json!({"matchLabels": {CITY_CODE: city}});
    json!({
        "conflictResolution": "Abort",
        "preemption": "Never",
        "priority": 0,
        "schedulerName": "default-scheduler",
        "propagateDeps": true,
        "resourceSelectors": [{
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": namespace,
            "labelSelector": labels,
        }],
        "placement": {
            "clusterAffinity": {"labelSelector": labels},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
        },
    })
}

/// The hub WD: spec whole, our labels, the origin mark, the marks of a move and of a resync, the mirrored annotations;
/// all else as it is (F4, F6, F8, I9).
fn deployment(seen: &Observed, moving: Option<&Move>) -> Option<Write> {
    let project = &seen.project;
    let mut wanted = seen.hub.as_ref().map_or_else(
        || bare(Kind::WorkloadDeployment, &seen.hub_namespace_name, project.name()),
        |hub| hub.as_ref().clone(),
    );
    let labels = wanted.metadata.labels.get_or_insert_default();
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), project.namespace().to_owned());
    labels.insert(CITY_CODE.to_owned(), seen.city().to_owned());
    labels.insert(DELETION_PROTECTED.0.to_owned(), DELETION_PROTECTED.1.to_owned());
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(SOURCE.to_owned(), source(seen));
    annotations.insert(SOURCE_UID.to_owned(), project.uid().to_owned());
    annotations
        .insert(SOURCE_GENERATION.to_owned(), project.metadata.generation.unwrap_or_default().to_string());
    if loss::stands(seen) {
        annotations.insert(HUB_LOST.to_owned(), "true".to_owned());
    } else {
        annotations.remove(HUB_LOST);
    }
    match moving {
        Some(moving) => annotations.insert(MOVING.to_owned(), moving.to_string()),
        None => annotations.remove(MOVING),
    };
    // F8: from when Karmada is to apply it anew until its cell has reported.
    if seen.stalled {
        annotations.insert(RESYNC.to_owned(), stamp(seen.now));
    } else if Progress::of(seen, None) == Progress::Applied {
        annotations.remove(RESYNC);
    }
    for key in MIRRORED_ANNOTATIONS {
        let suspended = Some("true").filter(|_| seen.suspended && key == SUSPENDED);
        match suspended.or_else(|| project.annotation(key)) {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
    }
    set_field(&mut wanted, "spec", project.spec().clone());
    let Some(hub) = &seen.hub else { return Some(Write::Create(Box::new(wanted))) };
    let differs = !settled(project.spec(), hub.spec(), seen.spec_normalization);
    let same_generation = wanted.annotation(SOURCE_GENERATION) == hub.annotation(SOURCE_GENERATION);
    (differs || wanted.metadata != hub.metadata).then(|| Write::Replace {
        probe: probe(differs, same_generation, seen.spec_normalization),
        object: Box::new(wanted),
    })
}

pub(crate) fn status_write(seen: &Observed, refusal: Option<&Refusal>) -> Option<StatusWrite> {
    let mut status = status::desired(seen, refusal)?;
    let current = seen.project.status();
    let differs = !settled(&status, current, seen.status_normalization);
    // U2: told along with what there is to tell.
    if differs && !seen.project.is_terminating() {
        let generation = seen.project.metadata.generation.unwrap_or_default();
        let progress = Progress::of(seen, refusal);
        put(&mut status, progress.condition(find(current, FEDERATED), generation, seen.now));
    }
    differs
        .then(|| StatusWrite { probe: probe(differs, reported(current), seen.status_normalization), status })
}
