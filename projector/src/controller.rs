//! The controller: what it remembers between reconciles, and what its caches say of one hub Instance.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_api::reason::Reason;
use fedhub_cache::ObjectPart;
use fedhub_core::object::{Key, Kind, ObjectRef};
use fedhub_engine::Queue;
use fedhub_planes::events::reference;
use fedhub_planes::{Plane, Planes, ProjectNamespace, ServiceState};

use crate::rate_limits::DeleteLimits;
use crate::snapshot::Snapshot;
use crate::unreachable::UnreachableCities;
use crate::verdict::{ProjectionVerdict, UnprojectedInstances};

/// Times and limits of the projector.
#[derive(Clone, Copy, Debug)]
pub struct ProjectorConfig {
    /// How long a hub Instance may be without its WD before that is final (P7).
    pub grace: Duration,
    /// Deletions after a gap that one plane may see in a minute (I4).
    pub deletes_per_minute: u32,
}

impl Default for ProjectorConfig {
    fn default() -> Self {
        Self { grace: Duration::from_mins(15), deletes_per_minute: 20 }
    }
}

/// Mirrors hub Instances into the project planes.
pub struct Projector {
    pub(crate) planes: Arc<Planes>,
    pub(crate) queue: Arc<Queue>,
    config: ProjectorConfig,
    pub(crate) unprojected: UnprojectedInstances,
    /// UIDs of hub Instances that were seen deleted without a gap, until their projections are gone (I4).
    pub(crate) seen_deleted: DashMap<Key, String>,
    pub(crate) delete_limits: DeleteLimits,
    pub(crate) unreachable: UnreachableCities,
}

impl Projector {
    /// A projector over `planes`, fed through `queue`.
    pub fn new(planes: Arc<Planes>, queue: Arc<Queue>, config: ProjectorConfig) -> Arc<Self> {
        Arc::new(Self {
            planes,
            queue,
            config,
            unprojected: UnprojectedInstances::default(),
            seen_deleted: DashMap::new(),
            delete_limits: DeleteLimits::new(config.deletes_per_minute),
            unreachable: UnreachableCities::default(),
        })
    }

    /// The number of entries in each memory, by its name: none may grow without end.
    pub fn remembered(&self) -> [(&'static str, usize); 3] {
        [
            ("unprojected", self.unprojected.len()),
            ("seen_deleted", self.seen_deleted.len()),
            ("buckets", self.delete_limits.len()),
        ]
    }

    /// Returns the state of the caches for one hub Instance, without any object of the many.
    pub(crate) fn snapshot(
        &self,
        project: &Plane,
        key: &Key,
        target: &ProjectNamespace,
        hub_namespace: &ObjectRef,
    ) -> Snapshot {
        let hub = self.planes.hub();
        let wd = Kind::WorkloadDeployment;
        let instance = hub.store(Kind::Instance).digest(&key.namespace, &key.name);
        let facts = instance.as_ref().and_then(Digest::instance);
        let deployment = facts.and_then(|facts| facts.deployment(&key.name)).map(str::to_owned);
        let down = facts.and_then(|facts| self.unreachable.get(facts.city));
        let of_plane =
            |plane: &Plane, namespace: &str| plane.store(wd).digest(namespace, deployment.as_deref()?);
        let projections = project.store(Kind::Instance);
        let projection = projections.digest(&target.namespace, &key.name);
        let normalization = |part| projections.normalization(&target.namespace, &key.name, part);
        Snapshot {
            hub_deployment: of_plane(hub, &key.namespace),
            owner: of_plane(project, &target.namespace),
            withdrawn: projection.as_ref().is_some_and(|of| is_withdrawn(project, target, &key.name, of)),
            projection,
            spec_normalization: normalization(ObjectPart::Spec),
            status_normalization: normalization(ObjectPart::Status),
            key: key.clone(),
            target: target.clone(),
            hub_namespace: hub_namespace.clone(),
            instance,
            deployment,
            confirmed: None,
            seen_deleted: self.seen_deleted.get(key).map(|uid| uid.value().clone()),
            distrust: self.planes.distrust(),
            refetched: false,
            live: None,
            down,
            writes: project.write_state(),
            since_event: Duration::ZERO,
            grace: self.config.grace,
            now: self.planes.clock().now(),
        }
    }

    /// Remembers that nothing is left to do: nothing about this Instance is kept any longer.
    pub(crate) fn mark_synced(&self, project: &Plane, seen: &Snapshot) {
        self.set_state(&seen.key, None);
        if seen.instance.is_some() || seen.projection.is_none() {
            self.seen_deleted.remove(&seen.key);
        }
        self.release(project, seen, seen.fingerprint());
    }

    /// Drops the objects from memory, with the fingerprint under which they are in sync; zero where they are
    /// not.
    pub(crate) fn release(&self, project: &Plane, seen: &Snapshot, fingerprint: u64) {
        let stores = [
            (self.planes.hub().store(Kind::Instance), &*seen.key.namespace, &seen.instance),
            (project.store(Kind::Instance), &*seen.target.namespace, &seen.projection),
        ];
        for (store, namespace, digest) in stores {
            if let Some(digest) = digest {
                store.mark_synced(namespace, &seen.key.name, &digest.version, fingerprint);
            }
        }
    }

    /// Sets or clears the state of an Instance that is not projected, and reports a new one.
    pub(crate) fn set_state(&self, key: &Key, verdict: Option<ProjectionVerdict>) {
        let is_news = self.unprojected.set(key, verdict, self.planes.metrics());
        match verdict.filter(|_| is_news) {
            Some(ProjectionVerdict::Withheld(why)) => {
                let reason = why.label();
                self.planes.metrics().deletes_withheld.with_label_values(&[reason]).inc();
                let Key { namespace, name, .. } = key;
                tracing::warn!(
                    namespace,
                    name,
                    reason,
                    "skipping projection deletion: hub Instance deletion not confirmed"
                );
            }
            Some(ProjectionVerdict::Quarantined(reason)) => {
                let Key { namespace, name, kind, .. } = key;
                tracing::warn!(namespace, name, reason = reason.label(), "hub Instance quarantined");
                if let Some(operators) = self.planes.operators() {
                    let instance = self.planes.hub().store(Kind::Instance).get(namespace, name);
                    operators.warn(
                        Reason::Quarantined,
                        instance.map(|of| reference(*kind, &of)),
                        reason.note(key),
                    );
                }
            }
            Some(ProjectionVerdict::Parked) | None => {}
        }
    }
}

/// Whether the service of the project was withdrawn, and the federator has released the WD of that projection
/// (W9): it did so when live reads showed nothing of it on the hub.
fn is_withdrawn(project: &Plane, target: &ProjectNamespace, name: &str, projection: &Digest) -> bool {
    let deployment = || {
        let deployment = projection.instance()?.deployment(name)?;
        project.store(Kind::WorkloadDeployment).digest(&target.namespace, deployment)
    };
    project.service() == ServiceState::Withdrawn
        && deployment().is_some_and(|wd| wd.deployment().is_some_and(|facts| !facts.held))
}

/// Whether the projection was found in sync with the same inputs.
pub(crate) fn is_synced(project: &Plane, seen: &Snapshot) -> bool {
    let known = project.store(Kind::Instance).synced_under(&seen.target.namespace, &seen.key.name);
    known != 0 && known == seen.fingerprint()
}
