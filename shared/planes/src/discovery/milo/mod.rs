//! Discovery `milo`: one plane for each Project that is Ready, behind the server that the Projects are on.
//!
//! A project that is deleted or turns not Ready stays engaged for as long as WDs of it hold our finalizer,
//! which only this process can remove. Which those are, the plane's own store says, and its watch says when
//! the last one is free. What other processes left behind is searched for at the start and at the beginning
//! of each term: in projects that are not Ready, and in those that are gone and named by what the hub still
//! has of them.

pub mod decision;
mod federated;
mod leaving;
mod project;
mod resource;
mod vanished;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use futures::{StreamExt, pin_mut};
use http::uri::{InvalidUri, PathAndQuery};
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

pub use self::resource::resource;

use self::decision::{PlaneAction, ProjectFacts, ProjectState, decide};
use self::leaving::Leaving;
use self::project::KnownProject;
use self::resource::{GROUP, VERSION};
use crate::listwatch::resume::resumed;
use crate::registry::events::Events;
use crate::transport::{Connection, Server};
use crate::{Origin, Plane, Planes};

/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;

/// Returns the path of a project's plane on its server. A path of the server's own is dropped: Milo serves
/// projects at its root, also to those who see the Projects through an organization's plane.
pub fn path(project: &PlaneName) -> Result<PathAndQuery, InvalidUri> {
    PathAndQuery::try_from(format!("/apis/{GROUP}/{VERSION}/projects/{project}/control-plane"))
}

/// Makes the connection to a project's plane, or returns why there is none.
pub type Connect = Box<dyn Fn(&PlaneName) -> Result<Connection, String> + Send + Sync>;

/// Planes behind `server`, with the credentials that it is known with at any time.
pub fn behind(server: Server) -> Connect {
    Box::new(move |project| {
        let path = path(project).map_err(|e| e.to_string())?;
        Ok(server.connection_at(path, &PlaneId::Project(project.clone())))
    })
}

/// Watches the Projects and keeps the registry as they say.
pub struct Milo {
    planes: Arc<Planes>,
    connection: Connection,
    connect: Connect,
    events: Events,
    known: BTreeMap<String, KnownProject>,
    leaving: Arc<Leaving>,
    /// The first list is complete.
    listed: bool,
    /// Whether planes were searched for finalizers that other processes left behind.
    searched: bool,
    /// The term in which that was, if this process led then.
    term: Option<i32>,
}

impl Milo {
    /// Discovery over the Projects of the server of `connection`.
    pub fn new(planes: Arc<Planes>, connection: impl Into<Connection>, connect: Connect) -> Self {
        let connection = connection.into();
        let leaving = Arc::new(Leaving::default());
        planes.listen(leaving.clone());
        let events = Events::new(connection.clone(), "fedhub").counting(planes.metrics());
        Self {
            planes,
            connect,
            events,
            connection,
            known: BTreeMap::new(),
            leaving,
            listed: false,
            searched: false,
            term: None,
        }
    }

