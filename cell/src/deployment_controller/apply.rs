//! The writes of a reconcile.

use std::time::Duration;

use fedhub_api::conditions::next_deadline;
use fedhub_api::transitions;
use fedhub_cache::ObjectPart;
use fedhub_cache::digest::Version;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::{self, Category, Error, RequestError};
use fedhub_core::finalizers;
use fedhub_core::names::WORKLOAD_FINALIZER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::events::reference_to;
use fedhub_planes::{Pass, Precondition, StatusWrite, Write, WriteMode, Written};
use serde_json::Value;

use super::DeploymentController;
use super::plan::{DeploymentPlan, deletion_refused, refusal};
use crate::domain::autoscaling::desired;
use crate::domain::instances::{Deployment, Instance};
use crate::domain::network::Networking;
use crate::domain::status::blocker::ConditionUpdate;
use crate::domain::status::debounce::debounce;
use crate::domain::status::deployment::{moved, same_but_for_stages, status};
use crate::domain::status::facts::DeploymentFacts;
use crate::domain::status::network::Network;
use crate::{network_snapshot, writer};

/// The writes of a reconcile so far, and what is left to say in the status.
pub(super) struct WritesSoFar<'a> {
    /// The pass that writes.
    pub(super) pass: &'a Pass,
    /// Something was stored whose event requeues the WD.
    pub(super) stepped: bool,
    /// Whether all Instances are as they should be.
    pub(super) at_rest: bool,
    /// Something else was stored.
    pub(super) updated: bool,
    /// The first write that the cell refused.
    pub(super) refused: Option<RequestError>,
    /// The obstacle to creating Instances, if there is one.
    obstacle: Option<ConditionUpdate>,
    /// The cell's refusal to delete an Instance.
    pub(super) held: Option<ConditionUpdate>,
    /// The condition of the autoscaler, if there is to be one.
    pub(super) scaling: Option<ConditionUpdate>,
    /// When the status has more to say although nothing changes.
    pub(super) deadline: Option<Duration>,
    /// When the status is to be written, where that can wait.
    pub(super) debounce: Option<Duration>,
}

impl<'a> WritesSoFar<'a> {
    /// Creates the progress of a pass that has not written anything.
    pub(super) fn new(pass: &'a Pass) -> Self {
        Self {
            pass,
            stepped: false,
            at_rest: false,
            updated: false,
            refused: None,
            obstacle: None,
            held: None,
            scaling: None,
            deadline: None,
            debounce: None,
        }
    }

