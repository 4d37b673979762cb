//! A platform over HTTPS: a root with a catalogue of services, the plane of project `shop` behind its path,
//! and tokens that it accepts; and the program under test, started as datumctl starts it.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fedhub_fake_apiserver::http::{Census, Identity, Settings, serve};
use fedhub_fake_apiserver::{AnswerBody, ApiServer, Clock, Resource, resource};
use http::header::AUTHORIZATION;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tower::util::service_fn;
use tower::{BoxError, ServiceExt};

/// The project.
pub const PROJECT: &str = "shop";
const PLANE: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/shop/control-plane";

/// The program under test.
pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_datumctl-compute")
}

/// The platform, and a directory for a test's files.
pub struct Platform {
    /// The root.
    pub root: ApiServer,
    /// The plane of the project.
    pub plane: ApiServer,
    /// `host:port`.
    pub host: String,
    /// What requests carried as their token, in order.
    pub tokens: Arc<Mutex<Vec<String>>>,
    /// The tokens that are accepted.
    pub accepted: Arc<Mutex<BTreeSet<String>>>,
    /// The files.
    pub files: tempfile::TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Platform {
    /// A platform that accepts the token `good`, which the helper gives, and serves Workloads and
    /// entitlements.
    pub async fn start() -> Self {
        let root = ApiServer::builder("root").clock(now()).resources([service()]).build();
        let workload =
            Resource::custom("compute.datumapis.com", "v1alpha", "Workload", "workloads").with_status();
        let plane = ApiServer::builder(PROJECT)
            .clock(now())
            .resources(resource::project_plane())
            .resource(resource::service_entitlement())
            .resource(workload)
            .build();
        for name in ["kube-system", "default"] {
            plane
                .put(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
                .unwrap();
        }
        let identity = Identity::generate(&["localhost".to_owned()]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("localhost:{}", listener.local_addr().unwrap().port());
        let files = tempfile::tempdir().unwrap();
        fs::write(files.path().join("ca.pem"), identity.ca()).unwrap();
        let accepted = Arc::new(Mutex::new(BTreeSet::from(["good".to_owned()])));
        let platform = Self { root, plane, host, tokens: Arc::default(), accepted, files };
        platform.give("good");
        let served = (platform.root.clone(), platform.plane.clone());
        let tokens = platform.tokens.clone();
        let accepted = platform.accepted.clone();
        let service =
            service_fn(move |request| answer(served.clone(), tokens.clone(), accepted.clone(), request));
        tokio::spawn(async move {
            serve(listener, &identity, Settings::default(), service, Arc::<Census>::default()).await;
        });
        platform
    }

    /// A file of the test.
    pub fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// The tokens that the helper gives, one after another; the last one for ever.
    pub fn give(&self, tokens: &str) {
        let helper = script(
            self.files.path(),
            "helper",
            &format!(
                "d={dir}\nprintf '%s\\n' \"$*\" >> $d/asked\nenv >> $d/environment\nn=$(wc -l < $d/asked)\nset -- {tokens}\n\
                 if [ $n -gt $# ]; then n=$#; fi\nshift $((n - 1))\nprintf %s \"$1\"\n",
                dir = self.files.path().display()
            ),
        );
        assert!(helper.exists());
    }

    /// What the helper was asked, a line for each time.
    pub fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.file("asked")).unwrap_or_default();
        asked.lines().map(str::to_owned).collect()
    }

    /// The catalogue offers compute, enabled that way.
    pub fn offer(&self, mode: &str) {
        let spec = json!({
            "serviceName": "compute.datumapis.com", "phase": "Published", "enablementPolicy": { "mode": mode },
        });
        self.root
            .put(json!({
                "apiVersion": "services.miloapis.com/v1alpha1", "kind": "Service",
                "metadata": { "name": "compute-datumapis-com" }, "spec": spec,
            }))
            .unwrap();
    }

    /// The project's entitlement, with that status.
    pub fn entitle(&self, status: &Value) {
        fedhub_testing::entitle(&self.plane, status);
    }

    /// A workload of the project.
    pub fn workload(&self, name: &str, finalizers: &[&str]) {
        self.plane
            .put(json!({
                "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload",
                "metadata": { "namespace": "default", "name": name, "finalizers": finalizers },
                "spec": { "placements": [{ "name": "default", "cityCodes": ["DFW", "LHR"] }] },
                "status": { "replicas": 4 },
            }))
            .unwrap();
    }

    /// What gives a workload its URL, of the one with that UID.
    pub fn publish(&self, workload: &str, uid: &Value) {
        for (kind, plural) in [("HTTPProxy", "httpproxies"), ("NetworkService", "networkservices")] {
            self.plane.register(Resource::custom("networking.datumapis.com", "v1alpha", kind, plural));
            let labels = json!({ "compute.datumapis.com/workload-name": workload, "compute.datumapis.com/workload-uid": uid });
            let metadata = json!({ "namespace": "default", "name": workload, "labels": labels });
            let object = json!({
                "apiVersion": "networking.datumapis.com/v1alpha", "kind": kind, "metadata": metadata,
                "status": { "canonicalHostname": format!("{workload}.example.net") },
            });
            self.plane.put(object).unwrap();
        }
    }

    /// The program, with the environment that datumctl gives it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env_clear().stdin(std::process::Stdio::null());
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.files.path());
        command.env("SSL_CERT_FILE", self.file("ca.pem"));
        command.env("DATUM_ORG", "").env("DATUM_PROJECT", PROJECT).env("DATUM_API_HOST", &self.host);
        command.env("DATUM_PLUGIN_API_VERSION", "1").env("DATUM_SESSION", "");
        command.env("DATUM_CREDENTIALS_HELPER", self.file("helper"));
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments)).await
    }
}

/// Runs a command to its end.
pub async fn ended(mut command: Command) -> Ended {
    let output = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// A shell script in a directory. Another process writes it: what this one has open for writing, every child
/// that a test beside this one forks meanwhile has open too, and then it cannot be executed.
pub fn script(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    let source = directory.join(format!("{name}.sh"));
    fs::write(&source, format!("#!/bin/sh\n{text}")).unwrap();
    let installed = std::process::Command::new("install").args(["-m", "755"]).args([&source, &path]).status();
    assert!(installed.unwrap().success(), "{}", path.display());
    path
}

/// The program goes by the machine's clock, and so do the ages that it tells.
fn now() -> Clock {
    Clock::from_fn(Timestamp::now)
}

fn service() -> Resource {
    Resource::custom("services.miloapis.com", "v1alpha1", "Service", "services").cluster_scoped()
}

async fn answer(
    (root, plane): (ApiServer, ApiServer),
    tokens: Arc<Mutex<Vec<String>>>,
    accepted: Arc<Mutex<BTreeSet<String>>>,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, BoxError> {
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.unwrap_or_default().trim_start_matches("Bearer ").to_owned();
    tokens.lock().unwrap().push(token.clone());
    if !accepted.lock().unwrap().contains(&token) {
        let status = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 401, "reason": "Unauthorized",
            "message": "Unauthorized",
        });
        let body = Full::from(status.to_string()).map_err(|never| match never {}).boxed_unsync();
        let response = Response::builder().status(401).header("content-type", "application/json");
        return Ok(response.body(body)?);
    }
    let (mut parts, body) = request.into_parts();
    let whole = parts.uri.path_and_query().unwrap().to_string();
    let (server, path) = match whole.strip_prefix(PLANE) {
        Some(path) => (plane, path.to_owned()),
        None => (root, whole),
    };
    parts.uri = path.parse::<Uri>()?;
    server.service().oneshot(Request::from_parts(parts, body)).await
}
