//! Asking for an Instance's quota.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_api::conditions::find;
use fedhub_core::errors::{self, Category, Error, RequestError};
use fedhub_core::names::CELL_MANAGER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::{Health, Plane};
use serde_json::Value;

use super::Readiness;
use super::claims::Released;
use crate::quota::claim::{self, Consumer, Whose, remarked, whose};
use crate::quota::sizing::{self, Sizing};
use crate::quota::verdict::{Answer, Failure, is_granted, patience, quota_granted};
use crate::status::QUOTA_GRANTED;

/// For so long after the start a project plane that nobody has found yet may be about to be.
const DISCOVERY: Duration = Duration::from_secs(30);
/// How often somebody else's claim is asked after: no watch of ours shows it.
const HELD: Duration = Duration::from_secs(5);

/// What the stores tell of an Instance's quota.
pub(super) enum Stance {
    /// This is the answer.
    Known(Known),
    /// The project's plane has to be asked.
    Ask(Ask),
}

/// An answer, or that there is none.
pub(super) enum Known {
    Off,
    Claim(ObjectRef),
    /// An earlier Instance's claim stands there: its end wakes this one.
    Earlier(Arc<Plane>, ObjectRef),
    Occupied,
    Held,
    /// Another cluster under this cell's name holds the claim (C10).
    Namesake,
    /// The plane is on its way into sync: what stands stays.
    Soon,
    Failed(Failure),
}

/// What it takes to ask.
pub(super) struct Ask {
    cell: CellId,
    pub project: Arc<Plane>,
    consumer: Consumer,
}

/// What came of asking.
pub(super) struct Asked {
    /// `QuotaGranted` as it should stand.
    pub quota: Value,
    /// What failed, where the plane is to be left in peace for a while.
    pub failed: Option<Error>,
    /// How long it is to be left in peace at least.
    pub rest: Duration,
    /// When it is to be asked again, although what was granted before stands.
    pub again: Option<Duration>,
}

impl Readiness {
    /// On whose account the Instances of a namespace run.
    pub(super) fn consumer(&self, namespace: &str) -> Option<Consumer> {
        Consumer::of(&*self.cell.anchor().store(Kind::Namespace).object("", namespace)?)
    }

    /// What is known without a request.
    pub(super) fn stance(&self, instance: &Object) -> Stance {
        let Some(quota) = self.quota.as_ref().filter(|quota| quota.enabled) else {
            return Stance::Known(Known::Off);
        };
        // Its event brings everything back.
        let Some(cell) = quota.identity.get() else { return Stance::Known(Known::Soon) };
        let Some(consumer) = self.consumer(instance.namespace()) else {
            return Stance::Known(Known::Failed(Failure::ProjectUnresolvable));
        };
        let project = match quota.projects.project(&consumer.project) {
            Some(project) if project.synced() => project,
            Some(project) if project.health() == Health::Engaging => return Stance::Known(Known::Soon),
            None if self.began.elapsed() < DISCOVERY => return Stance::Known(Known::Soon),
            _ => {
                let words = format!("this cell has no connection to project {}", consumer.project);
                return Stance::Known(Known::Failed(Failure::Unavailable(words)));
            }
        };
        let claims = project.store(Kind::ResourceClaim);
        let there = claims.object(&consumer.namespace, &claim::name(instance.name()));
        let whose = there.as_deref().map(|claim| self.whose(claim, instance, &cell));
        match (there, whose) {
            (Some(claim), Some(Whose::Ours)) => Stance::Known(Known::Claim(claim)),
            (Some(claim), Some(Whose::Earlier)) => Stance::Known(Known::Earlier(project, claim)),
            (_, Some(Whose::Going)) => Stance::Known(Known::Occupied),
            (_, Some(Whose::Anothers)) => Stance::Known(Known::Held),
            (_, Some(Whose::Namesakes)) => Stance::Known(Known::Namesake),
            _ if quota.identity.declared_lost(&cell).is_some() => {
                let words = "this cell is declared lost".to_owned();
                Stance::Known(Known::Failed(Failure::Unavailable(words)))
            }
            _ => Stance::Ask(Ask { cell, project, consumer }),
        }
    }

    fn whose(&self, claim: &Object, instance: &Object, cell: &CellId) -> Whose {
        whose(claim, instance, cell, |uid| self.tombstones.contains(uid))
    }

