//! Performs a plan: every write in its order, each answer remembered.

use fedhub_shared::engine::Writer;
use fedhub_shared::errors::RequestError;
use fedhub_shared::metrics::{Hop, Metrics};
use fedhub_shared::object::{Kind, Shared};
use tokio::time::Instant;

use crate::plan::{Plan, Then};

/// What a plan is applied with.
pub struct Applier<'a> {
    /// Writes to the plane of the WD.
    pub project: Writer<'a>,
    /// Writes to the hub.
    pub hub: Writer<'a>,
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
    /// What comes next.
    pub then: Then,
}

impl Applier<'_> {
    /// Performs `plan` for the WD `project`; the first write that fails ends it.
    pub async fn apply(&self, plan: Plan, project: &Shared) -> Result<Applied, RequestError> {
        let Plan { mark, namespace, policy, deployment, delete, status, release, then } = plan;
        let wd = Kind::WorkloadDeployment;
        let mut project = project.clone();
        let mut doomed = delete;
        let mut applied = Applied { wrote: false, federated: false, then };
        if let Some(metadata) = mark {
            project = self.project.patch_metadata(wd, &project, metadata).await?;
            applied.wrote = true;
        }
        if let Some(write) = namespace {
            applied.wrote |= self.hub.write(Kind::Namespace, write).await?.is_some();
        }
        if let Some(write) = policy {
            applied.wrote |= self.hub.write(Kind::PropagationPolicy, write).await?.is_some();
        }
        if let Some(write) = deployment {
            if let Some(stored) = self.hub.write(wd, write).await? {
                applied.wrote = true;
                match &mut doomed {
                    Some(hub) => *hub = stored,
                    None => {
                        applied.federated = true;
                        self.metrics.propagated(Hop::ProjectToHub, self.since.elapsed());
                    }
                }
            }
        }
        if let Some(hub) = doomed {
            self.hub.plane.delete(wd, &hub, false).await?;
            applied.wrote = true;
        }
        if let Some(write) = status {
            if self.project.write_status(wd, &project, write).await?.is_some() {
                applied.wrote = true;
                self.metrics.propagated(Hop::HubToProjectStatus, self.since.elapsed());
            }
        }
        if let Some(metadata) = release {
            self.project.patch_metadata(wd, &project, metadata).await?;
            applied.wrote = true;
        }
        Ok(applied)
    }
}
