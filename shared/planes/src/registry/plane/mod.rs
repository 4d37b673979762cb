//! One plane: its client, its stores, its health.

pub mod demand;
pub(crate) mod health_log;
pub mod marks;
pub(crate) mod notices;
pub(crate) mod origin;
pub(crate) mod write_state;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fedhub_api::facts::Store;
use fedhub_cache::MemoryBudget;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Kind, Object, PlaneId};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::registry::events::{Events, OperatorEvents, Refused};
use crate::registry::identity::Recognition;
use crate::registry::pauses::Pauses;
use crate::registry::plane::demand::Demanded;
use crate::registry::plane::health_log::{Health, HealthLog, LastFailure};
use crate::registry::plane::marks::{FinalizersHeld, Marks, is_marked};
use crate::registry::plane::notices::Notices;
use crate::registry::plane::origin::Origin;
use crate::registry::plane::write_state::{WriteState, WriteSwitch};
use crate::registry::restores::revision::Revision;
use crate::registry::services::entitlement::ServiceState;
use crate::registry::services::service::Service;
use crate::registry::watched::Watched;
use crate::transport::backoff::{AttemptFailure, Backoffs};
use crate::transport::{Connection, ConnectionAttempt};

/// One plane of the registry.
pub struct Plane {
    /// The id of the plane.
    pub id: PlaneId,
    pub(crate) connection: Connection,
    /// Events on objects of this plane.
    pub events: Events,
    /// Cancelled when the plane is disengaged; ends its tasks and no other's.
    pub stop: CancellationToken,
    /// When its watches began.
    pub(crate) began: Instant,
    pub(crate) fence: Fence,
    /// Each kind once, in their order. Not a tree: a node of one has room for eleven.
    stores: Box<[(Watched, Store)]>,
    /// Kinds that are watched on demand, from when they were first asked for.
    demanded: OnceLock<Box<[Demanded]>>,
    on_demand: Box<[Watched]>,
    /// The empty store of kinds that are not watched here.
    nothing: Store,
    failures: Mutex<BTreeMap<Kind, String>>,
    /// Optional kinds that the plane was found not to serve, or not to let be read, and whether their watches
    /// have ended.
    unserved: Mutex<BTreeMap<Kind, bool>>,
    health_log: HealthLog,
    /// Whether the plane was reported to be in sync.
    announced: AtomicBool,
    pub(crate) recognition: Recognition,
    /// The revision of the hub; `None` for other planes.
    pub(crate) revision: Option<Box<Revision>>,
    pub(crate) marks: Arc<Marks>,
    pub(crate) notices: Notices,
    pub(crate) origin: Origin,
    pub(crate) pauses: Arc<Pauses>,
    pub(crate) service: Service,
    pub(crate) budget: MemoryBudget,
}

impl Plane {
    /// A plane that is not watched yet. Writes to it have to pass `fence`; objects that wait for something to
    /// be done are kept as long as there is `budget`.
    pub fn new(
        id: PlaneId,
        connection: impl Into<Connection>,
        kinds: &[Watched],
        fence: Fence,
        budget: &MemoryBudget,
    ) -> Self {
        let connection = connection.into();
        let store = |kind| Store::new(id.clone(), kind, budget.clone());
        let (on_demand, always): (Vec<_>, Vec<_>) = kinds.iter().partition(|watched| watched.is_on_demand());
        let mut stores: Box<[_]> = always.into_iter().map(|w| (w.clone(), store(w.kind))).collect();
        stores.sort_unstable_by_key(|(watched, _)| watched.kind);
        Self {
            stores,
            revision: Revision::from_plane(&id),
            demanded: OnceLock::new(),
            on_demand: on_demand.into_iter().cloned().collect(),
            nothing: store(Kind::Namespace),
            id,
            events: Events::new(connection.clone(), "fedhub"),
            connection,
            fence,
            stop: CancellationToken::new(),
            began: Instant::now(),
            failures: Mutex::default(),
            unserved: Mutex::default(),
            health_log: HealthLog::new(Health::Engaging.state()),
            announced: AtomicBool::new(false),
            recognition: Recognition::certain(),
            marks: Arc::default(),
            notices: Notices::default(),
            origin: Origin::default(),
            pauses: Pauses::never(),
            service: Service::new(kinds.iter().any(|watched| watched.kind == Kind::ServiceEntitlement)),
            budget: budget.clone(),
        }
    }