    /// `QuotaGranted` as it should stand by what is known.
    pub(super) fn verdict(&self, instance: &Object, known: &Known) -> Value {
        let answer = match known {
            Known::Off => Answer::Off,
            Known::Claim(claim) => Answer::Claim(claim),
            Known::Earlier(..) | Known::Occupied => Answer::Occupied,
            Known::Held => Answer::Held,
            Known::Namesake => Answer::Namesake,
            Known::Soon => match find(instance.status(), QUOTA_GRANTED) {
                Some(stands) => return stands.clone(),
                None => Answer::Asked,
            },
            Known::Failed(failure) => Answer::Failed(failure),
        };
        let sizing = sizing::of(instance.spec());
        let remark = match &sizing {
            Sizing::Unknown(why) => Some(why.as_str()),
            Sizing::Known { .. } => None,
        };
        quota_granted(instance, answer, remark, self.cell.clock().now())
    }

    /// Asks for the Instance's quota, if that is not done yet.
    pub(super) async fn ask(&self, instance: &Object) -> Result<Asked, Error> {
        let mut again = None;
        let (known, failed) = match self.stance(instance) {
            Stance::Known(known) => (known, None),
            Stance::Ask(ask) => match self.make(instance, &ask).await {
                Ok(known) => (known, None),
                Err(error) if error.category() == Category::NotEngaged => return Err(error.into()),
                Err(error) => {
                    again = Some(patience(instance, self.cell.clock().now()));
                    refusal(error, &ask)
                }
            },
        };
        if self.quota.is_none() && is_granted(instance) && !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "quota is off without a credential: the claims of this cell stay in the projects; \
                 --quota=false with the credential gives them back"
            );
        }
        if let Known::Earlier(project, claim) = &known {
            // Where nobody saw that Instance go: this one was made before the watch told.
            self.keep(project, claim);
        }
        let rest = if matches!(known, Known::Held | Known::Namesake) { HELD } else { Duration::ZERO };
        Ok(Asked { quota: self.verdict(instance, &known), failed, rest, again })
    }

    /// Makes the Instance's claim.
    async fn make(&self, instance: &Object, ask: &Ask) -> Result<Known, RequestError> {
        let Ask { cell, project, consumer } = ask;
        let claim = claim::of(instance, cell, consumer, &sizing::of(instance.spec()));
        match project.create(Kind::ResourceClaim, &claim, CELL_MANAGER).await {
            Ok(made) => Ok(Known::Claim(made)),
            Err(error) if error.code() == Some(409) => {
                let there = project.refresh(Kind::ResourceClaim, &consumer.namespace, claim.name()).await?;
                match there {
                    Some(there) => self.found(instance, ask, there, &claim).await,
                    None => Ok(Known::Occupied),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Judges the claim that stands where `claim` was to be made, and that the watch does not show: not yet, or never,
    /// for it is another cell's, or carries the name that this cell had (C10).
    async fn found(
        &self,
        instance: &Object,
        ask: &Ask,
        there: ObjectRef,
        claim: &Object,
    ) -> Result<Known, RequestError> {
        let (kind, project) = (Kind::ResourceClaim, &ask.project);
        Ok(match self.whose(&there, instance, &ask.cell) {
            // The answer to an earlier request was lost, or the watch is to show it from now on.
            Whose::Ours => {
                Known::Claim(match remarked(&there, instance, &ask.cell, self.is_recorded(&ask.cell)) {
                    Some(metadata) => project.patch_metadata(kind, &there, metadata, CELL_MANAGER).await?,
                    None => there,
                })
            }
            Whose::Earlier if self.release(project, &there).await? == Released::Gone => {
                Known::Claim(project.create(kind, claim, CELL_MANAGER).await?)
            }
            Whose::Earlier | Whose::Going => Known::Occupied,
            Whose::Anothers => Known::Held,
            Whose::Namesakes => Known::Namesake,
        })
    }
}

/// What to say of a request that failed, and whether the plane is to be left in peace for a while: after a refusal it is
/// asked again by the Instance's age, after silence when its circuit allows it (I8).
fn refusal(error: RequestError, ask: &Ask) -> (Known, Option<Error>) {
    let Consumer { project, namespace } = &ask.consumer;
    let words = errors::chain(&error);
    let failure = Failure::of_create(error.code(), project.as_str(), namespace, &words);
    let silence = matches!(error.category(), Category::Transient | Category::Throttled);
    (Known::Failed(failure), silence.then(|| error.into()))
}
