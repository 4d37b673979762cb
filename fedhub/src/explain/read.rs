//! Reads the objects of a chain: some twenty requests, whatever the number of planes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::names::{
    CITY_CODE, FEDERATION_NAMESPACE, IDENTITIES, PlaneName, WORKLOAD_DEPLOYMENT_NAME, binding_name,
    hub_namespace, is_hub_namespace, is_label_value,
};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::ProjectNamespace;
use fedhub_planes::identity::{IdentityEntry, hub};
use fedhub_planes::pauses::stored::Pause;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use tokio::task::JoinSet;

use super::chain::{
    Cell, Chain, Failure, Hub, LeaseFacts, Management, Project, Read, Subject, SubjectKind, all,
};
use super::rollout::{self, Rollout};
use crate::operator::connect::Connection;
use crate::operator::discovery::PlaneSource;
use crate::operator::karmada::{BINDING_ID, WORK};
use crate::operator::planes;
use crate::operator::recording::{Recording, Snapshot};
use crate::operator::requests::{get, list, within};

/// The namespace on the hub with the Works of a cell, less the cell's name.
const EXECUTION_NAMESPACE: &str = "karmada-es-";

/// The project plane.
pub enum ProjectPlane {
    /// This one.
    Given(Connection),
    /// The one that discovery finds.
    In(Box<PlaneSource>),
}

impl ProjectPlane {
    /// A connection to the plane of that name, and whether it was given.
    pub async fn connection(self, plane: &str, timeout: Duration) -> (Connection, bool) {
        match self {
            Self::Given(project) => (project, true),
            Self::In(source) => (source.find(plane).await.and_then(|found| found.connection(timeout)), false),
        }
    }
}

/// Where the rollout of the WD's Workload is known from.
pub enum RolloutSource {
    /// It is read where the WD carries an earlier revision than its Workload.
    Planes,
    /// It was read before, or is not to be: a snapshot has no Workloads.
    Known(Option<Arc<Rollout>>),
}

/// What is to be read, and by what.
pub struct Request {
    /// When a snapshot was taken; of planes that are read now, now.
    pub now: Option<Timestamp>,
    /// What is explained.
    pub subject: Subject,
    /// The management plane; skipped where the plane is given and the management plane is not.
    pub management: Connection,
    /// fedhub's namespace there.
    pub namespace: String,
    /// The name of its Lease.
    pub lease: String,
    /// The project plane.
    pub project: ProjectPlane,
    /// The hub.
    pub hub: Connection,
    /// Cells, by the names of their Clusters.
    pub cells: BTreeMap<String, Connection>,
    /// The rollout.
    pub rollout: RolloutSource,
    /// Whether Karmada's Works are read: fedhub itself has no right to that.
    pub works: bool,
    /// How long a read may take.
    pub timeout: Duration,
}

impl Request {
    /// What is to be read of a snapshot.
    pub fn recorded(subject: Subject, lease: String, snapshot: &Snapshot) -> Self {
        let project = snapshot.projects.get(&subject.plane);
        let connection = |(name, plane): (&String, &Recording)| (name.clone(), plane.connection());
        Self {
            now: Some(snapshot.taken_at),
            management: snapshot.management.connection(),
            namespace: snapshot.namespace.clone(),
            lease,
            project: ProjectPlane::Given(project.map_or(Read::Absent, Recording::connection)),
            hub: snapshot.hub.connection(),
            cells: snapshot.cells.iter().map(connection).collect(),
            rollout: RolloutSource::Known(None),
            works: true,
            timeout: Duration::ZERO,
            subject,
        }
    }
}

