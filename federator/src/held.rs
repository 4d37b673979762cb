//! Finalizers that are held because their work is not proven done, and how that is shown (I3): a condition and an
//! Event on the WD, a gauge by reason.

use std::fmt;

use fedhub_cache::Part;
use fedhub_core::errors::{self, Error};
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind};
use fedhub_engine::Job;
use fedhub_engine::verdicts::{Counted, Verdicts};
use fedhub_planes::Plane;
use fedhub_planes::events::{EventType, ObjectReference, reference};

use crate::Federator;
use crate::observe::Observed;
use crate::plan::{Plan, status_write};
use crate::refusal::Refusal;

/// Why a finalizer is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The hub does not answer, or refuses.
    HubUnreachable,
    /// The hub has lost its state, and no cell has reported on what was federated again since.
    HubStateLost,
    /// What stands on the hub in this WD's place may be ours, and may be somebody else's.
    TenantConflict,
    /// The project namespace was removed by force, so that its API server refuses every change of what is in it.
    NamespaceGone,
}

impl Held {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::HubUnreachable => "hub_unreachable",
            Self::HubStateLost => "hub_state_lost",
            Self::TenantConflict => "tenant_conflict",
            Self::NamespaceGone => "namespace_gone",
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HubUnreachable => "cleanup blocked: the federation hub cannot be reached",
            Self::HubStateLost => {
                "cleanup blocked: the federation hub lost its state, waiting until the cell reports on this WorkloadDeployment again"
            }
            Self::TenantConflict => {
                "cleanup blocked: what the federation hub holds in this WorkloadDeployment's place is not proven to be its own"
            }
            Self::NamespaceGone => {
                "cleanup blocked: the namespace was removed while WorkloadDeployments stand in it, create it again so that they can go"
            }
        })
    }
}

/// The finalizers that are held now.
pub type Holds = Verdicts<Held>;

impl Counted for Held {
    fn count(self, metrics: &Metrics, change: i64) {
        metrics.finalizers_held.with_label_values(&[self.label()]).add(change);
    }
}

impl Federator {
    /// Shows a finalizer that is held, or no longer (I3).
    pub(crate) async fn hold(&self, project: &Plane, key: &Key, why: Option<Held>) {
        let news = self.holds.set(key, why, self.planes.metrics());
        if project.stop.is_cancelled() {
            self.holds.set(key, None, self.planes.metrics());
        }
        let (true, Some(why)) = (news, why) else { return };
        tracing::warn!(%key, reason = why.label(), "cleanup blocked, keeping the finalizer");
        let about = match why {
            // In the namespace itself nothing can be written.
            Held::NamespaceGone => Some(ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Namespace".to_owned()),
                name: Some(key.namespace.clone()),
                ..ObjectReference::default()
            }),
            _ => project.store(key.kind).get(&key.namespace, &key.name).map(|wd| reference(key.kind, &wd)),
        };
        if let Some(about) = about {
            project.events.say(&about, EventType::Warning, "CleanupHeld", why.to_string()).await;
        }
    }

    /// Says on the WD why its finalizer is held, where no plan could for want of the hub.
    pub(crate) async fn explain(&self, plane: &PlaneName, project: &Plane, job: &Job, why: Held) {
        if let Err(error) = self.put_condition(plane, project, job, why).await {
            tracing::warn!(key = %job.key, reason = why.label(), error = errors::chain(&error),
                "failed to write the condition of a blocked cleanup");
        }
    }

    async fn put_condition(
        &self,
        plane: &PlaneName,
        project: &Plane,
        job: &Job,
        why: Held,
    ) -> Result<(), Error> {
        let (wd, key) = (Kind::WorkloadDeployment, &job.key);
        let Some(whole) = project.get_or_fetch(wd, &key.namespace, &key.name).await? else { return Ok(()) };
        let echo = project.store(wd).normalization(&key.namespace, &key.name, Part::Status);
        let seen = Observed::without_hub(plane.clone(), whole, echo, self.planes.clock().now());
        if let Some(status) = status_write(&seen, Some(&Refusal::CleanupHeld(why))) {
            let plan = Plan { status: Some(status), ..Plan::default() };
            self.applier(project, job).apply(plan, &seen.project).await?;
        }
        Ok(())
    }
}
