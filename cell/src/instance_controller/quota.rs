//! Asking for an Instance's quota.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_api::cells::{CellId, readable};
use fedhub_api::conditions::find;
use fedhub_core::errors::{Category, Error, RequestError};
use fedhub_core::names::CELL_MANAGER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::{Health, Pass, Plane, Precondition, ProjectNamespace, Written};
use serde_json::Value;

use super::InstanceController;
use super::claims::Released;
use crate::domain::quota::claim::{self, ClaimOwnership, is_same_request, ownership, renamed};
use crate::domain::quota::sizing::size;
use crate::domain::quota::verdict::{
    QuotaAnswer, QuotaFailure, is_granted, quota_granted, remake_after, retry_after,
};
use crate::domain::status::{QUOTA_GRANTED, gates};

/// How long after the start a project plane may still be discovered.
const DISCOVERY: Duration = Duration::from_secs(30);

/// The state of an Instance's quota, from the caches or its project's plane.
pub(super) enum QuotaState {
    Off,
    Claim(ObjectRef),
    /// The claim is denied, or an `other` one than the Instance needs, and made anew after that time.
    Remake {
        ask: QuotaRequest,
        claim: ObjectRef,
        other: bool,
        wait: Duration,
    },
    /// An earlier Instance's claim stands there: its end wakes this one.
    Earlier(Arc<Plane>, ObjectRef),
    Occupied,
    /// The claim has no mark of this cell (C10).
    Taken(ObjectRef),
    /// The cell does not know the size of the Instance's type, for this reason.
    NoSize(String),
    /// The plane is coming into sync, or an event is on the way: the condition stays.
    Soon,
    Failed(QuotaFailure),
    /// The project's plane has to be asked.
    Ask(QuotaRequest),
}

/// The parameters of a request for quota.
#[derive(Clone)]
pub(super) struct QuotaRequest {
    cell: CellId,
    pub project: Arc<Plane>,
    consumer: ProjectNamespace,
    /// The claim as it is to be made.
    wanted: ObjectRef,
}

/// The outcome of a request for quota.
pub(super) struct QuotaOutcome {
    /// `QuotaGranted` as it should stand.
    pub quota: Value,
    /// The error, if the plane is not to be asked again for a while.
    pub failed: Option<Error>,
    /// When it is to be asked again, although what was granted before stands.
    pub again: Option<Duration>,
}

impl InstanceController {
    /// The consumer of the quota of Instances in a namespace.
    pub(super) fn consumer(&self, namespace: &str) -> Option<ProjectNamespace> {
        ProjectNamespace::from_hub_namespace(
            &*self.cell.anchor().store(Kind::Namespace).object("", namespace)?,
        )
    }

    /// Returns what is known without a request.
    pub(super) fn quota_state(&self, instance: &Object) -> QuotaState {
        let Some(quota) = self.quota.as_ref().filter(|quota| quota.enabled) else {
            return QuotaState::Off;
        };
        // Its event brings everything back.
        let Some(cell) = quota.identity.get() else { return QuotaState::Soon };
        let Some(consumer) = self.consumer(instance.namespace()) else {
            return QuotaState::Failed(QuotaFailure::ProjectUnresolvable);
        };
        let project = match quota.projects.project(&consumer.plane) {
            Some(project) if project.synced() => project,
            Some(project) if project.health() == Health::Engaging => {
                return QuotaState::Soon;
            }
            None if self.began.elapsed() < DISCOVERY => return QuotaState::Soon,
            _ => {
                let words = format!("this cell has no connection to project {}", consumer.plane);
                return QuotaState::Failed(QuotaFailure::Unavailable(words));
            }
        };
        let claims = project.store(Kind::ResourceClaim);
        let there = claims.object(&consumer.namespace, &claim::name(instance.name(), &cell));
        if let Some(claim) = &there {
            if let Some(state) = in_the_way(claim, instance, &cell, &project) {
                return state;
            }
            // A running Instance keeps the quota that it was granted, whatever its type has become.
            if !waits(instance) {
                return QuotaState::Claim(claim.clone());
            }
        }
        let types = self.cell.anchor().store(Kind::InstanceType);
        let size = match size(instance.spec(), |name| types.object("", name)) {
            Ok(size) => size,
            Err(why) => return QuotaState::NoSize(why),
        };
        let wanted = Arc::new(claim::of(instance, &cell, &consumer, size));
        let ask = QuotaRequest { cell, project, consumer, wanted };
        match there {
            Some(claim) => self.judge(instance, &ask, claim),
            None if self.is_lost(&ask) => lost(),
            None => QuotaState::Ask(ask),
        }
    }