    /// The answer to a write. A refusal is one write's own: it is kept, and the reconcile goes on. All else
    /// ends it.
    #[allow(clippy::result_large_err, reason = "it is what the reconcile returns")]
    pub(super) fn tried<T>(&mut self, written: Result<T, RequestError>) -> Result<Option<T>, Error> {
        match written {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if is_refused(&error) || error.category() == Category::Conflict => {
                self.refused.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The answer to the deletion of that Instance.
    #[allow(clippy::result_large_err, reason = "it is what the reconcile returns")]
    pub(super) fn deleted(
        &mut self,
        instance: &Object,
        answer: Result<(), RequestError>,
    ) -> Result<(), Error> {
        if let Err(error) = answer.as_ref()
            && is_refused(error)
        {
            self.held.get_or_insert_with(|| deletion_refused(instance, error));
        }
        self.step(answer)
    }

    /// The answer to a write whose event requeues the WD.
    #[allow(clippy::result_large_err, reason = "it is what the reconcile returns")]
    pub(super) fn step<T>(&mut self, written: Result<T, RequestError>) -> Result<(), Error> {
        self.stepped |= self.tried(written)?.is_some();
        Ok(())
    }
}

/// Whether the cell understood a write and does not take it.
pub(super) fn is_refused(error: &RequestError) -> bool {
    matches!(error.category(), Category::Invalid | Category::Forbidden)
}

impl DeploymentController {
    /// Adds the finalizer: nothing is made for a WD before that.
    pub(super) async fn add_finalizer(&self, pass: &Pass, wd: &Object) -> Result<ObjectRef, RequestError> {
        let metadata = finalizers::with(wd, WORKLOAD_FINALIZER);
        writer(&self.cell, pass).patch_metadata(Kind::WorkloadDeployment, wd, metadata).await
    }

    /// Requests the networks that are missing. Returns how far the networks are then.
    pub(super) async fn networks(
        &self,
        progress: &mut WritesSoFar<'_>,
        wd: &Object,
    ) -> Result<Networking, Error> {
        let cell = self.cell.anchor();
        if !self.config.networking {
            return Ok(network_snapshot::without_networking(cell, wd));
        }
        let networking = network_snapshot::networking(cell, wd);
        let bindings = networking.plan.bindings.iter().map(|binding| (Kind::NetworkBinding, binding));
        let claims = networking.plan.claims.iter().map(|claim| (Kind::SubnetClaim, claim));
        let missing: Vec<_> = bindings.chain(claims).collect();
        if missing.is_empty() {
            return Ok(networking);
        }
        let mut created = Ok(None);
        for (kind, object) in missing {
            created = self.create(progress.pass, kind, object.clone()).await;
            if created.is_err() {
                break;
            }
        }
        let refused = created.as_ref().err().filter(|error| is_refused(error)).map(|e| errors::chain(e));
        progress.step(created)?;
        let mut networking = network_snapshot::networking(cell, wd);
        if let Some(refused) = refused
            && networking.plan.network != Network::Ready
        {
            networking.plan.network = Network::Failed(refused);
        }
        Ok(networking)
    }

    /// Performs the plan of the Instances.
    pub(super) async fn apply(
        &self,
        progress: &mut WritesSoFar<'_>,
        plan: DeploymentPlan<'_>,
    ) -> Result<(), Error> {
        let DeploymentPlan { create: new, delete, patches, announcement, obstacle, at_rest } = plan;
        progress.at_rest = at_rest;
        progress.obstacle = obstacle;
        if let Some(new) = new {
            let created = self.create(progress.pass, Kind::Instance, new).await;
            let refused = created.as_ref().err().filter(|error| is_refused(error)).map(refusal);
            progress.obstacle = refused.or(progress.obstacle.take());
            progress.step(created)?;
        }
        for instance in delete {
            progress.deleted(instance, self.delete(progress.pass, instance).await)?;
        }
        if let Some((instance, event)) = announcement {
            let cell = self.cell.anchor();
            cell.events.transition(reference_to(Kind::Instance, instance), event);
        }
        for (instance, patch) in patches {
            let patched = writer(&self.cell, progress.pass).patch(Kind::Instance, instance, patch).await;
            if progress.obstacle.is_none() {
                progress.obstacle = patched.as_ref().err().filter(|error| is_refused(error)).map(refusal);
            }
            progress.step(patched)?;
        }
        Ok(())
    }

    async fn create(
        &self,
        pass: &Pass,
        kind: Kind,
        object: Object,
    ) -> Result<Option<ObjectRef>, RequestError> {
        writer(&self.cell, pass)
            .write(kind, Write::Create(Box::new(object)))
            .await?
            .map(Written::stored)
            .transpose()
    }

    /// Deletes an Instance.
    pub(super) async fn delete(&self, pass: &Pass, instance: &Object) -> Result<(), RequestError> {
        let cell = self.cell.anchor();
        if cell.delete(pass, Kind::Instance, instance, Precondition::Uid).await? {
            self.gone().insert(instance.uid().to_owned());
            // The watch may have been faster than the answer.
            let standing = cell.store(Kind::Instance).digest(instance.namespace(), instance.name());
            if !standing.is_some_and(|digest| digest.uid.is(instance.uid())) {
                self.gone().remove(instance.uid());
            }
        }
        Ok(())
    }

    /// Writes the status, where it is another than the one that stands.
    pub(super) async fn write_status(
        &self,
        progress: &mut WritesSoFar<'_>,
        wd: &Object,
        deployment: &Deployment<'_>,
        networking: &Networking,
    ) -> Result<(), Error> {
        let cell = self.cell.anchor();
        let kind = Kind::WorkloadDeployment;
        let store = cell.store(kind);
        let known = store.digest(wd.namespace(), wd.name());
        if known.is_none_or(|known| known.version != Version::new(wd.version())) {
            // It changed meanwhile: the next reconcile reports what is so then.
            return Ok(());
        }
        let mut own = cell.store(Kind::Instance).objects(Some(wd.namespace()));
        own.retain(|i| deployment.owns(&Instance::from_object(i)));
        let now = self.cell.clock().now();
        let facts = DeploymentFacts {
            deployment: wd,
            instances: &own,
            desired: desired(wd),
            template_hash: &deployment.template_hash,
            network: &networking.plan.network,
            location: &networking.location,
            scaling: progress.scaling.as_ref(),
            obstacle: progress.obstacle.as_ref(),
            held: progress.held.as_ref(),
            now,
        };
        let status = status(&facts);
        // One that wants no Instance waits for nothing, at no time.
        progress.deadline = next_deadline(&status, moved(&facts), now).filter(|_| facts.desired > 0);
        let normalization = store.normalization(wd.namespace(), wd.name(), ObjectPart::Status);
        if settled(&status, wd.status(), normalization) {
            return Ok(());
        }
        if same_but_for_stages(&status, wd.status()) {
            progress.debounce = own.iter().filter_map(|i| debounce(i, i.status(), now)).max();
            if progress.debounce.is_some() {
                return Ok(());
            }
        }
        let reported = wd.status().get("observedGeneration").and_then(Value::as_i64);
        let before = reported.is_some() && reported == wd.metadata.generation;
        let write = StatusWrite { status, mode: WriteMode::new(before, normalization) };
        let written = writer(&self.cell, progress.pass).write_status(kind, wd, write).await;
        if let Some(stored) = progress.tried(written)?.flatten() {
            progress.updated = true;
            for transition in transitions::of_deployment(wd.status(), stored.status()) {
                cell.events.transition(reference_to(kind, wd), transition);
            }
        }
        Ok(())
    }
}
