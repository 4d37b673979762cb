//! Asking for an Instance's quota.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_api::conditions::find;
use fedhub_core::errors::{self, Category, Error, RequestError};
use fedhub_core::names::CELL_MANAGER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::{Health, Plane, Precondition, ProjectNamespace, Written};
use serde_json::Value;

use super::InstanceController;
use super::claims::Released;
use crate::domain::quota::claim::{self, ClaimOwnership, ownership, remarked};
use crate::domain::quota::sizing::{self, Sizing};
use crate::domain::quota::verdict::{Answer, Failure, is_granted, quota_granted, remake_after, retry_after};
use crate::domain::status::QUOTA_GRANTED;

/// How long after the start a project plane may still be discovered.
const DISCOVERY: Duration = Duration::from_secs(30);
/// How often to check for another's claim to go: no watch of ours shows it.
const HELD: Duration = Duration::from_secs(5);

/// What the caches, or its project's plane, say of an Instance's quota.
pub(super) enum QuotaState {
    Off,
    Claim(ObjectRef),
    /// The claim is denied, and after that time it is made anew.
    Denied(QuotaRequest, ObjectRef, Duration),
    /// An earlier Instance's claim stands there: its end wakes this one.
    Earlier(Arc<Plane>, ObjectRef),
    Occupied,
    Held,
    /// Another cluster under this cell's name holds the claim (C10).
    Namesake,
    /// The plane is coming into sync: the condition stays.
    Soon,
    Failed(Failure),
    /// The project's plane has to be asked.
    Ask(QuotaRequest),
}

/// What it takes to ask.
pub(super) struct QuotaRequest {
    cell: CellId,
    pub project: Arc<Plane>,
    consumer: ProjectNamespace,
}

/// What came of asking.
pub(super) struct QuotaOutcome {
    /// `QuotaGranted` as it should stand.
    pub quota: Value,
    /// What failed, where the plane is to be left in peace for a while.
    pub failed: Option<Error>,
    /// How long it is to be left in peace at least.
    pub rest: Duration,
    /// When it is to be asked again, although what was granted before stands.
    pub again: Option<Duration>,
}

impl InstanceController {
    /// The consumer of the quota of Instances in a namespace.
    pub(super) fn consumer(&self, namespace: &str) -> Option<ProjectNamespace> {
        ProjectNamespace::of(&*self.cell.anchor().store(Kind::Namespace).object("", namespace)?)
    }

    /// What is known without a request.
    pub(super) fn quota_state(&self, instance: &Object) -> QuotaState {
        let Some(quota) = self.quota.as_ref().filter(|quota| quota.enabled) else {
            return QuotaState::Off;
        };
        // Its event brings everything back.
        let Some(cell) = quota.identity.get() else { return QuotaState::Soon };
        let Some(consumer) = self.consumer(instance.namespace()) else {
            return QuotaState::Failed(Failure::ProjectUnresolvable);
        };
        let project = match quota.projects.project(&consumer.plane) {
            Some(project) if project.synced() => project,
            Some(project) if project.health() == Health::Engaging => {
                return QuotaState::Soon;
            }
            None if self.began.elapsed() < DISCOVERY => return QuotaState::Soon,
            _ => {
                let words = format!("this cell has no connection to project {}", consumer.plane);
                return QuotaState::Failed(Failure::Unavailable(words));
            }
        };
        let claims = project.store(Kind::ResourceClaim);
        let there = claims.object(&consumer.namespace, &claim::name(instance.name()));
        let whose = there.as_deref().map(|claim| self.ownership(claim, instance, &cell));
        match (there, whose) {
            (Some(claim), Some(ClaimOwnership::Ours)) => {
                let lost = quota.identity.declared_lost(&cell).is_some();
                match remake_after(instance, &claim, self.cell.clock().now()) {
                    Some(wait) if !lost => {
                        QuotaState::Denied(QuotaRequest { cell, project, consumer }, claim, wait)
                    }
                    _ => QuotaState::Claim(claim),
                }
            }
            (Some(claim), Some(ClaimOwnership::Previous)) => QuotaState::Earlier(project, claim),
            (_, Some(ClaimOwnership::Terminating)) => QuotaState::Occupied,
            (_, Some(ClaimOwnership::Foreign)) => QuotaState::Held,
            (_, Some(ClaimOwnership::Namesake)) => QuotaState::Namesake,
            _ if quota.identity.declared_lost(&cell).is_some() => {
                let words = "this cell is declared lost".to_owned();
                QuotaState::Failed(Failure::Unavailable(words))
            }
            _ => QuotaState::Ask(QuotaRequest { cell, project, consumer }),
        }
    }

    fn ownership(&self, claim: &Object, instance: &Object, cell: &CellId) -> ClaimOwnership {
        ownership(claim, instance, cell, |uid| self.tombstones.contains(uid))
    }

