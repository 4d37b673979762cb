//! One pass over the catalogue: snapshot, plan, apply, as the engine's loop asks for them.

use std::ops::ControlFlow;

use fedhub_core::errors::Error;
use fedhub_core::names::CATALOG_POLICY;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Reconciler, Step, reconcile};

use super::plan::{CatalogPlan, plan};
use super::snapshot::{Learned, Snapshot, all, declared};
use super::{InstanceTypes, NAME, key};

/// One pass, and what its reads have shown.
pub(super) struct CatalogReconcile<'a> {
    pub controller: &'a InstanceTypes,
    pub learned: Learned,
}

impl InstanceTypes {
    /// What the caches say, with what was learned in this pass.
    fn snapshot_with(&self, learned: &Learned) -> Snapshot {
        let hub = self.planes.hub();
        let policy = all(hub.store(Kind::ClusterPropagationPolicy)).remove(CATALOG_POLICY);
        Snapshot {
            source: declared(self.source.anchor().store(Kind::InstanceType)),
            on_hub: all(hub.store(Kind::InstanceType)),
            policy,
            learned: learned.clone(),
        }
    }
}

impl Controller for InstanceTypes {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if job.key != key() {
            return Err(Error::Bug(format!("{} is not the key of the catalogue of instance types", job.key)));
        }
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let mut pass = CatalogReconcile { controller: self, learned: Learned::default() };
        reconcile(&mut pass, job).await
    }
}

impl Reconciler for CatalogReconcile<'_> {
    type Snapshot = Snapshot;
    type Plan = CatalogPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        Ok(ControlFlow::Continue(self.controller.snapshot_with(&self.learned)))
    }

    /// What is in sync has an empty plan, which costs no request.
    fn is_synced(&self, _: &Snapshot) -> bool {
        false
    }

    fn plan(&self, seen: &Snapshot) -> CatalogPlan {
        plan(seen)
    }

    async fn apply(&mut self, _: &Snapshot, plan: CatalogPlan) -> Result<Step, Error> {
        self.perform(plan).await
    }

    fn mark_synced(&self, _: &Snapshot) {}
}
