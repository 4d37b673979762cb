//! Reads what the audit compares: lists of two kinds on each project plane and of seven on the hub, page by
//! page, so many planes at a time; where one plane is audited, what its namespaces on the hub hold alone.
//! Then, of what seems to differ, every object once more.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use fedhub_core::names::{PlaneName, REFERENCED_DATA};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_planes::ProjectNamespace;
use fedhub_planes::discovery::Discovery;
use fedhub_planes::history::Remembered;
use fedhub_planes::identity::hub;
use jiff::Timestamp;

use super::finding::Finding;
use super::world::{Cell, Hub, Objects, Project, World};
use crate::explain::Cause;
use crate::operator::concurrent::all;
use crate::operator::connect::{Connection, in_time};
use crate::operator::discovery::PlaneSource;
use crate::operator::fleet::{Unread, check_identity, discover, planes_of};
use crate::operator::planes::paused;
use crate::operator::read::{Read, ReadError};
use crate::operator::requests::{Part, Query, each, get, get_metadata, list, within};

/// What is to be read, and by what.
pub struct Request {
    /// The management plane; skipped where it is not given, and planes are.
    pub management: Connection,
    /// fedhub's namespace there.
    pub namespace: String,
    /// Where project planes are found.
    pub source: PlaneSource,
    /// The hub.
    pub hub: Connection,
    /// Project planes that were given, in place of what is found.
    pub projects: BTreeMap<String, Connection>,
    /// Cells by the names of their Clusters.
    pub cells: BTreeMap<String, Connection>,
    /// The one plane that is audited, where not all are.
    pub only: Option<PlaneName>,
    /// How many planes are read at a time.
    pub concurrency: usize,
    /// How long a read may take.
    pub timeout: Duration,
    /// How long a change may take before a difference counts.
    pub grace: Duration,
}

/// What was read.
pub struct Gathered {
    /// All that was read whole.
    pub world: World,
    /// What was not.
    pub unread: Vec<Unread>,
    /// The management plane, and fedhub's namespace there.
    pub management: (Connection, String),
    /// The hub.
    pub hub: Connection,
    /// The connections of the planes in the world.
    pub projects: BTreeMap<PlaneName, Connection>,
    /// The identities that fedhub remembers, by plane.
    pub identities: BTreeMap<String, String>,
    concurrency: usize,
}

/// Reads everything once. An error where the hub or the management plane cannot be read.
pub async fn gather(request: Request) -> anyhow::Result<Gathered> {
    let Request { management, namespace, source, hub, projects, cells, only, concurrency, timeout, grace } =
        request;
    let (fleet, paused) =
        tokio::join!(discover(&source, &management, &namespace), paused(&management, &namespace));
    let (found, identities) = fleet?;
    let paused = paused.required(|| "failed to read pauses on the management plane".to_owned())?;
    let history = history(&management, &namespace).await?;
    let (asked, mut unread) = planes_of(found, projects, only.as_ref(), timeout);
    let hub_read = Box::pin(hub_of(&hub, only.as_ref(), concurrency)).await?;
    let mut world = World {
        now: Timestamp::now(),
        grace,
        only,
        paused,
        hub: Hub { history, ..hub_read },
        projects: BTreeMap::new(),
        cells: BTreeMap::new(),
    };
    unread.extend(unknown(&world, source.mode, &asked, &unread));
    let mut connections = BTreeMap::new();
    let remembered = Arc::new(identities.clone());
    let labels = source.deployments();
    let read = all("planes", asked, concurrency, |(name, connection)| {
        let remembered = remembered.clone();
        let labels = labels.clone();
        async move {
            let project = in_time(&connection, project_of(&name, &connection, &labels, &remembered)).await;
            let project = project.unwrap_or_else(|error| Err(Unread::failed(name.as_str(), &error)));
            (name, connection, project)
        }
    });
    for (name, connection, project) in read.await? {
        match project {
            Ok(project) => {
                connections.insert(name.clone(), connection);
                world.projects.insert(name, project);
            }
            Err(why) => unread.push(why),
        }
    }
    for (name, connection) in cells {
        match in_time(&connection, cell_of(&connection)).await.and_then(|cell| cell) {
            Ok(cell) => drop(world.cells.insert(name, cell)),
            Err(error) => unread.push(Unread::failed(&format!("cell {name}"), &error)),
        }
    }
    unread.sort();
    world.now = Timestamp::now();
    let management = (management, namespace);
    Ok(Gathered { world, unread, management, hub, projects: connections, identities, concurrency })
}