    /// Judges the Instance's own claim.
    fn judge(&self, instance: &Object, ask: &QuotaRequest, claim: ObjectRef) -> QuotaState {
        let other = waits(instance) && !is_same_request(&claim, &ask.wanted);
        match remake_after(instance, &claim, other, self.cell.clock().now()) {
            Some(wait) if !self.is_lost(ask) => QuotaState::Remake { ask: ask.clone(), claim, other, wait },
            _ if other => lost(),
            _ => QuotaState::Claim(claim),
        }
    }

    /// Whether the cell is declared lost, so that it claims nothing new (C11).
    fn is_lost(&self, ask: &QuotaRequest) -> bool {
        self.quota.as_ref().is_some_and(|quota| quota.identity.declared_lost(&ask.cell).is_some())
    }

    /// `QuotaGranted` as it should stand by what is known.
    pub(super) fn verdict(&self, instance: &Object, known: &QuotaState) -> Value {
        let answer = match known {
            QuotaState::Off => QuotaAnswer::Off,
            QuotaState::Remake { other: true, .. } => QuotaAnswer::Other,
            QuotaState::Claim(claim) | QuotaState::Remake { claim, .. } => QuotaAnswer::Claim(claim),
            QuotaState::Earlier(..) | QuotaState::Occupied => QuotaAnswer::Occupied,
            QuotaState::Taken(claim) => QuotaAnswer::Taken(claim),
            QuotaState::NoSize(why) => QuotaAnswer::NoSize(why),
            QuotaState::Soon => match find(instance.status(), QUOTA_GRANTED) {
                Some(stands) => return stands.clone(),
                None => QuotaAnswer::Asked,
            },
            QuotaState::Failed(failure) => QuotaAnswer::Failed(failure),
            QuotaState::Ask(_) => QuotaAnswer::Asked,
        };
        quota_granted(instance, answer, self.cell.clock().now())
    }

