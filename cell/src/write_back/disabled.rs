//! A cell whose operator switched the write-back off (C14): its finalizer is removed from every Instance, terminating
//! or not, for nothing else would. Copies on a hub are left there.

use std::sync::Arc;

use fedhub_api::facts::Change;
use fedhub_core::errors::Error;
use fedhub_core::finalizers;
use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::{Listener, Plane, Planes};

use crate::writer;

/// Takes the write-back's place where it is switched off.
pub struct WriteBackDisabled {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
}

impl WriteBackDisabled {
    /// For the cell that the registry `cell` is around. It has to be a listener of that, and to be run by workers on `queue`.
    pub fn new(cell: Arc<Planes>, queue: Arc<Queue>) -> Arc<Self> {
        cell.metrics().writeback_enabled.with_label_values::<&str>(&[]).set(0);
        Arc::new(Self { cell, queue })
    }

    fn enqueue(&self, instance: &Object) {
        let cell = self.cell.anchor();
        if cell.synced() && instance.has_finalizer(INSTANCE_FINALIZER) {
            self.queue.add(cell.key(Kind::Instance, instance.namespace(), instance.name()), &cell.id);
        }
    }
}

impl Controller for WriteBackDisabled {
    fn name(&self) -> &'static str {
        "write_back"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        let there = cell.store(Kind::Instance).object(&job.key.namespace, &job.key.name);
        let Some(instance) = there.filter(|there| there.has_finalizer(INSTANCE_FINALIZER)) else {
            return Ok(Outcome::Unchanged);
        };
        let metadata = finalizers::without(&instance, INSTANCE_FINALIZER);
        let writer = writer(&self.cell);
        match writer.patch_metadata(Kind::Instance, &instance, metadata).await {
            // It is gone, for ours was not the last one after all.
            Err(error) if error.code() == Some(404) => Ok(Outcome::Unchanged),
            stored => stored.map(|_| Outcome::Updated).map_err(Error::from),
        }
    }
}

impl Listener for WriteBackDisabled {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        if (&plane.id, kind) == (&PlaneId::Cell, Kind::Instance)
            && let Change::Applied { .. } = change
            && let Some(instance) = &change.known().object
        {
            self.enqueue(instance);
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if plane.id == PlaneId::Cell && plane.synced() {
            self.queue.mark_healthy(&plane.id);
            plane.store(Kind::Instance).objects(None).iter().for_each(|instance| self.enqueue(instance));
        }
    }

    fn left(&self, _plane: &Plane) {}
}
