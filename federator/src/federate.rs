//! What brings a WD to the hub and keeps it there: mark, hub namespace, policy, hub WD, status.
//!
//! Everything is decided on the facts of a [`Snapshot`]. Where these cannot show whether something differs,
//! the plan has it rendered, and what renders to no difference is not written.
//!
//! Decides I2, I9, F2, F3, F4 and F5.

use std::time::Duration;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::hub_metadata::HubMetadata;
use fedhub_cache::normalization::settled_hash;
use fedhub_core::clock::stamp;
use fedhub_core::names::{FEDERATION_NAMESPACE, HUB_NAMESPACE_UID};
use fedhub_core::object::{ObjectRef, ObjectView};
use fedhub_planes::{Write, WriteMode};

use crate::cleanup::CleanupBlocked;
use crate::desired::{self, HubChange, Mark};
use crate::loss;
use crate::moving::{Move, changes_city, under_way};
use crate::obstacles::{Remnant, refusal, remnant};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;
use crate::status;

/// What one pass is to do, in the order of the fields; the first write that fails ends the pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FederationPlan {
    /// What the project WD is marked with (I2).
    pub mark: Option<Mark>,
    /// The hub namespace.
    pub namespace: Option<Write>,
    /// The city's PropagationPolicy, before the WD that it carries (F5).
    pub policy: Option<Write>,
    /// The hub WD (F4).
    pub deployment: Option<HubChange>,
    /// The city that the WD has left for good, with that write (F6).
    pub moved: Option<String>,
    /// Whether the cells are to tear the WD down, which that write of the hub WD records (F9).
    pub recall: bool,
    /// Whether the hub WD is deleted (F9).
    pub delete: bool,
    /// The project WD's status, which may have to be another (F8).
    pub status: Option<StatusIntent>,
    /// Whether the finalizer comes off the project WD (I3).
    pub release: bool,
    /// What comes after the writes.
    pub then: NextStep,
}

impl FederationPlan {
    /// Whether nothing is to do, nor to be waited for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The WD is left as it is, here and on the hub, until an operator resumes its plane (I12).
    pub(crate) fn await_resume() -> Self {
        Self { then: NextStep::AwaitChange, ..Self::default() }
    }

    /// Whether nothing is to be written, whatever comes next.
    pub(crate) fn writes_nothing(&self) -> bool {
        *self == Self { then: self.then.clone(), ..Self::default() }
    }

    /// Whether something is rendered from the object of the hub WD: its next version, or what a cell has
    /// reported on it.
    pub(crate) fn reads_hub_wd(&self, seen: &Snapshot) -> bool {
        let is_reported = seen.hub.as_ref().is_some_and(|hub| hub.reported());
        self.deployment.is_some() || self.delete || self.status.is_some() && is_reported
    }

    /// Whether the plan makes what the WDs of a project namespace share: their hub namespace, or their city's
    /// policy.
    pub(crate) fn makes_setup(&self) -> bool {
        [&self.namespace, &self.policy].into_iter().any(|write| matches!(write, Some(Write::Create(_))))
    }
}

/// What the status of the project WD is rendered with.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusIntent {
    /// Why the WD is not federated as it is.
    pub refusal: Option<Refusal>,
}

/// What comes after the writes of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NextStep {
    /// Nothing: everything is as it should be.
    #[default]
    Done,
    /// Plan again at once: the next write needs what a server answered.
    Requeue,
    /// Read the hub live, then plan again (I3).
    ReadLive,
    /// Read the hub's copies of the WD's Instances live, then plan again (F9).
    ReadCopies,
    /// An event will come.
    AwaitChange,
    /// An event will come, but perhaps from what is not watched: plan again after this time.
    RequeueAfter(Duration),
    /// The finalizer stays, visibly (I3).
    BlockCleanup(CleanupBlocked),
    /// The finalizer stays, visibly, until an event comes or this time is over.
    HoldCleanup(CleanupBlocked, Duration),
}

/// Plans the writes that make the hub match a WD that is not being deleted.
pub(crate) fn follow(seen: &Snapshot) -> FederationPlan {
    let only = |status| FederationPlan { status, ..FederationPlan::default() };
    let refusal = refusal(seen);
    // I10: while it is not known where a WD is to go, what is federated stays where it is.
    let stays = seen.hub.as_ref().is_some_and(|hub| hub.city == seen.project.city);
    let waits = match &refusal {
        Some(Refusal::AmbiguousCity(_)) => !stays,
        Some(Refusal::NoCellForCity(_)) => changes_city(seen),
        Some(Refusal::Moving(..) | Refusal::CellUnreachable(..) | Refusal::ServiceSuspended) | None => false,
        Some(_) => true,
    };
    let status = status(seen, refusal);
    if waits { only(status) } else { federate(seen, status) }
}

