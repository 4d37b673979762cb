//! One pass over one WD: snapshot, plan, apply, as the engine's loop asks for them.

use std::ops::ControlFlow;

use fedhub_core::errors::Error;
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Reconciler, Step, reconcile};
use fedhub_planes::{Pass, Plane, ProjectNamespace};

use super::ReferencedData;
use super::plan::{DataPlan, plan};
use super::snapshot::{LearnedSources, Snapshot};

/// A pass over one WD, and the results of its reads.
pub(super) struct DataReconcile<'a> {
    pub controller: &'a ReferencedData,
    pub project: &'a Plane,
    pub home: &'a ProjectNamespace,
    pub key: &'a Key,
    pub pass: &'a Pass,
    pub learned: LearnedSources,
}

impl Controller for ReferencedData {
    fn name(&self) -> &'static str {
        "referenced_data"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let key = &job.key;
        let pass = &job.pass;
        let (PlaneId::Project(plane), Kind::WorkloadDeployment) = (&key.plane, key.kind) else {
            return Err(Error::Bug(format!("{key} is not a key of the controller of referenced data")));
        };
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let project = self.planes.engaged(plane).ok_or_else(|| Error::NotEngaged(key.plane.clone()))?;
        let home = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.to_string() };
        let learned = LearnedSources::default();
        let mut data = DataReconcile { controller: self, project: &project, home: &home, key, pass, learned };
        reconcile(&mut data, job).await
    }
}

impl Reconciler for DataReconcile<'_> {
    type Snapshot = Snapshot;
    type Plan = DataPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        let wd = self.project.store(Kind::WorkloadDeployment).digest(&self.key.namespace, &self.key.name);
        let seen = wd.and_then(|wd| {
            self.controller.snapshot_of(self.project, self.home, self.key, &wd, &self.learned)
        });
        self.learned.live = None;
        Ok(seen.map_or(ControlFlow::Break(Outcome::Unchanged), ControlFlow::Continue))
    }

    fn plan(&self, seen: &Snapshot) -> DataPlan {
        plan(seen)
    }

    async fn apply(&mut self, seen: &Snapshot, plan: DataPlan) -> Result<Step, Error> {
        self.perform(seen, plan).await
    }
}
