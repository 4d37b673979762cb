//! One reconcile of one Workload, for the engine's loop.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fedhub_api::facts::{DigestExt, View, of_workload};
use fedhub_core::errors::Error;
use fedhub_core::names::deployment_name;
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Reconciler, Step, reconcile};
use fedhub_planes::{Pass, Plane};
use fedhub_rollout::Verdict;

use super::WorkloadController;
use super::lifecycle::TypeState;
use super::plan::{WorkloadPlan, plan};
use super::snapshot::{Learnt, Snapshot, placed};
use crate::locations::Locations;
use crate::networks::Networks;

/// Reconciles one Workload.
pub(super) struct WorkloadReconciler<'a> {
    pub controller: &'a WorkloadController,
    pub project: Arc<Plane>,
    pub key: &'a Key,
    pub pass: &'a Pass,
    pub learnt: Learnt,
    /// The first request that failed beside others that did not have to wait for it.
    pub failure: Option<Error>,
}

impl WorkloadController {
    /// Returns the state of the caches for a Workload.
    pub(super) fn snapshot(&self, project: &Plane, key: &Key) -> Snapshot {
        let workload = project.store(Kind::Workload).digest(&key.namespace, &key.name);
        let placements = || workload.iter().filter_map(|it| it.workload()?.placements.as_deref()).flatten();
        let cities: BTreeSet<_> = placements().flat_map(|it| it.cities.iter().map(AsRef::as_ref)).collect();
        let locations = Locations::new(project, self.planes.hub(), &cities);
        let deployments = project.store(Kind::WorkloadDeployment);
        let wanted = placements().flat_map(|placement| {
            placement.cities.iter().map(|city| deployment_name(&key.name, &placement.name, city))
        });
        let wanted =
            wanted.filter_map(|name| Some((name.clone(), deployments.digest(&key.namespace, &name)?)));
        let names_it = |wd: View<'_>| {
            let names_it = placed(wd.digest).is_some_and(|placed| *placed.workload == *key.name);
            names_it.then(|| (wd.name.to_owned(), wd.digest.clone()))
        };
        let naming_it = deployments.by_index(&key.namespace, of_workload(&key.name), names_it);
        let deployments = naming_it.into_iter().chain(wanted).collect();
        let type_state = workload.as_ref().and_then(|digest| {
            TypeState::from_catalog(self.catalog.as_ref(), &digest.workload()?.instance_type)
        });
        let networks =
            Networks::new(project, &key.namespace, workload.as_ref().and_then(DigestExt::workload));
        let rollout = project.store(Kind::WorkloadRollout).get(&key.namespace, &key.name);
        let mut seen = Snapshot {
            key: key.clone(),
            rollout: rollout.and_then(|known| known.object),
            workload,
            networks,
            type_state,
            deployments,
            locations,
            writes: project.write_state(),
            service: project.service(),
            now: self.planes.clock().now(),
            stalled: Duration::ZERO,
            options: self.options,
            learnt: Learnt::default(),
            turns: OnceLock::new(),
        };
        seen.stalled = self.stalls.lock().stalled(&seen);
        seen
    }
}

/// Whether the Workload was found in sync with the same inputs.
pub(super) fn is_synced(project: &Plane, seen: &Snapshot) -> bool {
    let known = project.store(Kind::Workload).synced_under(&seen.key.namespace, &seen.key.name);
    known != 0 && known == seen.fingerprint()
}

/// Remembers that the Workload is in sync with these inputs, and drops it from memory, unless other cities
/// are to get its template soon: each is written from it.
pub(super) fn mark_synced(project: &Plane, seen: &Snapshot) {
    let Some(workload) = &seen.workload else { return };
    let store = project.store(Kind::Workload);
    let key = &seen.key;
    let fingerprint = seen.fingerprint();
    if seen.turns().verdict == Some(Verdict::Progressing) {
        store.mark_synced_for_now(&key.namespace, &key.name, &workload.version, fingerprint);
    } else {
        store.mark_synced(&key.namespace, &key.name, &workload.version, fingerprint);
    }
}

impl Controller for WorkloadController {
    fn name(&self) -> &'static str {
        "workloads"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let (PlaneId::Project(plane), Kind::Workload) = (&job.key.plane, job.key.kind) else {
            return Err(Error::Bug(format!("{} is not a key of Workloads", job.key)));
        };
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let Some(project) = self.planes.engaged(plane) else {
            return Err(Error::NotEngaged(job.key.plane.clone()));
        };
        let mut workload = WorkloadReconciler {
            controller: self,
            project,
            key: &job.key,
            pass: &job.pass,
            learnt: Learnt::default(),
            failure: None,
        };
        let outcome = Box::pin(reconcile(&mut workload, job)).await?;
        workload.failure.map_or(Ok(outcome), Err)
    }
}

impl Reconciler for WorkloadReconciler<'_> {
    type Snapshot = Snapshot;
    type Plan = WorkloadPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        let seen = self.controller.snapshot(&self.project, self.key);
        // What was decided without it was for the clock of progress alone.
        let turns = OnceLock::new();
        Ok(ControlFlow::Continue(Snapshot { learnt: self.learnt.clone(), turns, ..seen }))
    }

    fn is_synced(&self, seen: &Snapshot) -> bool {
        is_synced(&self.project, seen)
    }

    fn plan(&self, seen: &Snapshot) -> WorkloadPlan {
        plan(seen)
    }

    async fn apply(&mut self, seen: &Snapshot, plan: WorkloadPlan) -> Result<Step, Error> {
        if self.project.stop.is_cancelled() {
            return Err(Error::NotEngaged(self.project.id.clone()));
        }
        self.perform(seen, plan).await
    }

    fn mark_synced(&self, seen: &Snapshot) {
        mark_synced(&self.project, seen);
    }
}
