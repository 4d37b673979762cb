//! Many planes in memory behind one address, for what real planes cannot show on one machine: see
//! `e2e/fake-apiserver/README.md`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::process::Process;
use super::{Options, environment};
use crate::Error;
use crate::fedhub::pod::{Overlay, Pod};
use crate::progress::Progress;
use crate::topology::wait::{NotYet, until};
use crate::topology::{Layout, ports, ports_directory};

/// The longest wait of a benchmark, such as for thousands of planes to be engaged.
const PATIENCE: Duration = Duration::from_mins(15);
/// How often it looks: each look costs the other side something.
const LOOK: Duration = Duration::from_millis(500);
/// Watches that fedhub has on a project plane.
const WATCHES: usize = 2;
/// Where the planes of projects are.
pub const PROJECTS: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects";

/// A running `fedhub-fake-apiserver`. It ends when this is dropped.
pub struct Fleet {
    _child: Child,
    ready: Ready,
    http: HttpClient<HttpConnector, Full<Bytes>>,
    layout: Layout,
    program: PathBuf,
    port: u16,
    /// How fedhub is started.
    pod: Pod,
    /// How many project planes there are.
    pub planes: usize,
    /// Says what is being done.
    pub progress: Progress,
}

/// Its output once it serves.
#[derive(Debug, Deserialize)]
struct Ready {
    url: String,
    control: String,
    hub_kubeconfig: PathBuf,
    management_kubeconfig: PathBuf,
    projects_kubeconfig: PathBuf,
}

/// The open connections, and the number of each kind of request.
#[derive(Debug, Clone, Deserialize)]
pub struct Counters {
    /// Connections and streams.
    pub open: Open,
    /// Requests that could change something, dry runs aside.
    pub writes: u64,
    /// All requests that were answered.
    pub requests: Vec<Count>,
}

/// Connections and streams.
#[derive(Debug, Clone, Deserialize)]
pub struct Open {
    /// Requests under way, open watches included.
    pub streams: usize,
}

/// A kind of request.
#[derive(Debug, Clone, Deserialize)]
pub struct Count {
    /// `hub`, `management` or `projects`.
    pub plane: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub verb: String,
    /// The resource, with its subresource.
    pub resource: String,
    /// The status code of the answer; 0 for none.
    pub code: u16,
    /// How often.
    pub count: u64,
}

impl Counters {
    /// How often something was asked for that `is` holds for.
    pub fn sum(&self, is: impl Fn(&Count) -> bool) -> u64 {
        self.requests.iter().filter(|count| is(count)).map(|count| count.count).sum()
    }
}

impl Fleet {
    /// Starts `planes` planes.
    pub async fn up(options: &Options, planes: usize) -> Result<Self, Error> {
        Self::start(options, planes, false).await
    }

    /// Starts `planes` planes, with those of projects behind a server that can be stopped on its own.
    pub async fn apart(options: &Options, planes: usize) -> Result<Self, Error> {
        Self::start(options, planes, true).await
    }

    async fn start(options: &Options, planes: usize, apart: bool) -> Result<Self, Error> {
        environment::clear_up().await?;
        let layout = Layout::from_name(&environment::own_instance())?;
        layout.create_root()?;
        layout.create()?;
        let port = ports::reserve(&ports_directory(), &layout, &["fedhub-bench/fake-apiserver".to_owned()])?;
        let port = port.into_values().next().unwrap_or_default();
        let program = options.fedhub.with_file_name("fedhub-fake-apiserver");
        let program = if program.exists() { program } else { beside() };
        let mut command = Command::new(&program);
        command.arg(format!("--planes={planes}")).arg("--city=DFW");
        command.args(apart.then_some("--apart")).arg("--dir");
        command.arg(layout.scratch("fake-apiserver")).stdin(Stdio::null()).stdout(Stdio::piped());
        let log = layout.log("fake-apiserver");
        let file = std::fs::File::create(&log).map_err(Error::file("create", &log))?;
        command.stderr(file).kill_on_drop(true).process_group(0);
        let mut child = command.spawn().map_err(Error::file("start", &program))?;
        let ready = child
            .stdout
            .take()
            .ok_or_else(|| Error::Benchmark("the fake API server has no output".to_owned()))?;
        let line = BufReader::new(ready).lines().next_line().await.map_err(Error::file("read", &log))?;
        let ready: Ready = serde_json::from_str(&line.unwrap_or_default()).map_err(|error| {
            Error::Benchmark(format!("the fake API server does not start ({}): {error}", log.display()))
        })?;
        let root = if apart { &ready.projects_kubeconfig } else { &ready.management_kubeconfig };
        let kubeconfigs = [&*ready.hub_kubeconfig, root, &*ready.management_kubeconfig];
        let pod = Overlay::milo_pod(&layout, kubeconfigs, port).await?;
        let fleet = Self {
            _child: child,
            pod,
            ready,
            http: HttpClient::builder(TokioExecutor::new()).build_http(),
            layout,
            program: options.fedhub()?,
            port,
            planes,
            progress: options.progress.clone(),
        };
        fleet.progress.step(format!("{planes} planes in memory serve"));
        Ok(fleet)
    }

    /// Starts a fedhub with these flags beside those that each is given, and returns at once.
    pub fn spawn(&self, flags: &[&str]) -> Result<Process, Error> {
        let mut pod = self.pod.clone();
        pod.arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        Process::spawn(&self.program, &pod, self.port, &self.layout.log("fedhub"))
    }

