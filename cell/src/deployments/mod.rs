//! The controller of WDs in a cell: each has its Instances, its networks and a status that says how far it is.
//!
//! # A pass over a WD
//!
//! 1. Being deleted: all of its Instances are deleted; when none is left, its finalizer goes. That none is left the
//!    watch tells: an Instance that it did not show would be reclaimed by the cell's own garbage collector.
//! 2. The finalizer, before anything is made for it.
//! 3. Its autoscaler, where it scales, see [`crate::autoscaling`].
//! 4. Its networks, see [`crate::network`].
//! 5. The one step that [`crate::instances::plan()`] names.
//! 6. Of each Instance in one patch: labels that are wrong, a location that is missing, the hash of its template where
//!    that is another although the content is the same (C5), the gate `Network` when the networks stand, and with it
//!    whichever gate is satisfied by then.
//! 7. The status, where it is another. That an Instance which comes up has got to another stage can wait for a moment
//!    ([`crate::status::hush`]): each status of a WD goes a long way.
//!
//! A write that the cell refuses ends neither the pass nor the work on others: the reason is said in the status, and
//! the key is tried again.
//!
//! # Gates
//!
//! An Instance is created with the gate `Network` where networking is on and its networks do not stand yet, with `Quota`
//! where quota is on, with `ReferencedData` where that is on and its template refers to any, and with `Suspended` where
//! its WD is suspended, so that it cannot boot before anybody has told it. The gate `Network` is
//! opened on the Instances of the template of now only: one on an earlier template waits for networks that nobody may
//! ask for any more, and is replaced.
//!
//! Where networking is switched off, that gate is opened on all of them, and the bindings of the cell's WDs are given back
//! once when the cell is in sync (C6).
//!
//! # Suspension
//!
//! A suspended WD keeps its Instances. None of them is Ready, so none is worth waiting for, and a rollout would go
//! through what is not even running: replacements wait until the WD is resumed. Creation and scale-down go on by their
//! rules; as nothing is Ready, of what is missing the first is created, and the next when the WD is resumed. That the
//! Instances say so themselves, and that their gate opens when the WD is resumed, is the readiness controller's business.

mod autoscale;
mod clear;
mod keys;
mod pass;
mod patch;
mod schema;
mod unbind;

use fedhub_planes::Precondition;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fedhub_core::errors::{Error, RequestError};
use fedhub_core::names::CELL_MANAGER;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::PlaneWriter;
use fedhub_planes::Planes;

use crate::instances::{self, Instance};
use schema::CellSchema;

/// What the cell's other parts do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeploymentsConfig {
    /// Instances are written back to the hub: they get the finalizer that the write-back takes off.
    pub write_back: bool,
    /// Instances need quota.
    pub quota: bool,
    /// Instances need networks.
    pub networking: bool,
    /// Instances wait for what their templates refer to.
    pub referenced_data: bool,
}

/// Gives the WDs of a cell their Instances.
pub struct Deployments {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
    config: DeploymentsConfig,
    /// UIDs of Instances that went as soon as we deleted them, until the watch shows it: no pass before that deletes
    /// them again.
    gone: Mutex<BTreeSet<String>>,
    schema: CellSchema,
}

impl Deployments {
    /// A controller over the registry around the cell, fed through `queue`.
    pub fn new(cell: Arc<Planes>, queue: Arc<Queue>, config: DeploymentsConfig) -> Arc<Self> {
        Arc::new(Self { cell, queue, config, gone: Mutex::default(), schema: CellSchema::default() })
    }

    fn gone(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An Instance as the plan for that WD is to see it.
    fn view<'a>(&self, deployment: &'a instances::Deployment<'_>, object: &'a Object) -> Instance<'a> {
        let view = deployment.view(object);
        Instance { terminating: view.terminating || self.gone().contains(view.uid), ..view }
    }

    async fn delete(&self, doomed: &Object) -> Result<(), RequestError> {
        let cell = self.cell.anchor();
        if cell.delete(Kind::Instance, doomed, Precondition::Uid).await? {
            self.gone().insert(doomed.uid().to_owned());
            // The watch may have been faster than the answer.
            if !self.stands(doomed.namespace(), doomed.name(), doomed.uid()) {
                self.gone().remove(doomed.uid());
            }
        }
        Ok(())
    }

    /// Whether the watch shows that very Instance still.
    fn stands(&self, namespace: &str, name: &str, uid: &str) -> bool {
        let standing = self.cell.anchor().store(Kind::Instance).digest(namespace, name);
        standing.is_some_and(|digest| digest.uid.is(uid))
    }

    fn writer(&self) -> PlaneWriter<'_> {
        PlaneWriter { plane: self.cell.anchor(), manager: CELL_MANAGER, metrics: self.cell.metrics() }
    }
}

impl Controller for Deployments {
    fn name(&self) -> &'static str {
        "deployments"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        let unbind = match (&job.key.plane, job.key.kind) {
            (PlaneId::Cell, Kind::WorkloadDeployment) => false,
            (PlaneId::Cell, Kind::NetworkBinding) => true,
            _ => return Err(Error::Bug(format!("{} is no key of the cell's WDs", job.key))),
        };
        if !cell.synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        if unbind {
            return self.unbind().await;
        }
        match cell.store(Kind::WorkloadDeployment).object(&job.key.namespace, &job.key.name) {
            None => Ok(Outcome::Unchanged),
            Some(wd) if wd.is_terminating() => self.clear(&wd).await,
            Some(wd) => self.pass(wd).await,
        }
    }
}