/// What fedhub remembers of the hub's history.
async fn history(management: &Connection, namespace: &str) -> anyhow::Result<Option<Remembered>> {
    let Some(plane) = management.found() else { return Ok(None) };
    let read = within(plane.timeout, hub::remembered(&plane.client, namespace)).await;
    read.required(|| "failed to read the state of the hub on the management plane".to_owned())
}

/// The planes that the hub's namespaces name, and that were not asked.
fn unknown(
    world: &World,
    mode: Discovery,
    asked: &BTreeMap<PlaneName, Connection>,
    unread: &[Unread],
) -> Vec<Unread> {
    let named = world.hub.namespaces.iter().filter_map(|it| ProjectNamespace::from_hub_namespace(&it.object));
    let planes: BTreeSet<PlaneName> = named.map(|home| home.plane).chain(world.only.clone()).collect();
    let is_known =
        |plane: &PlaneName| asked.contains_key(plane) || unread.iter().any(|it| it.plane == plane.as_str());
    let wanted = |plane: &PlaneName| world.only.as_ref().is_none_or(|only| only == plane);
    let missing = planes.into_iter().filter(|plane| wanted(plane) && !is_known(plane));
    let message =
        format!("discovery {mode} finds no plane of that name; --project-kubeconfig names its kubeconfig");
    missing.map(|plane| Unread::new(plane.as_str(), Cause::PlaneNotKnown, message.clone())).collect()
}

/// The hub; where one plane is audited, of what is in namespaces that in those of this plane.
async fn hub_of(hub: &Connection, only: Option<&PlaneName>, concurrency: usize) -> anyhow::Result<Hub> {
    let (namespaces, clusters) =
        tokio::try_join!(of_hub(hub, Kind::Namespace, ""), of_hub(hub, Kind::Cluster, ""))?;
    let contents = match only {
        None => vec![Box::pin(Contents::read(hub, "")).await?],
        Some(only) => {
            // Not by a selector: a plane's name is the last segment of what the label holds.
            let is_own = |it: &&Object| {
                ProjectNamespace::from_hub_namespace(it).is_some_and(|namespace| namespace.plane == *only)
            };
            let own: Vec<_> = namespaces.iter().filter(is_own).map(|it| it.name().to_owned()).collect();
            let read = all("hub namespaces", own, concurrency, |namespace| {
                let hub = hub.clone();
                async move { Box::pin(Contents::read(&hub, &namespace)).await }
            });
            read.await?.into_iter().collect::<Result<_, _>>()?
        }
    };
    let mut all = Contents::default();
    for of_namespace in contents {
        all.deployments.extend(of_namespace.deployments);
        all.instances.extend(of_namespace.instances);
        all.policies.extend(of_namespace.policies);
        all.config_maps.extend(of_namespace.config_maps);
        all.secrets.extend(of_namespace.secrets);
    }
    let objects = |kind: Kind, objects: Vec<Object>| Objects::new(&PlaneId::Hub, kind, objects);
    Ok(Hub {
        namespaces: objects(Kind::Namespace, namespaces),
        deployments: objects(Kind::WorkloadDeployment, all.deployments),
        instances: objects(Kind::Instance, all.instances),
        policies: objects(Kind::PropagationPolicy, all.policies),
        config_maps: objects(Kind::ConfigMap, all.config_maps),
        secrets: objects(Kind::Secret, all.secrets),
        clusters: objects(Kind::Cluster, clusters),
        history: None,
    })
}

