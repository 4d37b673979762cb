//! The service in each project (W9): what entitlements say is read, judged and remembered and, where it is withdrawn, awaited.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use tokio::time::Instant;

use crate::entitlement::{CRD, Decision, Entitlement, Grant, absence, decide, read};
use crate::service::ENTITLEMENT;
use crate::{Plane, Planes};

/// How often it is asked whether a withdrawal is stored.
const STORED: Duration = Duration::from_secs(1);
/// When a CRD is read again that could not be read.
const READ_AGAIN: Duration = Duration::from_secs(30);

impl Planes {
    /// What the entitlements of a project say; where that is not known for certain, that they are unreadable.
    fn entitlement(plane: &Plane) -> Entitlement {
        let store = plane.store(ENTITLEMENT);
        if plane.is_failing(ENTITLEMENT) {
            return Entitlement::Unreadable;
        }
        if !plane.serves(ENTITLEMENT) {
            return Entitlement::Unserved;
        }
        let objects = store.objects(None);
        match read(objects.iter().map(|object| &**object)) {
            Entitlement::Absent if plane.service.lock().unread => Entitlement::Unreadable,
            entitlement => entitlement,
        }
    }

    /// Whether what follows from a decision may be done: the process that comes next must not bring back what this one has
    /// taken away, so that a withdrawal is remembered first.
    fn is_remembered(&self, name: &PlaneName, last: Option<Grant>, grant: Option<Grant>) -> bool {
        let withdrawn = Some(Grant::Withdrawn);
        let is_new = grant == withdrawn && last != withdrawn;
        !is_new || self.identities.as_ref().is_none_or(|known| known.stored_grant(name) == withdrawn)
    }

    /// Judges the service in the project of a plane, and returns whether that is news.
    pub(crate) fn judge_service(&self, plane: &Plane) -> bool {
        let PlaneId::Project(name) = &plane.id else { return false };
        // What is not in sync is judged when it is.
        if !self.watches_on_projects(ENTITLEMENT) || !plane.synced() {
            return false;
        }
        let (now, entitlement) = (Instant::now(), Self::entitlement(plane));
        let mut service = plane.service.lock();
        let last = service.grant.or_else(|| self.identities.as_ref()?.grant(name));
        let absence = service.absence.take().filter(|_| entitlement == Entitlement::Absent);
        let proven = entitlement != Entitlement::Absent || absence.is_some();
        let entitlement = absence.unwrap_or(entitlement);
        let over = service.since.is_some_and(|since| now.duration_since(since) >= self.services.delay);
        let waited = over && proven;
        let decision = decide(last, entitlement, waited);
        if let Some(identities) = &self.identities {
            identities.note_grant(name, decision.grant);
        }
        let Decision { state, grant, waits } = if self.is_remembered(name, last, decision.grant) {
            decision
        } else {
            Decision { state: service.state, grant: last, waits: true }
        };
        service.grant = grant;
        service.since = waits.then(|| service.since.unwrap_or(now));
        let before = std::mem::replace(&mut service.state, state);
        match service.since {
            Some(since) => self.services.await_return(name, (since + self.services.delay).max(now + STORED)),
            None => service.permitted = false,
        }
        drop(service);
        if before != state {
            tracing::info!(plane = %name, ?before, now = ?state, ?entitlement, "service state changed");
        }
        before != state
    }

    /// Judges again where the service was withdrawn and has not come back in time.
    pub(crate) async fn keep_services(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.anchor.stop.cancelled() => return,
                () = self.services.next() => {}
            }
            for plane in self.services.over(Instant::now()).iter().filter_map(|name| self.project(name)) {
                self.tasks.spawn(self.clone().judge_again(plane));
            }
        }
    }

    /// Judges the service of a project whose time is over. That no entitlement is there counts only with what its CRD says.
    async fn judge_again(self: Arc<Self>, plane: Arc<Plane>) {
        let PlaneId::Project(name) = &plane.id else { return };
        if Self::entitlement(&plane) == Entitlement::Absent {
            let absence = tokio::select! {
                biased;
                () = plane.stop.cancelled() => return,
                absence = self.absence(&plane) => absence,
            };
            match absence {
                Ok(absence) => plane.service.lock().absence = Some(absence),
                Err(wait) => return self.services.await_return(name, Instant::now() + wait),
            }
        }
        let news = self.judge_service(&plane);
        // Where the plane fell out of sync meanwhile, nothing was judged: it is read again then.
        plane.service.lock().absence = None;
        if news {
            self.look_again(&plane);
        }
    }

    /// What it means that a project has no entitlement; how long to wait where that cannot be told, or may not count yet.
    async fn absence(&self, plane: &Plane) -> Result<Entitlement, Duration> {
        let now = Instant::now();
        let (since, permitted) = {
            let service = plane.service.lock();
            (service.since.unwrap_or(now), service.permitted)
        };
        let since = self.clock().now() - now.duration_since(since);
        let crd = plane.get_live(Kind::CustomResourceDefinition, "", CRD).await.map_err(|error| {
            let error = errors::chain(&error);
            tracing::warn!(plane = %plane.id, error, "failed to read the CRD of absent entitlements, keeping what runs");
            READ_AGAIN
        })?;
        let means = absence(crd.as_ref(), since);
        if means != Entitlement::Absent {
            tracing::warn!(plane = %plane.id, "entitlements went with their CRD, keeping what runs");
        } else if !permitted {
            self.services.permit(&plane.key(ENTITLEMENT, "", CRD), Instant::now()).inspect_err(|_| {
                self.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
            })?;
            plane.service.lock().permitted = true;
        }
        Ok(means)
    }
}
