//! Discovery `milo`: one plane for each Project that is Ready, behind the server that the Projects are on.
//!
//! A project that is deleted or turns not Ready stays engaged for as long as WDs of it hold our finalizer: nobody else
//! could take it off. Which those are, the plane's own store says, and its watch says when the last one is free. What
//! other processes left behind is looked for at the start and at the beginning of each term: in projects that are not
//! Ready, and in those that are gone and named by what the hub still has of them.

pub mod decision;
mod federated;
mod leaving;
mod project;
mod resource;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use futures::{StreamExt, pin_mut};
use http::uri::{InvalidUri, PathAndQuery};
use kube::api::DynamicObject;
use kube::runtime::events::EventType;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use tokio_util::sync::CancellationToken;

pub use self::resource::resource;

use self::decision::{Facts, ProjectState, Verdict, decide};
use self::leaving::Leaving;
use self::project::KnownProject;
use self::resource::{GROUP, VERSION};
use crate::events::Events;
use crate::resume::resumed;
use crate::transport::{Connection, Server};
use crate::{Origin, Plane, Planes};

/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;

/// Where the plane of a project is on its server. A path of the server's own is dropped: Milo serves projects at its
/// root, also to those who see the Projects through an organization's plane.
pub fn path(project: &PlaneName) -> Result<PathAndQuery, InvalidUri> {
    PathAndQuery::try_from(format!("/apis/{GROUP}/{VERSION}/projects/{project}/control-plane"))
}