/// What is in a hub namespace, or in all of them.
#[derive(Default)]
struct Contents {
    deployments: Vec<Object>,
    instances: Vec<Object>,
    policies: Vec<Object>,
    config_maps: Vec<Object>,
    secrets: Vec<Object>,
}

impl Contents {
    /// Reads a namespace of the hub; all of them if `namespace` is empty.
    async fn read(hub: &Connection, namespace: &str) -> anyhow::Result<Self> {
        let (deployments, instances, policies, config_maps, secrets) = tokio::try_join!(
            of_hub(hub, Kind::WorkloadDeployment, namespace),
            of_hub(hub, Kind::Instance, namespace),
            of_hub(hub, Kind::PropagationPolicy, namespace),
            companions(hub, Kind::ConfigMap, namespace),
            companions(hub, Kind::Secret, namespace),
        )?;
        Ok(Self { deployments, instances, policies, config_maps, secrets })
    }
}

async fn of_hub(hub: &Connection, kind: Kind, namespace: &str) -> anyhow::Result<Vec<Object>> {
    let plural = &kind.resource().plural;
    let objects = list(hub, kind.resource(), namespace, "").await;
    objects.required(|| format!("failed to list {plural} on the hub"))
}

/// The copies of what WDs refer to, without their content (W6).
async fn companions(hub: &Connection, kind: Kind, namespace: &str) -> anyhow::Result<Vec<Object>> {
    let kind = kind.resource();
    let labels = format!("{REFERENCED_DATA}=true");
    let query = Query { kind, namespace, labels: &labels, fields: "" };
    let mut found = Vec::new();
    let read = each(hub, query, Part::Metadata, |object| {
        found.push(object);
        ControlFlow::Continue(())
    });
    read.await.required(|| format!("failed to list copies of {} on the hub", kind.plural))?;
    Ok(found)
}

/// Reads a project plane whole, of WDs those with the labels of `deployments`, if it is the cluster that
/// fedhub remembers for the name.
async fn project_of(
    name: &PlaneName,
    plane: &Connection,
    deployments: &str,
    remembered: &BTreeMap<String, String>,
) -> Result<Project, Unread> {
    let unread = |error: &ReadError| Unread::failed(name.as_str(), error);
    check_identity(name, plane, remembered).await?;
    let id = PlaneId::Project(name.clone());
    let all = |kind: Kind, labels| async move { list(plane, kind.resource(), "", labels).await };
    let (deployments, instances) =
        tokio::join!(all(Kind::WorkloadDeployment, deployments), all(Kind::Instance, ""));
    let of = |kind, read: Read<Vec<Object>>| match read {
        Read::Found(objects) => Ok(Objects::new(&id, kind, objects)),
        Read::Failed(error) => Err(unread(&error)),
        // No list is no empty list.
        Read::Absent | Read::Skipped => {
            Err(Unread::new(name.as_str(), Cause::PlaneUnreachable, "the plane was not asked"))
        }
    };
    let deployments = of(Kind::WorkloadDeployment, deployments)?;
    let instances = of(Kind::Instance, instances)?;
    let mut namespaces = BTreeMap::new();
    for namespace in deployments.namespaces() {
        let uid = match get(plane, Kind::Namespace.resource(), "", namespace).await {
            Read::Found(namespace) => Some(namespace.uid().to_owned()),
            Read::Absent | Read::Skipped => None,
            Read::Failed(error) => return Err(unread(&error)),
        };
        namespaces.insert(namespace.to_owned(), uid);
    }
    Ok(Project { namespaces, deployments, instances })
}