    /// Starts a fedhub and waits until it has engaged every plane and has nothing to do.
    pub async fn fedhub(&self, flags: &[&str]) -> Result<Process, Error> {
        let mut process = self.spawn(flags)?;
        let planes = self.planes;
        until("fedhub to engage every plane and to come to rest", PATIENCE, || {
            let rest = process.rests(planes);
            async move {
                tokio::time::sleep(LOOK).await;
                rest.await
            }
        })
        .await?;
        process.alive()?;
        self.progress.step(format!("{planes} planes are engaged"));
        Ok(process)
    }

    /// Fills the planes; `state` is `in-order` or `unfederated`.
    pub async fn populate(
        &self,
        deployments: usize,
        instances: usize,
        state: &str,
        prefix: &str,
    ) -> Result<(), Error> {
        let population =
            json!({ "deployments": deployments, "instances": instances, "state": state, "prefix": prefix });
        self.ask(Method::POST, "/populate", population).await?;
        self.progress.step(format!("{deployments} WDs and {instances} Instances, {state}"));
        Ok(())
    }

    /// Asks the control API.
    pub async fn ask(&self, method: Method, path: &str, body: Value) -> Result<Value, Error> {
        let what = format!("{method} {path} of the fake API server");
        let failed = |error: &dyn std::fmt::Display| Error::Benchmark(format!("{what}: {error}"));
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.ready.control))
            .body(Full::from(if method == Method::GET { Vec::new() } else { body.to_string().into_bytes() }))
            .map_err(|error| failed(&error))?;
        let answer = self.http.request(request).await.map_err(|error| failed(&error))?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
        if !status.is_success() {
            return Err(failed(&String::from_utf8_lossy(&body)));
        }
        serde_json::from_slice(&body).map_err(|error| failed(&error))
    }

    /// Returns the requests since the last [`Self::count_anew`].
    pub async fn counters(&self) -> Result<Counters, Error> {
        let counters = self.ask(Method::GET, "/counters", Value::Null).await?;
        serde_json::from_value(counters).map_err(|error| Error::Benchmark(format!("counters: {error}")))
    }

    /// Waits until fedhub's watches of all planes are established, and returns how many requests are in
    /// flight then.
    pub async fn watched(&self) -> Result<usize, Error> {
        let least = self.planes * WATCHES;
        until("all watches to stand", PATIENCE, || async {
            // This question is a stream too.
            let streams = self.counters().await?.open.streams.saturating_sub(1);
            if streams >= least { Ok(streams) } else { Err(NotYet::again(format!("{streams} of {least}"))) }
        })
        .await
    }

    /// Counts from zero.
    pub async fn count_anew(&self) -> Result<(), Error> {
        self.ask(Method::DELETE, "/counters", Value::Null).await.map(drop)
    }

    /// Waits until the hub has been asked to create `count` WDs.
    pub async fn federated(&self, count: usize) -> Result<(), Error> {
        until("the hub to have every WD", PATIENCE, || async {
            tokio::time::sleep(LOOK).await;
            let made = self
                .counters()
                .await?
                .sum(|c| c.plane == "hub" && c.verb == "create" && c.resource == "workloaddeployments");
            let enough = usize::try_from(made).is_ok_and(|made| made >= count);
            if enough { Ok(()) } else { Err(NotYet::again(format!("{made} of {count}"))) }
        })
        .await
    }

    /// Deletes the Project of the last plane, which is served as before. No fedhub engages it while nothing
    /// on the hub is of it.
    pub async fn withdraw_last(&mut self) -> Result<(), Error> {
        self.planes -= 1;
        let path = format!("{PROJECTS}/{}", name(self.planes));
        let wrong = |error: String| Error::Benchmark(format!("delete {path}: {error}"));
        let request = Request::delete(&path).body(Vec::new()).map_err(|error| wrong(error.to_string()))?;
        let answer = self.management().await?.request::<Value>(request).await;
        answer.map(drop).map_err(|error| wrong(error.to_string()))
    }

    /// The kubeconfigs of the hub and of the management plane.
    pub fn kubeconfigs(&self) -> (&Path, &Path) {
        (&self.ready.hub_kubeconfig, &self.ready.management_kubeconfig)
    }

    /// The content of a kubeconfig of a project plane.
    pub fn kubeconfig_of(&self, plane: usize) -> Result<String, Error> {
        let path = &self.ready.projects_kubeconfig;
        let content = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
        let mut kubeconfig: Value = serde_json::from_str(&content)
            .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
        let server = format!("{}{PROJECTS}/{}/control-plane", self.ready.url, name(plane));
        kubeconfig["clusters"][0]["cluster"]["server"] = server.into();
        Ok(kubeconfig.to_string())
    }

    /// A client of the hub.
    pub async fn hub(&self) -> Result<Client, Error> {
        environment::client(&self.ready.hub_kubeconfig).await
    }

    /// A client of the server that all planes are behind: see [`project_path`].
    pub async fn management(&self) -> Result<Client, Error> {
        environment::client(&self.ready.management_kubeconfig).await
    }

    /// A client of the server that the planes of projects are behind, with its outages.
    pub async fn projects(&self) -> Result<Client, Error> {
        environment::client(&self.ready.projects_kubeconfig).await
    }

    /// The port of all planes.
    pub fn port(&self) -> u16 {
        self.ready.url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
    }
}

/// Where the WDs of a project plane are: those of a namespace, or of all.
pub fn project_path(plane: usize, namespace: Option<&str>, plural: &str) -> String {
    let namespace = namespace.map(|name| format!("namespaces/{name}/")).unwrap_or_default();
    format!("{PROJECTS}/{}/control-plane/apis/compute.datumapis.com/v1alpha/{namespace}{plural}", name(plane))
}

/// The name of a project plane.
pub fn name(plane: usize) -> String {
    format!("p-{plane:05}")
}

fn beside() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("fedhub-fake-apiserver")
}