    /// Requests the Instance's quota, unless that was done and is not due again.
    pub(super) async fn ask(&self, pass: &Pass, instance: &Object) -> Result<QuotaOutcome, Error> {
        let mut again = None;
        let mut failed = None;
        let known = self.quota_state(instance);
        let answer = match &known {
            QuotaState::Ask(ask) => Some((ask, self.make(pass, instance, ask).await)),
            QuotaState::Remake { ask, claim, wait, .. } if wait.is_zero() => {
                Some((ask, self.remake(pass, instance, ask, claim).await))
            }
            QuotaState::Remake { wait, .. } => {
                again = Some(*wait);
                None
            }
            _ => None,
        };
        let known = match answer {
            None => known,
            Some((_, Ok(answer))) => answer,
            Some((_, Err(error))) if error.category() == Category::NotEngaged => return Err(error.into()),
            Some((ask, Err(error))) => {
                again = Some(retry_after(instance, self.cell.clock().now()));
                let (refused, silence) = refusal(error, ask);
                failed = silence;
                refused
            }
        };
        if self.quota.is_none()
            && is_granted(instance)
            && !self.warned_of_claims.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                "quota is off without a credential, leaving claims of this cell in their projects; \
                 --quota=false with the credential deletes them"
            );
        }
        if let QuotaState::Earlier(project, claim) = &known {
            // That Instance's end was not seen: this one was made before the watch showed it.
            self.check(project, claim);
        }
        Ok(QuotaOutcome { quota: self.verdict(instance, &known), failed, again })
    }

    /// Creates the Instance's claim.
    async fn make(
        &self,
        pass: &Pass,
        instance: &Object,
        ask: &QuotaRequest,
    ) -> Result<QuotaState, RequestError> {
        match ask.project.create_or_read(pass, Kind::ResourceClaim, &ask.wanted, CELL_MANAGER).await {
            Ok(Written::Stored(made)) => Ok(QuotaState::Claim(made)),
            Ok(Written::Exists { object, .. }) => self.found(pass, instance, ask, object).await,
            // It went between the two requests.
            Err(error) if error.code() == Some(409) => Ok(QuotaState::Occupied),
            Err(error) => Err(error),
        }
    }

    /// Deletes a claim and makes it anew. One that was answered meanwhile stays.
    async fn remake(
        &self,
        pass: &Pass,
        instance: &Object,
        ask: &QuotaRequest,
        claim: &ObjectRef,
    ) -> Result<QuotaState, RequestError> {
        match ask.project.delete(pass, Kind::ResourceClaim, claim, Precondition::UidAndVersion).await {
            Ok(true) => self.make(pass, instance, ask).await,
            Ok(false) => Ok(QuotaState::Occupied),
            // Its event is on the way.
            Err(error) if error.code() == Some(409) => Ok(QuotaState::Soon),
            Err(error) => Err(error),
        }
    }

    /// Judges the claim that stands where one was to be made, and that the watch does not show: not yet, or
    /// it carries the name that this cell had, or another writer made it (C10).
    async fn found(
        &self,
        pass: &Pass,
        instance: &Object,
        ask: &QuotaRequest,
        there: ObjectRef,
    ) -> Result<QuotaState, RequestError> {
        let project = &ask.project;
        if let Some(state) = in_the_way(&there, instance, &ask.cell, project) {
            let is_previous = matches!(state, QuotaState::Earlier(..));
            if is_previous && self.release(pass, project, &there).await? == Released::Gone {
                let made = project.create(pass, Kind::ResourceClaim, &ask.wanted, CELL_MANAGER).await?;
                return Ok(QuotaState::Claim(made));
            }
            return Ok(state);
        }
        let claim = match renamed(&there, instance, &ask.cell) {
            Some(metadata) => {
                project.patch_metadata(pass, Kind::ResourceClaim, &there, metadata, CELL_MANAGER).await?
            }
            // The answer to an earlier request was lost, or the watch is to show it from now on.
            None => there,
        };
        Ok(self.judge(instance, ask, claim))
    }
}

/// The claim under the name of the Instance's, where it is not the Instance's.
fn in_the_way(
    claim: &ObjectRef,
    instance: &Object,
    cell: &CellId,
    project: &Arc<Plane>,
) -> Option<QuotaState> {
    match ownership(claim, instance, cell) {
        ClaimOwnership::Ours => None,
        ClaimOwnership::Previous => Some(QuotaState::Earlier(project.clone(), claim.clone())),
        ClaimOwnership::Terminating => Some(QuotaState::Occupied),
        ClaimOwnership::Unmarked => Some(QuotaState::Taken(claim.clone())),
    }
}

/// Whether an Instance waits for quota: running ones have passed that gate.
fn waits(instance: &Object) -> bool {
    gates::of(instance).contains(&gates::QUOTA)
}

/// Why a cell that is declared lost has no quota for what is new.
fn lost() -> QuotaState {
    QuotaState::Failed(QuotaFailure::Unavailable("this cell is declared lost".to_owned()))
}

/// Returns how to report a failed request, and the error if the plane is not to be asked again for a while:
/// after a refusal it is asked again by the Instance's age, after silence when its circuit breaker allows it
/// (I8).
fn refusal(error: RequestError, ask: &QuotaRequest) -> (QuotaState, Option<Error>) {
    let ProjectNamespace { plane, namespace } = &ask.consumer;
    let words = readable(&error);
    let failure = QuotaFailure::of_create(error.code(), plane.as_str(), namespace, &words);
    let silence = matches!(error.category(), Category::Transient | Category::Throttled);
    (QuotaState::Failed(failure), silence.then(|| error.into()))
}