async fn cell_of(plane: &Connection) -> Result<Cell, ReadError> {
    let all = |kind: Kind| async move {
        match list(plane, kind.resource(), "", "").await {
            Read::Found(objects) => Ok(Objects::new(&PlaneId::Cell, kind, objects)),
            Read::Absent | Read::Skipped => Ok(Objects::default()),
            Read::Failed(error) => Err(error),
        }
    };
    let system = get(plane, Kind::Namespace.resource(), "", fedhub_api::cells::KUBE_SYSTEM).await;
    if let Some(error) = system.failure() {
        return Err(error.clone());
    }
    let (deployments, instances) = tokio::try_join!(all(Kind::WorkloadDeployment), all(Kind::Instance))?;
    let uid = system.found().map(|namespace| namespace.uid().to_owned()).unwrap_or_default();
    Ok(Cell { uid, deployments, instances })
}

impl Gathered {
    /// Reads once more what the findings rest on, each object by itself: the lists were made at different
    /// times. A plane that fails now is read no more.
    pub async fn refresh(&mut self, findings: &[Finding]) -> anyhow::Result<()> {
        let keys: BTreeSet<&Key> =
            findings.iter().filter(|it| it.is_problem()).flat_map(|it| &it.rests_on).collect();
        let read =
            all("objects checked", self.reads(&keys), self.concurrency, |(connection, keys)| async move {
                let mut objects = Vec::new();
                let late = in_time(&connection, again(&connection, &keys, &mut objects)).await.err();
                // What was not read in time was not read.
                let unread = keys.get(objects.len()).cloned();
                objects.extend(late.zip(unread).map(|(error, key)| (key, Read::Failed(error))));
                objects
            });
        for (key, object) in read.await?.into_iter().flatten() {
            match (object, &key.plane) {
                (Read::Failed(error), PlaneId::Project(name)) => {
                    if self.world.projects.remove(name).is_some() {
                        self.unread.push(Unread::failed(name.as_str(), &error));
                    }
                }
                (Read::Failed(error), _) => {
                    let kind = &key.kind.resource().kind;
                    return Err(anyhow!(
                        "failed to read {kind} {}/{} on the hub: {}",
                        key.namespace,
                        key.name,
                        error.message
                    ));
                }
                (object, plane) => {
                    if let Some(objects) = self.world.objects_mut(plane, key.kind) {
                        objects.replace(&key, object.found().cloned());
                    }
                }
            }
        }
        self.world.now = Timestamp::now();
        Ok(())
    }

    /// What is read together, one after the other: of a project plane all, so that a slow one takes one turn;
    /// of the hub each object by itself.
    fn reads(&self, keys: &BTreeSet<&Key>) -> Vec<(Connection, Vec<Key>)> {
        let mut reads = Vec::new();
        let mut of_planes: BTreeMap<&PlaneName, Vec<Key>> = BTreeMap::new();
        for key in keys {
            match &key.plane {
                PlaneId::Hub => reads.push((self.hub.clone(), vec![(*key).clone()])),
                PlaneId::Project(name) => of_planes.entry(name).or_default().push((*key).clone()),
                PlaneId::Management | PlaneId::Cell => {}
            }
        }
        let of_planes = of_planes.into_iter();
        reads.extend(of_planes.filter_map(|(name, keys)| Some((self.projects.get(name)?.clone(), keys))));
        reads
    }
}

/// Reads objects of one plane once more.
async fn again(plane: &Connection, keys: &[Key], objects: &mut Vec<(Key, Read<Object>)>) {
    for key in keys {
        let kind = key.kind.resource();
        let object = match key.kind {
            Kind::ConfigMap | Kind::Secret => get_metadata(plane, kind, &key.namespace, &key.name).await,
            _ => get(plane, kind, &key.namespace, &key.name).await,
        };
        let failed = object.failure().is_some();
        objects.push((key.clone(), object));
        // Nothing of the plane is judged then.
        if failed {
            return;
        }
    }
}
