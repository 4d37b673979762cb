//! The one applier of plans: fetches what drafts are made of, and performs each intent in its order.
//!
//! A plan for an older version of an object is never applied: what is fetched is compared with the version
//! that the plan is for, and updates and deletions carry preconditions. A write that stored something
//! starts another round.

use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::{Error, RequestError};
use fedhub_core::finalizers;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::{PlaneWriter, Precondition, Write, Written};

use crate::intent::{Bodies, Draft, Intent, Subject};
use crate::{Outcome, Reconciler, Step};

/// What a plane, or the applier, answers to an intent.
#[derive(Debug)]
pub enum Answer {
    /// The plane stored this object.
    Stored(ObjectRef),
    /// The plane stored a status.
    StatusStored {
        /// The object as the write knew it.
        before: ObjectRef,
        /// The object with the status that was stored.
        stored: ObjectRef,
    },
    /// A dry run showed that the write would change nothing.
    Same,
    /// A create found this object, which the watch has not shown.
    Exists(ObjectRef, RequestError),
    /// The object is deleted, and gone unless a finalizer holds it.
    Deleted {
        /// Whether it is gone by now.
        gone: bool,
    },
    /// The rate limit has the deletion wait.
    Limited(Duration),
    /// A live read found this.
    Read(Option<ObjectRef>),
    /// The object is another version than the plan is for.
    Outdated(ObjectRef),
    /// The object is gone: its event follows.
    Gone,
    /// The plane refused the write, or did not answer.
    Failed(RequestError),
}

impl Answer {
    /// What follows for the reconcile, where the controller has nothing to add.
    #[allow(clippy::result_large_err, reason = "it is what the reconcile returns")]
    pub fn step(self) -> Result<Step, Error> {
        Ok(match self {
            Self::Same | Self::Exists(..) | Self::Read(_) | Self::Outdated(_) => Step::Learned,
            Self::Stored(_) | Self::StatusStored { .. } | Self::Deleted { .. } => Step::Updated,
            Self::Limited(wait) => Step::End(Outcome::RequeueAfter(wait)),
            Self::Gone => Step::End(Outcome::AwaitChange),
            Self::Failed(error) => return Err(error.into()),
        })
    }
}

/// What the applier asks of a controller.
pub trait Effects: Reconciler + Sync {
    /// Writes and reads on that plane, on behalf of the controller.
    fn writer(&self, plane: &PlaneId) -> PlaneWriter<'_>;

    /// Renders a draft by the objects that it is made of: an intent with its content, or none where that
    /// stands. Pure.
    fn render(&self, _: &Self::Snapshot, _: &Draft, _: &Bodies) -> Option<Intent> {
        None
    }

    /// Takes a token for an inferred deletion (I4), or returns the time until there is one.
    fn take(&self, key: &Key) -> Result<(), Duration>;

    /// Handles an answer about an object, and returns the next step.
    #[allow(clippy::result_large_err, reason = "it is what the reconcile returns")]
    fn learn(&mut self, _: &Self::Snapshot, _: &Key, answer: Answer) -> Result<Step, Error> {
        answer.step()
    }

    /// Performs an intent of this controller alone.
    fn perform(
        &mut self,
        _: &Self::Snapshot,
        intent: Intent,
        _: &Bodies,
    ) -> impl Future<Output = Result<Step, Error>> + Send {
        ready(Err(Error::Bug(format!("no one performs {intent:?}"))))
    }
}

/// Performs intents in their order, until one ends the reconcile.
pub async fn apply<E: Effects>(
    effects: &mut E,
    seen: &E::Snapshot,
    intents: Vec<Intent>,
) -> Result<Step, Error> {
    let mut bodies = Bodies::new();
    let mut step = Step::Unchanged;
    for intent in intents {
        if let Some((key, answer)) = fetch(effects, intent.subjects(), &mut bodies).await? {
            return Ok(step.max(effects.learn(seen, &key, answer)?));
        }
        let rendered = match intent {
            Intent::Fetch(_) => None,
            Intent::Render(draft) => effects.render(seen, &draft, &bodies),
            intent => Some(intent),
        };
        if let Some(intent) = rendered {
            // In a box: a reconcile that does nothing would hold room for it too.
            step = step.max(Box::pin(perform(effects, seen, intent, &mut bodies)).await?);
        }
        if matches!(step, Step::End(_)) {
            break;
        }
    }
    Ok(step)
}

/// Fetches objects that are not among `bodies` yet; returns the one that is not what the plan is for, if
/// any.
async fn fetch<E: Effects>(
    effects: &E,
    from: &[Subject],
    bodies: &mut Bodies,
) -> Result<Option<(Key, Answer)>, RequestError> {
    for Subject { key, stub } in from {
        if bodies.contains_key(key) {
            continue;
        }
        let writer = effects.writer(&key.plane);
        match writer.plane.get_or_fetch(writer.pass, key.kind, &key.namespace, &key.name).await? {
            None => return Ok(Some((key.clone(), Answer::Gone))),
            Some(body) if body.version() == stub.version() => bodies.insert(key.clone(), body),
            Some(body) => return Ok(Some((key.clone(), Answer::Outdated(body)))),
        };
    }
    Ok(None)
}

