//! A Deployment of `deploy/` as a process: its arguments and its variables, as a kubelet would give them to a
//! container.
//!
//! What a process without a container cannot have is replaced, and nothing else is:
//!
//! | of the Deployment | of the process |
//! |---|---|
//! | a file of a Secret | the kubeconfig that the harness put into that Secret, or the file that a suite did |
//! | the service account of the Pod | `--management-kubeconfig`, with that account's token |
//! | the ports of the Pod | `--admin-address`, with one of this machine, `--metrics-address` and `--webhook-address`, with any of it |
//!
//! A Secret, a `ConfigMap` or a key that is not on the plane, and anything in a manifest that this does not
//! know, is an error: so a flag or a name that is wrong in `deploy/` fails every suite.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVar, PodSpec, Secret};
use kube::{Api, Client};
use serde_json::json;

use super::member::Member;
use crate::Error;
use crate::progress::Progress;
use crate::tools::{self, Tool};
use crate::topology::planes::{MANAGEMENT, Plane};
use crate::topology::{Layout, identities, kubeconfig, manifests};

/// How long a lease lasts where suites wait for its end.
const LEASE: [&str; 2] = ["--lease-duration=5s", "--lease-renew=1s"];

/// Flags that a suite may give a process beside those of its Deployment, or in place of them: where something
/// is, which identity it claims, how long things take, and the switches that docs/install.md has an installer
/// add by hand. The features of a cell are set by components.
const MAY_DIFFER: [&str; 16] = [
    "--cell-away-release",
    "--cell-city",
    "--cell-name",
    "--max-inferred-deletes-per-minute",
    "--hub-kubeconfig",
    "--lease-duration",
    "--lease-renew",
    "--metrics-client-ca",
    "--metrics-tls-cert",
    "--metrics-tls-key",
    "--move-deadline",
    "--policy-gc-delay",
    "--quota",
    "--teardown-delay",
    "--termination-deadline",
    "--traces",
];

/// An overlay of `deploy/`, applied to a plane.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The directory of the Deployment.
    base: &'static str,
    /// Names of `deploy/components`.
    components: Vec<String>,
    /// Where its `ConfigMap` and its Secrets are.
    plane: &'static Plane,
}

/// The arguments and environment of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Its variables.
    pub environment: BTreeMap<String, String>,
}

/// The objects on the plane that the Deployment names.
struct Surroundings {
    /// Files of Secrets, by name and key.
    files: BTreeMap<(String, String), PathBuf>,
    /// Values of `ConfigMap`s, by name and key.
    values: BTreeMap<(String, String), String>,
    /// The kubeconfig of the Pod's service account.
    account: PathBuf,
}

impl Overlay {
    /// The one of a member, with these components, on the plane that it is for unless another is given.
    pub fn from_member(
        member: Member,
        components: &[String],
        plane: Option<&str>,
    ) -> Result<Option<Self>, Error> {
        let usual = match member {
            Member::First | Member::Second => Self::management()?,
            Member::Cell(plane) => Self { base: "overlays/cell", components: Vec::new(), plane },
            Member::Services(_) | Member::Quota | Member::Region(_) | Member::Processes(_) => {
                return Ok(None);
            }
        };
        let plane = plane.map(Plane::named).transpose()?.unwrap_or(usual.plane);
        Ok(Some(Self { components: components.to_vec(), plane, ..usual }))
    }

    /// The management role's, as it is.
    pub fn management() -> Result<Self, Error> {
        Ok(Self {
            base: "overlays/management-plane",
            components: Vec::new(),
            plane: Plane::named(MANAGEMENT)?,
        })
    }

    /// The management role's with the project planes of a Milo, for planes that no kubelet and no harness has
    /// filled: with the kubeconfigs of the hub, of the root server and of the management plane in place of
    /// its Secrets and its account.
    pub async fn milo_pod(
        layout: &Layout,
        [hub, root, management]: [&Path; 3],
        port: u16,
    ) -> Result<Pod, Error> {
        let overlay = Self { base: "overlays/milo", ..Self::management()? };
        let file =
            |secret: &str, path: &Path| ((secret.to_owned(), "kubeconfig".to_owned()), path.to_owned());
        let files = [file(identities::HUB_SECRET, hub), file(identities::DISCOVERY_SECRET, root)];
        let surroundings =
            Surroundings { files: files.into(), values: BTreeMap::new(), account: management.to_owned() };
        pod(&overlay.deployment(layout).await?, &surroundings, port)
            .map_err(|problem| overlay.problem(problem))
    }

    /// Whether it has this component.
    pub fn has(&self, component: &str) -> bool {
        self.components.iter().any(|own| own == component)
    }

