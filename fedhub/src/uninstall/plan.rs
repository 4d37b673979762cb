//! What is taken off which objects, and what is deleted on the hub. Pure.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::names::{
    CITY_CODE, FEDERATOR_FINALIZER, INSTANCE_FINALIZER, REFERENCED_DATA_FINALIZER, SOURCE, WORKLOAD_FINALIZER,
};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_federator::snapshot::source;
use fedhub_planes::ProjectNamespace;

use crate::operator::karmada::BINDING_ID;

/// What kind of plane finalizers are taken off on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A project plane.
    Project,
    /// A cell.
    Cell,
}

impl Place {
    /// The kinds with finalizers of fedhub there, and which.
    pub fn finalizers(self) -> &'static [(Kind, &'static [&'static str])] {
        match self {
            Self::Project => &[
                (Kind::WorkloadDeployment, &[FEDERATOR_FINALIZER, REFERENCED_DATA_FINALIZER]),
                (Kind::Workload, &[WORKLOAD_FINALIZER]),
            ],
            Self::Cell => {
                &[(Kind::WorkloadDeployment, &[WORKLOAD_FINALIZER]), (Kind::Instance, &[INSTANCE_FINALIZER])]
            }
        }
    }
}

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// It has no finalizer of fedhub.
    Nothing,
    /// These finalizers stay, and fedhub's goes.
    Strip(Vec<String>),
    /// It is being deleted: what fedhub's finalizer guards is not done, and would stay for ever.
    Hold,
}

/// What becomes of an object, of which these finalizers are fedhub's.
pub fn release(object: &Object, ours: &[&str], abandon_deletions: bool) -> Release {
    if !has_any(object, ours) {
        return Release::Nothing;
    }
    if object.is_terminating() && !abandon_deletions {
        return Release::Hold;
    }
    let others = object.metadata.finalizers.iter().flatten().filter(|it| !ours.contains(&it.as_str()));
    Release::Strip(others.cloned().collect())
}

/// Whether an object has one of these finalizers.
pub fn has_any(object: &Object, finalizers: &[&str]) -> bool {
    finalizers.iter().any(|finalizer| object.has_finalizer(finalizer))
}

/// What the hub has.
#[derive(Clone, Debug, Default)]
pub struct Hub {
    /// Its namespaces.
    pub namespaces: Vec<Object>,
    /// Its WDs.
    pub deployments: Vec<Object>,
    /// Its `PropagationPolicies`.
    pub policies: Vec<Object>,
    /// Its Instances: the copies that cells wrote back.
    pub instances: Vec<Object>,
    /// Companions, by their metadata: copies of `ConfigMap`s and Secrets.
    pub companions: Vec<(Kind, Vec<Object>)>,
}

/// The planes that have WDs on the hub, as the labels of its namespaces say.
pub fn planes(hub: &Hub) -> BTreeSet<String> {
    let used: BTreeSet<&str> = hub.deployments.iter().map(ObjectView::namespace).collect();
    let homes = hub
        .namespaces
        .iter()
        .filter(|it| used.contains(it.name()))
        .filter_map(ProjectNamespace::from_hub_namespace);
    homes.map(|home| home.plane.to_string()).collect()
}

/// What is done on the hub to empty it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Emptying {
    /// fedhub's namespaces that are emptied, and stay: Karmada would delete them in the cells.
    pub namespaces: BTreeSet<String>,
    /// WDs that are deleted.
    pub deployments: Vec<Object>,
    /// Policies that first have Karmada keep what is in the cells, and are deleted last.
    pub policies: Vec<Object>,
    /// Copies of Instances that are deleted after the WDs, where Karmada's garbage collection has not.
    pub instances: Vec<Object>,
    /// Companions that are deleted after the WDs.
    pub companions: Vec<(Kind, Vec<Object>)>,
    /// What is left alone, and why.
    pub left: Vec<(Object, &'static str)>,
}

/// What is deleted on the hub: what carries fedhub's marks in namespaces that carry fedhub's labels (I6), and
/// nothing else.
pub fn emptying(hub: &Hub) -> Emptying {
    let homes: BTreeMap<&str, ProjectNamespace> = hub
        .namespaces
        .iter()
        .filter_map(|it| Some((it.name(), ProjectNamespace::from_hub_namespace(it)?)))
        .collect();
    let mut plan =
        Emptying { namespaces: homes.keys().map(|name| (*name).to_owned()).collect(), ..Emptying::default() };
    let mut shared = BTreeSet::new();
    for wd in &hub.deployments {
        let Some(home) = homes.get(wd.namespace()) else { continue };
        if wd.annotation(SOURCE) == Some(source(home, wd.name()).as_str()) {
            plan.deployments.push(wd.clone());
        } else {
            shared.insert(wd.namespace());
            plan.left.push((wd.clone(), "it lacks fedhub's origin mark, or has another's"));
        }
    }
    for policy in hub.policies.iter().filter(|it| homes.contains_key(it.namespace())) {
        if policy.label(CITY_CODE).is_none() {
            plan.left.push((policy.clone(), "it is no policy of fedhub's"));
        } else if shared.contains(policy.namespace()) {
            plan.left.push((policy.clone(), "a WD that is left alone may need it"));
        } else {
            plan.policies.push(policy.clone());
        }
    }
    // Without its policy, nothing would have Karmada keep what is in the cell.
    let kept = plan.deployments.iter().filter(|wd| shared.contains(wd.namespace())).cloned();
    let kept: Vec<_> = kept.map(|wd| (wd, "another WD in its namespace is left alone")).collect();
    plan.left.extend(kept);
    plan.deployments.retain(|wd| !shared.contains(wd.namespace()));
    plan.namespaces.retain(|name| !shared.contains(name.as_str()));
    let emptied = |it: &&Object| homes.contains_key(it.namespace()) && !shared.contains(it.namespace());
    plan.instances = hub.instances.iter().filter(emptied).cloned().collect();
    plan.companions = hub
        .companions
        .iter()
        .map(|(kind, all)| (*kind, all.iter().filter(emptied).cloned().collect()))
        .collect();
    plan
}

/// Whether Karmada keeps what a `ResourceBinding`, a Work or a policy stands for when that is deleted
/// (Karmada 1.13).
pub fn is_preserved(object: &Object) -> bool {
    object.spec()["preserveResourcesOnDeletion"] == true
}

/// The bindings in these namespaces of which something would be deleted in a cell, by themselves or by a Work
/// of theirs.
pub fn unpreserved<'a>(
    namespaces: &BTreeSet<String>,
    bindings: &'a [Object],
    works: &[Object],
) -> Vec<&'a Object> {
    let open: BTreeSet<&str> =
        works.iter().filter(|work| !is_preserved(work)).filter_map(|work| work.label(BINDING_ID)).collect();
    let ours = bindings.iter().filter(|binding| namespaces.contains(binding.namespace()));
    ours.filter(|binding| {
        !is_preserved(binding) || binding.label(BINDING_ID).is_none_or(|id| open.contains(id))
    })
    .collect()
}