/// Makes the connection to a project's plane, or says why there is none.
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
    /// It was looked for what other processes left behind.
    looked: bool,
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
            looked: false,
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
        let mut listed = BTreeSet::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                news = leaving.woken() => {
                    for plane in news.planes {
                        self.judge(plane.as_str(), false);
                    }
                    if news.hub {
                        self.look_around();
                    }
                    continue;
                }
                event = stream.next() => event,
            };
            if failing && matches!(event, Some(Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)))) {
                failing = false;
                tracing::info!("the Projects can be watched again");
            }
            match event {
                Some(Ok(Event::Init)) => listed.clear(),
                Some(Ok(Event::InitApply(project))) => {
                    listed.insert(project.name_any());
                    self.applied(&project).await;
                }
                Some(Ok(Event::InitDone)) => {
                    let gone: Vec<_> =
                        self.known.keys().filter(|name| !listed.contains(*name)).cloned().collect();
                    for name in gone {
                        self.gone(&name);
                    }
                    self.listed = true;
                    self.look_around();
                }
                Some(Ok(Event::Apply(project))) => self.applied(&project).await,
                Some(Ok(Event::Delete(project))) => self.gone(&project.name_any()),
                Some(Err(error)) if failing => {
                    tracing::debug!(error = errors::chain(&error), "the Projects still cannot be watched");
                }
                Some(Err(error)) => {
                    failing = true;
                    tracing::warn!(
                        error = errors::chain(&error),
                        "the Projects cannot be watched; known planes stay"
                    );
                }
                None => {
                    tracing::error!("the watch of Projects ended; known planes stay, new ones are not seen");
                    return;
                }
            }
        }
    }

    async fn applied(&mut self, project: &DynamicObject) {
        let name = project.name_any();
        if let Err(error) = PlaneName::new(&name) {
            self.refuse(project, error.to_string()).await;
        }
        self.known.insert(name.clone(), KnownProject::of(project));
        if let Some(reason) = self.judge(&name, !self.listed) {
            self.refuse(project, reason).await;
        }
    }

    fn gone(&mut self, name: &str) {
        if let Some(known) = self.known.get_mut(name) {
            known.standing = ProjectState::Absent;
            self.judge(name, false);
        }
    }

    /// Looks for WDs that other processes marked in projects that are not Ready by now, or gone: once in each term, when
    /// both the Projects and what is on the hub are known.
    fn look_around(&mut self) {
        let term = self.planes.fence.epoch();
        if !self.listed || !self.planes.anchor.synced() || (self.looked && self.term == term) {
            return;
        }
        (self.looked, self.term) = (true, term);
        for plane in self.planes.federated() {
            self.known.entry(plane.to_string()).or_insert_with(|| KnownProject::gone(plane));
        }
        let left = self.known.iter().filter(|(_, known)| known.standing != ProjectState::Ready);
        for name in left.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            if let Some(reason) = self.judge(&name, true) {
                tracing::warn!(project = name, reason, "what is left of this Project cannot be looked at");
            }
        }
    }

    async fn refuse(&self, project: &DynamicObject, reason: String) {
        let name = project.name_any();
        if self.planes.refuse(&name, &reason) {
            tracing::warn!(project = name, reason, "this Project makes no plane");
            let about = project.object_ref(resource());
            self.events.say(&about, EventType::Warning, "PlaneRefused", reason).await;
        }
    }

    /// Does what is to be done about a project. Says why it cannot be engaged, where it cannot.
    fn judge(&mut self, name: &str, first: bool) -> Option<String> {
        let known = self.known.get(name)?;
        let (standing, suspended) = (known.standing, known.suspended);
        let Some(plane) = known.plane.clone() else {
            if standing == ProjectState::Absent {
                self.forget(name);
            }
            return None;
        };
        let leaving = self.leaving.remove(&plane);
        if standing != ProjectState::Ready {
            self.leaving.add(&plane);
        }
        let engaged = self.planes.project(&plane);
        let held = engaged.as_ref().map(|plane| plane.held());
        let before = engaged.as_ref().and_then(|plane| plane.origin.project.as_deref());
        let remade = before.zip(known.uid()).is_some_and(|(before, now)| before != now);
        let unserved = engaged.as_ref().is_some_and(|plane| plane.recognition.is_unserved());
        let verdict = decide(Facts { standing, plane: held, leaving, first, remade, unserved });
        match verdict {
            Verdict::Engage | Verdict::Look => match (self.connect)(&plane) {
                Ok(connection) => {
                    let about = known.about.clone().map(|about| (about, self.events.clone()));
                    let project = known.uid().map(str::to_owned);
                    if remade {
                        tracing::info!(plane = %plane, ?before, now = ?project, "the Project was made anew: what was known of the plane of its name is forgotten");
                        self.planes.disengage(&plane);
                    }
                    self.planes.engage_from(
                        &plane,
                        connection,
                        Origin { about, project, suspended: Arc::new(suspended.into()) },
                    );
                    if verdict == Verdict::Look {
                        tracing::info!(plane = %plane, ?standing, "engaged to see whether any of its WorkloadDeployments holds our finalizer");
                    }
                }
                Err(reason) => {
                    if standing == ProjectState::Absent {
                        self.planes.declare_gone(&plane);
                    }
                    return Some(reason);
                }
            },
            Verdict::Stay | Verdict::Hold => self.planes.suspend(&plane, suspended),
            // A write of this very moment counts, too.
            Verdict::PlaneDisengaged if engaged.as_ref().is_some_and(|plane| !plane.close()) => {
                self.await_marks(engaged);
                return None;
            }
            Verdict::PlaneDisengaged => {
                self.planes.disengage(&plane);
                // Its own WDs hold nothing: what the hub has all the same is nobody's.
                if standing == ProjectState::Absent && self.planes.is_federated(&plane) {
                    self.planes.declare_gone(&plane);
                }
            }
            Verdict::Abandon => {
                tracing::warn!(plane = %plane, "project gone and its plane not served: what the hub has of it is orphaned");
                self.planes.declare_gone(&plane);
            }
            Verdict::Pass => self.planes.accept(name),
        }
        if verdict == Verdict::Hold {
            if !leaving {
                tracing::info!(plane = %plane, ?standing, "stays engaged until none of its WorkloadDeployments holds our finalizer");
            }
            self.await_marks(engaged);
        }
        if matches!(verdict, Verdict::PlaneDisengaged | Verdict::Abandon | Verdict::Pass) {
            self.leaving.remove(&plane);
            if standing == ProjectState::Absent {
                self.forget(name);
            }
        }
        None
    }

    /// Has a plane judged again when no WD of it is being marked any more.
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
