//! The planes of an installation, each served on a port of its own, and Karmada between the hub and the cell.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::fleet::kubeconfig::kubeconfig;
use fedhub_fake_apiserver::http::{self, Census, Identity};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

const WD: &str = "WorkloadDeployment";
/// The namespace of the project.
const SHOP: &str = "shop";
/// That of the hub and the cell.
const SPACE: &str = "ns-uid-shop";

/// A process that ends with the test.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

/// The planes.
pub struct Planes {
    pub project: ApiServer,
    pub hub: ApiServer,
    cell: ApiServer,
    directory: TempDir,
}

fn namespace(server: &ApiServer, name: &str, labels: &Value) {
    let metadata = json!({"name": name, "uid": format!("uid-{name}"), "labels": labels});
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
}

impl Planes {
    /// All of them, with a WD in the project.
    pub async fn start() -> Self {
        let management = ApiServer::management("management");
        let planes = Self {
            project: ApiServer::project_plane("project-a"),
            hub: ApiServer::hub("hub"),
            cell: ApiServer::cell("cell-dfw"),
            directory: tempfile::tempdir().unwrap(),
        };
        let identity = Identity::generate(&["127.0.0.1".to_owned()]).unwrap();
        for (name, server) in [("management", &management), ("hub", &planes.hub), ("cell", &planes.cell)] {
            fs::write(planes.file(name), serve(server, &identity).await.to_string()).unwrap();
        }
        for server in [&management, &planes.project, &planes.hub, &planes.cell] {
            namespace(server, "kube-system", &json!({}));
        }
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "namespace": "fedhub-system", "name": "project-a",
                "labels": {"federation.datumapis.com/plane": "project"},
            },
            "data": {"kubeconfig": ByteString(serve(&planes.project, &identity).await.to_string().into_bytes())},
        });
        management.put(secret).unwrap();
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "cell-dfw", "labels": {"topology.datum.net/city-code": "DFW"}}, "spec": {},
        });
        planes.hub.put(cluster).unwrap();
        namespace(&planes.project, SHOP, &json!({}));
        let wd = json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": WD,
            "metadata": {"namespace": SHOP, "name": "web"},
            "spec": {
                "cityCode": "DFW", "placementName": "default", "workloadRef": {"name": "web", "uid": "uid-workload"},
                "scaleSettings": {"minReplicas": 1},
                "template": {"spec": {
                    "runtime": {
                        "resources": {"instanceType": "datumcloud/d1-standard-2"},
                        "sandbox": {"containers": [{"name": "app", "image": "docker.io/library/nginx:1.29"}]},
                    },
                    "networkInterfaces": [{"network": {"name": "default"}}],
                }},
            },
        });
        planes.project.put(wd).unwrap();
        planes
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.yaml"))
    }

    /// The management role.
    pub fn management(&self, endpoint: &str) -> Process {
        let kubeconfig = format!("--management-kubeconfig={}", self.file("management").display());
        self.fedhub(endpoint, &["--enable-management-controllers", "--discovery=kubeconfigs", &kubeconfig])
    }

    /// The role of the cell.
    pub fn cell_role(&self, endpoint: &str) -> Process {
        let kubeconfig = format!("--cell-kubeconfig={}", self.file("cell").display());
        let flags = ["--enable-cell-controllers", "--cell-name=cell-dfw", "--cell-city=DFW", &kubeconfig];
        self.fedhub(endpoint, &flags)
    }

    fn fedhub(&self, endpoint: &str, flags: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        command.arg("run").args(flags).args([
            "--traces",
            "--leader-elect=false",
            "--admin-address=127.0.0.1:0",
        ]);
        command.arg(format!("--hub-kubeconfig={}", self.file("hub").display()));
        command.env_clear().env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "50");
        Process(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// Does what Karmada does: the WD down, with its labels and annotations, and its status up, as the
    /// interpreter has it.
    pub fn carry(&self) {
        let Some(of_hub) = self.hub.get(WD, SPACE, "web") else { return };
        let Some(of_cell) = self.cell.get(WD, SPACE, "web") else {
            let labels = &self.hub.get("Namespace", "", SPACE).unwrap()["metadata"]["labels"];
            namespace(&self.cell, SPACE, labels);
            let metadata = &of_hub["metadata"];
            let carried = json!({
                "apiVersion": of_hub["apiVersion"], "kind": WD, "spec": of_hub["spec"],
                "metadata": {
                    "namespace": SPACE, "name": "web",
                    "labels": metadata["labels"], "annotations": metadata["annotations"],
                },
            });
            self.cell.put(carried).unwrap();
            return;
        };
        let mut status = of_cell["status"].clone();
        if status["observedGeneration"] != of_cell["metadata"]["generation"] {
            return;
        }
        let mark = &of_cell["metadata"]["annotations"]["federation.datumapis.com/source-generation"];
        status["observedGeneration"] = mark.as_str().unwrap().parse::<i64>().unwrap().into();
        if of_hub["status"] != status {
            self.hub.patch_status(WD, SPACE, "web", &status).unwrap();
        }
    }

    /// The WD of the project.
    pub fn wd(&self) -> Value {
        self.project.get(WD, SHOP, "web").unwrap()
    }

    /// That of the hub.
    pub fn hub_wd(&self) -> Value {
        self.hub.get(WD, SPACE, "web").unwrap()
    }
}

/// Serves a plane, and returns its kubeconfig.
async fn serve(server: &ApiServer, identity: &Identity) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let identity = identity.clone();
    let service = server.service();
    let census = Arc::<Census>::default();
    let ca = identity.ca().to_owned();
    tokio::spawn(async move {
        http::serve(listener, &identity, http::Settings::default(), service, census).await;
    });
    kubeconfig(server.name(), &format!("https://{address}"), &ca)
}
