//! One pass over the catalogue: snapshot, plan, apply, as the engine's loop asks for them.

use std::ops::ControlFlow;
use std::time::Duration;

use fedhub_core::errors::{Category, Error, RequestError};
use fedhub_core::names::{CATALOG_POLICY, INSTANCE_TYPES_MANAGER};
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_engine::{Answer, Controller, Effects, Intent, Job, Outcome, Reconciler, Step, apply, reconcile};
use fedhub_planes::{Pass, PlaneWriter};
use tokio::time::Instant;

use super::plan::{CatalogPlan, plan};
use super::snapshot::{LearnedTypes, Snapshot, SourceCrd, all, declared};
use super::{InstanceTypes, NAME, key};

/// A pass, and the results of its reads.
pub(super) struct CatalogReconcile<'a> {
    pub controller: &'a InstanceTypes,
    pub pass: &'a Pass,
    pub learned: LearnedTypes,
    /// The first copy that the hub has refused in this round.
    pub failure: Option<RequestError>,
}

impl InstanceTypes {
    /// What the caches say, with what was learned in this pass.
    fn snapshot_with(&self, learned: &LearnedTypes) -> Snapshot {
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
        let mut catalog = CatalogReconcile {
            controller: self,
            pass: &job.pass,
            learned: LearnedTypes::default(),
            failure: None,
        };
        reconcile(&mut catalog, job).await
    }
}

impl Reconciler for CatalogReconcile<'_> {
    type Snapshot = Snapshot;
    type Plan = CatalogPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        Ok(ControlFlow::Continue(self.controller.snapshot_with(&self.learned)))
    }

    fn plan(&self, seen: &Snapshot) -> CatalogPlan {
        plan(seen)
    }

    async fn apply(&mut self, seen: &Snapshot, plan: CatalogPlan) -> Result<Step, Error> {
        // The outstanding reads may change the plan.
        if !plan.intents.iter().any(|intent| matches!(intent, Intent::ReadLive(_))) {
            self.controller.tell(plan.verdict);
        }
        match apply(self, seen, plan.intents).await? {
            // The next round decides by what was read, and returns what fails then.
            Step::Learned => Ok(Step::Learned),
            step => self.failure.take().map_or(Ok(step), |error| Err(error.into())),
        }
    }
}

impl Effects for CatalogReconcile<'_> {
    fn writer(&self, plane: &PlaneId) -> PlaneWriter<'_> {
        let planes = if *plane == PlaneId::Hub { &self.controller.planes } else { &self.controller.source };
        PlaneWriter {
            plane: planes.anchor(),
            pass: self.pass,
            manager: INSTANCE_TYPES_MANAGER,
            metrics: self.controller.planes.metrics(),
        }
    }

    fn take(&self, key: &Key) -> Result<(), Duration> {
        self.controller.deletes.lock().take(key, Instant::now())
    }

    /// A copy that the hub refuses does not hold the others up.
    fn learn(&mut self, _: &Snapshot, key: &Key, answer: Answer) -> Result<Step, Error> {
        let name = &*key.name;
        match &answer {
            Answer::Stored(_) if key.kind == Kind::InstanceType => {
                tracing::info!(name, "copied instance type to the hub");
            }
            Answer::Deleted { .. } => {
                tracing::info!(name, "deleted copy of an instance type: its source has none");
            }
            Answer::Limited(_) => {
                self.controller.planes.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
            }
            Answer::Read(crd) if key.kind == Kind::CustomResourceDefinition => {
                self.learned.crd = Some(SourceCrd::from_crd(crd.as_deref()));
            }
            Answer::Read(Some(_)) => drop(self.learned.there.insert(name.to_owned())),
            Answer::Read(None) => drop(self.learned.gone.insert(name.to_owned())),
            _ => {}
        }
        match answer {
            Answer::Failed(error)
                if key.kind == Kind::InstanceType && error.category() == Category::Invalid =>
            {
                self.failure.get_or_insert(error);
                Ok(Step::Unchanged)
            }
            answer => answer.step(),
        }
    }
}