/// What brings a WD to the hub, with the status to publish meanwhile.
pub(crate) fn federate(seen: &Snapshot, status: Option<StatusIntent>) -> FederationPlan {
    let (mark, moving) = (mark(seen), under_way(seen));
    let Some(current) = &seen.hub_namespace else {
        let namespace = Some(Write::Create(Box::new(desired::namespace(seen, None))));
        return FederationPlan { mark, namespace, then: NextStep::Requeue, ..FederationPlan::default() };
    };
    let remnant = remnant(seen);
    let policy = match remnant {
        Some(Remnant::Namespace | Remnant::Policy) => None,
        Some(Remnant::Deployment) | None => {
            desired::policy(&seen.hub_namespace_name, seen.city(), &seen.policies)
        }
    };
    if remnant.is_some() {
        let then = NextStep::AwaitChange;
        return FederationPlan { mark, policy, status, then, ..FederationPlan::default() };
    }
    let moved = seen.hub.as_ref().filter(|_| moving.is_none()).and_then(Move::recorded);
    FederationPlan {
        mark,
        namespace: relabelled(seen, current),
        policy,
        deployment: deployment(seen, moving.as_ref()),
        moved: moved.map(|m| m.from),
        status,
        then: moving.map_or(NextStep::Done, |m| NextStep::RequeueAfter(m.resync_after(seen.now))),
        ..FederationPlan::default()
    }
}

/// Finalizer and annotations, in one patch; nothing is written to the hub before it is stored (I2, F2).
pub(crate) fn mark(seen: &Snapshot) -> Option<Mark> {
    let project = &seen.project;
    let mut mark = Mark { finalizer: !project.held, annotations: Vec::new() };
    if project.counterpart != mark_hash(Some(&seen.hub_namespace_name)) {
        mark.annotations.push((FEDERATION_NAMESPACE, Some(seen.hub_namespace_name.clone())));
    }
    match seen.hub_namespace.as_ref().filter(|n| !n.is_terminating() || seen.is_leaving()) {
        // F9: which namespace was lost is remembered until the loss is over.
        Some(namespace) if !loss::stands(seen) && !seen.recorded_namespace_stands() => {
            mark.annotations.push((HUB_NAMESPACE_UID, Some(namespace.uid().to_owned())));
        }
        // Copied from another object: of this one nothing was on the hub before.
        None if mark.finalizer && project.counterpart_uid != 0 => {
            mark.annotations.push((HUB_NAMESPACE_UID, None));
        }
        _ => {}
    }
    (mark != Mark::default()).then_some(mark)
}

/// The hub namespace with our labels, where it lacks them.
fn relabelled(seen: &Snapshot, current: &ObjectRef) -> Option<Write> {
    let wanted = desired::namespace(seen, Some(current));
    (wanted.metadata != current.metadata)
        .then(|| Write::Replace { object: Box::new(wanted), mode: WriteMode::Direct })
}

/// The hub WD, where it may differ from what it is to be.
fn deployment(seen: &Snapshot, moving: Option<&Move>) -> Option<HubChange> {
    let metadata = hub_metadata(seen, moving);
    let follows = seen.hub.as_ref().is_some_and(|hub| {
        // What a suspended project's annotations are to be, only the WD itself shows.
        !seen.is_suspended()
            && hub.hub_identity == metadata.hub_identity()
            && hub.mirrored_hash == seen.project.mirrored_hash
            && settled_hash(seen.project.spec, hub.spec, seen.spec_normalization)
    });
    (!follows).then_some(HubChange::Follow(metadata))
}

/// What the labels and annotations of the hub WD are rendered from.
pub(crate) fn hub_metadata(seen: &Snapshot, moving: Option<&Move>) -> HubMetadata {
    let resync = match &seen.hub {
        // F8: from when Karmada is to apply it again until its cell has reported.
        _ if seen.stalled => Some(stamp(seen.now)),
        Some(hub) if Progress::of(seen, None) != Progress::Applied => hub.resync().map(str::to_owned),
        _ => None,
    };
    HubMetadata {
        source: seen.source(),
        source_uid: seen.project.uid.to_string(),
        source_generation: seen.project.generation,
        namespace: seen.home.namespace.clone(),
        city: seen.city().to_owned(),
        replaces_lost: loss::stands(seen),
        moving: moving.map(ToString::to_string),
        resync,
        recalled: None,
    }
}

/// The status, where it may differ from what it is to be.
pub(crate) fn status(seen: &Snapshot, refusal: Option<Refusal>) -> Option<StatusIntent> {
    (seen.is_due || status::may_differ(seen, refusal.as_ref())).then_some(StatusIntent { refusal })
}
