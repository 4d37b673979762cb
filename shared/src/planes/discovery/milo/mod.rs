//! Discovery `milo`: one plane for each Project that is Ready, behind the server that the Projects are on.
//!
//! A project that is deleted or turns not Ready stays engaged for as long as WDs of it hold our finalizer: nobody else
//! could take it off. Which those are, the plane's own store says, and its watch says when the last one is free.

pub mod decision;
mod leaving;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use futures::{StreamExt, pin_mut};
use http::uri::{InvalidUri, PathAndQuery};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::WatchStreamExt;
use kube::runtime::events::EventType;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use tokio_util::sync::CancellationToken;

use self::decision::{Facts, Held, Standing, Verdict, decide};
use self::leaving::Leaving;
use crate::errors;
use crate::events::Events;
use crate::names::PlaneName;
use crate::object::{Kind, ObjectView, PlaneId};
use crate::planes::Planes;
use crate::planes::transport::Server;

const GROUP: &str = "resourcemanager.miloapis.com";
const VERSION: &str = "v1alpha1";
/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;

/// The resource that Projects are.
pub fn resource() -> &'static ApiResource {
    static PROJECT: LazyLock<ApiResource> = LazyLock::new(|| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, "Project"), "projects")
    });
    &PROJECT
}

/// Where the plane of a project is on its server. A path of the server's own is dropped: Milo serves projects at its
/// root, also to those who see the Projects through an organization's plane.
pub fn path(project: &PlaneName) -> Result<PathAndQuery, InvalidUri> {
    PathAndQuery::try_from(format!("/apis/{GROUP}/{VERSION}/projects/{project}/control-plane"))
}

/// Makes the client of a project's plane, or says why there is none.
pub type Connect = Box<dyn Fn(&PlaneName) -> Result<Client, String> + Send + Sync>;

/// Planes behind `server`, with the credentials that it is known with at any time.
pub fn behind(server: Server) -> Connect {
    Box::new(move |project| {
        let path = path(project).map_err(|e| e.to_string())?;
        Ok(server.client_at(path, &PlaneId::Project(project.clone())))
    })
}

/// A Project as it was told of last.
struct Known {
    /// `None` for a name that no plane can have.
    plane: Option<PlaneName>,
    standing: Standing,
}

/// Watches the Projects and keeps the registry as they say.
pub struct Milo {
    planes: Arc<Planes>,
    projects: Api<DynamicObject>,
    connect: Connect,
    events: Events,
    known: BTreeMap<String, Known>,
    leaving: Arc<Leaving>,
    /// The first list is complete.
    listed: bool,
}

impl Milo {
    /// Discovery over the Projects of the server of `client`.
    pub fn new(planes: Arc<Planes>, client: Client, connect: Connect) -> Self {
        let leaving = Arc::new(Leaving::default());
        planes.listen(leaving.clone());
        Self {
            planes,
            projects: Api::all_with(client.clone(), resource()),
            connect,
            events: Events::new(client, "fedhub"),
            known: BTreeMap::new(),
            leaving,
            listed: false,
        }
    }

    /// Runs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let config = watcher::Config::default().timeout(WATCH_SECONDS);
        let stream = watcher(self.projects.clone(), config).default_backoff();
        pin_mut!(stream);
        let leaving = self.leaving.clone();
        let mut listed = BTreeSet::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                woken = leaving.woken() => {
                    for plane in woken {
                        self.judge(plane.as_str());
                    }
                    continue;
                }
                event = stream.next() => event,
            };
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
                }
                Some(Ok(Event::Apply(project))) => self.applied(&project).await,
                Some(Ok(Event::Delete(project))) => self.gone(&project.name_any()),
                Some(Err(error)) => {
                    tracing::warn!(
                        cause = errors::chain(&error),
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
        let plane = match PlaneName::new(&name) {
            Ok(plane) => Some(plane),
            Err(error) => {
                self.refuse(project, error.to_string()).await;
                None
            }
        };
        self.known.insert(name.clone(), Known { plane, standing: standing(project) });
        if let Some(reason) = self.judge(&name) {
            self.refuse(project, reason).await;
        }
    }

    fn gone(&mut self, name: &str) {
        if let Some(known) = self.known.get_mut(name) {
            known.standing = Standing::Absent;
            self.judge(name);
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
    fn judge(&mut self, name: &str) -> Option<String> {
        let Known { plane, standing } = self.known.get(name)?;
        let standing = *standing;
        let Some(plane) = plane.clone() else {
            if standing == Standing::Absent {
                self.forget(name);
            }
            return None;
        };
        let leaving = self.leaving.remove(&plane);
        if standing != Standing::Ready {
            self.leaving.add(&plane);
        }
        let facts = Facts { standing, plane: self.held(&plane), leaving, first: !self.listed };
        let verdict = decide(facts);
        match verdict {
            Verdict::Engage | Verdict::Look => match (self.connect)(&plane) {
                Ok(client) => {
                    self.planes.engage(&plane, client);
                    if verdict == Verdict::Look {
                        tracing::info!(plane = %plane, ?standing, "engaged to see whether any of its WorkloadDeployments holds our finalizer");
                    }
                }
                Err(reason) => return Some(reason),
            },
            Verdict::Hold if !leaving => {
                tracing::info!(plane = %plane, ?standing, "stays engaged until none of its WorkloadDeployments holds our finalizer");
            }
            Verdict::Stay | Verdict::Hold => {}
            Verdict::LetGo => self.planes.disengage(&plane),
            Verdict::Pass => self.planes.accept(name),
        }
        if matches!(verdict, Verdict::LetGo | Verdict::Pass) {
            self.leaving.remove(&plane);
            if standing == Standing::Absent {
                self.forget(name);
            }
        }
        None
    }

    fn forget(&mut self, name: &str) {
        self.known.remove(name);
        self.planes.accept(name);
    }

    /// What the store of an engaged plane tells.
    fn held(&self, plane: &PlaneName) -> Option<Held> {
        let plane = self.planes.project(plane)?;
        let store = plane.store(Kind::WorkloadDeployment);
        Some(match store.synced() {
            false => Held::Unknown,
            true if store.any(None, |wd| wd.digest.deployment().is_some_and(|d| d.held)) => Held::Yes,
            true => Held::No,
        })
    }
}

fn standing(project: &DynamicObject) -> Standing {
    if project.deleting() {
        return Standing::Deleting;
    }
    let conditions = project.status()["conditions"].as_array();
    let ready = conditions.into_iter().flatten().any(|c| c["type"] == "Ready" && c["status"] == "True");
    if ready { Standing::Ready } else { Standing::NotReady }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_project_stands_as_its_conditions_and_its_deletion_say() {
        let ready = json!([{"type": "Suspended", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let of = |deleting: bool, conditions: serde_json::Value| {
            let metadata = if deleting {
                json!({"name": "p", "deletionTimestamp": "2026-01-02T03:04:05Z"})
            } else {
                json!({"name": "p"})
            };
            let project = json!({"metadata": metadata, "status": {"conditions": conditions}});
            standing(&serde_json::from_value(project).unwrap())
        };
        assert_eq!(of(false, ready.clone()), Standing::Ready);
        assert_eq!(of(true, ready), Standing::Deleting);
        for not in [
            json!(null),
            json!([]),
            json!([{"type": "Ready", "status": "Unknown"}]),
            json!([{"type": "Ready", "status": "False"}]),
            json!([{"type": "Other", "status": "True"}]),
        ] {
            assert_eq!(of(false, not.clone()), Standing::NotReady, "{not}");
        }
    }
}