    /// Returns the pod of its Deployment, at this port of this machine.
    pub async fn pod(&self, layout: &Layout, port: u16) -> Result<Pod, Error> {
        let deployment = self.deployment(layout).await?;
        let client = kubeconfig::client(&layout.kubeconfig(self.plane.name)).await?;
        let surroundings = Surroundings::read(&deployment, &client, layout, self.plane).await?;
        pod(&deployment, &surroundings, port).map_err(|problem| self.problem(problem))
    }

    /// Returns the pod with a lease duration that is short enough for suites that kill the holder and wait
    /// for the next leader.
    pub async fn pod_for_suites(&self, layout: &Layout, port: u16) -> Result<Pod, Error> {
        let mut pod = self.pod(layout, port).await?;
        pod.arguments.extend(LEASE.map(str::to_owned));
        Ok(pod)
    }

    /// Builds the overlay, and takes the Deployment from it.
    async fn deployment(&self, layout: &Layout) -> Result<Deployment, Error> {
        let kubernetes = tools::ensure(Tool::Kubernetes, &Progress::stderr()).await?;
        let directory =
            layout.scratch("overlays").join([&[self.base.to_owned()], &*self.components].concat().join("+"));
        fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
        let deploy = crate::repository().join("deploy");
        let path = |below: &str| relative(&directory, &deploy.join(below));
        let components: Vec<_> =
            self.components.iter().map(|name| path(&format!("components/{name}"))).collect();
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [path(self.base)],
            "components": components,
        });
        let file = directory.join("kustomization.yaml");
        fs::write(&file, kustomization.to_string()).map_err(Error::file("write", &file))?;
        let built = manifests::kustomize(&kubernetes.program("kubectl"), &directory).await?;
        let mut deployments = built
            .iter()
            .filter(|object| object.types.as_ref().is_some_and(|types| types.kind == "Deployment"));
        match (deployments.next(), deployments.next()) {
            (Some(one), None) => serde_json::to_value(one)
                .and_then(serde_json::from_value)
                .map_err(|error| self.problem(error.to_string())),
            _ => Err(self.problem("not one Deployment".to_owned())),
        }
    }

    fn problem(&self, problem: String) -> Error {
        let path = crate::repository().join("deploy").join(self.base);
        let with = if self.components.is_empty() { "" } else { " with " };
        Error::Manifest { path, problem: format!("{}{with}{problem}", self.components.join(", ")) }
    }
}

/// The way from one directory to another; kustomize takes no other.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let depth = from.components().filter(|part| matches!(part, Component::Normal(_))).count();
    let up: PathBuf = std::iter::repeat_n("..", depth).collect();
    up.join(to.strip_prefix("/").unwrap_or(to))
}

impl Surroundings {
    async fn read(
        deployment: &Deployment,
        client: &Client,
        layout: &Layout,
        plane: &Plane,
    ) -> Result<Self, Error> {
        let namespace = namespace(deployment);
        let pod = pod_spec(deployment);
        let failed = |what: &str, name: &str| {
            Error::api(format!("read {what} {name} in {namespace} on {}", plane.name))
        };
        let mut files = BTreeMap::new();
        for volume in pod.and_then(|pod| pod.volumes.as_ref()).into_iter().flatten() {
            let Some(name) = volume.secret.as_ref().and_then(|secret| secret.secret_name.as_ref()) else {
                continue;
            };
            let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
            let secret = api.get(name).await.map_err(failed("Secret", name))?;
            for key in secret.data.unwrap_or_default().into_keys() {
                let Some(path) = identities::mounted(layout, namespace, name, &key, plane) else { continue };
                files.insert((name.clone(), key), path);
            }
        }
        let mut values = BTreeMap::new();
        for variable in pod.into_iter().flat_map(|pod| &pod.containers).flat_map(|of| of.env.iter().flatten())
        {
            let source = variable.value_from.as_ref().and_then(|from| from.config_map_key_ref.as_ref());
            let Some(name) = source.map(|source| &source.name) else { continue };
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let map = api.get(name).await.map_err(failed("ConfigMap", name))?;
            values.extend(
                map.data.unwrap_or_default().into_iter().map(|(key, value)| ((name.clone(), key), value)),
            );
        }
        let account = pod.and_then(|pod| pod.service_account_name.clone()).unwrap_or_default();
        let account = identities::of_account(layout, namespace, &account, plane.name).ok_or_else(|| {
            Error::Unknown {
                kind: "service account",
                name: format!("{namespace}/{account}"),
                known: "those of fedhub and of cells".to_owned(),
            }
        })?;
        Ok(Self { files, values, account })
    }
}

