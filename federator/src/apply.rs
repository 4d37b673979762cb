//! Performs a plan: every write in its order, each answer remembered.

use fedhub_core::errors::RequestError;
use fedhub_core::metrics::{Hop, Metrics};
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_planes::Precondition;
use fedhub_planes::{PlaneWriter, Write};
use serde_json::Value;
use tokio::time::Instant;

use crate::plan::{Plan, Then};

/// What a plan is applied with.
pub struct Applier<'a> {
    /// Writes to the plane of the WD.
    pub project: PlaneWriter<'a>,
    /// Writes to the hub.
    pub hub: PlaneWriter<'a>,
    /// Where the hops are timed.
    pub metrics: &'a Metrics,
    /// When the event came that this pass answers.
    pub since: Instant,
}

/// How it went.
pub struct Applied {
    /// Whether anything was stored.
    pub wrote: bool,
    /// Whether the hub WD was made or changed.
    pub federated: bool,
    /// Whether the hub WD was made.
    pub made: bool,
    /// The status that was stored.
    pub status: Option<Value>,
    /// What comes next.
    pub then: Then,
}

impl Applier<'_> {
    /// Performs `plan` for the WD `project`; the first write that fails ends it.
    pub async fn apply(&self, plan: Plan, project: &ObjectRef) -> Result<Applied, RequestError> {
        let Plan { mark, namespace, policy, deployment, moved: _, delete, status, release, then } = plan;
        let wd = Kind::WorkloadDeployment;
        let mut project = project.clone();
        let mut doomed = delete;
        let mut applied = Applied { wrote: false, federated: false, made: false, status: None, then };
        if let Some(metadata) = mark {
            project = self.project.patch_metadata(wd, &project, metadata).await?;
            applied.wrote = true;
        }
        if let Some(write) = namespace {
            applied.wrote |= self.to_hub(Kind::Namespace, write).await?.is_some();
        }
        if let Some(write) = policy {
            applied.wrote |= self.to_hub(Kind::PropagationPolicy, write).await?.is_some();
        }
        applied.made = matches!(deployment, Some(Write::Create(_)));
        if let Some(write) = deployment
            && let Some(stored) = self.to_hub(wd, write).await?
        {
            applied.wrote = true;
            if let Some(hub) = &mut doomed {
                *hub = stored;
            } else {
                applied.federated = true;
                self.metrics.propagated(Hop::ProjectToHub, self.since.elapsed());
            }
        }
        if let Some(hub) = doomed {
            let gone = self.hub.plane.delete(wd, &hub, Precondition::Uid).await?;
            applied.wrote = true;
            if gone {
                // To be seen by a live read; its event need not be waited for.
                applied.then = Then::ReadLive;
            }
        }
        if let Some(write) = status {
            let status = write.status.clone();
            if self.project.write_status(wd, &project, write).await?.is_some() {
                applied.wrote = true;
                applied.status = Some(status);
                self.metrics.propagated(Hop::HubToProjectStatus, self.since.elapsed());
            }
        }
        if let Some(metadata) = release {
            self.project.patch_metadata(wd, &project, metadata).await?;
            applied.wrote = true;
        }
        Ok(applied)
    }

    /// Writes to the hub. Where a create finds the object there already, a list left it out: it is read, so that the
    /// next pass knows of it.
    async fn to_hub(&self, kind: Kind, write: Write) -> Result<Option<ObjectRef>, RequestError> {
        let made = match &write {
            Write::Create(object) => Some((object.namespace().to_owned(), object.name().to_owned())),
            Write::Replace { .. } => None,
        };
        let answer = self.hub.write(kind, write).await;
        if let (Err(error), Some((namespace, name))) = (&answer, made)
            && error.code() == Some(409)
        {
            self.hub.plane.refresh(kind, &namespace, &name).await?;
        }
        answer
    }
}
