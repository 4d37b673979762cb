//! The reconcile of one Instance. [`super::triggers`] says when there is one.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::{CellId, CellSource};
use fedhub_cache::digest::Version;
use fedhub_core::errors::Error;
use fedhub_core::metrics::Hop;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{
    Answer, Bodies, Controller, Effects, Intent, Job, Outcome, Reconciler, Step, apply, reconcile,
};
use fedhub_planes::PlaneWriter;
use tokio::time::Instant;

use super::WriteBack;
use super::plan::{WriteBackPlan, plan};
use super::refusal::{WriteBackState, WriteBackVerdict};
use super::snapshot::{CopyRead, LiveRead, LiveReads, Snapshot};
use crate::trace::change_of;
use crate::writer;

/// A reconcile of one Instance.
pub(super) struct CopyReconciler<'a> {
    pub(super) controller: &'a WriteBack,
    pub(super) job: &'a Job,
    pub(super) cell: CellId,
    pub(super) reads: LiveReads,
    /// Whether anything was stored.
    pub(super) updated: bool,
}

impl CopyReconciler<'_> {
    fn key(&self) -> &Key {
        &self.job.key
    }

    /// Notes a copy that was read or stored, or that there is none.
    fn note_copy(&mut self, body: Option<ObjectRef>, confirmed: bool) {
        let controller = self.controller;
        let key = self.key();
        let copy = controller.hub.hub().key(Kind::Instance, &key.namespace, &key.name);
        controller.identity.note(&copy, body.as_deref().and_then(CellSource::from_object).as_ref());
        self.reads.copy = Some(CopyRead { body, confirmed });
    }

    /// Records how long it took until the hub had what changed in the cell.
    fn observe_propagation(&self) {
        self.controller.hub.metrics().propagated(Hop::CellToHub, self.job.since.elapsed());
    }
}

impl Reconciler for CopyReconciler<'_> {
    type Snapshot = Snapshot;
    type Plan = WriteBackPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        Ok(ControlFlow::Continue(self.controller.snapshot(self.key(), &self.cell, &self.reads)))
    }

    fn is_synced(&self, snapshot: &Snapshot) -> bool {
        self.controller.is_synced(self.key(), snapshot)
    }

    fn plan(&self, snapshot: &Snapshot) -> WriteBackPlan {
        plan(snapshot)
    }

    async fn apply(&mut self, snapshot: &Snapshot, plan: WriteBackPlan) -> Result<Step, Error> {
        let controller = self.controller;
        let key = &self.job.key;
        match &plan.verdict {
            Some(WriteBackVerdict::Parked) => {
                controller.set_state(key, Some(WriteBackState::Parked));
            }
            Some(WriteBackVerdict::Refused(refusal)) => controller.refuse(key, refusal),
            // The rest waits for a moment.
            None if matches!(plan.intents[..], [Intent::End(_)]) => {
                controller.set_state(key, None);
                if self.updated {
                    self.observe_propagation();
                }
            }
            None => {}
        }
        if plan.verdict.is_some() {
            controller.mark_synced(key, snapshot, 0);
        }
        let step = apply(self, snapshot, plan.intents).await?;
        self.updated |= step == Step::Updated;
        Ok(step)
    }

    fn mark_synced(&self, snapshot: &Snapshot) {
        self.controller.mark_synced(self.key(), snapshot, snapshot.fingerprint());
    }
}

impl Effects for CopyReconciler<'_> {
    fn writer(&self, plane: &PlaneId) -> PlaneWriter<'_> {
        let planes = if *plane == PlaneId::Hub { &self.controller.hub } else { &self.controller.cell };
        writer(planes, &self.job.pass)
    }

    fn take(&self, _: &Key) -> Result<(), Duration> {
        self.controller.bucket.lock().take(&self.job.key, Instant::now())
    }

    fn learn(&mut self, _: &Snapshot, key: &Key, answer: Answer) -> Result<Step, Error> {
        match &answer {
            // As while a deployment moves from another city.
            Answer::Stored(copy) | Answer::Exists(copy, _) => self.note_copy(Some(copy.clone()), true),
            Answer::StatusStored { stored: copy, .. } => {
                if let Some(read) = &mut self.reads.copy {
                    read.body = Some(copy.clone());
                }
            }
            Answer::Deleted { gone: true } => {
                // The next steps must not take the copy for an orphan.
                self.controller.seen_gone.lock().remove(self.key());
                self.note_copy(None, true);
            }
            Answer::Deleted { gone: false } => {
                self.controller.set_state(self.key(), Some(WriteBackState::Parked));
                return Ok(Step::End(Outcome::AwaitChange));
            }
            Answer::Limited(wait) => {
                self.controller.hub.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
                let Key { namespace, name, .. } = key;
                tracing::warn!(
                    namespace,
                    name,
                    ?wait,
                    "rate limit reached, deferring the deletion of an orphaned copy"
                );
            }
            Answer::Read(found) if key.kind == Kind::Instance => {
                self.reads.instance = Some(LiveRead(found.clone()));
            }
            Answer::Read(found) => self.reads.deployment = Some(LiveRead(found.clone())),
            Answer::Same | Answer::Outdated(_) | Answer::Gone | Answer::Failed(_) => {}
        }
        answer.step()
    }

    /// Fetches the copy; where the hub has another one than the cache, its own answer counts for this
    /// reconcile.
    async fn perform(&mut self, snapshot: &Snapshot, intent: Intent, _: &Bodies) -> Result<Step, Error> {
        if intent != Intent::FetchCopy {
            return Err(Error::Bug(format!("{intent:?} is none of the write-back's intents")));
        }
        let hub = self.controller.hub.hub();
        let Key { kind, namespace, name, .. } = &self.job.key;
        let known = snapshot.copy.as_ref().map(|copy| &copy.digest.version);
        let fetched = hub.get_or_fetch(&self.job.pass, *kind, namespace, name).await?;
        if let Some(copy) = fetched.filter(|copy| known == Some(&Version::new(copy.version()))) {
            self.note_copy(Some(copy), false);
        } else {
            let copy = hub.get_live(&self.job.pass, *kind, namespace, name).await?;
            self.note_copy(copy.map(Arc::new), true);
        }
        Ok(Step::Learned)
    }
}

impl WriteBack {
    async fn write_back(&self, job: &Job) -> Result<Outcome, Error> {
        for plane in [self.cell.anchor(), self.hub.hub()] {
            if !plane.synced() {
                return Err(Error::NotEngaged(plane.id.clone()));
            }
        }
        job.answered.say(|| change_of(self.cell.anchor(), &job.key));
        // The event of its identity requeues everything.
        let Some(cell) = self.identity.get() else { return Err(Error::NotEngaged(PlaneId::Cell)) };
        let mut copy =
            CopyReconciler { controller: self, job, cell, reads: LiveReads::default(), updated: false };
        let outcome = reconcile(&mut copy, job).await?;
        if matches!(outcome, Outcome::Unchanged | Outcome::Updated) {
            self.set_state(&job.key, None);
        }
        if outcome == Outcome::Updated {
            copy.observe_propagation();
        }
        Ok(outcome)
    }
}

impl Controller for WriteBack {
    fn name(&self) -> &'static str {
        "write_back"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if (&job.key.plane, job.key.kind) != (&PlaneId::Cell, Kind::Instance) {
            return Err(Error::Bug(format!("{} is not a key of the write-back", job.key)));
        }
        let ended = self.write_back(job).await;
        if let Err(error) = &ended
            && error.is_of(&PlaneId::Hub)
        {
            self.report_hub(&job.key, error);
        }
        ended
    }
}
