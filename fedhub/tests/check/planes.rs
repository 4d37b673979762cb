//! The planes of a test, each served on a port of its own, and the program that checks them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

use fedhub_fake_apiserver::fleet::kubeconfig::kubeconfig;
use fedhub_fake_apiserver::http::{self, Census, Identity};
use fedhub_fake_apiserver::{ApiServer, Resource, resource};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::front::{Front, Quirks};

/// A server, and what is off about it.
pub struct Plane {
    pub server: ApiServer,
    quirks: Arc<Mutex<Quirks>>,
}

impl Plane {
    fn new(server: ApiServer) -> Self {
        let group = "compute.datumapis.com";
        server.register(Resource::custom(group, "v1alpha", "Workload", "workloads"));
        server.register(Resource::custom(group, "v1alpha", "WorkloadRollout", "workloadrollouts"));
        Self { server, quirks: Arc::default() }
    }

    pub fn quirks(&self) -> MutexGuard<'_, Quirks> {
        self.quirks.lock().unwrap()
    }
}

/// The planes of an installation in order.
pub struct Planes {
    pub management: Plane,
    pub project: Plane,
    pub hub: Plane,
    pub cell: Plane,
    identity: Identity,
    directory: TempDir,
}

/// What the program printed, and how it ended.
pub struct Checked {
    pub code: i32,
    pub json: Value,
    pub text: String,
}

impl Checked {
    /// State, text and remedy of a check of a plane; nothing where it was not made.
    pub fn of(&self, check: &str, plane: &str) -> Option<[&str; 3]> {
        let all = self.json["checks"].as_array()?;
        let found = all.iter().find(|it| it["check"] == check && it["plane"] == plane)?;
        Some(["state", "found", "remedy"].map(|field| found[field].as_str().unwrap()))
    }
}

fn hub() -> ApiServer {
    let policy = |kind: &str, plural: &str| {
        Resource::builtin("admissionregistration.k8s.io", "v1", kind, plural).cluster_scoped()
    };
    let mut resources = resource::hub();
    resources.extend([
        Resource::custom("work.karmada.io", "v1alpha1", "Work", "works"),
        Resource::custom("policy.karmada.io", "v1alpha1", "ClusterTaintPolicy", "clustertaintpolicies"),
        resource::interpreter(),
        Resource::builtin("", "v1", "ServiceAccount", "serviceaccounts"),
        policy("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        policy("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    ]);
    ApiServer::builder("hub").resources(resources).build()
}

/// The objects of a file of `deploy/`.
fn deployed(file: &str) -> Vec<Value> {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy/components");
    serde_saphyr::from_multiple(&fs::read_to_string(deploy.join(file)).unwrap()).unwrap()
}

pub fn cluster(name: &str, city: &str) -> Value {
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {"topology.datum.net/city-code": city}}, "spec": {},
    })
}

pub fn wd(namespace: &str, city: &str) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {"namespace": namespace, "name": "web", "labels": {"topology.datum.net/city-code": city}},
        "spec": {"cityCode": city},
    })
}

pub fn config_map(namespace: &str, name: &str, label: (&str, &str), data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, "labels": {label.0: label.1}}, "data": data,
    })
}

fn kube_system(server: &ApiServer, uid: &str) {
    let metadata = json!({"name": "kube-system", "uid": uid});
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
}

impl Planes {
    /// Servers, and what stands on them before fedhub is installed.
    pub async fn bare() -> Self {
        let planes = Self {
            management: Plane::new(ApiServer::management("management")),
            project: Plane::new(ApiServer::project_plane("project-a")),
            hub: Plane::new(hub()),
            cell: Plane::new(ApiServer::cell("cell-dfw")),
            identity: Identity::generate(&["127.0.0.1".to_owned()]).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        };
        for plane in [&planes.management, &planes.hub, &planes.cell] {
            let content = planes.serve(plane).await;
            fs::write(planes.file(plane.server.name()), content.to_string()).unwrap();
        }
        let project = planes.serve(&planes.project).await;
        planes.put_secret("fedhub-system", "project-a", &project.to_string());
        kube_system(&planes.project.server, "uid-project-a");
        kube_system(&planes.cell.server, "uid-cell-dfw");
        planes.hub.server.put(cluster("cell-dfw", "DFW")).unwrap();
        planes
    }

