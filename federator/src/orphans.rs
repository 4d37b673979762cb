//! Orphans (F11): hub WDs whose project WD is proven gone although its finalizer never ran.
//!
//! They are counted and named, and nothing else: only an operator deletes one. A project WD is proven gone where its
//! plane is in sync and a live read finds none of that name and UID, or where the plane itself is gone for good
//! ([`fedhub_planes::Planes::declare_gone`]). A state in memory, drawn afresh after a restart.
//!
//! Decides F11.

use fedhub_cache::digest::deployment::source;
use fedhub_cache::digest::{Digest, Uid};
use fedhub_core::errors::Error;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::{PlaneName, SOURCE, SOURCE_UID};
use fedhub_core::object::{Key, Kind, ObjectView};
use fedhub_engine::verdicts::{Counted, Verdicts};
use fedhub_planes::{Plane, ProjectNamespace};

use crate::Federator;
use crate::origin::origin;

/// Why a hub WD is an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphan {
    /// Its plane has no WD of that name and UID.
    DeploymentGone,
    /// Its plane is gone.
    PlaneGone,
}

impl Orphan {
    /// As logs name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::DeploymentGone => "deployment_gone",
            Self::PlaneGone => "plane_gone",
        }
    }
}

impl Counted for Orphan {
    fn count(self, metrics: &Metrics, change: i64) {
        metrics.objects.with_label_values(&["federator", "orphaned"]).add(change);
    }
}

/// The hub WDs that are orphans, by their key on the hub.
pub type Orphans = Verdicts<Orphan>;

impl Federator {
    /// Looks which hub WDs of the name `key` are orphans: one in each hub namespace that stood for its namespace.
    pub(crate) async fn find_orphans(
        &self,
        plane: &PlaneName,
        project: &Plane,
        key: &Key,
    ) -> Result<(), Error> {
        let at = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.clone() };
        let known = project.store(key.kind).digest(&key.namespace, &key.name).map(|wd| wd.uid);
        for namespace in self.planes.tenants().of(&at) {
            let hub_key = self.planes.hub().key(Kind::WorkloadDeployment, &namespace, &key.name);
            let suspect = self.suspect(&hub_key, known.as_ref());
            if suspect && self.orphans.get(&hub_key) == Some(Orphan::DeploymentGone) {
                continue;
            }
            let orphan = suspect && self.is_orphan(plane, project, key, &hub_key).await?;
            // The plane was disengaged meanwhile: no later pass clears the verdict.
            let orphan = orphan && !project.stop.is_cancelled();
            self.judge_orphan(&hub_key, plane, orphan.then_some(Orphan::DeploymentGone));
        }
        Ok(())
    }

    /// Whether the hub WD `hub_key` stands there and is not that of the project WD with this UID, as far as stores tell.
    fn suspect(&self, hub_key: &Key, project_uid: Option<&Uid>) -> bool {
        let hub = self.planes.hub().store(hub_key.kind).digest(&hub_key.namespace, &hub_key.name);
        hub.filter(|hub| !hub.terminating).is_some_and(|hub| !is_of(&hub, project_uid))
    }

    /// Whether live reads prove it.
    async fn is_orphan(
        &self,
        plane: &PlaneName,
        project: &Plane,
        key: &Key,
        hub_key: &Key,
    ) -> Result<bool, Error> {
        let living = project.get_live(key.kind, &key.namespace, &key.name).await?;
        let hub = self.planes.hub().get_live(hub_key.kind, &hub_key.namespace, &hub_key.name).await?;
        let Some(hub) = hub.filter(|hub| !hub.is_terminating()) else { return Ok(false) };
        // What is marked as another's is not ours to name (I6).
        let origin = origin(plane, &key.namespace, &key.name);
        let ours = hub.annotation(SOURCE).is_none_or(|source| source == origin);
        let lives = |uid: &str| living.as_ref().is_some_and(|living| living.uid() == uid);
        Ok(ours && !hub.annotation(SOURCE_UID).map_or(living.is_some(), lives))
    }

    pub(crate) fn judge_orphan(&self, hub_key: &Key, plane: &PlaneName, orphan: Option<Orphan>) {
        let news = self.orphans.set(hub_key, orphan, self.planes.metrics());
        if let (true, Some(orphan)) = (news, orphan) {
            tracing::warn!(
                %plane,
                namespace = hub_key.namespace,
                name = hub_key.name,
                reason = orphan.label(),
                "orphaned on the hub: its WorkloadDeployment is gone and its finalizer never ran"
            );
        }
    }

    /// Has those hub WDs of a project plane judged that are not of the WDs that it has.
    pub(crate) fn enqueue_suspects(&self, plane: &PlaneName, project: &Plane) {
        if !self.planes.ready(plane) {
            return;
        }
        for namespace in self.planes.tenants().of_plane(plane) {
            let Some(home) = self.labelled(&namespace) else { continue };
            for hub_key in self.hub_deployments(&namespace) {
                let known = project.store(Kind::WorkloadDeployment).digest(&home.namespace, &hub_key.name);
                if self.suspect(&hub_key, known.as_ref().map(|wd| &wd.uid)) {
                    self.enqueue(plane, &home.namespace, &hub_key.name);
                } else {
                    self.judge_orphan(&hub_key, plane, None);
                }
            }
        }
    }

    /// Counts all hub WDs of a plane that is gone.
    pub(crate) fn orphan_all(&self, plane: &PlaneName) {
        for namespace in self.planes.tenants().of_plane(plane) {
            for hub_key in self.hub_deployments(&namespace) {
                self.orphan_of_gone(plane, &hub_key);
            }
        }
    }

    /// Counts a hub WD of a plane that is gone.
    pub(crate) fn orphan_of_gone(&self, plane: &PlaneName, hub_key: &Key) {
        let orphan = self.planes.leads() && self.suspect(hub_key, None);
        self.judge_orphan(hub_key, plane, orphan.then_some(Orphan::PlaneGone));
    }

    /// Forgets the orphans of a plane.
    pub(crate) fn forget_orphans(&self, plane: &PlaneName) {
        let theirs = self.planes.tenants().of_plane(plane);
        self.orphans.retain(self.planes.metrics(), |key| !theirs.contains(&key.namespace));
    }

    fn hub_deployments(&self, hub_namespace: &str) -> Vec<Key> {
        let hub = self.planes.hub();
        let names =
            hub.store(Kind::WorkloadDeployment).select(Some(hub_namespace), |wd| Some(wd.name.to_owned()));
        names.into_iter().map(|name| hub.key(Kind::WorkloadDeployment, hub_namespace, &name)).collect()
    }
}

/// Whether a hub WD is of the project WD with that UID.
pub(crate) fn is_of(hub: &Digest, project_uid: Option<&Uid>) -> bool {
    let Some(uid) = project_uid.map(Uid::to_string) else { return false };
    hub.deployment().is_some_and(|facts| facts.source == source(Some(&uid)))
}
