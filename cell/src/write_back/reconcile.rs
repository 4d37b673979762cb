//! The reconcile of one Instance. [`super::triggers`] says when there is one.

use std::ops::ControlFlow;

use fedhub_api::cells::CellId;
use fedhub_core::errors::Error;
use fedhub_core::metrics::Hop;
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_core::trace::answers;
use fedhub_engine::reconcile::{Reconciler, Step, reconcile};
use fedhub_engine::{Controller, Job, Outcome};

use super::WriteBack;
use super::plan::{WriteBackPlan, plan};
use super::snapshot::{LiveReads, Snapshot};
use crate::trace::change_of;

/// One reconcile of one Instance.
pub(super) struct Pass<'a> {
    pub(super) controller: &'a WriteBack,
    pub(super) job: &'a Job,
    pub(super) cell: CellId,
    pub(super) reads: LiveReads,
    /// Whether anything was stored.
    pub(super) updated: bool,
}

impl Pass<'_> {
    pub(super) fn key(&self) -> &Key {
        &self.job.key
    }

    /// Records how long it took until the hub had what changed in the cell.
    pub(super) fn observe_propagation(&self) {
        self.controller.hub.metrics().propagated(Hop::CellToHub, self.job.since.elapsed());
    }
}

impl Reconciler for Pass<'_> {
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
        let step = self.perform(snapshot, plan).await?;
        self.updated |= step == Step::Updated;
        Ok(step)
    }

    fn mark_synced(&self, snapshot: &Snapshot) {
        self.controller.mark_synced(self.key(), snapshot, snapshot.fingerprint());
    }
}

impl WriteBack {
    async fn write_back(&self, job: &Job) -> Result<Outcome, Error> {
        for plane in [self.cell.anchor(), self.hub.hub()] {
            if !plane.synced() {
                return Err(Error::NotEngaged(plane.id.clone()));
            }
        }
        answers(|| change_of(self.cell.anchor(), &job.key));
        // The event of its identity requeues everything.
        let Some(cell) = self.identity.get() else { return Err(Error::NotEngaged(PlaneId::Cell)) };
        let mut pass = Pass { controller: self, job, cell, reads: LiveReads::default(), updated: false };
        let outcome = reconcile(&mut pass, job).await?;
        if matches!(outcome, Outcome::Unchanged | Outcome::Updated) {
            self.set_state(&job.key, None);
        }
        if outcome == Outcome::Updated {
            pass.observe_propagation();
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
