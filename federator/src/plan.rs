//! What a pass over one WD does: a pure function from what was observed to the writes, in their order.

use fedhub_shared::engine::echo::settled;
use fedhub_shared::engine::writer::probe;
use fedhub_shared::engine::{StatusWrite, Write};
use fedhub_shared::names::{
    CITY_CODE, DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID,
    MIRRORED_ANNOTATIONS, SOURCE, SOURCE_GENERATION, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    encode_plane, policy_name,
};
use fedhub_shared::object::{Kind, Object, ObjectView, Shared, bare, set_field};
use serde_json::{Value, json};

use crate::held::Held;
use crate::observe::{Known, Observed};
use crate::origin::{conflict, source};
use crate::refusal::Refusal;
use crate::{finalize, status};

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
    /// The hub WD to delete (F9).
    pub delete: Option<Shared>,
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
    /// The finalizer is held, visibly (I3).
    Hold(Held),
}

/// Decides. See the specification, section 4, for the rules by their numbers.
pub fn plan(seen: &Observed) -> Plan {
    if seen.project.deleting() {
        return finalize::plan(seen);
    }
    if let Some(refusal) = Refusal::of_input(seen.project.called(), seen.city()).or_else(|| conflict(seen)) {
        return Plan { status: status_write(seen, Some(&refusal)), ..Plan::default() };
    }
    let cells = Refusal::of_cells(seen.city(), seen.cells);
    let told = status_write(seen, cells.as_ref());
    // I10: while a city is ambiguous, what is federated stays where it is and the rest waits.
    let stays = seen.hub.as_ref().is_some_and(|hub| hub.label(CITY_CODE) == Some(seen.city()));
    if matches!(cells, Some(Refusal::AmbiguousCity(_))) && !stays {
        return Plan { status: told, ..Plan::default() };
    }
    let mark = mark(seen);
    match &seen.hub_namespace {
        None => {
            let namespace = Some(Write::Create(Box::new(namespace(seen, None))));
            return Plan { mark, namespace, then: Then::Again, ..Plan::default() };
        }
        // It cannot be used before it is gone and made anew, under the same name.
        Some(namespace) if namespace.deleting() => {
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
    if seen.hub.as_ref().is_some_and(|hub| hub.deleting()) {
        return Plan { mark, policy, status: told, then: Then::Wait, ..Plan::default() };
    }
    let namespace = seen.hub_namespace.as_ref().and_then(|current| {
        let wanted = namespace(seen, Some(current));
        (wanted.metadata != current.metadata)
            .then(|| Write::Replace { object: Box::new(wanted), probe: false })
    });
    Plan { mark, namespace, policy, deployment: deployment(seen), status: told, ..Plan::default() }
}

/// Finalizer and annotations, in one patch; nothing is written to the hub before it is stored (I2, F2).
fn mark(seen: &Observed) -> Option<Value> {
    let project = &seen.project;
    let mut metadata = json!({});
    if !project.has_finalizer(FEDERATOR_FINALIZER) {
        let mut finalizers = project.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FEDERATOR_FINALIZER.to_owned());
        metadata["finalizers"] = json!(finalizers);
    }
    if project.annotation(FEDERATION_NAMESPACE) != Some(&seen.hub_namespace_name) {
        metadata["annotations"][FEDERATION_NAMESPACE] = json!(seen.hub_namespace_name);
    }
    if let Some(namespace) = seen.hub_namespace.as_ref().filter(|n| !n.deleting())
        && project.annotation(HUB_NAMESPACE_UID) != Some(namespace.uid())
    {
        metadata["annotations"][HUB_NAMESPACE_UID] = json!(namespace.uid());
    }
    (metadata != json!({})).then_some(metadata)
}

/// The hub namespace with our two labels right and all else as it is (F3, I9).
fn namespace(seen: &Observed, current: Option<&Shared>) -> Object {
    let mut namespace =
        current.map_or_else(|| bare(Kind::Namespace, "", &seen.hub_namespace_name), |c| c.as_ref().clone());
    let labels = namespace.metadata.labels.get_or_insert_default();
    labels.insert(UPSTREAM_CLUSTER.to_owned(), encode_plane(&seen.plane));
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), seen.project.space().to_owned());
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
        policies.iter().filter(carries).min_by_key(|p| p.object.deleting()).or_else(|| {
            // Its label was taken off by hand: the name tells that it is ours.
            let names = [policy_name(city, |_| false), policy_name(city, |_| true)];
            let bald = |p: &&Known| p.object.label(CITY_CODE).is_none();
            policies.iter().filter(bald).find(|p| names.iter().any(|n| n == p.object.called()))
        })
    else {
        let taken = |name: &str| policies.iter().any(|p| p.object.called() == name);
        let mut policy = bare(Kind::PropagationPolicy, namespace, &policy_name(city, taken));
        policy.metadata.labels.get_or_insert_default().insert(CITY_CODE.to_owned(), city.to_owned());
        set_field(&mut policy, "spec", policy_spec(namespace, city));
        return PolicyStep::Write(Write::Create(Box::new(policy)));
    };
    if current.deleting() {
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

/// The hub WD: spec whole, our labels, the origin mark, the mirrored annotations; all else as it is (F4, I9).
fn deployment(seen: &Observed) -> Option<Write> {
    let project = &seen.project;
    let mut wanted = seen.hub.as_ref().map_or_else(
        || bare(Kind::WorkloadDeployment, &seen.hub_namespace_name, project.called()),
        |hub| hub.as_ref().clone(),
    );
    let labels = wanted.metadata.labels.get_or_insert_default();
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), project.space().to_owned());
    labels.insert(CITY_CODE.to_owned(), seen.city().to_owned());
    labels.insert(DELETION_PROTECTED.0.to_owned(), DELETION_PROTECTED.1.to_owned());
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(SOURCE.to_owned(), source(seen));
    annotations.insert(SOURCE_UID.to_owned(), project.uid().to_owned());
    annotations
        .insert(SOURCE_GENERATION.to_owned(), project.metadata.generation.unwrap_or_default().to_string());
    for key in MIRRORED_ANNOTATIONS {
        match project.annotation(key) {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
    }
    set_field(&mut wanted, "spec", project.spec().clone());
    let Some(hub) = &seen.hub else { return Some(Write::Create(Box::new(wanted))) };
    let differs = !settled(project.spec(), hub.spec(), seen.spec_echo);
    let same_generation = wanted.annotation(SOURCE_GENERATION) == hub.annotation(SOURCE_GENERATION);
    (differs || wanted.metadata != hub.metadata).then(|| Write::Replace {
        probe: probe(differs, same_generation, seen.spec_echo),
        object: Box::new(wanted),
    })
}

pub(crate) fn status_write(seen: &Observed, refusal: Option<&Refusal>) -> Option<StatusWrite> {
    let status = status::desired(seen, refusal)?;
    let current = seen.project.status();
    let differs = !settled(&status, current, seen.status_echo);
    differs.then(|| StatusWrite { probe: probe(differs, current.is_object(), seen.status_echo), status })
}