    /// Publishes Events for operators to `operators`, and shares `refused`, so that no refused Event is
    /// warned about twice.
    pub(crate) fn reporting_to(
        mut self,
        operators: Option<&OperatorEvents>,
        refused: &Refused,
        metrics: &Metrics,
    ) -> Self {
        self.notices = Notices::to(operators);
        self.events = self.events.sharing(refused).counting(metrics);
        self
    }

    /// Makes writes honour these pauses.
    pub(crate) fn honouring(mut self, pauses: &Arc<Pauses>) -> Self {
        self.pauses = pauses.clone();
        self
    }

    /// The plane was found there. No Events are written to one that takes no writes for now.
    pub(crate) fn is_from(&mut self, origin: Origin) {
        self.origin = origin;
        let suspended = self.origin.suspended.clone();
        let pauses = self.pauses.clone();
        let switch = WriteSwitch { plane: self.id.clone(), suspended, pauses };
        self.events = self.events.clone().unless(switch);
    }

    /// Whether fedhub may write for the project of this plane.
    pub fn write_state(&self) -> WriteState {
        WriteState::new(&self.id, &self.origin.suspended, &self.pauses)
    }

    /// Whether the service runs in the project (W9).
    pub fn service(&self) -> ServiceState {
        self.service.state()
    }

    /// Whether it is known what operators paused.
    pub fn knows_pauses(&self) -> bool {
        self.pauses.known()
    }

