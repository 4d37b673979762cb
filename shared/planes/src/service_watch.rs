//! The service in each project (W9): what entitlements say is read, judged and remembered and, where it is withdrawn, awaited.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use tokio::time::Instant;

use crate::entitlement::{Decision, Entitlement, Grant, decide, read};
use crate::service::ENTITLEMENT;
use crate::{Plane, Planes};

/// How often it is asked whether a withdrawal is stored.
const STORED: Duration = Duration::from_secs(1);

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
        let waited = service.since.is_some_and(|since| now.duration_since(since) >= self.services.delay);
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
        if let Some(since) = service.since {
            self.services.await_return(name, (since + self.services.delay).max(now + STORED));
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
            for name in self.services.over(Instant::now()) {
                if let Some(plane) = self.project(&name)
                    && self.judge_service(&plane)
                {
                    self.look_again(&plane);
                }
            }
        }
    }
}
