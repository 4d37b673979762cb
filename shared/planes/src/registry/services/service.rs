//! What is known of the service in each project (W9), and which projects may get it back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_api::facts::Change;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView};
use fedhub_core::rate_limit::TokenBucket;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::registry::due::until_due;
use crate::registry::services::entitlement::{Grant, ServiceOutlook, ServiceState, is_ours};

/// The kind that says whether a project has the service.
pub(crate) const ENTITLEMENT: Kind = Kind::ServiceEntitlement;

/// The service in the project of a plane.
pub(crate) struct Service(Mutex<KnownService>);

/// The state of the service in a project.
#[derive(Default)]
pub(crate) struct KnownService {
    /// Whether it runs there.
    pub state: ServiceState,
    /// The last decision of this process.
    pub grant: Option<Grant>,
    /// The expected outcome of the state.
    pub outlook: ServiceOutlook,
    /// When the service was withdrawn, while it may come back.
    pub since: Option<Instant>,
    /// Whether the list has an entitlement that cannot be read.
    pub unread: bool,
    /// The entitlement that was seen to be deleted, by a watch that has been unbroken since.
    pub deleted: Option<ObjectRef>,
    /// Whether it may be withdrawn: the delay is over, and so is the wait for its turn.
    pub permitted: bool,
}

impl Service {
    /// Creates the service of a project. If entitlements are watched there, nothing is known before they were
    /// read.
    pub fn new(watched: bool) -> Self {
        let state = if watched { ServiceState::Unknown } else { ServiceState::Active };
        Self(Mutex::new(KnownService { state, ..KnownService::default() }))
    }

    pub fn lock(&self) -> MutexGuard<'_, KnownService> {
        self.0.lock()
    }

    pub fn state(&self) -> ServiceState {
        self.0.lock().state
    }

    /// Whether an operator has to decide: see [`ServiceOutlook::Held`].
    pub fn is_held(&self) -> bool {
        self.0.lock().outlook == ServiceOutlook::Held
    }

    /// Notes whether a change of entitlements was the deletion of one to this service that was seen. Of one
    /// that was not read it is not known which service it was to.
    pub fn note(&self, change: &Change) {
        if let Change::Deleted { last, inferred: false } = change
            && let Some(deleted) = &last.object
            && deleted.too_large().is_none()
            && is_ours(deleted)
        {
            self.0.lock().deleted = Some(deleted.clone());
        }
    }

    /// An object of that kind cannot be read.
    pub fn unread(&self, kind: Kind) {
        if kind == ENTITLEMENT {
            self.0.lock().unread = true;
        }
    }

    /// A list of that kind begins, which has all that is unreadable. The watch before it had a gap: what may
    /// have come and gone since a deletion was not seen.
    pub fn list_begins(&self, kind: Kind) {
        if kind == ENTITLEMENT {
            let mut service = self.0.lock();
            service.unread = false;
            service.deleted = None;
        }
    }
}

/// The projects whose service is withdrawn and may come back.
pub(crate) struct Services {
    /// How long it has to be withdrawn.
    pub delay: Duration,
    due: Mutex<Due>,
    bell: Notify,
    rate: Mutex<TokenBucket>,
}

/// When projects are judged again: each once, at the time that was said last.
#[derive(Default)]
struct Due {
    of: BTreeMap<PlaneName, Instant>,
    in_order: BTreeSet<(Instant, PlaneName)>,
}

impl Due {
    fn enter(&mut self, plane: &PlaneName, due: Instant) {
        if let Some(before) = self.of.insert(plane.clone(), due) {
            self.in_order.remove(&(before, plane.clone()));
        }
        self.in_order.insert((due, plane.clone()));
    }

    fn first(&self) -> Option<Instant> {
        self.in_order.first().map(|(due, _)| *due)
    }

    fn take(&mut self, now: Instant) -> Option<PlaneName> {
        self.first().filter(|first| *first <= now)?;
        let (_, plane) = self.in_order.pop_first()?;
        self.of.remove(&plane);
        Some(plane)
    }
}

impl Services {
    /// Withdraws the service `delay` after an entitlement is gone, and from at most `per_minute` projects a
    /// minute: many withdrawals at once are more often a mistake, which an operator can stop with
    /// `fedhub pause`.
    pub fn new(delay: Duration, per_minute: u32) -> Self {
        let rate = Mutex::new(TokenBucket::new(per_minute, Instant::now()));
        Self { delay, due: Mutex::default(), bell: Notify::new(), rate }
    }

    /// Whether one more may be withdrawn; how long it has to wait where it may not yet.
    pub fn permit(&self, project: &Key, now: Instant) -> Result<(), Duration> {
        self.rate.lock().take(project, now)
    }

    /// Schedules another decision about a project's service at `due`.
    pub fn await_return(&self, plane: &PlaneName, due: Instant) {
        self.due.lock().enter(plane, due);
        self.bell.notify_one();
    }

    /// The projects whose time is over.
    pub fn over(&self, now: Instant) -> Vec<PlaneName> {
        let mut due = self.due.lock();
        std::iter::from_fn(|| due.take(now)).collect()
    }

    /// Waits until the time of one may be over.
    pub async fn next(&self) {
        let first = self.due.lock().first();
        until_due(first, &self.bell).await;
    }
}