/// Reads the chain.
pub async fn read(request: Request) -> Chain {
    let Request { now, subject, management, namespace, lease, project, hub, cells, rollout, works, timeout } =
        request;
    let now = now.unwrap_or_else(Timestamp::now);
    let (project, given) = project.connection(&subject.plane, timeout).await;
    let source = match project.clone().map(|_| ()) {
        // The plane of a snapshot did not answer, which says nothing of where it was found.
        Read::Failed(error) if given && error.failure != Failure::Invalid => Read::Found(()),
        source => source,
    };
    let deployment = deployment_of(&project, &subject).await;
    let wd_kind = Kind::WorkloadDeployment.resource();
    let (wd, own_namespace, instances, kube_system, lease, identities, restored, pause) = tokio::join!(
        get(&project, wd_kind, &subject.namespace, &deployment),
        get(&project, Kind::Namespace.resource(), "", &subject.namespace),
        instances(&project, &subject.namespace, &deployment),
        planes::identities(&project),
        lease_of(&management, &namespace, &lease),
        remembered(&management, &namespace, &subject.plane),
        restored(&management, &namespace),
        pause(&management, &namespace, &subject.plane),
    );
    let rollout = match (rollout, wd.found()) {
        (RolloutSource::Planes, Some(wd)) => {
            Box::pin(rollout::of_deployment(&project, &hub, wd, &subject.plane, now)).await
        }
        (RolloutSource::Planes, None) => None,
        (RolloutSource::Known(rollout), _) => rollout,
    };
    let city = wd.found().and_then(|wd| wd.spec()["cityCode"].as_str()).unwrap_or_default();
    let (hub, cells) = match space_of(&hub, &subject, &wd, &own_namespace).await {
        Space::Its { name, namespace } => tokio::join!(
            hub_of(&hub, namespace, &name, &deployment, city, works),
            cells_of(&cells, &name, &deployment)
        ),
        Space::NotIts(namespace) => {
            (Hub { namespace, clusters: clusters(&hub, city).await, ..Hub::default() }, BTreeMap::new())
        }
    };
    let in_its_place = in_its_place(&project, &subject.namespace, &hub, &instances).await;
    let identity_matches = matches(&identities, &kube_system);
    Chain {
        subject,
        deployment,
        now,
        management: Management { source, lease, identity_matches, pause, hub_restored: restored },
        project: Project { namespace: own_namespace, wd, instances, in_its_place },
        hub,
        cells,
        rollout,
    }
}

/// The hub namespace of the subject's project namespace.
enum Space {
    /// It is the subject's by its labels, or not there.
    Its {
        /// Its name.
        name: String,
        /// As it was read.
        namespace: Read<Object>,
    },
    /// No object names the namespace, or it is not known to be the subject's: nothing in it is read (I6).
    NotIts(Read<Object>),
}

/// The hub namespace that the WD names, where that is the subject's; else the one that the project
/// namespace's UID names. A tenant can write anything in both places: whose a hub namespace is, its labels
/// say, which fedhub alone writes.
async fn space_of(hub: &Connection, subject: &Subject, wd: &Read<Object>, own: &Read<Object>) -> Space {
    let marked = wd.found().and_then(|wd| wd.annotation(FEDERATION_NAMESPACE)).map(str::to_owned);
    let named = own.found().map(|namespace| hub_namespace(namespace.uid()));
    let mut not_its = Read::Skipped;
    for name in [marked, named].into_iter().flatten().filter(|name| is_hub_namespace(name)) {
        let namespace = get(hub, Kind::Namespace.resource(), "", &name).await;
        if namespace.is_absent() || namespace.found().is_some_and(|it| is_of(it, subject)) {
            return Space::Its { name, namespace };
        }
        not_its = namespace;
    }
    Space::NotIts(not_its)
}

fn is_of(hub_namespace: &Object, subject: &Subject) -> bool {
    ProjectNamespace::from_hub_namespace(hub_namespace)
        .is_some_and(|home| home.plane.as_str() == subject.plane && home.namespace == subject.namespace)
}

/// The name of the subject's WD: by the Instance's label, else by its name less the ordinal.
async fn deployment_of(project: &Connection, subject: &Subject) -> String {
    if subject.kind == SubjectKind::WorkloadDeployment {
        return subject.name.clone();
    }
    let instance = get(project, Kind::Instance.resource(), &subject.namespace, &subject.name).await;
    let labelled = instance.found().and_then(|it| it.label(WORKLOAD_DEPLOYMENT_NAME)).map(str::to_owned);
    labelled.unwrap_or_else(|| match subject.name.rsplit_once('-') {
        Some((name, ordinal)) if ordinal.parse::<u32>().is_ok() => name.to_owned(),
        _ => subject.name.clone(),
    })
}

/// The Instances of a WD; none where its name cannot be a label's value.
async fn instances(plane: &Connection, namespace: &str, deployment: &str) -> Read<Vec<Object>> {
    if !is_label_value(deployment) {
        return Read::Skipped;
    }
    let labels = format!("{WORKLOAD_DEPLOYMENT_NAME}={deployment}");
    list(plane, Kind::Instance.resource(), namespace, &labels).await
}

async fn hub_of(
    plane: &Connection,
    namespace: Read<Object>,
    space: &str,
    deployment: &str,
    city: &str,
    with_works: bool,
) -> Hub {
    let binding = binding_name("WorkloadDeployment", deployment);
    let (wd, binding, policies, clusters, copies) = tokio::join!(
        get(plane, Kind::WorkloadDeployment.resource(), space, deployment),
        get(plane, Kind::ResourceBinding.resource(), space, &binding),
        of_city(plane, Kind::PropagationPolicy, space, city),
        clusters(plane, city),
        instances(plane, space, deployment),
    );
    let works = if with_works { works(plane, &binding).await } else { Read::Skipped };
    Hub { namespace, policies, wd, binding, works, clusters, copies }
}

