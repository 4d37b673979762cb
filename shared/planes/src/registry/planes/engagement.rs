//! How project planes are engaged, replaced, suspended and disengaged.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use k8s_openapi::api::core::v1::ObjectReference;

use super::Planes;
use super::refusal::PlaneRefusal;
use crate::listwatch::WatchError;
use crate::registry::events::Events;
use crate::registry::plane::Plane;
use crate::registry::plane::origin::Origin;
use crate::transport::Connection;

/// How long a project plane is watched at least before it is read anew because its server went back to an
/// earlier state.
const ANEW: Duration = Duration::from_secs(10);

impl Planes {
    /// Engages a project plane: its watches begin now, its objects are worked on once they are in sync. A
    /// plane of that name that is there already is replaced (its credentials or its address changed).
    pub fn engage(self: &Arc<Self>, name: &PlaneName, connection: impl Into<Connection>) -> Arc<Plane> {
        self.engage_from(name, connection, Origin::default())
    }

    /// Like [`Self::engage`], for a plane that was found at `origin`.
    pub fn engage_from(
        self: &Arc<Self>,
        name: &PlaneName,
        connection: impl Into<Connection>,
        origin: Origin,
    ) -> Arc<Plane> {
        self.accept(name.as_str());
        self.gone.lock().remove(name);
        let plane = self.fresh(name, connection.into(), origin, self.project(name).as_deref());
        tracing::info!(plane = %name, "engaging plane");
        if let Some(old) = self.projects.insert(name.clone(), plane.clone()) {
            self.end(&old);
        }
        self.watch(plane.clone());
        plane
    }

    /// A project plane of which nothing is known but what is under way there since `old` was engaged under
    /// its name.
    pub(crate) fn fresh(
        &self,
        name: &PlaneName,
        connection: Connection,
        origin: Origin,
        old: Option<&Plane>,
    ) -> Arc<Plane> {
        let id = PlaneId::Project(name.clone());
        let mut plane = Plane::new(id, connection, &self.project_kinds, self.fence.clone(), &self.budget)
            .honouring(&self.pauses)
            .reporting_to(self.operators.as_ref(), &self.refused_events, &self.metrics);
        plane.is_from(origin);
        if let Some(old) = old {
            plane.marks = old.marks.clone();
        }
        Arc::new(if self.identities.is_some() { plane.unrecognised() } else { plane })
    }

    /// Engages a plane again with the client that it has, unless it was replaced: its cached state is
    /// dropped.
    pub(crate) fn reengage(self: &Arc<Self>, old: &Plane) {
        let PlaneId::Project(name) = &old.id else { return };
        let plane = self.fresh(name, old.connection.clone(), old.origin.clone(), Some(old));
        match self.projects.get_mut(name) {
            Some(mut standing) if std::ptr::eq(Arc::as_ptr(&standing), old) => *standing = plane.clone(),
            _ => return,
        }
        self.end(old);
        // It may be another cluster.
        for listener in self.listeners().iter() {
            listener.left(old);
        }
        self.watch(plane);
    }

    /// A watch has shown that the server of a plane went back to an earlier state (I13). A project plane is
    /// read anew, and not more often than every few seconds, whatever it says; of another plane each watch
    /// lists anew what it watches.
    pub(crate) async fn went_back(self: &Arc<Self>, plane: &Plane, error: &WatchError) {
        let error = errors::chain(error);
        tracing::warn!(plane = %plane.id, error, "resourceVersions decreased, listing everything again");
        if let PlaneId::Project(_) = plane.id {
            tokio::time::sleep_until(plane.began + ANEW).await;
            self.reengage(plane);
            std::future::pending::<()>().await;
        }
    }

    /// Suspends or resumes a project: all objects of its plane are reconciled again.
    pub fn suspend(&self, name: &PlaneName, suspended: bool) {
        let Some(plane) = self.project(name) else { return };
        let before = plane.health().state();
        if !plane.set_suspended(suspended) {
            return;
        }
        tracing::info!(plane = %name, before, now = plane.health().state(), "plane state changed");
        self.look_again(&plane);
    }

    /// Requeues all objects of a project plane, if the plane is in sync.
    pub(crate) fn look_again(&self, plane: &Plane) {
        if let Some(kind) = plane.kinds().next()
            && plane.synced()
        {
            for listener in self.listeners().iter() {
                listener.synced(plane, kind);
            }
        }
    }

    /// Ends the watches of a plane that is replaced or disengaged.
    fn end(&self, plane: &Plane) {
        plane.stop.cancel();
        self.log_recovery(plane);
    }

    /// Disengages a project plane: its watches end, its objects are forgotten, nothing is deleted anywhere.
    pub fn disengage(&self, name: &PlaneName) {
        self.accept(name.as_str());
        if let Some((_, plane)) = self.projects.remove(name) {
            tracing::info!(plane = %name, "plane disengaged");
            self.end(&plane);
            if let Some(identities) = &self.identities {
                identities.release(name);
            }
            for listener in self.listeners().iter() {
                listener.left(&plane);
            }
        }
    }

    /// Declares a plane gone for good: discovery lists none of that name, and none answers for it. It is
    /// disengaged, and what the hub has of it is orphaned (F11), until one of that name is engaged.
    pub fn declare_gone(&self, name: &PlaneName) {
        self.disengage(name);
        if self.gone.lock().insert(name.clone()) {
            for listener in self.listeners().iter() {
                listener.gone(name);
            }
        }
    }

    /// Whether that plane is gone for good.
    pub fn is_gone(&self, name: &PlaneName) -> bool {
        self.gone.lock().contains(name)
    }

    /// The planes that are gone for good, by name.
    pub fn gone(&self) -> Vec<PlaneName> {
        self.gone.lock().iter().cloned().collect()
    }

    /// Records why a plane cannot be engaged, and returns whether that is news. It becomes an Event on
    /// `about`, which nothing waits for, once for each reason, by the leader.
    pub fn refuse(&self, name: &str, reason: &str, about: Option<(ObjectReference, Events)>) -> bool {
        let mut refused = self.refused.lock();
        if refused.get(name).is_some_and(|known| known.reason == reason) {
            return false;
        }
        let mut refusal = PlaneRefusal { reason: reason.to_owned(), unpublished: about };
        if self.leads() {
            refusal.publish();
        }
        refused.insert(name.to_owned(), refusal);
        true
    }

    /// Publishes the refusals that were found before this process led.
    pub(crate) fn publish_refusals(&self) {
        if self.leads() {
            self.refused.lock().values_mut().for_each(PlaneRefusal::publish);
        }
    }

    /// The planes that cannot be engaged, by name, each with the reason.
    pub fn refused(&self) -> Vec<(String, String)> {
        let refused = self.refused.lock();
        refused.iter().map(|(name, refusal)| (name.clone(), refusal.reason.clone())).collect()
    }

    pub(crate) fn accept(&self, name: &str) {
        self.refused.lock().remove(name);
    }
}
