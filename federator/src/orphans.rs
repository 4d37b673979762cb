//! Orphans (F11): hub WDs whose project WD is proven gone although its finalizer never ran.
//!
//! They are counted and named, and nothing else: only an operator deletes one. A project WD is proven gone
//! where its plane is in sync and a live read finds none of that name and UID, or where the plane itself was
//! declared gone ([`fedhub_planes::Planes::declare_gone`]). The state is in memory, and found again after a
//! restart.
//!
//! Decides F11.

use fedhub_cache::digest::Uid;
use fedhub_core::errors::Error;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind};
use fedhub_planes::{Pass, Plane};

use crate::Federator;
use crate::controller::Target;
use crate::orphan::{Orphan, is_of, is_orphaned};

impl Federator {
    /// Finds the hub WDs of that name that are orphans: one in each hub namespace that stood for its
    /// namespace.
    pub(crate) async fn find_orphans(&self, pass: &Pass, of: Target<'_>) -> Result<(), Error> {
        let known = of.digest().map(|wd| wd.uid);
        for namespace in self.planes.tenants().of(of.home) {
            let hub_key = self.planes.hub().key(of.key.kind, &namespace, &of.key.name);
            let suspect = self.suspect(&hub_key, known.as_ref());
            if suspect && self.orphans.get(&hub_key) == Some(Orphan::DeploymentGone) {
                continue;
            }
            let orphan = suspect && self.is_orphan(pass, of, &hub_key).await?;
            // The plane was disengaged meanwhile: no later pass clears the state.
            let orphan = orphan && !of.project.stop.is_cancelled();
            self.judge_orphan(&hub_key, &of.home.plane, orphan.then_some(Orphan::DeploymentGone));
        }
        Ok(())
    }

    /// Whether the hub WD `hub_key` stands there and is not that of the project WD with this UID, as far as
    /// the caches show.
    fn suspect(&self, hub_key: &Key, project_uid: Option<&Uid>) -> bool {
        let hub = self.planes.hub().store(hub_key.kind).digest(&hub_key.namespace, &hub_key.name);
        hub.filter(|hub| !hub.terminating).is_some_and(|hub| !is_of(&hub, project_uid))
    }

    /// Whether live reads prove it.
    async fn is_orphan(&self, pass: &Pass, of: Target<'_>, hub_key: &Key) -> Result<bool, Error> {
        let living = of.project.get_live(pass, of.key.kind, &of.key.namespace, &of.key.name).await?;
        let hub = self.planes.hub().get_live(pass, hub_key.kind, &hub_key.namespace, &hub_key.name).await?;
        Ok(hub.is_some_and(|hub| is_orphaned(&hub, living.as_ref(), &of.source())))
    }

    pub(crate) fn judge_orphan(&self, hub_key: &Key, plane: &PlaneName, orphan: Option<Orphan>) {
        let news = self.orphans.set(hub_key, orphan, self.planes.metrics());
        if let (true, Some(orphan)) = (news, orphan) {
            tracing::warn!(
                %plane,
                namespace = hub_key.namespace,
                name = hub_key.name,
                reason = orphan.label(),
                "hub WorkloadDeployment is orphaned: its source is gone and its finalizer never ran"
            );
        }
    }

    /// Enqueues the hub WDs of a project plane that do not belong to the WDs that the plane has.
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
        self.orphans
            .retain(self.planes.metrics(), |key| !theirs.iter().any(|space| **space == *key.namespace));
    }

    fn hub_deployments(&self, hub_namespace: &str) -> Vec<Key> {
        let hub = self.planes.hub();
        let names =
            hub.store(Kind::WorkloadDeployment).select(Some(hub_namespace), |wd| Some(wd.name.to_owned()));
        names.into_iter().map(|name| hub.key(Kind::WorkloadDeployment, hub_namespace, &name)).collect()
    }
}
