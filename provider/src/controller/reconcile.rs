//! The reconcile of one Instance.

use fedhub_core::errors::Error;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome};
use fedhub_planes::ProjectNamespace;

use super::cell::InPass;
use super::{ProviderController, power};
use crate::contract::Provider;

impl<P: Provider> ProviderController<P> {
    async fn instance(&self, job: &Job) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        if !cell.synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        let key = &job.key;
        let Some(instance) = cell.store(Kind::Instance).object(&key.namespace, &key.name) else {
            // A pass that was under way when it went may have followed its server again.
            self.passes.watch.forget(key);
            return Ok(Outcome::Unchanged);
        };
        let namespace = cell.store(Kind::Namespace).object("", &key.namespace);
        let project = namespace.as_deref().and_then(ProjectNamespace::from_hub_namespace);
        let project = project.as_ref().map(|project| project.plane.as_str());
        let wish = power::wish(&instance, self.maker(&instance).as_deref());
        let writes = InPass { cell: &self.cell, pass: &job.pass };
        let ended = self.passes.pass(&writes, key, instance, project, wish).await?;
        Ok(match ended.again {
            Some(wait) => Outcome::RequeueAfter(wait),
            None if ended.updated => Outcome::Updated,
            None => Outcome::Unchanged,
        })
    }

    /// The WD that made an Instance, by the UID of its controller (C3).
    fn maker(&self, instance: &Object) -> Option<ObjectRef> {
        let mut owners = instance.metadata.owner_references.iter().flatten();
        let controller = owners.find(|owner| owner.controller == Some(true))?;
        let deployments = self.cell.anchor().store(Kind::WorkloadDeployment);
        let deployment = deployments.object(instance.namespace(), &controller.name)?;
        (deployment.uid() == controller.uid).then_some(deployment)
    }
}

impl<P: Provider> Controller for ProviderController<P> {
    fn name(&self) -> &'static str {
        "provider"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Cell, Kind::Instance) => self.instance(job).await,
            _ => Err(Error::Bug(format!("{} is not a key of the provider's controller", job.key))),
        }
    }
}
