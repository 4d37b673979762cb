//! A project's plane over HTTP, and the program at work on it.

use std::process::Stdio;

use fedhub_fake_apiserver::http::{Identity, Settings, serve};
use fedhub_fake_apiserver::{ApiServer, Resource, resource};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// A plane that is served, and a kubeconfig for it.
pub struct Plane {
    pub server: ApiServer,
    directory: TempDir,
    serving: JoinHandle<()>,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Plane {
    /// One that has all kinds that a project may have, and these objects.
    pub async fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let custom = |group: &str, version: &str, kind: &str, plural: &str| {
            Resource::custom(group, version, kind, plural).with_status()
        };
        let networking = "networking.datumapis.com";
        let quota = "quota.miloapis.com";
        let server = ApiServer::builder("project")
            .resources(resource::project_plane())
            .resource(custom("compute.datumapis.com", "v1alpha", "Workload", "workloads"))
            .resource(custom("compute.datumapis.com", "v1alpha", "WorkloadRollout", "workloadrollouts"))
            .resource(resource::instance_types())
            .resource(custom(networking, "v1alpha", "HTTPProxy", "httpproxies"))
            .resource(custom(networking, "v1alpha", "LocationBinding", "locationbindings").cluster_scoped())
            .resource(custom(quota, "v1alpha1", "AllowanceBucket", "allowancebuckets"))
            .resource(custom(quota, "v1alpha1", "ResourceClaim", "resourceclaims"))
            .resource(
                custom(quota, "v1alpha1", "ResourceRegistration", "resourceregistrations").cluster_scoped(),
            )
            .build();
        for object in objects {
            server.put(object).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
        );
        std::fs::write(directory.path().join("kubeconfig"), kubeconfig).unwrap();
        let service = server.service();
        let serving = tokio::spawn(async move {
            let identity = Identity::generate(&["localhost".to_owned()]).unwrap();
            serve(listener, &identity, Settings::default(), service, std::sync::Arc::default()).await;
        });
        Self { server, directory, serving }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_datumctl-compute"));
        command.env_clear().env("HOME", self.directory.path()).kill_on_drop(true);
        command.args(arguments.split_whitespace());
        command.arg("--kubeconfig").arg(self.directory.path().join("kubeconfig"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, arguments: &str) -> Ended {
        let output = self.command(arguments).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs the program, and leaves it running.
    pub fn start(&self, arguments: &str) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// The candidates for the last of these words.
    pub async fn complete(&self, words: &str) -> String {
        let kubeconfig = self.directory.path().join("kubeconfig");
        let words = words.split(' ').map(|word| if word == "''" { "" } else { word });
        let mut command = Command::new(env!("CARGO_BIN_EXE_datumctl-compute"));
        command.env_clear().env("HOME", self.directory.path());
        command.args(["__complete", "--kubeconfig"]).arg(kubeconfig).args(words);
        String::from_utf8(command.output().await.unwrap().stdout).unwrap()
    }
}

impl Ended {
    /// What was printed, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}