async fn perform<E: Effects>(
    effects: &mut E,
    seen: &E::Snapshot,
    intent: Intent,
    bodies: &mut Bodies,
) -> Result<Step, Error> {
    let (key, answer) = match intent {
        Intent::Put { to, kind, write, recreate } => put(&effects.writer(&to), kind, write, recreate).await,
        Intent::Mark { subject: Subject { key, .. }, finalizer, annotations } => {
            let of = fetched(&key, bodies)?;
            let metadata = finalizers::mark(of, finalizer, annotations);
            let patched = effects.writer(&key.plane).patch_metadata(key.kind, of, metadata).await;
            (key.clone(), merged(key, patched, bodies))
        }
        Intent::Release { subject: Subject { key, .. }, finalizer } => {
            let of = fetched(&key, bodies)?;
            let metadata = finalizers::without(of, finalizer);
            let patched = effects.writer(&key.plane).patch_metadata(key.kind, of, metadata).await;
            (key.clone(), merged(key, patched, bodies))
        }
        Intent::PutStatus { to, kind, of, write } => {
            let writer = effects.writer(&to);
            let key = writer.plane.key(kind, of.namespace(), of.name());
            let answer = match writer.write_status(kind, &of, write).await {
                Ok(Some(stored)) => Answer::StatusStored { before: of, stored },
                Ok(None) => Answer::Same,
                Err(error) => Answer::Failed(error),
            };
            (key, answer)
        }
        Intent::Delete { subject, precondition, inferred } => {
            let token = if inferred { effects.take(&subject.key) } else { Ok(()) };
            let answer = match token {
                Ok(()) => delete(&effects.writer(&subject.key.plane), &subject, precondition).await,
                Err(wait) => Answer::Limited(wait),
            };
            (subject.key, answer)
        }
        Intent::ReadLive(key) => {
            let writer = effects.writer(&key.plane);
            let live = writer.plane.get_live(writer.pass, key.kind, &key.namespace, &key.name).await;
            let answer = match live {
                Ok(found) => Answer::Read(found.map(Arc::new)),
                Err(error) => Answer::Failed(error),
            };
            (key, answer)
        }
        Intent::End(outcome) => return Ok(Step::End(outcome)),
        own @ (Intent::ReadHub
        | Intent::ReadCopies
        | Intent::Unbind
        | Intent::DeleteHubWd(_)
        | Intent::ConfirmOwner
        | Intent::FetchCopy
        | Intent::Fetch(_)
        | Intent::Render(_)) => return effects.perform(seen, own, bodies).await,
    };
    effects.learn(seen, &key, answer)
}

/// Creates or replaces an object, or deletes it where a field is immutable and it may be recreated.
async fn put(
    writer: &PlaneWriter<'_>,
    kind: Kind,
    write: Write,
    recreate: Option<ObjectRef>,
) -> (Key, Answer) {
    let (Write::Create(object) | Write::Replace { object, .. }) = &write;
    let key = writer.plane.key(kind, object.namespace(), object.name());
    let answer = match (writer.write(kind, write).await, recreate) {
        (Ok(Some(Written::Stored(stored))), _) => Answer::Stored(stored),
        (Ok(Some(Written::Exists { object, conflict })), _) => Answer::Exists(object, conflict),
        (Ok(None), _) => Answer::Same,
        (Err(error), Some(stub)) if error.immutable() => {
            tracing::info!(%key, "recreating an object: a field is immutable");
            delete(writer, &Subject { key: key.clone(), stub }, Precondition::Uid).await
        }
        (Err(error), _) => Answer::Failed(error),
    };
    (key, answer)
}

/// The object that was fetched for an intent.
fn fetched<'a>(key: &Key, bodies: &'a Bodies) -> Result<&'a ObjectRef, Error> {
    bodies.get(key).ok_or_else(|| Error::Bug(format!("{key} was not fetched")))
}

/// The answer to a patch of metadata. It takes the place of what was fetched, as the writes after it need its
/// version.
fn merged(key: Key, patched: Result<ObjectRef, RequestError>, bodies: &mut Bodies) -> Answer {
    match patched {
        Ok(stored) => {
            bodies.insert(key, stored.clone());
            Answer::Stored(stored)
        }
        Err(error) => Answer::Failed(error),
    }
}

/// Deletes an object. One that is gone leaves the cache: what follows must not take it for one that stands.
async fn delete(writer: &PlaneWriter<'_>, subject: &Subject, precondition: Precondition) -> Answer {
    let Subject { key, stub } = subject;
    match writer.plane.delete(writer.pass, key.kind, stub, precondition).await {
        Ok(gone) => {
            if gone {
                writer.plane.store(key.kind).own_deleted(&key.namespace, &key.name, stub.uid());
            }
            Answer::Deleted { gone }
        }
        Err(error) => Answer::Failed(error),
    }
}
