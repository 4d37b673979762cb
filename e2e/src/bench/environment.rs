//! The real planes that a benchmark runs on, with what would disturb it taken away.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::json;

use super::Options;
use super::objects::{Kind, api, api_all};
use super::process::Process;
use crate::Error;
use crate::fedhub::pod::{Overlay, Pod};
use crate::fedhub::{self, replaced};
use crate::progress::Progress;
use crate::topology::planes::{Cells, HUB, projects};
use crate::topology::wait::{NotYet, until};
use crate::topology::{self, Planes, ports, ports_directory};

/// The project plane that has an etcd of its own, as the hub has.
pub const PROJECT: &str = "project-a";
/// Karmada's controllers that would work on what a benchmark makes. Its webhooks stay: fedhub's writes go
/// through them.
const DISTURBING: [&str; 2] = ["karmada-controller-manager", "karmada-scheduler"];
/// Requests under way at once where the benchmark prepares or clears up.
pub const HANDS: usize = 64;

/// The planes and how to start fedhubs beside them. Dropping it leaves them running; [`clear_up`] ends those
/// that a benchmark started.
pub struct Environment {
    planes: Planes,
    /// How each of the two fedhubs that there is room for is started, and where its metrics are.
    pods: Vec<(u16, Pod)>,
    program: PathBuf,
    /// Says what is being done.
    pub progress: Progress,
    /// An administrator of the hub.
    pub hub: Client,
    /// An administrator of the project plane.
    pub project: Client,
}

impl Environment {
    /// [`Self::whole`], without what would disturb: Karmada's controllers, and its guard against deletes.
    pub async fn up(options: &Options, cells: Cells) -> Result<Self, Error> {
        let environment = Self::whole(options, cells).await?;
        for process in DISTURBING {
            environment.planes.stop_process(process).await?;
        }
        environment.allow_deletes().await?;
        Ok(environment)
    }

    /// Starts planes of this run's own, or takes those that run under the name given, with their cells.
    pub async fn whole(options: &Options, cells: Cells) -> Result<Self, Error> {
        let planes = if let Some(name) = &options.instance {
            Planes::load(name)?
        } else {
            let usual = topology::Options::new(own_instance());
            let up = topology::Options { cells, progress: options.progress.clone(), ..usual };
            Planes::up(&up, fedhub::end).await?
        };
        let layout = planes.layout();
        let names = ["fedhub-bench/0", "fedhub-bench/1"].map(str::to_owned);
        let overlay = Overlay::management()?;
        let mut pods = Vec::new();
        for port in ports::reserve(&ports_directory(), layout, &names)?.into_values() {
            pods.push((port, overlay.pod(layout, port).await?));
        }
        let hub = client(&layout.kubeconfig(HUB)).await?;
        let project = client(&layout.kubeconfig(PROJECT)).await?;
        let program = options.fedhub()?;
        Ok(Self { pods, program, progress: options.progress.clone(), hub, project, planes })
    }

    /// The planes.
    pub fn planes(&self) -> &Planes {
        &self.planes
    }

    /// The port of a plane's API server.
    pub fn port(&self, plane: &str) -> Result<u16, Error> {
        let path = self.planes.kubeconfig(plane);
        let kubeconfig = Kubeconfig::read_from(&path)
            .map_err(|error| Error::Kubeconfig { path: path.clone(), cause: Box::new(error) })?;
        let server = kubeconfig.clusters.into_iter().find_map(|named| named.cluster?.server);
        let port = server.and_then(|server| server.parse::<http::Uri>().ok()?.port_u16());
        port.ok_or_else(|| Error::Manifest {
            path: path.clone(),
            problem: "no server with a port".to_owned(),
        })
    }

    /// A client with fedhub's own identity, as the baseline uses it.
    pub async fn as_fedhub(&self, plane: &str) -> Result<Client, Error> {
        client(&self.planes.fedhub_kubeconfig(plane)).await
    }

    /// Starts a fedhub with these flags in place of those of their names, and returns at once. There is room
    /// for two.
    pub fn spawn(&self, place: usize, flags: &[String]) -> Result<Process, Error> {
        let (port, pod) =
            self.pods.get(place).ok_or_else(|| Error::Benchmark(format!("no room for a fedhub {place}")))?;
        let mut pod = pod.clone();
        pod.arguments = replaced(&pod.arguments, flags);
        let log = self.planes.layout().log(&format!("fedhub-{place}"));
        Process::spawn(&self.program, &pod, *port, &log)
    }

    /// Starts the one fedhub, with its limits as the benchmark has them, and waits until it is idle.
    pub async fn fedhub(&self) -> Result<Process, Error> {
        self.fedhub_with(&[]).await
    }

    /// [`Self::fedhub`] with these flags beside those that each is given.
    pub async fn fedhub_with(&self, flags: &[String]) -> Result<Process, Error> {
        let flags: Vec<_> = flags.iter().cloned().chain(["--leader-elect=false".to_owned()]).collect();
        let mut process = self.spawn(0, &flags)?;
        process.ready(projects().count()).await?;
        process.settled().await?;
        Ok(process)
    }

