//! The one reconcile loop: snapshot, plan, apply, until nothing is left to do.
//!
//! A controller implements [`Reconciler`] on a value that lives for one reconcile of one key. Its fields hold
//! what live reads of this reconcile have said, so that the next snapshot includes it. [`Reconciler::plan`]
//! is the only step that decides, and it is pure; [`reconcile`] owns the rest: the check of what is known to
//! be in sync, the number of rounds and the outcome.

use std::future::Future;
use std::ops::ControlFlow;

use fedhub_core::errors::Error;

use crate::{Job, Outcome};

/// How many rounds one reconcile may take; each follows a write or a live read.
pub const MAX_ROUNDS: usize = 8;

/// How much applying a plan has changed. Of several intents, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing: the object is in sync.
    Unchanged,
    /// A live read has told what the caches do not.
    Learned,
    /// A plane stored a write: the caches say something else now.
    Updated,
    /// The reconcile ends here, in sync or not.
    End(Outcome),
}

/// A reconcile of one key, step by step.
pub trait Reconciler: Send {
    /// The object and its surroundings, from the caches and from this reconcile's live reads.
    type Snapshot: Send + Sync;
    /// The decision of [`Self::plan`].
    type Plan: Send;

    /// Gathers the snapshot, without reading what the caches know. Breaks where there is nothing to plan.
    fn snapshot(
        &mut self,
    ) -> impl Future<Output = Result<ControlFlow<Outcome, Self::Snapshot>, Error>> + Send;

    /// Whether an earlier reconcile found the object in sync with the same inputs. Without such a memory,
    /// what is in sync is planned again, and has an empty plan.
    fn is_synced(&self, _: &Self::Snapshot) -> bool {
        false
    }

    /// Decides. Pure: equal snapshots have equal plans.
    fn plan(&self, snapshot: &Self::Snapshot) -> Self::Plan;

    /// Performs the plan: fetches the objects that it writes, renders them, and writes where that differs.
    fn apply(
        &mut self,
        snapshot: &Self::Snapshot,
        plan: Self::Plan,
    ) -> impl Future<Output = Result<Step, Error>> + Send;

    /// Remembers that the object is in sync with these inputs.
    fn mark_synced(&self, _: &Self::Snapshot) {}
}

/// Reconciles the key of `job` until it is in sync, or until its plan ends the reconcile.
pub async fn reconcile(reconciler: &mut impl Reconciler, job: &Job) -> Result<Outcome, Error> {
    let mut updated = false;
    for _ in 0..MAX_ROUNDS {
        let outcome = match reconciler.snapshot().await? {
            ControlFlow::Break(outcome) => outcome,
            ControlFlow::Continue(snapshot) if reconciler.is_synced(&snapshot) => {
                reconciler.mark_synced(&snapshot);
                Outcome::Unchanged
            }
            ControlFlow::Continue(snapshot) => {
                let plan = reconciler.plan(&snapshot);
                match reconciler.apply(&snapshot, plan).await? {
                    Step::Unchanged => {
                        reconciler.mark_synced(&snapshot);
                        Outcome::Unchanged
                    }
                    Step::Updated => {
                        updated = true;
                        continue;
                    }
                    Step::Learned => continue,
                    Step::End(outcome) => outcome,
                }
            }
        };
        let updated = updated && outcome == Outcome::Unchanged;
        return Ok(if updated { Outcome::Updated } else { outcome });
    }
    Err(Error::Bug(format!("{} does not converge in {MAX_ROUNDS} rounds", job.key)))
}
