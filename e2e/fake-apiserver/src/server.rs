//! The server as a test holds it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use kube::Client;
use serde_json::json;

use crate::audit::{Audit, AuditEntry, Mark, RequestKind};
use crate::clock::Clock;
use crate::faults::{FaultId, FaultRule, Faults};
use crate::meta;
use crate::resource::{self, Resource};
use crate::service::ApiService;
use crate::store::Store;
use crate::world::{Shared, World};

/// How many changes a server remembers by default.
const HISTORY: usize = 4096;

/// An API server in memory. Clones are handles to the same server.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) shared: Arc<Shared>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiServer({})", self.shared.name)
    }
}

/// Makes an [`ApiServer`]. What clones of a builder make share what does not change.
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    resources: Vec<Arc<Resource>>,
    clock: Option<Clock>,
    history: usize,
    gc: bool,
    audit: bool,
}

impl Builder {
    /// Serves these resources as well. One of the same name and group takes the place of the earlier one.
    #[must_use]
    pub fn resources(mut self, resources: impl IntoIterator<Item = Resource>) -> Self {
        for resource in resources {
            self = self.resource(resource);
        }
        self
    }

    /// Serves this resource as well. One of the same name and group takes the place of the earlier one.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        match self.resources.iter_mut().find(|other| other.qualified() == resource.qualified()) {
            Some(other) => *other = Arc::new(resource),
            None => self.resources.push(Arc::new(resource)),
        }
        self
    }

    /// Another name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Whether every request is recorded, as [`ApiServer::audit`] shows it. They are unless this says no;
    /// then they are only counted, and the record does not grow.
    #[must_use]
    pub fn audit(mut self, on: bool) -> Self {
        self.audit = on;
        self
    }

    /// The server's clock; without it, [`Clock::default`].
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// How many changes the server remembers; watches that ask for older ones get 410.
    #[must_use]
    pub fn history(mut self, changes: usize) -> Self {
        self.history = changes;
        self
    }

    /// Whether objects whose owners are gone are removed. They are unless this says no.
    #[must_use]
    pub fn garbage_collection(mut self, on: bool) -> Self {
        self.gc = on;
        self
    }

    /// The server. If it serves namespaces, `default` is there.
    pub fn build(self) -> ApiServer {
        let name_hash = meta::fnv(self.name.as_bytes());
        let world = World {
            resources: self.resources,
            // Servers start at different revisions, so that a resourceVersion taken to the wrong one is
            // noticed.
            store: Store::new(1000 + name_hash % 1_000_000, self.history),
            clock: self.clock.unwrap_or_default(),
            gc: self.gc,
            chores: VecDeque::new(),
            faults: Faults::default(),
            audit: Audit::new(self.audit),
            epoch: 0,
            highest: 0,
            minted: 0,
            name_hash,
        };
        let server = ApiServer { shared: Arc::new(Shared::new(&self.name, world)) };
        server.shared.with(|world| world.ensure_namespace("default"));
        server
    }
}

impl World {
    /// Creates a namespace unless it is there, or this server has none.
    pub(crate) fn ensure_namespace(&mut self, name: &str) {
        let Some(resource) = self.resources.iter().position(|r| r.is_namespace()) else { return };
        if self.namespace(name).is_none() {
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            // A name that is refused is refused again, with its reason, for the object that wants to be in
            // it.
            let _made = self.create(resource, "", body, false);
        }
    }
}

/// A backup of a server's objects.
#[derive(Clone)]
pub struct Snapshot(Store);

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({} objects at {})", self.0.objects.len(), self.0.revision)
    }
}