/// The Clusters that carry a city.
async fn clusters(plane: &Connection, city: &str) -> Read<Vec<Object>> {
    of_city(plane, Kind::Cluster, "", city).await
}

/// What carries a city; none where that cannot be a label's value.
async fn of_city(plane: &Connection, kind: Kind, namespace: &str, city: &str) -> Read<Vec<Object>> {
    if !is_label_value(city) {
        return Read::Skipped;
    }
    list(plane, kind.resource(), namespace, &format!("{CITY_CODE}={city}")).await
}

/// The Works of a binding in the namespace of its cell.
async fn works(plane: &Connection, binding: &Read<Object>) -> Read<Vec<Object>> {
    let Some(binding) = binding.found() else { return Read::Skipped };
    let cell = binding.spec()["clusters"][0]["name"].as_str();
    match (binding.label(BINDING_ID), cell) {
        (Some(id), Some(cell)) => {
            let namespace = format!("{EXECUTION_NAMESPACE}{cell}");
            list(plane, &WORK, &namespace, &format!("{BINDING_ID}={id}")).await
        }
        _ => Read::Skipped,
    }
}

async fn cells_of(
    cells: &BTreeMap<String, Connection>,
    space: &str,
    deployment: &str,
) -> BTreeMap<String, Cell> {
    let mut reads = JoinSet::new();
    for (name, plane) in cells.clone() {
        let space = space.to_owned();
        let deployment = deployment.to_owned();
        reads.spawn(async move {
            let (wd, instances) = tokio::join!(
                get(&plane, Kind::WorkloadDeployment.resource(), &space, &deployment),
                instances(&plane, &space, &deployment),
            );
            (name, Cell { wd, instances })
        });
    }
    reads.join_all().await.into_iter().collect()
}

/// What has the name of the first copy that has no projection among the WD's Instances.
async fn in_its_place(
    project: &Connection,
    namespace: &str,
    hub: &Hub,
    instances: &Read<Vec<Object>>,
) -> Read<Object> {
    let shown = all(instances);
    let missing =
        all(&hub.copies).iter().find(|copy| shown.iter().all(|instance| instance.name() != copy.name()));
    match missing {
        Some(copy) => get(project, Kind::Instance.resource(), namespace, copy.name()).await,
        None => Read::Skipped,
    }
}

async fn lease_of(management: &Connection, namespace: &str, name: &str) -> Read<LeaseFacts> {
    let Some(plane) = management.found() else { return Read::Skipped };
    let api: Api<Lease> = Api::namespaced(plane.client.clone(), namespace);
    within(plane.timeout, api.get_opt(name)).await.and_then(Read::from).map(|lease| {
        let spec = lease.spec.unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|it| u64::try_from(it).ok());
        LeaseFacts {
            holder: spec.holder_identity.unwrap_or_default(),
            renewed: spec.renew_time.map(|time| time.0),
            duration: Duration::from_secs(seconds.unwrap_or_default()),
        }
    })
}

/// What fedhub remembers as the identity of the plane.
async fn remembered(management: &Connection, namespace: &str, plane: &str) -> Read<IdentityEntry> {
    let labels = format!("{}={}", IDENTITIES.0, IDENTITIES.1);
    let maps = list(management, Kind::ConfigMap.resource(), namespace, &labels).await;
    maps.and_then(|maps| {
        maps.iter().find_map(|map| map.data["data"][plane].as_str().and_then(IdentityEntry::read)).into()
    })
}

/// Whether the plane shows the identity that is remembered for it.
fn matches(remembered: &Read<IdentityEntry>, shown: &Read<Vec<String>>) -> Read<bool> {
    match (remembered.found(), shown.found()) {
        (Some(entry), Some(shown)) if !shown.is_empty() => Read::Found(shown.contains(&entry.identity)),
        _ => Read::Skipped,
    }
}

/// The pause that holds that plane.
async fn pause(management: &Connection, namespace: &str, plane: &str) -> Read<Pause> {
    planes::paused(management, namespace).await.and_then(|paused| paused.pause(plane).cloned().into())
}

async fn restored(management: &Connection, namespace: &str) -> Read<bool> {
    let Some(plane) = management.found() else { return Read::Skipped };
    let read = within(plane.timeout, hub::remembered(&plane.client, namespace)).await;
    read.map(|remembered| remembered.is_some_and(|it| it.restored_at.is_some()))
}

/// Whether a plane may have that name.
pub fn is_plane_name(name: &str) -> Result<(), String> {
    PlaneName::new(name).map(|_| ()).map_err(|error| error.to_string())
}
