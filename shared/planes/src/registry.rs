//! The registry: which planes there are.
//!
//! Read on every pass, written when planes come and go. Engaging one plane never waits for another, and disengaging
//! one ends exactly its own tasks (section 2).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dashmap::DashMap;
use fedhub_cache::{Change, MemoryBudget};
use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use tokio_util::task::TaskTracker;

use crate::events::{OperatorEvents, Refused};
use crate::history::History;
use crate::identity::Identities;
use crate::listener::Listener;
use crate::lists::{Lists, Place};
use crate::origin::Origin;
use crate::outages::Outages;
use crate::plane::{Health, Plane};
use crate::settings::Settings;
use crate::tenancy::TenantIndex;
use crate::transport::Connection;
use crate::watched::Watched;

/// The registry: the plane that it is around, its anchor, and all project planes. A process may have several, which
/// share nothing.
pub struct Planes {
    pub(crate) anchor: Arc<Plane>,
    project_kinds: Vec<Watched>,
    projects: DashMap<PlaneName, Arc<Plane>>,
    /// Planes that cannot be engaged at all (a broken kubeconfig, a refused name), with the reason.
    refused: Mutex<std::collections::BTreeMap<String, String>>,
    /// Planes that are gone for good.
    gone: Mutex<BTreeSet<PlaneName>>,
    pub(crate) outages: Mutex<Outages>,
    pub(crate) history: Mutex<History>,
    tenants: TenantIndex,
    listeners: RwLock<Vec<Arc<dyn Listener>>>,
    pub(crate) metrics: Metrics,
    clock: Clock,
    pub(crate) fence: Fence,
    budget: MemoryBudget,
    seed: AtomicU64,
    pub(crate) tasks: TaskTracker,
    lists: Lists,
    pub(crate) identities: Option<Arc<Identities>>,
    operators: Option<OperatorEvents>,
    refused_events: Refused,
}

impl Planes {
    /// The hub role's registry, around the hub, with no project plane yet. `seed` makes every jitter reproducible.
    pub fn new(hub: impl Into<Connection>, metrics: Metrics, clock: Clock, seed: u64) -> Arc<Self> {
        Self::with(hub, metrics, clock, Settings { seed, ..Settings::default() })
    }

    /// The same, with settings of one's own. `connection` is the anchor's.
    pub fn with(
        connection: impl Into<Connection>,
        metrics: Metrics,
        clock: Clock,
        settings: Settings,
    ) -> Arc<Self> {
        let Settings {
            seed,
            anchor,
            anchor_kinds,
            project_kinds,
            lists_at_once,
            fence,
            identities,
            operators,
            budget,
        } = settings;
        let refused_events = Refused::default();
        let anchor = Plane::new(anchor, connection, &anchor_kinds, fence.clone(), &budget);
        Arc::new(Self {
            anchor: Arc::new(anchor.telling(operators.as_ref(), &refused_events, &metrics)),
            project_kinds,
            projects: DashMap::new(),
            refused: Mutex::default(),
            gone: Mutex::default(),
            outages: Mutex::default(),
            history: Mutex::default(),
            tenants: TenantIndex::default(),
            listeners: RwLock::default(),
            metrics,
            clock,
            fence,
            budget,
            seed: AtomicU64::new(seed),
            tasks: TaskTracker::new(),
            lists: Lists::at_once(lists_at_once),
            identities,
            operators,
            refused_events,
        })
    }

    /// Has `listener` told of everything that the watches say. To be called before [`Self::start`].
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Starts the watches of the anchor.
    pub fn start(self: &Arc<Self>) {
        self.watch(self.anchor.clone());
        if self.anchor.revision.is_some() {
            self.tasks.spawn(self.clone().keep_comparing());
        }
    }

    /// The plane that the registry is around.
    pub fn anchor(&self) -> &Arc<Plane> {
        &self.anchor
    }

    /// The hub, of a registry that is around it. Of another nobody may ask.
    pub fn hub(&self) -> &Arc<Plane> {
        debug_assert_eq!(self.anchor.id, PlaneId::Hub, "the registry is around another plane");
        &self.anchor
    }

    /// A project plane that is known, in whatever state.
    pub fn project(&self, name: &PlaneName) -> Option<Arc<Plane>> {
        self.projects.get(name).map(|p| p.value().clone())
    }

