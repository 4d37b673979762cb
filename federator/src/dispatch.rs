//! The federator's keys: one pass over a WD or a policy, and what is published once per pass.

use std::time::Duration;

use fedhub_api::facts::{Digest, DigestExt};
use fedhub_api::reason::Reason;
use fedhub_cache::ObjectPart;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::{self, Error};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, reconcile};
use fedhub_planes::events::{EventType, ObjectReference, reference};
use fedhub_planes::{Pass, Plane, ProjectNamespace, WriteState};
use tokio::time::Instant;

use crate::Federator;
use crate::cleanup::CleanupBlocked;
use crate::controller::Target;
use crate::orphan::is_of;
use crate::plan::SHOWN_AFTER;
use crate::progress::{Failure, Outlook, Progress};
use crate::reconcile::DeploymentReconcile;
use crate::refusal::Refusal;
use crate::snapshot::awaits_cleanup;
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
            (PlaneId::Hub, Kind::PropagationPolicy) => self.reconcile_policy(job).await,
            _ => Err(Error::Bug(format!("{} is none of the federator's keys", job.key))),
        }
    }
}

impl Federator {
    async fn reconcile_deployment(&self, plane: &PlaneName, job: &Job) -> Result<Outcome, Error> {
        let key = &job.key;
        let pass = &job.pass;
        let project = self.planes.engaged(plane).ok_or_else(|| Error::NotEngaged(key.plane.clone()))?;
        // Before anything else is waited for: a pass that sets a namespace up must not wait for memory
        // meanwhile.
        let home = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.to_string() };
        let of = Target { project: &project, home: &home, key };
        let _memory = self.planes.budget().working(&key.plane, self.object_bytes(of)).await;
        let began = Instant::now();
        let mut deployment = DeploymentReconcile::new(self, of, job);
        let mut outcome = match self.begin(pass, of).await {
            Ok(()) => reconcile(&mut deployment, job).await,
            Err(error) => Err(error),
        };
        let outlook = deployment.outlook;
        let verdict = deployment.verdict.take();
        drop(deployment);
        let mut blocked = None;
        let mut answer = None;
        match (&outcome, of.digest()) {
            (Err(error), Some(wd)) if awaits_cleanup(&project, &wd) => {
                // The hub is read anew now and then.
                let is_read = matches!(error, Error::NotEngaged(PlaneId::Hub));
                let generation = wd.deployment().map_or(0, |facts| facts.generation);
                blocked = CleanupBlocked::from_error(error, &key.plane)
                    .filter(|_| !is_read || self.has_lasted(key, generation, began, SHOWN_AFTER));
                answer = blocked.filter(|why| why.is_refusal()).map(|_| errors::chain(error));
                match blocked {
                    Some(CleanupBlocked::NamespaceGone) => outcome = Ok(Outcome::Failed),
                    Some(why) => self.explain(pass, of, &Trouble::Blocked(why, answer.clone())).await,
                    None => {}
                }
            }
            (Err(error), Some(wd)) => {
                if let Some(failure) = Failure::from_error(error) {
                    self.show_failure(pass, of, &wd, failure, began).await;
                }
            }
            (Ok(_), Some(wd)) => {
                if let Some(Refusal::CleanupHeld(why, awaited)) = verdict {
                    (blocked, answer) = (Some(why), awaited);
                }
                self.come_back(of, &wd, outlook);
            }
            (_, None) => self.waits.end(key),
        }
        self.block_cleanup(&project, key, blocked, answer.as_deref());
        // Where the plane was disengaged during this pass, no later one forgets it.
        if project.stop.is_cancelled() {
            self.waits.end(key);
        }
        outcome
    }

    /// Sees to it that there is a pass when the next thing is due of which no event tells.
    fn come_back(&self, of: Target<'_>, wd: &Digest, outlook: Outlook) {
        let key = of.key;
        let now = Instant::now();
        let generation = wd.deployment().map(|facts| facts.generation);
        let Some(generation) = generation.filter(|_| outlook != Outlook::Settled) else {
            return self.waits.end(key);
        };
        self.waits.begin(key, generation, false, now);
        let wait = match outlook {
            Outlook::Settled => None,
            // What is due and was not stored, the plane does not take; or it is a refusal of before a
            // restart, which stands until Karmada is asked.
            Outlook::Due(Duration::ZERO) => self.waits.turn_in(key, now).filter(|wait| !wait.is_zero()),
            Outlook::Due(left) => Some(left),
            Outlook::AwaitsReport => self.waits.turn_in(key, now),
        };
        if let Some(wait) = wait {
            self.queue.add_after(key.clone(), wait);
        }
    }

    /// Shows on a WD what keeps its passes from the hub, once that has lasted (U2).
    async fn show_failure(&self, pass: &Pass, of: Target<'_>, wd: &Digest, failure: Failure, began: Instant) {
        let Some(facts) = wd.deployment() else { return };
        // What is in its cell needs nothing of the hub, and what is there waits for its cell.
        let is_applied = facts.observed_generation() == Some(facts.generation);
        let needs_none = is_applied || failure == Failure::HubUnreachable && self.is_on_hub(of, wd);
        if needs_none || !Progress::Failed(failure.clone()).is_news(facts) {
            self.waits.end(of.key);
        } else if self.has_lasted(of.key, facts.generation, began, self.config.patience) {
            self.explain(pass, of, &Trouble::Failed(failure)).await;
            self.waits.end(of.key);
        }
    }

    /// Whether passes over a WD have failed for so long, of which the last began then. Where they have not,
    /// there is one when they may have.
    fn has_lasted(&self, key: &Key, generation: i64, began: Instant, patience: Duration) -> bool {
        self.waits.begin(key, generation, true, began);
        let waited = self.waits.waited(key, generation, true, Instant::now());
        let left = patience.saturating_sub(waited);
        if !left.is_zero() {
            self.queue.add_after(key.clone(), left);
        }
        left.is_zero()
    }

    /// Whether the hub has the newest generation of a WD, as far as is known.
    fn is_on_hub(&self, of: Target<'_>, wd: &Digest) -> bool {
        let space = self.marked_hub_namespace(of.home, wd);
        let hub = space.and_then(|space| {
            self.planes
                .hub()
                .store(of.key.kind)
                .digest(&space, &of.key.name)
                .filter(|hub| is_of(hub, Some(&wd.uid)))
        });
        let carried = |wd: &Digest| wd.deployment().map(|facts| (facts.generation, facts.mirrored_hash));
        hub.is_some_and(|hub| carried(&hub) == carried(wd))
    }

    /// Does what comes before a pass over a WD.
    async fn begin(&self, pass: &Pass, of: Target<'_>) -> Result<(), Error> {
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        self.find_orphans(pass, of).await
    }

    /// Bytes that the larger of a WD and what the hub has of it takes in memory, about.
    fn object_bytes(&self, of: Target<'_>) -> usize {
        let hub = self.planes.hub().store(of.key.kind);
        let on_hub = self.planes.tenants().of(of.home).into_iter();
        let on_hub = on_hub.filter_map(|space| hub.digest(&space, &of.key.name));
        on_hub.chain(of.digest()).map(|known| known.object_bytes()).max().unwrap_or_default()
    }

    /// Shows a finalizer that stays, with what a plane answered, or that it no longer does (I3).
    pub(crate) fn block_cleanup(
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
            project.events.send(about, EventType::Warning, Reason::CleanupHeld, why.message(answer));
        }
    }

    /// Writes on the WD what no plan could for want of an answer, where its plane takes writes.
    async fn explain(&self, pass: &Pass, of: Target<'_>, trouble: &Trouble) {
        if of.project.write_state() == WriteState::Active
            && let Err(error) = self.write_trouble(pass, of, trouble).await
        {
            let Key { plane, namespace, name, .. } = of.key;
            tracing::warn!(
                %plane, namespace, name, error = errors::chain(&error),
                "failed to write the condition of a failure"
            );
        }
    }

    async fn write_trouble(&self, pass: &Pass, of: Target<'_>, trouble: &Trouble) -> Result<(), Error> {
        let Target { project, key, .. } = of;
        let Some(wd) = project.get_or_fetch(pass, key.kind, &key.namespace, &key.name).await? else {
            return Ok(());
        };
        let generation = wd.metadata.generation.unwrap_or_default();
        let now = self.planes.clock().now();
        let status = match trouble {
            Trouble::Failed(failure) => status::failed(wd.status(), failure.clone(), generation, now),
            Trouble::Blocked(why, answer) => {
                let blocked = status::blocked(wd.status(), *why, answer.as_deref(), now);
                if *why == CleanupBlocked::HubUnreachable {
                    status::failed(&blocked, Failure::HubUnreachable, generation, now)
                } else {
                    blocked
                }
            }
        };
        let normalization =
            project.store(key.kind).normalization(&key.namespace, &key.name, ObjectPart::Status);
        if !settled(&status, wd.status(), normalization) {
            let write = status::status_write(status, wd.status(), normalization);
            if let Some(stored) = self.writer(project, pass).write_status(key.kind, &wd, write).await? {
                self.status_stored(project, &wd, &stored);
            }
        }
        Ok(())
    }
}

/// The trouble that a failed pass shows on its WD.
#[derive(Debug)]
enum Trouble {
    /// Why it is not on the hub.
    Failed(Failure),
    /// Why its finalizer stays, with what a plane answered.
    Blocked(CleanupBlocked, Option<String>),
}
