//! The service in each project (W9): what entitlements say is read, judged and remembered; what was seen to
//! be withdrawn is awaited, and what was not is held for an operator (I4).

use std::sync::Arc;

use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, Object, PlaneId};
use tokio::time::Instant;

use crate::registry::services::entitlement::{
    CRD, Decision, Entitlement, Grant, ServiceOutlook, decide, read, went_with_kind,
};
use crate::registry::services::service::{ENTITLEMENT, KnownService};
use crate::{Pass, Plane, Planes};

impl Plane {
    /// Whether the entitlement of a project that was granted the service is missing, and was not seen to be
    /// deleted: an operator decides (I4).
    pub fn misses_entitlement(&self) -> bool {
        self.service.is_held()
    }
}

impl Planes {
    /// Returns what the entitlements of a project say; that they are unreadable if it is not known for
    /// certain.
    fn entitlement(plane: &Plane, service: &KnownService) -> Entitlement {
        if plane.is_failing(ENTITLEMENT) || !plane.serves(ENTITLEMENT) {
            return Entitlement::Unreadable;
        }
        let objects = plane.store(ENTITLEMENT).objects(None);
        match read(objects.iter().map(|object| &**object)) {
            Entitlement::Absent if service.unread => Entitlement::Unreadable,
            Entitlement::Absent if service.deleted.is_some() => Entitlement::Deleted,
            entitlement => entitlement,
        }
    }

    /// Returns the last known grant of the service in a project; `decided` is that of its plane. What is
    /// stored comes first, for an operator may have written it there; a withdrawal that is not stored yet
    /// does not count.
    fn last_grant(&self, name: &PlaneName, decided: Option<Grant>) -> Option<Grant> {
        let Some(identities) = &self.identities else { return decided };
        let grant = identities.grant(name);
        if self.is_stored(name, grant) { grant } else { decided }
    }

    /// Whether what follows from a decision may be done: the process that comes next must not bring back what
    /// this one has taken away, so that a withdrawal is stored first.
    fn is_stored(&self, name: &PlaneName, grant: Option<Grant>) -> bool {
        let withdrawn = Some(Grant::Withdrawn);
        grant != withdrawn
            || self.identities.as_ref().is_none_or(|known| known.stored_grant(name) == withdrawn)
    }

    /// Judges the service in the project of a plane, and returns whether that is news.
    pub(crate) fn judge_service(&self, plane: &Plane) -> bool {
        let PlaneId::Project(name) = &plane.id else { return false };
        // A plane that is not in sync is judged once it is.
        if !self.watches_on_projects(ENTITLEMENT) || !plane.synced() {
            return false;
        }
        let mut service = plane.service.lock();
        let entitlement = Self::entitlement(plane, &service);
        if !matches!(entitlement, Entitlement::Deleted | Entitlement::Unreadable) {
            service.deleted = None;
        }
        let last = self.last_grant(name, service.grant);
        let decided = decide(last, entitlement, service.permitted);
        if let Some(identities) = &self.identities {
            identities.note_grant(name, decided.grant);
        }
        let Decision { state, grant, outlook } = if self.is_stored(name, decided.grant) {
            decided
        } else {
            Decision { state: service.state, grant: last, outlook: ServiceOutlook::Withdrawing }
        };
        service.grant = grant;
        if outlook != ServiceOutlook::Withdrawing {
            service.since = None;
            service.permitted = false;
        } else if service.since.is_none() {
            let now = Instant::now();
            service.since = Some(now);
            self.services.await_return(name, now + self.services.delay);
        }
        let before = std::mem::replace(&mut service.state, state);
        let expected = std::mem::replace(&mut service.outlook, outlook);
        drop(service);
        if before != state {
            tracing::info!(plane = %name, ?before, now = ?state, ?entitlement, "service state changed");
        }
        if outlook == ServiceOutlook::Held && expected != ServiceOutlook::Held {
            tracing::warn!(plane = %name, "entitlement is missing and was not seen to be deleted, keeping what runs");
        }
        before != state
    }

    /// Judges the services of those projects again: what is stored of them has changed.
    pub(crate) fn judge_services(&self, names: &[PlaneName]) {
        for plane in names.iter().filter_map(|name| self.project(name)) {
            if self.judge_service(&plane) {
                self.look_again(&plane);
            }
        }
    }

    /// Withdraws services that were withdrawn and have not come back in time.
    pub(crate) async fn keep_services(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.anchor.stop.cancelled() => return,
                () = self.services.next() => {}
            }
            for plane in self.services.over(Instant::now()).iter().filter_map(|name| self.project(name)) {
                self.tasks.spawn(self.clone().withdraw(plane));
            }
        }
    }

    /// Withdraws the service of a project whose time is over, when it is its turn.
    async fn withdraw(self: Arc<Self>, plane: Arc<Plane>) {
        let PlaneId::Project(name) = &plane.id else { return };
        let (since, deleted) = {
            let service = plane.service.lock();
            (service.since, service.deleted.clone())
        };
        let went_with_kind = match deleted {
            Some(deleted) => {
                tokio::select! {
                    biased;
                    () = plane.stop.cancelled() => return,
                    went = Self::went_with_kind(&plane, &deleted) => went,
                }
            }
            None => false,
        };
        {
            let mut service = plane.service.lock();
            // It came back meanwhile.
            if since.is_none() || service.since != since {
                return;
            }
            if went_with_kind {
                service.deleted = None;
            } else if let Err(wait) = self.services.permit(&plane.key(ENTITLEMENT, "", CRD), Instant::now()) {
                self.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
                return self.services.await_return(name, Instant::now() + wait);
            } else {
                service.permitted = true;
            }
        }
        if self.judge_service(&plane) {
            self.look_again(&plane);
        }
    }

    /// Whether an entitlement that was deleted went with its kind, or that cannot be told.
    async fn went_with_kind(plane: &Plane, deleted: &Object) -> bool {
        match plane.get_live(&Pass::unbound(), Kind::CustomResourceDefinition, "", CRD).await {
            Ok(crd) => {
                let went = went_with_kind(deleted, crd.as_ref());
                if went {
                    tracing::warn!(plane = %plane.id, "entitlements went with their CRD, keeping what runs");
                }
                went
            }
            Err(error) => {
                let error = errors::chain(&error);
                tracing::warn!(plane = %plane.id, error, "failed to read the CRD of a deleted entitlement, keeping what runs");
                true
            }
        }
    }
}
