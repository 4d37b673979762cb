//! What is done for the catalogue. Pure.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::message::Quoted;
use fedhub_core::names::{CATALOG, CATALOG_UID};
use fedhub_core::object::{ObjectRef, ObjectView};
use fedhub_planes::Write;

use super::desired;
use super::snapshot::{OnHub, Snapshot, Source, SourceCrd, is_copy};

/// What is done in one round. Where there is something to read, the next round decides by what that shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogPlan {
    /// The write of the policy.
    pub policy: Option<Write>,
    /// The writes of copies.
    pub copies: Vec<Write>,
    /// The copies that are deleted.
    pub deletes: Vec<ObjectRef>,
    /// What is to be read of the source.
    pub read: Reads,
    /// What is an operator's to see to.
    pub complaints: BTreeSet<Complaint>,
}

/// What is to be read of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Nothing.
    #[default]
    Nothing,
    /// Its CRD.
    Crd,
    /// The types of these names.
    Types(Vec<String>),
}

/// What is an operator's to see to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Complaint {
    /// The hub has a type of that name that is not a copy.
    NameTaken(String),
    /// The source has a copy of that name.
    SourceIsCell(String),
    /// The copy of that name stays although the source does not show its type: the source does not serve types any more.
    SourceGone(String),
    /// The same: the source is another one than the copy was written from.
    SourceReplaced(String),
}

impl Complaint {
    /// The reason of the Event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NameTaken(_) => "InstanceTypeNameTaken",
            Self::SourceIsCell(_) => "InstanceTypeSourceIsCell",
            Self::SourceGone(_) | Self::SourceReplaced(_) => "InstanceTypeKept",
        }
    }

    /// The metric label of a deletion that is withheld for it.
    pub fn withheld(&self) -> Option<&'static str> {
        match self {
            Self::NameTaken(_) | Self::SourceIsCell(_) => None,
            Self::SourceGone(_) => Some("source_gone"),
            Self::SourceReplaced(_) => Some("source_replaced"),
        }
    }

    /// The name of the type.
    pub fn name(&self) -> &str {
        match self {
            Self::NameTaken(name)
            | Self::SourceIsCell(name)
            | Self::SourceGone(name)
            | Self::SourceReplaced(name) => name,
        }
    }

    /// What is wrong, and what to do.
    pub fn message(&self) -> String {
        let (name, label) = (Quoted(self.name()), CATALOG.0);
        match self {
            Self::NameTaken(_) => format!(
                "the hub has an InstanceType {name} without the label {label}, which fedhub leaves alone, so that cells do not \
                 get the type of the catalogue: delete the one on the hub, or give it the label {label}={}",
                CATALOG.1
            ),
            Self::SourceIsCell(_) => format!(
                "InstanceType {name} at the source of --instance-types has the label {label}: Karmada wrote it there, for the \
                 source is a cell too; nothing is written for the catalogue: give another source, or take the label off where \
                 it was set by hand"
            ),
            Self::SourceGone(_) => format!(
                "the source of --instance-types does not serve InstanceTypes any more, which does not mean that there are none: \
                 the copy {name} on the hub stays; install the CRD and the types again, or delete the copy on the hub"
            ),
            Self::SourceReplaced(_) => format!(
                "the source of --instance-types has no InstanceType {name}, and its CRD is another one than the copy on the hub \
                 was written from: the copy stays; create the type again, or delete the copy on the hub"
            ),
        }
    }
}

/// Decides.
pub fn plan(seen: &Snapshot) -> CatalogPlan {
    match &seen.source {
        Source::Unknown => CatalogPlan::default(),
        Source::IsCell(name) => CatalogPlan {
            complaints: [Complaint::SourceIsCell(name.clone())].into(),
            ..CatalogPlan::default()
        },
        Source::Known(declared) => follow(seen, declared),
    }
}

/// Has the hub follow the source.
fn follow(seen: &Snapshot, declared: &BTreeMap<String, ObjectRef>) -> CatalogPlan {
    let crd = match &seen.learned.crd {
        Some(SourceCrd::Serving(uid)) => Some(uid.as_str()),
        _ => None,
    };
    let mut plan = CatalogPlan { policy: desired::policy(seen.policy.as_ref()), ..CatalogPlan::default() };
    let mut writes = Vec::new();
    for (name, of) in declared {
        match seen.on_hub.get(name) {
            Some(stands) if !is_copy(&stands.object) => {
                plan.complaints.insert(Complaint::NameTaken(name.clone()));
            }
            // Its end is an event.
            Some(stands) if stands.object.is_terminating() => {}
            stands => writes.extend(desired::copy(of, stands, crd)),
        }
    }
    let is_left = |(name, stands): &(&String, &OnHub)| {
        let copy = &stands.object;
        is_copy(copy) && !copy.is_terminating() && !declared.contains_key(*name)
    };
    let left: Vec<_> = seen.on_hub.iter().filter(is_left).collect();
    match &seen.learned.crd {
        _ if writes.is_empty() && left.is_empty() => {}
        None => plan.read = Reads::Crd,
        Some(SourceCrd::Missing | SourceCrd::Terminating) => {
            plan.complaints.extend(left.iter().map(|(name, _)| Complaint::SourceGone((*name).clone())));
        }
        Some(SourceCrd::Serving(uid)) => {
            plan.copies = writes;
            prune(seen, &left, uid, &mut plan);
        }
    }
    plan
}

/// Deletes the copies that are left over, as far as the source has confirmed that it does not have their types.
fn prune(seen: &Snapshot, left: &[(&String, &OnHub)], crd: &str, plan: &mut CatalogPlan) {
    let mut unconfirmed = Vec::new();
    for (name, OnHub { object, .. }) in left {
        let of_another = object.annotation(CATALOG_UID).is_some_and(|uid| uid != crd);
        if of_another {
            plan.complaints.insert(Complaint::SourceReplaced((*name).clone()));
        } else if seen.learned.gone.contains(*name) {
            plan.deletes.push(object.clone());
        } else if !seen.learned.there.contains(*name) {
            unconfirmed.push((*name).clone());
        }
    }
    if !unconfirmed.is_empty() {
        plan.read = Reads::Types(unconfirmed);
    }
}