    /// `QuotaGranted` as it should stand by what is known.
    pub(super) fn verdict(&self, instance: &Object, known: &QuotaState) -> Value {
        let answer = match known {
            QuotaState::Off => Answer::Off,
            QuotaState::Claim(claim) | QuotaState::Denied(_, claim, _) => Answer::Claim(claim),
            QuotaState::Earlier(..) | QuotaState::Occupied => Answer::Occupied,
            QuotaState::Held => Answer::Held,
            QuotaState::Namesake => Answer::Namesake,
            QuotaState::Soon => match find(instance.status(), QUOTA_GRANTED) {
                Some(stands) => return stands.clone(),
                None => Answer::Asked,
            },
            QuotaState::Failed(failure) => Answer::Failed(failure),
            QuotaState::Ask(_) => Answer::Asked,
        };
        let sizing = self.sizing(instance);
        let remark = match (known, &sizing) {
            // Its size is counted, whatever became of the type since.
            (QuotaState::Claim(claim) | QuotaState::Denied(_, claim, _), _) if claim::is_sized(claim) => None,
            (_, Sizing::Unknown(why)) => Some(why.as_str()),
            (_, Sizing::Known(_)) => None,
        };
        quota_granted(instance, answer, remark, self.cell.clock().now())
    }

    /// The size of an Instance by the types that the cell has now.
    fn sizing(&self, instance: &Object) -> Sizing {
        let types = self.cell.anchor().store(Kind::InstanceType);
        sizing::of(instance.spec(), |name| types.object("", name))
    }

    /// Asks for the Instance's quota, if that is not done yet, or is due again.
    pub(super) async fn ask(&self, instance: &Object) -> Result<QuotaOutcome, Error> {
        let mut again = None;
        let mut failed = None;
        let known = self.quota_state(instance);
        let answer = match &known {
            QuotaState::Ask(ask) => Some((ask, self.make(instance, ask).await)),
            QuotaState::Denied(ask, claim, wait) if wait.is_zero() => {
                Some((ask, self.remake(instance, ask, claim).await))
            }
            QuotaState::Denied(_, _, wait) => {
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
            self.keep(project, claim);
        }
        let rest =
            if matches!(known, QuotaState::Held | QuotaState::Namesake) { HELD } else { Duration::ZERO };
        Ok(QuotaOutcome { quota: self.verdict(instance, &known), failed, rest, again })
    }

    /// Makes the Instance's claim.
    async fn make(&self, instance: &Object, ask: &QuotaRequest) -> Result<QuotaState, RequestError> {
        let QuotaRequest { cell, project, consumer } = ask;
        let claim = claim::of(instance, cell, consumer, &self.sizing(instance));
        match project.create_or_read(Kind::ResourceClaim, &claim, CELL_MANAGER).await {
            Ok(Written::Stored(made)) => Ok(QuotaState::Claim(made)),
            Ok(Written::Exists { object, .. }) => self.found(instance, ask, object, &claim).await,
            // It went between the two requests.
            Err(error) if error.code() == Some(409) => Ok(QuotaState::Occupied),
            Err(error) => Err(error),
        }
    }

    /// Deletes a denied claim and makes it anew. One that was answered meanwhile stays.
    async fn remake(
        &self,
        instance: &Object,
        ask: &QuotaRequest,
        claim: &ObjectRef,
    ) -> Result<QuotaState, RequestError> {
        match ask.project.delete(Kind::ResourceClaim, claim, Precondition::UidAndVersion).await {
            Ok(true) => self.make(instance, ask).await,
            Ok(false) => Ok(QuotaState::Occupied),
            // Its event is on the way.
            Err(error) if error.code() == Some(409) => Ok(QuotaState::Claim(claim.clone())),
            Err(error) => Err(error),
        }
    }

    /// Judges the claim that stands where `claim` was to be made, and that the watch does not show: not yet, or never,
    /// for it is another cell's, or carries the name that this cell had (C10).
    async fn found(
        &self,
        instance: &Object,
        ask: &QuotaRequest,
        there: ObjectRef,
        claim: &Object,
    ) -> Result<QuotaState, RequestError> {
        let (kind, project) = (Kind::ResourceClaim, &ask.project);
        Ok(match self.ownership(&there, instance, &ask.cell) {
            // The answer to an earlier request was lost, or the watch is to show it from now on.
            ClaimOwnership::Ours => {
                QuotaState::Claim(match remarked(&there, instance, &ask.cell, self.is_recorded(&ask.cell)) {
                    Some(metadata) => project.patch_metadata(kind, &there, metadata, CELL_MANAGER).await?,
                    None => there,
                })
            }
            ClaimOwnership::Previous if self.release(project, &there).await? == Released::Gone => {
                QuotaState::Claim(project.create(kind, claim, CELL_MANAGER).await?)
            }
            ClaimOwnership::Previous | ClaimOwnership::Terminating => QuotaState::Occupied,
            ClaimOwnership::Foreign => QuotaState::Held,
            ClaimOwnership::Namesake => QuotaState::Namesake,
        })
    }
}

/// What to say of a request that failed, and whether the plane is to be left in peace for a while: after a refusal it is
/// asked again by the Instance's age, after silence when its circuit allows it (I8).
fn refusal(error: RequestError, ask: &QuotaRequest) -> (QuotaState, Option<Error>) {
    let ProjectNamespace { plane, namespace } = &ask.consumer;
    let words = errors::chain(&error);
    let failure = Failure::of_create(error.code(), plane.as_str(), namespace, &words);
    let silence = matches!(error.category(), Category::Transient | Category::Throttled);
    (QuotaState::Failed(failure), silence.then(|| error.into()))
}