    /// Removes the WDs of these project namespaces and all that was made of them on both planes. No fedhub
    /// may run: its finalizers are taken off by hand.
    pub async fn clear(&self, namespaces: &[Space]) -> Result<(), Error> {
        let marked = stream::iter(namespaces.iter().map(|space| self.marked(space)));
        let marked: Vec<Vec<_>> = marked.buffer_unordered(8).try_collect().await?;
        let releases = marked.iter().flatten().map(|(space, name)| self.release(space, name));
        stream::iter(releases).buffer_unordered(HANDS).try_collect::<()>().await?;
        // What has an owner goes before it: else the garbage collector asks for it, far into the next lap.
        for kind in [Kind::Instance, Kind::Deployment] {
            let places = namespaces
                .iter()
                .flat_map(|space| [(&self.project, space.name.clone()), (&self.hub, space.hub_name())]);
            let deletes = places.map(|(client, at)| delete_all(client, kind, at));
            stream::iter(deletes).buffer_unordered(8).try_collect::<()>().await?;
        }
        let policies = namespaces.iter().map(|space| delete_all(&self.hub, Kind::Policy, space.hub_name()));
        stream::iter(policies).buffer_unordered(8).try_collect::<()>().await?;
        for client in [&self.project, &self.hub] {
            for kind in [Kind::Instance, Kind::Deployment] {
                self.gone(client, kind).await?;
            }
        }
        Ok(())
    }

    /// The WDs of a namespace that a finalizer holds.
    async fn marked(&self, space: &Space) -> Result<Vec<(String, String)>, Error> {
        let api = api(&self.project, Kind::Deployment, &space.name);
        let list = api.list_metadata(&ListParams::default()).await;
        let list = list.map_err(Error::api(format!("list WorkloadDeployments of {}", space.name)))?;
        let marked = list.items.into_iter().filter(|wd| wd.metadata.finalizers.is_some());
        Ok(marked.map(|wd| (space.name.clone(), wd.metadata.name.unwrap_or_default())).collect())
    }

    async fn release(&self, space: &str, name: &str) -> Result<(), Error> {
        let api = api(&self.project, Kind::Deployment, space);
        let params = PatchParams::default();
        let patch = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        let released = api.patch_metadata(name, &params, &patch).await;
        released.map(drop).map_err(Error::api(format!("take the finalizer off {name}")))
    }

    /// Waits until a plane has no object of a kind.
    pub async fn gone(&self, client: &Client, kind: Kind) -> Result<(), Error> {
        let limit = ListParams::default().limit(1);
        until(format!("all {kind} to be gone"), Duration::from_mins(2), || async {
            let list = api_all(client, kind).list_metadata(&limit).await.map_err(NotYet::again)?;
            let left = list.items.len();
            if left == 0 { Ok(()) } else { Err(NotYet::again("some are left")) }
        })
        .await
    }

    /// Takes Karmada's guard against careless deletes off the hub: clearing up is meant.
    async fn allow_deletes(&self) -> Result<(), Error> {
        let kind =
            GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
        let api: Api<DynamicObject> = Api::all_with(self.hub.clone(), &ApiResource::from_gvk(&kind));
        let failed = |error| Error::api("let deletes on the hub pass".to_owned())(error);
        let mut configuration = api.get("validating-config").await.map_err(failed)?;
        if let Some(webhooks) = configuration.data["webhooks"].as_array_mut() {
            webhooks.retain(|webhook| webhook["name"] != "resourcedeletionprotection.karmada.io");
        }
        let params = PostParams::default();
        api.replace("validating-config", &params, &configuration).await.map(drop).map_err(failed)
    }
}

/// The instance that this run starts.
pub fn own_instance() -> String {
    format!("bench-{}", std::process::id())
}

/// Ends the planes that a benchmark of this run started, in whatever state they are, and removes what they
/// left.
pub async fn clear_up() -> Result<(), Error> {
    let layout = topology::Layout::from_name(&own_instance())?;
    if !layout.root().is_dir() {
        return Ok(());
    }
    topology::down(layout.name(), fedhub::end).await?;
    fs::remove_dir_all(layout.root()).map_err(Error::file("remove", layout.root()))
}

/// A project namespace.
#[derive(Debug, Clone)]
pub struct Space {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl Space {
    /// The name of its hub namespace.
    pub fn hub_name(&self) -> String {
        format!("ns-{}", self.uid)
    }
}

/// Deletes all objects of a kind in a namespace.
pub async fn delete_all(client: &Client, kind: Kind, at: String) -> Result<(), Error> {
    let one = DeleteParams::background();
    let all = ListParams::default();
    let deleted = api(client, kind, &at).delete_collection(&one, &all).await;
    deleted.map(drop).map_err(Error::api(format!("delete all {kind} in {at}")))
}

/// A plain client of kube's: HTTP/1.1, a connection for each request under way, kept open. Patient with
/// watches that have no news.
pub async fn client(path: &std::path::Path) -> Result<Client, Error> {
    let unreadable = |error| Error::Kubeconfig { path: path.to_path_buf(), cause: Box::new(error) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(unreadable)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(unreadable)?;
    config.read_timeout = None;
    // A failed request has to be visible, not retried.
    config.default_retry = false;
    Client::try_from(config).map_err(Error::api(format!("client for {}", path.display())))
}