    /// Runs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let config = watcher::Config::default().timeout(WATCH_SECONDS);
        let projects: Api<DynamicObject> = Api::all_with(self.connection.client(), resource());
        let watch = move || watcher(projects.clone(), config.clone());
        let stream = resumed(watch, self.connection.clone(), self.planes.seed());
        pin_mut!(stream);
        let mut failing = false;
        let leaving = self.leaving.clone();
        let mut looks = tokio::time::interval_at(Instant::now() + vanished::EVERY, vanished::EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut listed = BTreeSet::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                news = leaving.woken() => {
                    for plane in news.planes {
                        self.act_on(plane.as_str(), false);
                    }
                    if news.hub {
                        self.find_leftovers();
                    }
                    continue;
                }
                _ = looks.tick() => {
                    if !failing {
                        self.look_for_vanished();
                    }
                    continue;
                }
                event = stream.next() => event,
            };
            match event {
                Some(Ok(event)) => {
                    if !matches!(event, Event::Init | Event::InitApply(_)) && std::mem::take(&mut failing) {
                        tracing::info!("watch of Projects recovered");
                    }
                    self.changed(event, &mut listed);
                }
                Some(Err(error)) => {
                    let error = errors::chain(&error);
                    if std::mem::replace(&mut failing, true) {
                        tracing::debug!(error, "failed to watch Projects");
                    } else {
                        tracing::warn!(error, "failed to watch Projects, keeping known planes");
                    }
                }
                None => {
                    tracing::error!("watch of Projects ended: no new planes are discovered");
                    return;
                }
            }
        }
    }

    /// Handles an event of the watch; `listed` are the Projects of the list under way.
    fn changed(&mut self, event: Event<DynamicObject>, listed: &mut BTreeSet<String>) {
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(project) => {
                listed.insert(project.name_any());
                self.applied(&project);
            }
            Event::InitDone => {
                let gone: Vec<_> =
                    self.known.keys().filter(|name| !listed.contains(*name)).cloned().collect();
                for name in gone {
                    self.gone(&name);
                }
                self.listed = true;
                self.planes.mark_discovered();
                self.find_leftovers();
            }
            Event::Apply(project) => self.applied(&project),
            Event::Delete(project) => self.gone(&project.name_any()),
        }
    }

    fn applied(&mut self, project: &DynamicObject) {
        let name = project.name_any();
        if let Err(error) = PlaneName::new(&name) {
            self.refuse(project, &error.to_string());
        }
        self.known.insert(name.clone(), KnownProject::from_project(project));
        if let Some(reason) = self.act_on(&name, !self.listed) {
            self.refuse(project, &reason);
        }
    }

    fn gone(&mut self, name: &str) {
        if let Some(known) = self.known.get_mut(name) {
            known.state = ProjectState::Absent;
            self.act_on(name, false);
        }
    }

    /// Looks for WDs that other processes marked in projects that are not Ready by now, or gone: once in each
    /// term, when both the Projects and what is on the hub are known.
    fn find_leftovers(&mut self) {
        let term = self.planes.fence.epoch();
        if !self.listed || !self.planes.anchor.synced() || (self.searched && self.term == term) {
            return;
        }
        (self.searched, self.term) = (true, term);
        for plane in self.planes.federated() {
            self.known.entry(plane.to_string()).or_insert_with(|| KnownProject::gone(plane));
        }
        let left = self.known.iter().filter(|(_, known)| known.state != ProjectState::Ready);
        let left: Vec<_> = left.map(|(name, known)| (name.clone(), self.may_be_marked(known))).collect();
        for (name, may_be_marked) in left {
            if let Some(reason) = self.act_on(&name, may_be_marked) {
                tracing::warn!(project = name, reason, "failed to inspect the plane of a removed Project");
            }
        }
    }

    /// Whether another process may have marked WDs of a Project. One that is gone held its WDs until they
    /// were free, unless the hub has WDs of it still.
    fn may_be_marked(&self, known: &KnownProject) -> bool {
        let has_deployments = known.plane.as_ref().is_some_and(|plane| self.planes.has_deployments(plane));
        known.state != ProjectState::Absent || has_deployments
    }

    /// Checks which Projects of remembered planes are gone, once the Projects and the objects on the hub are
    /// known.
    fn look_for_vanished(&self) {
        if !self.listed || !self.planes.anchor.synced() || !self.planes.leads() {
            return;
        }
        let there = self.known.values().filter(|known| known.state != ProjectState::Absent);
        let there = there.filter_map(|known| known.plane.clone()).collect();
        let look = vanished::look(self.planes.clone(), self.connection.clone(), there);
        let stop = self.planes.anchor.stop.clone();
        self.planes.tasks.spawn(async move {
            tokio::select! { biased; () = stop.cancelled() => (), () = look => () }
        });
    }

    fn refuse(&self, project: &DynamicObject, reason: &str) {
        let name = project.name_any();
        let about = (project.object_ref(resource()), self.events.clone());
        if self.planes.refuse(&name, reason, Some(about)) {
            tracing::warn!(project = name, reason, "ignoring invalid Project");
        }
    }

    /// Engages, keeps or disengages the plane of a Project. Returns why a plane cannot be engaged.
    fn act_on(&mut self, name: &str, first: bool) -> Option<String> {
        let known = self.known.get(name)?;
        let state = known.state;
        let suspended = known.suspended;
        let Some(plane) = known.plane.clone() else {
            if state == ProjectState::Absent {
                self.forget(name);
            }
            return None;
        };
        let leaving = self.leaving.remove(&plane);
        if state != ProjectState::Ready {
            self.leaving.add(&plane);
        }
        let engaged = self.planes.project(&plane);
        let held = engaged.as_ref().map(|plane| plane.held());
        let before = engaged.as_ref().and_then(|plane| plane.origin.project.as_deref());
        let remade = before.zip(known.uid()).is_some_and(|(before, now)| before != now);
        let unserved = engaged.as_ref().is_some_and(|plane| plane.recognition.is_unserved());
        match decide(ProjectFacts { state, plane: held, leaving, first, remade, unserved }) {
            PlaneAction::Engage => return self.engage(&plane, known, engaged.filter(|_| remade)),
            PlaneAction::Inspect => {
                let refusal = self.engage(&plane, known, engaged.filter(|_| remade));
                if refusal.is_none() {
                    tracing::info!(plane = %plane, ?state, "engaged plane to check its WorkloadDeployments for our finalizer");
                }
                return refusal;
            }
            PlaneAction::Stay => self.planes.suspend(&plane, suspended),
            PlaneAction::Hold => {
                self.planes.suspend(&plane, suspended);
                if !leaving {
                    tracing::info!(plane = %plane, ?state, "keeping plane engaged until its WorkloadDeployments have no finalizer of ours");
                }
                self.await_marks(engaged);
            }
            // A write of this very moment counts, too.
            PlaneAction::Disengage if engaged.as_ref().is_some_and(|plane| !plane.close()) => {
                self.await_marks(engaged);
            }
            PlaneAction::Disengage => {
                self.planes.disengage(&plane);
                self.leave(name, &plane, state);
            }
            PlaneAction::Abandon => {
                tracing::warn!(plane = %plane, "Project is gone and its plane is not served: its hub objects are orphaned");
                self.planes.declare_gone(&plane);
                self.leave(name, &plane, state);
            }
            PlaneAction::Ignore => {
                self.planes.accept(name);
                self.leave(name, &plane, state);
            }
        }
        None
    }

    /// Engages the plane of a Project, in place of one that was recreated under its name. Returns why it
    /// cannot.
    fn engage(&self, plane: &PlaneName, known: &KnownProject, remade: Option<Arc<Plane>>) -> Option<String> {
        let connection = match (self.connect)(plane) {
            Ok(connection) => connection,
            Err(reason) => {
                if known.state == ProjectState::Absent {
                    self.planes.declare_gone(plane);
                }
                return Some(reason);
            }
        };
        let project = known.uid().map(str::to_owned);
        if let Some(old) = remade {
            let before = old.origin.project.as_deref();
            tracing::info!(plane = %plane, before, now = project, "Project was recreated, dropping cached state of its plane");
            self.planes.disengage(plane);
        }
        let about = known.about.clone().map(|about| (about, self.events.clone()));
        let origin = Origin { about, project, suspended: Arc::new(known.suspended.into()) };
        self.planes.engage_from(plane, connection, origin);
        None
    }

    /// Ends the wait for a plane that leaves; a Project that is gone is forgotten. No WD of the plane holds
    /// our finalizer, so that what the hub still has is orphaned.
    fn leave(&mut self, name: &str, plane: &PlaneName, state: ProjectState) {
        self.leaving.remove(plane);
        if state == ProjectState::Absent {
            if self.planes.is_federated(plane) {
                self.planes.declare_gone(plane);
            }
            self.forget(name);
        }
    }

    /// Wakes the decision about a plane that leaves once no WD of it is being marked.
    fn await_marks(&self, plane: Option<Arc<Plane>>) {
        let Some(plane) = plane.filter(|plane| plane.marks.in_flight()) else { return };
        let leaving = self.leaving.clone();
        self.planes.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = plane.stop.cancelled() => (),
                () = plane.marks.idle() => leaving.wake(&plane),
            }
        });
    }

    fn forget(&mut self, name: &str) {
        self.known.remove(name);
        self.planes.accept(name);
    }
}