    /// A project plane whose watches are in sync.
    pub fn engaged(&self, name: &PlaneName) -> Option<Arc<Plane>> {
        self.project(name).filter(|p| p.synced())
    }

    /// Whether that kind is watched on project planes.
    pub(crate) fn watches_on_projects(&self, kind: Kind) -> bool {
        self.project_kinds.iter().any(|watched| watched.kind == kind)
    }

    /// Which hub namespaces stand for which project namespaces.
    pub fn tenants(&self) -> &TenantIndex {
        &self.tenants
    }

    /// Whether the anchor and that project plane are in sync, so that an object of it can be worked on. Where they are
    /// not, nothing is lost by waiting: everything of a plane is looked at when it comes into sync.
    pub fn ready(&self, name: &PlaneName) -> bool {
        self.anchor.synced() && self.projects.get(name).is_some_and(|plane| plane.synced())
    }

    /// Whether the anchor is in sync, and no project plane is on its way to that.
    pub fn warm(&self) -> bool {
        self.anchor.synced() && !self.projects.iter().any(|plane| plane.value().health() == Health::Engaging)
    }

    /// Counts a hub event that goes nowhere because that plane is not engaged: engaging it reads everything anyway.
    pub fn count_dropped(&self, name: &PlaneName) {
        if !self.projects.get(name).is_some_and(|plane| plane.synced()) {
            self.metrics.events_dropped.with_label_values(&["not_engaged"]).inc();
        }
    }

    /// All project planes, by name.
    pub fn projects(&self) -> Vec<Arc<Plane>> {
        let mut planes: Vec<_> = self.projects.iter().map(|p| p.value().clone()).collect();
        planes.sort_by(|a, b| a.id.cmp(&b.id));
        planes
    }

    /// Engages a project plane: its watches begin now, its objects are worked on once they are in sync. A plane of
    /// that name that is there already is replaced (its credentials or its address changed).
    pub fn engage(self: &Arc<Self>, name: &PlaneName, connection: impl Into<Connection>) -> Arc<Plane> {
        self.engage_from(name, connection, Origin::default())
    }

    /// The same, for a plane that was found there.
    pub fn engage_from(
        self: &Arc<Self>,
        name: &PlaneName,
        connection: impl Into<Connection>,
        origin: Origin,
    ) -> Arc<Plane> {
        self.accept(name.as_str());
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        let plane = self.fresh(name, connection.into(), origin, self.project(name).as_deref());
        tracing::info!(plane = %name, "engaging");
        if let Some(old) = self.projects.insert(name.clone(), plane.clone()) {
            self.end(&old);
        }
        self.watch(plane.clone());
        plane
    }

    /// A project plane of which nothing is known but what is under way there since `old` was engaged under its name.
    pub(crate) fn fresh(
        &self,
        name: &PlaneName,
        connection: Connection,
        origin: Origin,
        old: Option<&Plane>,
    ) -> Arc<Plane> {
        let id = PlaneId::Project(name.clone());
        let mut plane = Plane::new(id, connection, &self.project_kinds, self.fence.clone(), &self.budget)
            .telling(self.operators.as_ref(), &self.refused_events, &self.metrics);
        plane.is_from(origin);
        if let Some(old) = old {
            plane.marks = old.marks.clone();
        }
        Arc::new(if self.identities.is_some() { plane.unrecognised() } else { plane })
    }

    /// Engages a plane anew with the client that it has, if it still stands: nothing that was known of it counts.
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

    /// A project is suspended from now on, or resumed: everything of its plane is looked at once more.
    pub fn suspend(&self, name: &PlaneName, suspended: bool) {
        let Some(plane) = self.project(name) else { return };
        if !plane.set_suspended(suspended) {
            return;
        }
        let (before, now) = if suspended { ("engaged", "suspended") } else { ("suspended", "engaged") };
        tracing::info!(plane = %name, before, now, "plane state changed");
        if let Some(kind) = plane.kinds().next().filter(|_| plane.synced()) {
            for listener in self.listeners().iter() {
                listener.synced(&plane, kind);
            }
        }
    }