    /// Like [`Self::bare`], with everything that an installation has.
    pub async fn installed() -> Self {
        let planes = Self::bare().await;
        planes.remember("uid-project-a");
        planes.enter("DFW/uid-cell-dfw");
        for file in [
            "hub/workloaddeployment-interpreter.yaml",
            "hub/own-writes.yaml",
            "hub-for-cells/own-instances.yaml",
            "hub-for-cells/instances-only.yaml",
            "hub-for-cells/keep-cells.yaml",
        ] {
            for object in deployed(file) {
                planes.hub.server.put(object).unwrap();
            }
        }
        planes
    }

    /// Serves a plane, and returns its kubeconfig.
    async fn serve(&self, plane: &Plane) -> Value {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let front = Front { inner: plane.server.service(), quirks: plane.quirks.clone() };
        let identity = self.identity.clone();
        let census = Arc::<Census>::default();
        tokio::spawn(async move {
            http::serve(listener, &identity, http::Settings::default(), front, census).await;
        });
        kubeconfig(plane.server.name(), &format!("https://{address}"), self.identity.ca())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.yaml"))
    }

    /// Puts a token into a kubeconfig file.
    pub fn give_token(&self, name: &str, token: &str) {
        let content = fs::read_to_string(self.file(name)).unwrap();
        fs::write(self.file(name), content.replace(r#""token":"fake""#, &format!(r#""token":"{token}""#)))
            .unwrap();
    }

    pub fn put_secret(&self, namespace: &str, name: &str, content: &str) {
        let labels = json!({"federation.datumapis.com/plane": "project"});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"namespace": namespace, "name": name, "labels": labels},
            "data": {"kubeconfig": ByteString(content.as_bytes().to_vec())},
        });
        self.management.server.put(secret).unwrap();
    }

    /// The kubeconfig in the Secret of the project plane.
    pub fn secret_content(&self) -> String {
        self.content("project-a")
    }

    /// The kubeconfig in a Secret.
    pub fn content(&self, name: &str) -> String {
        let secret = self.management.server.get("Secret", "fedhub-system", name).unwrap();
        let ByteString(bytes) = serde_json::from_value(secret["data"]["kubeconfig"].clone()).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The identity that fedhub remembers for the project plane.
    pub fn remember(&self, uid: &str) {
        let label = ("federation.datumapis.com/remembers", "plane-identities");
        let map = config_map("fedhub-system", "identities", label, &json!({"project-a": uid}));
        self.management.server.put(map).unwrap();
    }

    /// The entry of the cell on the hub.
    pub fn enter(&self, entry: &str) {
        let map = config_map("fedhub-cells", "fedhub-cells", ("a", "b"), &json!({"cell-dfw": entry}));
        self.hub.server.put(map).unwrap();
    }

    async fn fedhub(&self, flags: Vec<String>) -> Checked {
        self.command(["check".to_owned()].into_iter().chain(flags).collect()).await
    }

    /// Runs the program with these words.
    pub async fn command(&self, words: Vec<String>) -> Checked {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        command.args(words).env_clear();
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Checked { code: output.status.code().unwrap(), json, text: text + &errors }
    }

    /// `fedhub check` of the management role, with these flags besides.
    pub async fn check(&self, more: &[&str]) -> Checked {
        let other = more.iter().any(|flag| flag.starts_with("--discovery="));
        let discovery = (!other).then(|| "--discovery=kubeconfigs".to_owned());
        let flags = [
            "--enable-management-controllers".to_owned(),
            format!("--hub-kubeconfig={}", self.file("hub").display()),
            format!("--management-kubeconfig={}", self.file("management").display()),
        ];
        let more = more.iter().map(ToString::to_string);
        self.fedhub(flags.into_iter().chain(discovery).chain(more).collect()).await
    }

    /// Runs `fedhub check` of the cell role.
    pub async fn check_cell(&self, more: &[&str]) -> Checked {
        let flags = [
            "--enable-cell-controllers".to_owned(),
            "--cell-name=cell-dfw".to_owned(),
            format!("--hub-kubeconfig={}", self.file("hub").display()),
            format!("--cell-kubeconfig={}", self.file("cell-dfw").display()),
        ];
        self.fedhub(flags.into_iter().chain(more.iter().map(ToString::to_string)).collect()).await
    }

    /// All servers.
    pub fn servers(&self) -> [&ApiServer; 4] {
        [&self.management, &self.project, &self.hub, &self.cell].map(|plane| &plane.server)
    }
}
