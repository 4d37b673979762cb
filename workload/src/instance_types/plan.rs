//! The decision about the catalogue. Pure.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::names::{CATALOG, CATALOG_UID};
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Intent, Plan, Subject};
use fedhub_planes::{Precondition, Write};

use super::render;
use super::snapshot::{CatalogSource, Snapshot, SourceCrd, is_copy};

/// The name of the CRD of types.
const CRD: &str = "instancetypes.compute.datumapis.com";

/// The decision of one round, and the complaints for operators. If there is something to read, the next round
/// decides by the result.
pub type CatalogPlan = Plan<BTreeSet<Complaint>>;

/// A problem that an operator has to solve.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Complaint {
    /// The hub has a type of that name that is not a copy.
    NameTaken(String),
    /// The source has a copy of that name.
    SourceIsCell(String),
    /// The copy of that name stays although the source does not show its type: the source does not serve
    /// types any more.
    SourceGone(String),
    /// The copy of that name stays although the source does not show its type: the source's CRD is another
    /// one than the copy was written from.
    SourceReplaced(String),
}

impl Complaint {
    /// The reason of the Event.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NameTaken(_) => Reason::InstanceTypeNameTaken,
            Self::SourceIsCell(_) => Reason::InstanceTypeSourceIsCell,
            Self::SourceGone(_) | Self::SourceReplaced(_) => Reason::InstanceTypeKept,
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

    /// Says what is wrong, and what to do.
    pub fn message(&self) -> String {
        let name = Quoted(self.name());
        let label = CATALOG.0;
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
        CatalogSource::Unknown => CatalogPlan::default(),
        CatalogSource::IsCell(name) => {
            Plan { intents: Vec::new(), verdict: [Complaint::SourceIsCell(name.clone())].into() }
        }
        CatalogSource::Known(declared) => follow(seen, declared),
    }
}

/// Plans the writes that make the hub's types match those of the source.
fn follow(seen: &Snapshot, declared: &BTreeMap<String, ObjectRef>) -> CatalogPlan {
    let crd = match &seen.learned.crd {
        Some(SourceCrd::Serving(uid)) => Some(uid.as_str()),
        _ => None,
    };
    let policy = render::policy(seen.policy.as_ref());
    let mut intents: Vec<_> =
        policy.map(|write| put(Kind::ClusterPropagationPolicy, write)).into_iter().collect();
    let mut complaints = BTreeSet::new();
    let mut writes = Vec::new();
    for (name, of) in declared {
        match seen.on_hub.get(name) {
            Some(stands) if !is_copy(&stands.object) => {
                complaints.insert(Complaint::NameTaken(name.clone()));
            }
            // Its end is an event.
            Some(stands) if stands.object.is_terminating() => {}
            stands => writes.extend(render::copy(of, stands, crd)),
        }
    }
    let left = seen.on_hub.iter().filter(|(name, stands)| {
        let copy = &stands.object;
        is_copy(copy) && !copy.is_terminating() && !declared.contains_key(*name)
    });
    let left: Vec<_> = left.map(|(name, stands)| (name, &stands.object)).collect();
    match &seen.learned.crd {
        _ if writes.is_empty() && left.is_empty() => {}
        None => intents.push(read(Kind::CustomResourceDefinition, CRD)),
        Some(SourceCrd::Missing | SourceCrd::Terminating) => {
            complaints.extend(left.iter().map(|(name, _)| Complaint::SourceGone((*name).clone())));
        }
        Some(SourceCrd::Serving(uid)) => {
            intents.extend(writes.into_iter().map(|write| put(Kind::InstanceType, write)));
            prune(seen, &left, uid, &mut intents, &mut complaints);
        }
    }
    Plan { intents, verdict: complaints }
}

/// Deletes the copies that are left over, once the source has confirmed of each that it does not have its
/// type.
fn prune(
    seen: &Snapshot,
    left: &[(&String, &ObjectRef)],
    crd: &str,
    intents: &mut Vec<Intent>,
    complaints: &mut BTreeSet<Complaint>,
) {
    let mut reads = Vec::new();
    let mut deletes = Vec::new();
    for (name, copy) in left {
        if copy.annotation(CATALOG_UID).is_some_and(|uid| uid != crd) {
            complaints.insert(Complaint::SourceReplaced((*name).clone()));
        } else if seen.learned.gone.contains(*name) {
            let subject = Subject { key: key(PlaneId::Hub, Kind::InstanceType, name), stub: (*copy).clone() };
            let precondition = Precondition::UidAndVersion;
            deletes.push(Intent::Delete { subject, precondition, inferred: true });
        } else if !seen.learned.there.contains(*name) {
            reads.push(read(Kind::InstanceType, name));
        }
    }
    intents.extend(if reads.is_empty() { deletes } else { reads });
}

fn put(kind: Kind, write: Write) -> Intent {
    Intent::Put { to: PlaneId::Hub, kind, write, recreate: None }
}

fn read(kind: Kind, name: &str) -> Intent {
    Intent::ReadLive(key(PlaneId::Management, kind, name))
}

fn key(plane: PlaneId, kind: Kind, name: &str) -> Key {
    Key { plane, kind, namespace: Box::default(), name: name.into() }
}