fn namespace(deployment: &Deployment) -> &str {
    deployment.metadata.namespace.as_deref().unwrap_or_default()
}

fn pod_spec(deployment: &Deployment) -> Option<&PodSpec> {
    deployment.spec.template.spec.as_ref()
}

fn pod(deployment: &Deployment, surroundings: &Surroundings, port: u16) -> Result<Pod, String> {
    let spec = pod_spec(deployment).ok_or("a Deployment without a Pod")?;
    let [container] = &spec.containers[..] else { return Err("not one container".to_owned()) };
    if container.command.is_some() || container.env_from.is_some() || spec.init_containers.is_some() {
        return Err("command, envFrom or initContainers: what they start is not known here".to_owned());
    }
    let mut arguments: Vec<String> = container
        .args
        .iter()
        .flatten()
        .map(|argument| local(argument, spec, container, surroundings))
        .collect::<Result<_, _>>()?;
    if arguments.iter().any(|argument| name_of(argument) == "--management-kubeconfig") {
        return Err("--management-kubeconfig: a Pod is in the cluster that it works for".to_owned());
    }
    for argument in &mut arguments {
        if name_of(argument) == "--metrics-address" {
            "--metrics-address=127.0.0.1:0".clone_into(argument);
        }
    }
    if arguments.iter().any(|argument| argument == "--enable-webhooks") {
        arguments.push("--webhook-address=127.0.0.1:0".to_owned());
    }
    arguments.push(format!("--management-kubeconfig={}", surroundings.account.display()));
    arguments.push(format!("--admin-address=127.0.0.1:{port}"));
    let environment = container
        .env
        .iter()
        .flatten()
        .map(|variable| value(variable, namespace(deployment), surroundings))
        .collect::<Result<_, _>>()?;
    Ok(Pod { arguments, environment })
}

/// An argument, with a file that is on this machine in place of one that is mounted.
fn local(
    argument: &str,
    spec: &PodSpec,
    container: &Container,
    surroundings: &Surroundings,
) -> Result<String, String> {
    let Some((flag, path)) = argument.split_once('=').filter(|(_, value)| value.starts_with('/')) else {
        return Ok(argument.to_owned());
    };
    let mounted = || {
        let (mount, key) = container
            .volume_mounts
            .iter()
            .flatten()
            .find_map(|mount| Some((mount, path.strip_prefix(&mount.mount_path)?.strip_prefix('/')?)))?;
        let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name)?;
        let secret = volume.secret.as_ref()?.secret_name.clone()?;
        surroundings.files.get(&(secret, key.to_owned()))
    };
    let file = mounted().ok_or_else(|| format!("{argument}: no Secret has it that is mounted there"))?;
    Ok(format!("{flag}={}", file.display()))
}

fn value(
    variable: &EnvVar,
    namespace: &str,
    surroundings: &Surroundings,
) -> Result<(String, String), String> {
    let from = variable.value_from.as_ref();
    let field = from.and_then(|from| from.field_ref.as_ref()).map(|of| of.field_path.as_str());
    let map = from.and_then(|from| from.config_map_key_ref.as_ref());
    let value = match (&variable.value, field, map) {
        (Some(value), None, None) => Some(value.clone()),
        (None, Some("metadata.namespace"), None) => Some(namespace.to_owned()),
        (None, None, Some(of)) => surroundings.values.get(&(of.name.clone(), of.key.clone())).cloned(),
        _ => None,
    };
    value
        .map(|value| (variable.name.clone(), value))
        .ok_or_else(|| format!("{}: nothing on the plane has its value", variable.name))
}

/// The name of a flag.
pub fn name_of(argument: &str) -> &str {
    argument.split('=').next().unwrap_or(argument)
}

/// Fails for a flag that a suite may not give: it is `deploy/` that is tested.
pub fn may_differ(flags: &[String]) -> Result<(), Error> {
    match flags.iter().find(|flag| !MAY_DIFFER.contains(&name_of(flag))) {
        None => Ok(()),
        Some(flag) => Err(Error::Unknown {
            kind: "flag that may differ from deploy/",
            name: flag.clone(),
            known: format!("{}; what a cell does is said by components", MAY_DIFFER.join(", ")),
        }),
    }
}

/// Fails for a variable that a suite may not set: only those of OpenTelemetry say where something is outside
/// of `deploy/`.
pub fn may_be_set(variables: &[(String, String)]) -> Result<(), Error> {
    match variables.iter().find(|(name, _)| !name.starts_with("OTEL_")) {
        None => Ok(()),
        Some((name, _)) => Err(Error::Unknown {
            kind: "variable that may be set beside deploy/",
            name: name.clone(),
            known: "those of OpenTelemetry, OTEL_*".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
