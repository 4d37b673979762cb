//! Performs a plan: fetches what it writes, and does every write in its order, each answer remembered.

use std::ops::ControlFlow;
use std::sync::Arc;

use fedhub_core::errors::{Error, RequestError};
use fedhub_core::finalizers;
use fedhub_core::metrics::Hop;
use fedhub_core::names::FEDERATOR_FINALIZER;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_engine::{Outcome, Step};
use fedhub_planes::{Pass, Plane, Precondition, StatusWrite, Write, Written};
use tokio::time::Instant;

use crate::Federator;
use crate::announce::announce_move;
use crate::desired::{Bodies, HubBody};
use crate::federate::StatusIntent;
use crate::loss;
use crate::plan::{FederationPlan, NextStep};
use crate::reconcile::{DeploymentReconcile, LiveHub};
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;
use crate::status;

const WD: Kind = Kind::WorkloadDeployment;

impl DeploymentReconcile<'_> {
    /// The objects that the snapshot is of, as far as the plan is rendered from them; breaks where the caches
    /// differ from them.
    pub(crate) async fn bodies(
        &mut self,
        seen: &Snapshot,
        plan: &FederationPlan,
        fetched: Option<Bodies>,
        live: Option<LiveHub>,
    ) -> Result<ControlFlow<Step, Bodies>, Error> {
        let key = self.of.key;
        let (project, hub) = match fetched {
            Some(Bodies { project, hub }) => (Some(project), hub),
            None => (
                self.of.project.get_or_fetch(&self.job.pass, WD, &key.namespace, &key.name).await?,
                HubBody::Unread,
            ),
        };
        let Some(project) = project else {
            return Ok(ControlFlow::Break(Step::End(Outcome::AwaitChange)));
        };
        let hub = match (live.filter(|_| seen.live.is_some()), hub) {
            (Some(live), _) => live.deployment.into(),
            (None, HubBody::Unread) if seen.hub.is_some() && plan.reads_hub_wd(seen) => self
                .federator
                .planes
                .hub()
                .get_or_fetch(&self.job.pass, WD, &seen.hub_namespace_name, &key.name)
                .await?
                .into(),
            (None, hub) => hub,
        };
        let same = match (&seen.hub, &hub) {
            (_, HubBody::Unread) => true,
            (facts, HubBody::Absent) => facts.is_none(),
            (facts, HubBody::Present(body)) => facts.as_ref().is_some_and(|facts| facts.is_of(body)),
        };
        let bodies = Bodies { project, hub };
        Ok(if same && seen.project.is_of(&bodies.project) {
            ControlFlow::Continue(bodies)
        } else {
            self.fetched = Some(bodies);
            ControlFlow::Break(Step::Learned)
        })
    }

    /// Renders what the plan means and writes what differs; the first write that fails ends it. Returns
    /// whether anything was stored, and what comes next.
    pub(crate) async fn perform(
        &self,
        seen: &Snapshot,
        plan: FederationPlan,
        bodies: &Bodies,
    ) -> Result<(bool, NextStep), Error> {
        let FederationPlan {
            mark,
            namespace,
            policy,
            deployment,
            moved,
            recall,
            delete,
            status,
            release,
            mut then,
        } = plan;
        let (federator, project, pass) = (self.federator, self.of.project, &self.job.pass);
        let (mut wd, mut wrote) = (bodies.project.clone(), false);
        let mut target = bodies.hub.object().filter(|_| delete).cloned();
        if let Some(mark) = mark {
            wd = federator.writer(project, pass).patch_metadata(WD, &wd, mark.render(&wd)).await?;
            wrote = true;
        }
        for (kind, write) in [(Kind::Namespace, namespace), (Kind::PropagationPolicy, policy)] {
            if let Some(write) = write {
                wrote |= federator.write_to_hub(pass, kind, write).await?.is_some();
            }
        }
        let deployment = deployment.and_then(|change| change.render(seen, bodies));
        if let Some(write) = deployment
            && let Some(stored) = federator.write_to_hub(pass, WD, write).await?
        {
            wrote = true;
            match &mut target {
                Some(hub) => *hub = stored,
                None if recall => {}
                None => self.federated(seen),
            }
        }
        if recall {
            wrote |= federator.unbind(pass, &seen.hub_namespace_name, &seen.name).await?;
        }
        if let Some(from) = moved {
            announce_move(project, &bodies.project, &from, seen.city());
        }
        if let Some(hub) = target {
            wrote = true;
            self.announce_unreached(seen, &bodies.project);
            if federator.planes.hub().delete(pass, WD, &hub, Precondition::Uid).await? {
                // To be seen by a live read; its event need not be waited for.
                then = NextStep::ReadLive;
            }
        }
        if let Some(StatusIntent { refusal }) = status {
            wrote |= self.perform_status(seen, refusal.as_ref(), &wd, bodies).await?;
        }
        if release {
            let released = finalizers::without(&wd, FEDERATOR_FINALIZER);
            federator.writer(project, pass).patch_metadata(WD, &wd, released).await?;
            wrote = true;
        }
        Ok((wrote, then))
    }

    /// Writes the status of the project WD, last seen as `wd`, where its rendering differs; returns whether
    /// it was stored.
    async fn perform_status(
        &self,
        seen: &Snapshot,
        refusal: Option<&Refusal>,
        wd: &ObjectRef,
        bodies: &Bodies,
    ) -> Result<bool, Error> {
        let Some(write) = status::write(seen, refusal, bodies) else { return Ok(false) };
        // A status that only time calls for answers no event, so that its delay is not measured.
        let since = (!seen.is_due).then_some(self.job.since);
        Ok(self.federator.write_status(&self.job.pass, self.of.project, wd, write, since).await?)
    }

    /// The hub WD was made or changed.
    fn federated(&self, seen: &Snapshot) {
        let (metrics, key) = (self.federator.planes.metrics(), self.of.key);
        metrics.propagated(Hop::ProjectToHub, self.job.since.elapsed());
        let (generation, now) = (seen.project.generation, Instant::now());
        self.federator.convergence.lock().federated(key, generation, seen.city(), self.job.since, now);
        let (plane, namespace, name) = (&self.of.home.plane, &key.namespace, &key.name);
        if seen.stalled {
            metrics.resyncs.inc();
            tracing::info!(%plane, namespace, name, city = seen.city(), "resynced");
        } else {
            tracing::info!(%plane, namespace, name, city = seen.city(), "federated");
        }
    }

    /// Reads the hub. Whether it lost what it lacks is asked afterwards: it may have come back from a backup
    /// just now. Where it did not, what it lacks leaves the cache too: a WD that is made again at once must
    /// not be compared with it, however late the watch brings the deletion. Where it may have lost it, the
    /// watch has to tell (F9).
    pub(crate) async fn read_live(&mut self, seen: &Snapshot) -> Result<(), Error> {
        let planes = &self.federator.planes;
        let hub = planes.hub();
        let space = &seen.hub_namespace_name;
        let known = hub.store(WD).digest(space, &seen.name).map(|wd| wd.uid.to_string());
        let namespace = hub.get_live(&self.job.pass, Kind::Namespace, "", space).await?.map(Arc::new);
        let deployment = hub.get_live(&self.job.pass, WD, space, &seen.name).await?.map(Arc::new);
        if deployment.is_none() {
            planes.compare_hub().await;
            if let Some(uid) = known.filter(|_| planes.distrust().is_none() && !loss::is_possible(seen)) {
                hub.store(WD).own_deleted(space, &seen.name, &uid);
            }
        }
        self.live = Some(LiveHub { hub_namespace_name: space.clone(), namespace, deployment });
        Ok(())
    }
}

impl Federator {
    /// Writes the status of `wd`, in answer to an event of the hub that came at `since`, if it is one;
    /// returns whether it was stored.
    pub(crate) async fn write_status(
        &self,
        pass: &Pass,
        project: &Plane,
        wd: &ObjectRef,
        write: StatusWrite,
        since: Option<Instant>,
    ) -> Result<bool, RequestError> {
        let status = write.status.clone();
        if self.writer(project, pass).write_status(WD, wd, write).await?.is_none() {
            return Ok(false);
        }
        if let Some(observed) = status["observedGeneration"].as_i64() {
            self.converged(&project.key(WD, wd.namespace(), wd.name()), wd.uid(), observed);
        }
        if let Some(since) = since {
            self.planes.metrics().propagated(Hop::HubToProjectStatus, since.elapsed());
        }
        self.announce(project, wd, &status);
        Ok(true)
    }

    async fn write_to_hub(
        &self,
        pass: &Pass,
        kind: Kind,
        write: Write,
    ) -> Result<Option<ObjectRef>, RequestError> {
        self.writer(self.planes.hub(), pass).write(kind, write).await?.map(Written::stored).transpose()
    }
}