    /// The metric label of the plane: one that an operator paused is that, also where it does not answer.
    pub fn state(&self) -> &'static str {
        let paused = self.pauses.known() && self.write_state() == WriteState::Paused;
        if paused { Health::Paused.state() } else { self.health().state() }
    }

    /// Sets whether the project is suspended, and returns whether that is news.
    pub(crate) fn set_suspended(&self, suspended: bool) -> bool {
        let news = self.origin.suspended.swap(suspended, Ordering::AcqRel) != suspended;
        self.state_since();
        news
    }

    /// Marks the plane as not yet recognised as the one that its name stands for.
    pub(crate) fn unrecognised(mut self) -> Self {
        self.recognition = Recognition::default();
        self
    }

    /// The kinds that are watched here.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        self.stores.iter().map(|(watched, _)| watched.kind)
    }

    /// Whether the watch of this kind asks how far the server has come before it goes on after an
    /// interruption (I13). Of a project plane one does, for that is read anew whole; the hub is asked by the
    /// clock.
    pub(crate) fn asks_how_far(&self, kind: Kind) -> bool {
        match self.id {
            PlaneId::Project(_) => {
                let required = self.stores.iter().find(|(watched, _)| !watched.is_optional());
                required.is_some_and(|(watched, _)| watched.kind == kind)
            }
            PlaneId::Management | PlaneId::Cell => true,
            PlaneId::Hub => false,
        }
    }

    /// Returns the store of a kind. A kind that is not watched here has an empty store that is never in sync.
    pub fn store(&self, kind: Kind) -> &Store {
        let always = self.stored(kind).map(|(_, store)| store);
        always.or_else(|| Some(&self.demanded(kind)?.store)).unwrap_or(&self.nothing)
    }

    /// Returns how a kind is watched here; `None` if it is not.
    pub fn watched(&self, kind: Kind) -> Option<&Watched> {
        let always = self.stored(kind).map(|(watched, _)| watched);
        always.or_else(|| Some(&self.demanded(kind)?.watched))
    }

    /// A kind that is watched on demand and was asked for.
    pub fn demanded(&self, kind: Kind) -> Option<&Demanded> {
        self.demanded.get()?.iter().find(|demanded| demanded.watched.kind == kind)
    }

    /// Like [`Self::demanded`], but creates the stores of kinds on demand if there are none. `None` if the
    /// kind is not watched on demand here.
    pub(crate) fn demand(&self, kind: Kind) -> Option<&Demanded> {
        let store = |kind| Store::new(self.id.clone(), kind, self.budget.clone());
        self.demanded
            .get_or_init(|| self.on_demand.iter().map(|w| Demanded::new(w.clone(), store(w.kind))).collect())
            .iter()
            .find(|demanded| demanded.watched.kind == kind)
    }

    /// Whether the plane serves a kind that is watched here, as far as is known: of an optional kind, its
    /// last list tells.
    pub fn serves(&self, kind: Kind) -> bool {
        self.watched(kind).is_some() && !self.unserved.lock().contains_key(&kind)
    }

    /// The list of a kind was answered.
    pub(crate) fn note_served(&self, kind: Kind) {
        self.unserved.lock().remove(&kind);
    }

    /// The plane does not serve an optional kind; of a project plane the watch ends. Returns whether that is
    /// news.
    pub(crate) fn note_unserved(&self, kind: Kind) -> bool {
        self.unserved.lock().insert(kind, matches!(self.id, PlaneId::Project(_))).is_none()
    }

    /// The kinds whose watches have ended.
    pub(crate) fn unwatched(&self) -> Vec<Kind> {
        let unserved = self.unserved.lock();
        unserved.iter().filter(|(_, has_ended)| **has_ended).map(|(kind, _)| *kind).collect()
    }

    /// Notes that a kind is watched again, if its watch had ended; returns whether that is so.
    pub(crate) fn watch_again(&self, kind: Kind) -> bool {
        self.unserved.lock().get_mut(&kind).is_some_and(std::mem::take)
    }

    /// The store that `object` belongs into: none where the watch here would not show it, and so never show
    /// its end.
    pub(crate) fn store_of(&self, kind: Kind, object: &Object) -> Option<&Store> {
        self.watched(kind).filter(|watched| watched.selects(object)).map(|_| self.store(kind))
    }

    fn stored(&self, kind: Kind) -> Option<&(Watched, Store)> {
        self.stores.iter().find(|(watched, _)| watched.kind == kind)
    }

    fn on_demand(&self) -> impl Iterator<Item = &Store> {
        self.demanded.get().into_iter().flatten().map(|demanded| &demanded.store)
    }

    fn all(&self) -> impl Iterator<Item = &Store> {
        self.stores.iter().map(|(_, store)| store)
    }

    /// Whether WDs or Workloads of the plane hold our finalizer, or may do so soon.
    pub fn held(&self) -> FinalizersHeld {
        self.marks.held(&self.marked())
    }

    /// Stops marking on this plane if nothing holds our finalizer and no mark is being written. Returns
    /// whether marking is stopped, so that the plane may be disengaged.
    pub fn close(&self) -> bool {
        self.marks.close(&self.marked())
    }

    /// The stores of what may hold our finalizer: WDs, and what else of it is watched here.
    fn marked(&self) -> Vec<(Kind, &Store)> {
        let others = self.kinds().filter(|kind| is_marked(*kind) && *kind != Kind::WorkloadDeployment);
        [Kind::WorkloadDeployment].into_iter().chain(others).map(|kind| (kind, self.store(kind))).collect()
    }

    /// Whether the plane is the one that its name stands for, it is known what is paused, and all lists are
    /// complete, so that absence means something.
    pub fn synced(&self) -> bool {
        self.recognition.holds() && self.pauses.known() && self.all().all(Store::synced)
    }

    /// How many objects are known.
    pub fn objects(&self) -> usize {
        self.all().chain(self.on_demand()).map(Store::len).sum()
    }

    /// Bytes that their digests take, about.
    pub fn bytes(&self) -> usize {
        self.all().chain(self.on_demand()).map(Store::bytes).sum()
    }

    /// The health of the plane.
    pub fn health(&self) -> Health {
        let failures = self.failures.lock();
        match failures.values().next() {
            Some(reason) => Health::Unreachable(reason.clone()),
            None if self.synced() => match self.write_state() {
                WriteState::Active => Health::Engaged,
                WriteState::Suspended => Health::Suspended,
                WriteState::Paused => Health::Paused,
            },
            None => Health::Engaging,
        }
    }

    /// Returns when the plane entered the state that [`Self::state`] returns.
    pub fn state_since(&self) -> Instant {
        self.health_log.note(self.state())
    }

    /// How a watch of it failed last, if one ever did.
    pub fn last_failure(&self) -> Option<LastFailure> {
        self.health_log.last_failure()
    }

    /// Removes the failure of a watch. Returns whether there was one, and whether it was the last of the
    /// plane.
    pub(crate) fn healthy(&self, kind: Kind) -> (bool, bool) {
        let mut failures = self.failures.lock();
        let news = failures.remove(&kind).is_some();
        let whole = news && failures.is_empty();
        drop(failures);
        if whole {
            self.state_since();
        }
        (news, whole)
    }

    /// Records the failure of a watch, and returns whether that is news.
    pub(crate) fn unhealthy(&self, kind: Kind, reason: String) -> bool {
        self.health_log.failed(kind, reason.clone());
        let before = self.failures.lock().insert(kind, reason.clone());
        self.state_since();
        before.as_ref() != Some(&reason)
    }

    /// Whether this watch fails.
    pub fn is_failing(&self, kind: Kind) -> bool {
        self.failures.lock().contains_key(&kind)
    }

    /// Marks the plane as reported to be in sync, and returns whether it was not before.
    pub(crate) fn announce(&self) -> bool {
        !self.announced.swap(true, Ordering::Relaxed)
    }

    /// A request to this plane was forbidden.
    pub(crate) fn forbidden(&self, verb: &str, resource: &str) {
        self.notices.forbidden(&self.id, verb, resource);
    }

    /// An object cannot be read, see [`Notices::unreadable`].
    pub(crate) fn unreadable(&self, kind: Kind, of: &ObjectMeta, error: &str) -> bool {
        self.notices.unreadable(&self.id, &self.events, kind, of, error)
    }

    /// A client for requests that are made now; writes go through [`crate::registry::writes`], so that stores
    /// learn of them.
    pub fn client(&self) -> kube::Client {
        self.connection.client()
    }

    /// How clients of it are made, and what its server is known for.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the name of the plane's server in logs; that of the plane if it is not known.
    pub(crate) fn server_name(&self) -> String {
        self.connection.server_name().unwrap_or_else(|| self.id.to_string())
    }

    /// Whether the server came back a moment ago, and may not have started up yet.
    pub(crate) fn is_starting(&self) -> bool {
        self.connection.is_starting()
    }

    /// Begins an attempt to connect.
    pub(crate) fn attempt(&self) -> ConnectionAttempt {
        self.connection.attempt()
    }

    /// Waits out a failed attempt.
    pub(crate) async fn wait(
        &self,
        wait: Duration,
        failure: AttemptFailure,
        attempt: &ConnectionAttempt,
        waits: &mut Backoffs,
    ) {
        self.connection.wait(wait, failure, attempt, waits).await;
    }

    /// Waits until the server has answered a watch of this kind that was asked for after `since`.
    pub(crate) async fn watch_begins(&self, kind: Kind, since: Instant) {
        self.connection.watch_begins(&kind.resource().plural, since).await;
    }
}
