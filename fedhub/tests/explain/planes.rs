//! The planes of a test, each served on a port of its own, and the program that reads them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fedhub_fake_apiserver::fleet::kubeconfig::kubeconfig;
use fedhub_fake_apiserver::http::{self as server, Census, Identity};
use fedhub_fake_apiserver::{AnswerBody, ApiServer};
use http::{Request, Response};
use hyper::body::Incoming;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tower::{BoxError, Service};

use super::objects;

/// The planes, with a WD that is in sync.
pub struct Planes {
    pub management: ApiServer,
    pub project: ApiServer,
    pub hub: ApiServer,
    pub cell: ApiServer,
    identity: Identity,
    directory: TempDir,
}

/// What the program printed, and how it ended.
pub struct Ran {
    pub code: i32,
    pub json: Value,
    pub text: String,
    pub took: Duration,
}

impl Planes {
    /// All planes, in sync.
    pub async fn in_sync() -> Self {
        let planes = Self {
            management: ApiServer::management("management"),
            project: ApiServer::project_plane("project-a"),
            hub: ApiServer::builder("hub").resources(objects::hub()).build(),
            cell: ApiServer::cell("cell-dfw"),
            identity: Identity::generate(&["127.0.0.1".to_owned()]).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        };
        for (name, server) in
            [("management", &planes.management), ("hub", &planes.hub), ("cell", &planes.cell)]
        {
            let content = planes.serve(server).await;
            fs::write(planes.file(name), content.to_string()).unwrap();
        }
        let project = planes.serve(&planes.project).await;
        planes.put_secret("project-a", None, &project.to_string());
        objects::put_in_sync(&planes);
        planes
    }

    /// Serves a plane, and returns its kubeconfig.
    async fn serve(&self, server: &ApiServer) -> Value {
        self.serve_by(server.name(), server.service()).await
    }

    /// Serves what answers requests, and returns its kubeconfig.
    pub async fn serve_by<S>(&self, name: &str, service: S) -> Value
    where
        S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = BoxError>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let identity = self.identity.clone();
        let census = Arc::<Census>::default();
        tokio::spawn(async move {
            server::serve(listener, &identity, server::Settings::default(), service, census).await;
        });
        kubeconfig(name, &format!("https://{address}"), self.identity.ca())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.yaml"))
    }

    /// Puts the Secret of a project plane.
    pub fn put_secret(&self, name: &str, plane: Option<&str>, content: &str) {
        let annotations = plane.map(|plane| json!({"federation.datumapis.com/plane-name": plane}));
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "namespace": "fedhub-system", "name": name, "annotations": annotations,
                "labels": {"federation.datumapis.com/plane": "project"},
            },
            "data": {"kubeconfig": ByteString(content.as_bytes().to_vec())},
        });
        self.management.put(secret).unwrap();
    }

    /// The kubeconfig in the Secret of the project plane.
    pub fn secret_content(&self) -> String {
        let secret = self.management.get("Secret", "fedhub-system", "project-a").unwrap();
        let ByteString(bytes) = serde_json::from_value(secret["data"]["kubeconfig"].clone()).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Runs the program to its end.
    pub async fn fedhub(&self, flags: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        command.args(flags).env_clear().stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    /// `fedhub explain KIND NAME`, with these flags besides.
    pub async fn explain(&self, subject: [&str; 2], more: &[&str]) -> Ran {
        let hub = format!("--hub-kubeconfig={}", self.file("hub").display());
        let management = format!("--management-kubeconfig={}", self.file("management").display());
        let where_ = ["-n", "shop", "--plane", "project-a", &hub, &management];
        let flags: Vec<&str> =
            ["explain"].iter().chain(&subject).chain(&where_).chain(more).copied().collect();
        self.run(&flags).await
    }

    /// A command, with its flags.
    pub async fn run(&self, flags: &[&str]) -> Ran {
        let began = Instant::now();
        let output = self.fedhub(flags).await;
        let took = began.elapsed();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Ran { code: output.status.code().unwrap(), json, text: text + &errors, took }
    }

    /// `--cell-kubeconfig` of the cell.
    pub fn cell_flag(&self) -> String {
        format!("--cell-kubeconfig=cell-dfw={}", self.file("cell").display())
    }

    /// All servers.
    pub fn servers(&self) -> [&ApiServer; 4] {
        [&self.management, &self.project, &self.hub, &self.cell]
    }
}
