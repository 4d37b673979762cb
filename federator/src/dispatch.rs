//! The federator's keys: one pass over a WD or a policy, and what is published once per pass.

use fedhub_cache::Part;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::{self, Error};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, reconcile};
use fedhub_planes::events::{EventType, ObjectReference, reference};
use fedhub_planes::{Plane, ProjectNamespace};

use crate::Federator;
use crate::cleanup::CleanupBlocked;
use crate::controller::Target;
use crate::progress::Failure;
use crate::reconcile::DeploymentReconcile;
use crate::snapshot::is_leaving;
use crate::status;

impl Controller for Federator {
    fn name(&self) -> &'static str {
        "federator"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Project(plane), Kind::WorkloadDeployment) => {
                self.reconcile_deployment(plane, job).await
            }
            (PlaneId::Hub, Kind::PropagationPolicy) => self.reconcile_policy(&job.key).await,
            _ => Err(Error::Bug(format!("{} is none of the federator's keys", job.key))),
        }
    }
}

impl Federator {
    async fn reconcile_deployment(&self, plane: &PlaneName, job: &Job) -> Result<Outcome, Error> {
        let key = &job.key;
        let project = self.planes.engaged(plane).ok_or_else(|| Error::NotEngaged(key.plane.clone()))?;
        // Before anything else is waited for: a pass that sets a namespace up must not wait for memory meanwhile.
        let home = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.to_string() };
        let of = Target { project: &project, home: &home, key };
        let _memory = self.planes.budget().working(&key.plane, self.object_bytes(of)).await;
        let mut pass = DeploymentReconcile::new(self, of, job);
        let mut outcome = match self.begin(of).await {
            Ok(()) => reconcile(&mut pass, job).await,
            Err(error) => Err(error),
        };
        let mut blocked = pass.blocked;
        let remains = pass.remnant.map(Failure::Remains);
        drop(pass);
        let mut answer = None;
        if let Err(error) = &outcome
            && of.digest().is_some_and(|wd| is_leaving(&project, &wd))
        {
            blocked = CleanupBlocked::of(error, &key.plane);
            answer = blocked.filter(|why| why.is_refusal()).map(|_| errors::chain(error));
            match blocked {
                Some(CleanupBlocked::NamespaceGone) => outcome = Ok(Outcome::Failed),
                Some(why) => self.explain(&project, job, why, answer.as_deref()).await,
                None => {}
            }
        }
        self.block_cleanup(&project, key, blocked, answer.as_deref()).await;
        // Where the plane was disengaged during this pass, no later one clears the failure.
        let failure = outcome.as_ref().err().and_then(Failure::of).or(remains);
        self.pending.ended(key, failure.filter(|_| !project.stop.is_cancelled()));
        self.notice(&project, key);
        outcome
    }

    /// Does what comes before a pass over a WD.
    async fn begin(&self, of: Target<'_>) -> Result<(), Error> {
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        self.find_orphans(of).await
    }

    /// Bytes that the larger of a WD and what the hub has of it takes in memory, about.
    fn object_bytes(&self, of: Target<'_>) -> usize {
        let hub = self.planes.hub().store(of.key.kind);
        let on_hub = self.planes.tenants().of(of.home).into_iter();
        let on_hub = on_hub.filter_map(|space| hub.digest(&space, &of.key.name));
        on_hub.chain(of.digest()).map(|known| known.object_bytes()).max().unwrap_or_default()
    }

    /// Shows a finalizer that stays, with what a plane answered, or that it no longer does (I3).
    pub(crate) async fn block_cleanup(
        &self,
        project: &Plane,
        key: &Key,
        why: Option<CleanupBlocked>,
        answer: Option<&str>,
    ) {
        let news = self.blocked.set(key, why, self.planes.metrics());
        if project.stop.is_cancelled() {
            self.blocked.set(key, None, self.planes.metrics());
        }
        let (true, Some(why)) = (news, why) else { return };
        tracing::warn!(
            plane = %key.plane, namespace = key.namespace, name = key.name, reason = why.label(),
            "cleanup blocked, keeping the finalizer"
        );
        let about = match why {
            // In the namespace itself nothing can be written.
            CleanupBlocked::NamespaceGone => Some(ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Namespace".to_owned()),
                name: Some(key.namespace.to_string()),
                ..ObjectReference::default()
            }),
            _ => project.store(key.kind).get(&key.namespace, &key.name).map(|wd| reference(key.kind, &wd)),
        };
        if let Some(about) = about {
            project.events.say(&about, EventType::Warning, "CleanupHeld", why.message(answer)).await;
        }
    }

    /// Writes on the WD why its finalizer stays, where no plan could for want of an answer.
    async fn explain(&self, project: &Plane, job: &Job, why: CleanupBlocked, answer: Option<&str>) {
        if let Err(error) = self.write_blocked(project, job, why, answer).await {
            let Key { plane, namespace, name, .. } = &job.key;
            tracing::warn!(
                %plane, namespace, name, reason = why.label(), error = errors::chain(&error),
                "failed to write the condition of a blocked cleanup"
            );
        }
    }

    async fn write_blocked(
        &self,
        project: &Plane,
        job: &Job,
        why: CleanupBlocked,
        answer: Option<&str>,
    ) -> Result<(), Error> {
        let key = &job.key;
        let Some(wd) = project.get_or_fetch(key.kind, &key.namespace, &key.name).await? else {
            return Ok(());
        };
        let status = status::blocked(wd.status(), why, answer, self.planes.clock().now());
        let normalization = project.store(key.kind).normalization(&key.namespace, &key.name, Part::Status);
        if !settled(&status, wd.status(), normalization) {
            let write = status::status_write(status, wd.status(), normalization);
            self.write_status(project, &wd, write, job.since).await?;
        }
        Ok(())
    }
}
