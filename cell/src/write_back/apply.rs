//! Performs plans: reads what they ask for, renders copies and writes.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::Source;
use fedhub_cache::digest::Version;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::names::WORKLOAD_DEPLOYMENT_NAME;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_engine::Outcome;
use fedhub_engine::reconcile::Step;
use fedhub_planes::{Precondition, StatusWrite, Write, WriteMode, Written};
use tokio::time::Instant;

use super::desired::{Owner, desired, managed};
use super::plan::WriteBackPlan;
use super::reconcile::Pass;
use super::refusal::WriteBackState;
use super::snapshot::{CopyRead, LiveRead, Snapshot};
use crate::writer;

/// When a name that another cell's copy has is tried again: that copy's end shows in no watch of this cell.
const NAME_TAKEN_RETRY: Duration = Duration::from_secs(10);

impl Pass<'_> {
    /// Performs one plan.
    pub(super) async fn perform(&mut self, snapshot: &Snapshot, plan: WriteBackPlan) -> Result<Step, Error> {
        let (controller, key) = (self.controller, &self.job.key);
        let (hub, cell) = (controller.hub.hub(), controller.cell.anchor());
        let (namespace, name) = (&key.namespace, &key.name);
        let kind = Kind::Instance;
        Ok(match plan {
            WriteBackPlan::Unchanged => Step::Unchanged,
            WriteBackPlan::AwaitOwner | WriteBackPlan::AwaitDeletion => {
                controller.set_state(key, Some(WriteBackState::Parked));
                controller.mark_synced(key, snapshot, 0);
                Step::End(Outcome::AwaitChange)
            }
            WriteBackPlan::Refuse(refusal) => {
                controller.refuse(key, &refusal);
                controller.mark_synced(key, snapshot, 0);
                let unseen = refusal.is_by_copy() && hub.store(kind).digest(namespace, name).is_none();
                let retry = Outcome::RequeueAfter(NAME_TAKEN_RETRY);
                Step::End(if unseen { retry } else { Outcome::AwaitChange })
            }
            WriteBackPlan::Create(owner) => self.write(snapshot, &owner, WriteMode::Direct).await?,
            WriteBackPlan::Replace { owner, mode } => self.write(snapshot, &owner, mode).await?,
            WriteBackPlan::WriteStatus { mode } => self.write_status(snapshot, mode).await?,
            WriteBackPlan::Debounce(wait) => {
                controller.set_state(key, None);
                if self.updated {
                    self.observe_propagation();
                }
                Step::End(Outcome::RequeueAfter(wait))
            }
            WriteBackPlan::Delete { inferred } => self.delete(snapshot, inferred).await?,
            WriteBackPlan::FetchCopy => {
                let known = snapshot.copy.as_ref().map(|copy| &copy.digest.version);
                let fetched = hub.get_or_fetch(kind, namespace, name).await?;
                match fetched.filter(|copy| known == Some(&Version::new(copy.version()))) {
                    Some(copy) => self.learn(Some(copy), false),
                    // The hub has another one than the cache: its own answer counts for this reconcile.
                    None => self.read_copy().await?,
                }
            }
            WriteBackPlan::ReadInstance => {
                let instance = cell.get_live(kind, namespace, name).await?;
                self.reads.instance = Some(LiveRead(instance.map(Arc::new)));
                Step::Learned
            }
            WriteBackPlan::ReadDeployment => {
                let name = snapshot.instance.as_ref().and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME));
                let name = name.unwrap_or_default();
                let deployment = hub.get_live(Kind::WorkloadDeployment, namespace, name).await?;
                self.reads.deployment = Some(LiveRead(deployment.map(Arc::new)));
                Step::Learned
            }
        })
    }

    /// Reads the copy from the hub, past its cache.
    async fn read_copy(&mut self) -> Result<Step, RequestError> {
        let (hub, key) = (self.controller.hub.hub(), self.key());
        let copy = hub.get_live(Kind::Instance, &key.namespace, &key.name).await?;
        Ok(self.learn(copy.map(Arc::new), true))
    }

    /// Takes note of a copy that was read or stored, or that there is none.
    fn learn(&mut self, body: Option<ObjectRef>, confirmed: bool) -> Step {
        let (controller, key) = (self.controller, self.key());
        let copy = controller.hub.hub().key(Kind::Instance, &key.namespace, &key.name);
        controller.identity.note(&copy, body.as_deref().and_then(Source::of).as_ref());
        self.reads.copy = Some(CopyRead { body, confirmed });
        Step::Learned
    }

    /// Writes the copy's metadata and spec.
    async fn write(
        &mut self,
        snapshot: &Snapshot,
        owner: &Owner,
        mode: WriteMode,
    ) -> Result<Step, RequestError> {
        let Some(instance) = &snapshot.instance else { return Ok(Step::Learned) };
        let (controller, key) = (self.controller, &self.job.key);
        let stands = snapshot.copy.as_ref().and_then(|copy| copy.body.as_deref());
        let managed = managed(instance, &snapshot.cell, Some(owner));
        let object = Box::new(desired(instance, managed, stands));
        let write = match stands {
            None => Write::Create(object),
            Some(_) => Write::Replace { object, mode },
        };
        match (writer(&controller.hub).write(Kind::Instance, write).await, stands) {
            (Ok(Some(Written::Stored(copy))), _) => {
                self.learn(Some(copy), true);
                Ok(Step::Updated)
            }
            (Ok(None), _) => Ok(Step::Learned),
            // As while a deployment moves from another city.
            (Ok(Some(Written::Exists { object, .. })), _) => Ok(self.learn(Some(object), true)),
            (Err(error), Some(copy)) if error.immutable() => {
                tracing::info!(
                    namespace = key.namespace,
                    name = key.name,
                    "an immutable field of the copy differs, recreating it"
                );
                self.delete_copy(copy).await?;
                Ok(Step::Updated)
            }
            (Err(error), _) => Err(error),
        }
    }

    async fn write_status(&mut self, snapshot: &Snapshot, mode: WriteMode) -> Result<Step, RequestError> {
        let (Some(instance), Some(copy)) = (&snapshot.instance, &snapshot.copy) else {
            return Ok(Step::Learned);
        };
        let controller = self.controller;
        let write = StatusWrite { status: instance.status().clone(), mode };
        let copy = copy.object(instance.namespace(), instance.name());
        let hub = writer(&controller.hub);
        let Some(stored) = hub.write_status(Kind::Instance, &copy, write).await? else {
            return Ok(Step::Learned);
        };
        if let Some(read) = &mut self.reads.copy {
            read.body = Some(stored);
        }
        Ok(Step::Updated)
    }

    async fn delete(&mut self, snapshot: &Snapshot, inferred: bool) -> Result<Step, RequestError> {
        let Some(copy) = &snapshot.copy else { return Ok(Step::Learned) };
        let (controller, key) = (self.controller, &self.job.key);
        let bucket = || controller.bucket.lock();
        if let Some(wait) = inferred.then(|| bucket().take(key, Instant::now()).err()).flatten() {
            controller.hub.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
            tracing::warn!(
                namespace = key.namespace,
                name = key.name,
                ?wait,
                "rate limit reached, deferring the deletion of an orphaned copy"
            );
            return Ok(Step::End(Outcome::RequeueAfter(wait)));
        }
        if self.delete_copy(&copy.object(&key.namespace, &key.name)).await? {
            return Ok(Step::Updated);
        }
        controller.set_state(key, Some(WriteBackState::Parked));
        Ok(Step::End(Outcome::AwaitChange))
    }

    /// Deletes a copy; says whether it is gone by now.
    async fn delete_copy(&mut self, copy: &Object) -> Result<bool, RequestError> {
        let hub = self.controller.hub.hub();
        let gone = hub.delete(Kind::Instance, copy, Precondition::Uid).await?;
        if gone {
            // What follows must not take it for an orphan.
            self.controller.seen_gone.lock().remove(self.key());
            hub.store(Kind::Instance).own_deleted(copy.namespace(), copy.name(), copy.uid());
            self.learn(None, true);
        }
        Ok(gone)
    }
}
