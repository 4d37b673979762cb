//! The registry: which planes there are.
//!
//! Read on every pass, written when planes come and go. Engaging one plane never waits for another, and
//! disengaging one ends exactly its own tasks (section 2).

mod engagement;
mod refusal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dashmap::DashMap;
use fedhub_api::facts::Change;
use fedhub_cache::MemoryBudget;
use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tokio_util::task::TaskTracker;

use crate::listwatch::limits;
use crate::registry::events::{OperatorEvents, Refused};
use crate::registry::identity::Identities;
use crate::registry::listener::Listener;
use crate::registry::pauses::Pauses;
use crate::registry::plane::Plane;
use crate::registry::plane::health_log::Health;
use crate::registry::pump::lists::{ListPermit, Lists};
use crate::registry::pump::outages::Outages;
use crate::registry::restores::history::History;
use crate::registry::services::service::Services;
use crate::registry::settings::Settings;
use crate::registry::tenancy::TenantIndex;
use crate::registry::watched::Watched;
use crate::transport::Connection;
use refusal::PlaneRefusal;

/// The registry: the plane that it is around, its anchor, and all project planes. A process may have several,
/// which share nothing.
pub struct Planes {
    pub(crate) anchor: Arc<Plane>,
    project_kinds: Vec<Watched>,
    /// Discovery has seen a whole list of planes.
    discovered: AtomicBool,
    projects: DashMap<PlaneName, Arc<Plane>>,
    /// Planes that cannot be engaged at all (a broken kubeconfig, a refused name), with the reason.
    refused: Mutex<BTreeMap<String, PlaneRefusal>>,
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
    max_objects: usize,
    pub(crate) identities: Option<Arc<Identities>>,
    pub(crate) pauses: Arc<Pauses>,
    pub(crate) services: Services,
    operators: Option<OperatorEvents>,
    refused_events: Refused,
}

impl Planes {
    /// The hub role's registry, around the hub, with no project plane yet. `seed` makes every jitter
    /// reproducible.
    pub fn new(hub: impl Into<Connection>, metrics: Metrics, clock: Clock, seed: u64) -> Arc<Self> {
        Self::with(hub, metrics, clock, Settings { seed, ..Settings::default() })
    }