impl ApiServer {
    /// A builder for a server that serves nothing yet. The name goes into its UIDs.
    pub fn builder(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            resources: Vec::new(),
            clock: None,
            history: HISTORY,
            gc: true,
            audit: true,
        }
    }

    /// A project plane: [`resource::project_plane`].
    pub fn project_plane(name: &str) -> Self {
        Self::builder(name).resources(resource::project_plane()).build()
    }

    /// The hub: [`resource::hub`].
    pub fn hub(name: &str) -> Self {
        Self::builder(name).resources(resource::hub()).build()
    }

    /// A cell: [`resource::cell`].
    pub fn cell(name: &str) -> Self {
        Self::builder(name).resources(resource::cell()).build()
    }

    /// The management plane: [`resource::base`].
    pub fn management(name: &str) -> Self {
        Self::builder(name).resources(resource::base()).build()
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// A client of this server. It has to be made inside a tokio runtime.
    pub fn client(&self) -> Client {
        Client::new(self.service(), "default")
    }

    /// A client whose requests say this user agent.
    pub fn client_as(&self, user_agent: &str) -> Client {
        Client::new(ApiService { user_agent: Some(user_agent.to_owned()), ..self.service() }, "default")
    }

    /// The transport, for wrapping into layers.
    pub fn service(&self) -> ApiService {
        ApiService { shared: self.shared.clone(), user_agent: None }
    }

    /// Serves one more resource from now on, as installing a CRD does.
    pub fn register(&self, resource: Resource) {
        self.shared.with(|world| {
            let same = world.resources.iter_mut().find(|other| other.qualified() == resource.qualified());
            match same {
                Some(other) => *other = Arc::new(resource),
                None => world.resources.push(Arc::new(resource)),
            }
        });
    }

    /// Whether it serves a resource.
    pub(crate) fn serves(&self, group: &str, plural: &str) -> bool {
        self.shared.with(|world| {
            world.resources.iter().any(|resource| resource.group == group && resource.plural == plural)
        })
    }

    /// Serves a resource no more, by its plural and group, as removing a CRD does (`widgets.example.com`).
    /// Ends all watches.
    pub fn unregister(&self, resource: &str) {
        self.shared.with(|world| {
            let gone = world.resources.iter_mut().find(|other| other.qualified() == resource);
            // Objects are known by the place of their resource, which stays.
            if let Some(gone) = gone {
                *gone = Arc::new(Resource::custom("", "", "", ""));
            }
        });
        self.break_watches();
    }

    /// Switches the removal of objects whose owners are gone; switched on, it catches up at once.
    pub fn set_garbage_collection(&self, on: bool) {
        self.shared.with(|world| {
            world.gc = on;
            world.collect_all();
        });
    }

    /// The server's time.
    pub fn clock(&self) -> Clock {
        self.shared.lock().clock.clone()
    }

    /// Every request since the start, or since the record was cleared.
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.shared.lock().audit.all().to_vec()
    }

    /// This point in the record.
    pub fn mark(&self) -> Mark {
        self.shared.lock().audit.mark()
    }

    /// Every request since a mark.
    pub fn requests_since(&self, mark: Mark) -> Vec<AuditEntry> {
        self.shared.lock().audit.since(mark).to_vec()
    }

    /// The writes that were asked for since a mark, the refused and the pointless included, dry runs not.
    pub fn writes_since(&self, mark: Mark) -> Vec<AuditEntry> {
        self.shared.lock().audit.since(mark).iter().filter(|entry| entry.is_write()).cloned().collect()
    }

    /// Forgets the record so far; marks stay good.
    pub fn clear_audit(&self) {
        self.shared.with(|world| world.audit.clear());
    }

    /// How many requests of each kind there were.
    pub fn counts(&self) -> BTreeMap<RequestKind, u64> {
        self.shared.lock().audit.counts.clone()
    }

    /// Resets the counters.
    pub fn clear_counts(&self) {
        self.shared.with(|world| world.audit.counts.clear());
    }

    /// Switches a fault on, until it is cleared or has struck as often as it says.
    pub fn fault(&self, rule: impl Into<FaultRule>) -> FaultId {
        let rule = rule.into();
        self.shared.with(|world| world.faults.add(rule))
    }

    /// Switches one fault off.
    pub fn clear_fault(&self, id: FaultId) {
        self.shared.with(|world| world.faults.remove(id));
    }

    /// Switches all faults off.
    pub fn clear_faults(&self) {
        self.shared.with(|world| world.faults.clear());
    }

    /// Ends all open watches, in good order, as a restarting server does.
    pub fn break_watches(&self) {
        self.shared.with(|world| world.epoch += 1);
    }

    /// Forgets history: every resourceVersion that anyone has seen so far is answered 410 by a new watch and
    /// by the next page of a list. Open watches go on; [`ApiServer::break_watches`] makes them ask again.
    pub fn compact(&self) {
        self.shared.with(|world| {
            world.store.revision += 1;
            world.store.floor = world.store.revision;
        });
    }

    /// The server's newest resourceVersion.
    pub fn revision(&self) -> u64 {
        self.shared.lock().store.revision
    }

    /// A backup.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.shared.lock().store.clone())
    }

    /// Restores a backup as plain `etcdctl snapshot restore` does: the resourceVersions go back too, so a
    /// watch that resumes from before sees nothing until the counter has passed its version, and gets no 410.
    /// Open watches end.
    pub fn restore(&self, snapshot: &Snapshot) {
        self.shared.with(|world| {
            world.highest = world.highest.max(world.store.revision);
            world.store = snapshot.0.clone();
            world.epoch += 1;
        });
    }

    /// Puts a backup back with `--bump-revision --mark-compacted`: the resourceVersion goes on from the
    /// highest ever given, and all up to that are 410. Open watches end.
    pub fn restore_bumped(&self, snapshot: &Snapshot) {
        self.shared.with(|world| {
            let next = world.highest.max(world.store.revision) + 1;
            world.store = snapshot.0.clone();
            world.store.bump_to(next);
            world.epoch += 1;
        });
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.shared.lock().store.objects.len()
    }

    /// A hash over all objects with all of their metadata: equal if nothing was changed.
    pub fn objects_hash(&self) -> u64 {
        let world = self.shared.lock();
        let all = world.store.objects.values();
        all.fold(0, |hash, object| meta::fnv(object.text().as_bytes()) ^ hash.rotate_left(1))
    }
}