    /// Ends the watches of a plane that is replaced or let go.
    fn end(&self, plane: &Plane) {
        plane.stop.cancel();
        self.told_of_recovery(plane);
    }

    /// Lets a project plane go: its watches end, its objects are forgotten, nothing is deleted anywhere.
    pub fn disengage(&self, name: &PlaneName) {
        self.accept(name.as_str());
        if let Some((_, plane)) = self.projects.remove(name) {
            tracing::info!(plane = %name, "disengaged");
            self.end(&plane);
            if let Some(identities) = &self.identities {
                identities.release(name);
            }
            for listener in self.listeners().iter() {
                listener.left(&plane);
            }
        }
    }

    /// A plane is gone for good: whoever has the list of planes says that there is none of that name, and nothing
    /// answers for it. It is let go, and what the hub has of it is orphaned (F11), until one of that name is engaged.
    pub fn declare_gone(&self, name: &PlaneName) {
        self.disengage(name);
        if self.gone.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
            for listener in self.listeners().iter() {
                listener.gone(name);
            }
        }
    }

    /// Whether that plane is gone for good.
    pub fn is_gone(&self, name: &PlaneName) -> bool {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// The planes that are gone for good, by name.
    pub fn gone(&self) -> Vec<PlaneName> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Remembers that a plane cannot be engaged, and why. Says whether that is news.
    pub fn refuse(&self, name: &str, reason: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.insert(name.to_owned(), reason.to_owned()).as_deref() != Some(reason)
    }

    pub(crate) fn accept(&self, name: &str) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// How many project planes there are in each state, for the metric `planes`.
    pub fn states(&self) -> [(&'static str, i64); 4] {
        let count = |state| self.projects.iter().filter(|p| p.value().health().state() == state).count();
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).len();
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        [
            ("engaging", number(count("engaging"))),
            ("engaged", number(count("engaged"))),
            ("unreachable", number(count("unreachable") + refused)),
            ("suspended", number(count("suspended"))),
        ]
    }

    /// Tells operators what is theirs to see to, where there is a place for that.
    pub fn operators(&self) -> Option<&OperatorEvents> {
        self.operators.as_ref()
    }

    /// The metrics of the process.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The memory that objects of all planes share.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// The clock of the process.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether this process leads, so that its writes pass.
    pub fn leads(&self) -> bool {
        self.fence.holds()
    }

    /// Has everything looked at once more that is in sync: the beginning of a term.
    pub fn resync(&self) {
        // The anchor's word is about all objects of all planes.
        if let Some(kind) = self.anchor.kinds().next().filter(|_| self.anchor.synced()) {
            for listener in self.listeners().iter() {
                listener.synced(&self.anchor, kind);
            }
        }
    }

    /// A seed that no other caller got.
    pub fn seed(&self) -> u64 {
        self.seed.fetch_add(1, Ordering::Relaxed)
    }

    /// Stores what is to be remembered of planes and of the hub and is not stored yet (I4): before this process stops
    /// leading.
    pub async fn remember(&self) {
        if let Some(identities) = &self.identities {
            identities.close().await;
        }
    }

    /// Ends all watches and waits until they have.
    pub async fn stop(&self) {
        self.anchor.stop.cancel();
        for plane in self.projects() {
            plane.stop.cancel();
        }
        self.tasks.close();
        self.tasks.wait().await;
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A place among the lists of project planes that are under way; waits for it.
    pub(crate) async fn turn_to_list(&self, plane: &Plane) -> Option<Place<'_>> {
        self.lists.turn(plane).await
    }

    pub(crate) fn listeners(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<dyn Listener>>> {
        self.listeners.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, plane: &Plane, kind: Kind, change: Option<Change>) {
        let Some(change) = change else { return };
        if plane.id == PlaneId::Hub && kind == Kind::Namespace {
            self.tenants.changed(&change);
        }
        self.note_revision(plane, kind, &change);
        for listener in self.listeners().iter() {
            listener.changed(plane, kind, &change);
        }
    }

    pub(crate) fn synced(&self, plane: &Plane, kind: Kind) {
        if plane.synced() && plane.announce() {
            tracing::info!(plane = %plane.id, "in sync");
        }
        for listener in self.listeners().iter() {
            listener.synced(plane, kind);
        }
    }
}