    /// Creates a registry with `settings`. `connection` is the anchor's.
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
            max_concurrent_lists,
            max_objects,
            fence,
            identities,
            operators,
            pauses,
            teardown_delay,
            withdrawals_per_minute,
            budget,
        } = settings;
        let refused_events = Refused::default();
        let anchor = Plane::new(anchor, connection, &anchor_kinds, fence.clone(), &budget).honouring(&pauses);
        Arc::new(Self {
            anchor: Arc::new(anchor.reporting_to(operators.as_ref(), &refused_events, &metrics)),
            project_kinds,
            discovered: AtomicBool::new(false),
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
            lists: Lists::new(max_concurrent_lists),
            max_objects,
            identities,
            pauses,
            services: Services::new(teardown_delay, withdrawals_per_minute),
            operators,
            refused_events,
        })
    }

    /// Adds a listener to all watches. To be called before [`Self::start`].
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.listeners.write().push(listener);
    }

    /// Starts the watches of the anchor.
    pub fn start(self: &Arc<Self>) {
        self.watch(self.anchor.clone());
        if self.anchor.revision.is_some() {
            self.tasks.spawn(self.clone().keep_comparing());
        }
        if self.project_kinds.iter().any(Watched::is_optional) {
            self.tasks.spawn(self.clone().keep_asking());
        }
        if self.watches_on_projects(Kind::ServiceEntitlement) {
            self.tasks.spawn(self.clone().keep_services());
        }
    }

    /// The plane that the registry is around.
    pub fn anchor(&self) -> &Arc<Plane> {
        &self.anchor
    }

    /// The hub, of a registry that is around it; not to be called on another.
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

    /// Returns the index from hub namespaces to project namespaces.
    pub fn tenants(&self) -> &TenantIndex {
        &self.tenants
    }

    /// Whether the anchor and that project plane are in sync, so that an object of it can be worked on. Where
    /// they are not, nothing is lost by waiting: everything of a plane is looked at when it comes into sync.
    pub fn ready(&self, name: &PlaneName) -> bool {
        self.anchor.synced() && self.projects.get(name).is_some_and(|plane| plane.synced())
    }

    /// Whether the anchor is in sync, and no project plane is on its way to that.
    pub fn warm(&self) -> bool {
        self.anchor.synced() && !self.projects.iter().any(|plane| plane.value().health() == Health::Engaging)
    }

    /// Marks initial discovery as complete: every plane that existed when it began is engaged or was refused.
    pub fn mark_discovered(&self) {
        self.discovered.store(true, Ordering::Relaxed);
    }

    /// Whether it is known which planes there are.
    pub fn discovered(&self) -> bool {
        self.discovered.load(Ordering::Relaxed)
    }

    /// Counts a hub event that goes nowhere because that plane is not engaged: engaging it reads everything
    /// anyway.
    pub fn count_dropped(&self, name: &PlaneName) {
        if !self.projects.get(name).is_some_and(|plane| plane.synced()) {
            self.metrics.events_dropped.with_label_values(&["not_engaged"]).inc();
        }
    }

    /// Returns all project planes, by name.
    pub fn projects(&self) -> Vec<Arc<Plane>> {
        let mut planes: Vec<_> = self.projects.iter().map(|p| p.value().clone()).collect();
        planes.sort_by(|a, b| a.id.cmp(&b.id));
        planes
    }

    /// The sum of a figure of all project planes, which need not be in any order for that. `figure` must not
    /// ask the registry.
    pub fn sum<const N: usize>(&self, figure: impl Fn(&Plane) -> [usize; N]) -> [usize; N] {
        let figures = self.projects.iter().map(|plane| figure(plane.value()));
        figures.fold([0; N], |sum, one| std::array::from_fn(|at| sum[at] + one[at]))
    }

    /// How many project planes there are in each state, for the metric `planes`.
    pub fn states(&self) -> [(&'static str, i64); 5] {
        let mut states =
            ["engaging", "engaged", "unreachable", "suspended", "paused"].map(|state| (state, 0));
        let refused = std::iter::repeat_n("unreachable", self.refused.lock().len());
        for state in self.projects.iter().map(|plane| plane.value().state()).chain(refused) {
            states.iter_mut().filter(|(name, _)| *name == state).for_each(|(_, count)| *count += 1);
        }
        states
    }

    /// Returns the publisher of Events for operators, if there is a place for these.
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
        self.fence.holds(None)
    }

    /// Requeues every object that is in sync, at the start of a leadership term.
    pub fn resync(&self) {
        self.publish_refusals();
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

    /// Stores what is to be remembered of planes and of the hub and is not stored yet (I4): before this
    /// process stops leading.
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
        self.listeners.write().clear();
    }

    /// How many objects of a kind that plane may have.
    pub(crate) fn most_objects(&self, plane: &PlaneId) -> usize {
        match plane {
            PlaneId::Project(_) => self.max_objects,
            PlaneId::Hub | PlaneId::Management | PlaneId::Cell => limits::OF_ALL,
        }
    }

    /// Waits for a permit to list a project plane.
    pub(crate) async fn list_permit(&self, plane: &Plane) -> ListPermit<'_> {
        self.lists.permit(plane).await
    }

    pub(crate) fn listeners(&self) -> RwLockReadGuard<'_, Vec<Arc<dyn Listener>>> {
        self.listeners.read()
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
        if kind == Kind::ServiceEntitlement {
            plane.service.note(&change);
            if self.judge_service(plane) {
                self.look_again(plane);
            }
        }
    }

    pub(crate) fn synced(&self, plane: &Plane, kind: Kind) {
        plane.state_since();
        if plane.synced() && plane.announce() {
            tracing::info!(plane = %plane.id, "plane in sync");
        }
        self.judge_service(plane);
        for listener in self.listeners().iter() {
            listener.synced(plane, kind);
        }
    }
}
