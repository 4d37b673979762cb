//! The Helm chart beside the overlays: what Helm renders of it is what `kubectl kustomize` builds, field by
//! field, for each overlay and each component, with the values of the overlay and with others; and values
//! that mean nothing are refused.

mod cases;
mod compare;
mod elsewhere;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;

use self::cases::Case;
use crate::Error;
use crate::progress::Progress;
use crate::tools::{self, Tool, copy};
use crate::topology::manifests;

/// Values, what they change, and to what: a kind, a path in it, and what is there.
const CHANGES: [(&str, &str, &str, &str); 14] = [
    ("replicas=3", "Deployment", "/spec/replicas", "3"),
    (
        "image.tag=v9",
        "Deployment",
        "/spec/template/spec/containers/0/image",
        "registry.example.com/fedhub:v9",
    ),
    ("image.repository=here/it", "Deployment", "/spec/template/spec/containers/0/image", "here/it:v0.1.0"),
    ("image.pullSecrets[0].name=mine", "Deployment", "/spec/template/spec/imagePullSecrets/0/name", "mine"),
    (
        "resources.requests.memory=1Gi",
        "Deployment",
        "/spec/template/spec/containers/0/resources/requests/memory",
        "1Gi",
    ),
    (
        "extraArgs={--log-format=json}",
        "Deployment",
        "/spec/template/spec/containers/0/args/4",
        "--log-format=json",
    ),
    ("secrets.hub=mine", "Deployment", "/spec/template/spec/volumes/0/secret/secretName", "mine"),
    ("networkPolicy.apiServerPorts={443,32443}", "NetworkPolicy", "/spec/egress/1/ports/1/port", "32443"),
    (
        "metricsAuth.enabled=true,serviceMonitor.enabled=true,serviceMonitor.labels.release=mine",
        "ServiceMonitor",
        "/metadata/labels/release",
        "mine",
    ),
    (
        "webhooks.enabled=true,webhooks.certManager=true",
        "Certificate",
        "/spec/dnsNames/0",
        "fedhub-webhooks.elsewhere.svc",
    ),
    (
        "webhooks.enabled=true,webhooks.certManager=true,webhooks.dnsNames={fedhub.example.com}",
        "Certificate",
        "/spec/dnsNames/2",
        "fedhub.example.com",
    ),
    (
        "webhooks.enabled=true,webhooks.certManager=true,secrets.webhook=mine",
        "Certificate",
        "/spec/secretName",
        "mine",
    ),
    ("namespace.create=true", "Namespace", "/metadata/name", "elsewhere"),
    ("replicas=2", "RoleBinding", "/subjects/0/namespace", "elsewhere"),
];

/// Values that Helm has to refuse.
const REFUSED: [&str; 9] = [
    "role=both",
    "role=cell",
    "role=cell,cell.name=a",
    "features.quota=true",
    "discovery=single",
    "role=single-cluster,cell.name=a,cell.city=b,discovery=milo",
    "extraArgs={run}",
    "serviceMonitor.enabled=true",
    "replica=3",
];

/// Checks the chart. Everything that is wrong is in the error.
pub async fn check(progress: &Progress) -> Result<(), Error> {
    let kubectl = tools::ensure(Tool::Kubernetes, progress).await?.program("kubectl");
    let helm = Helm { program: tools::ensure(Tool::Helm, progress).await?.program("helm") };
    helm.run(&["lint", "--strict", &directory().display().to_string()]).await?;
    let scratch = Scratch::new()?;
    let mut wrong = Vec::new();
    let cases = cases::all();
    for (number, case) in cases.iter().enumerate() {
        let built = values(manifests::kustomize(&kubectl, &scratch.overlay(case, number)?).await?)?;
        let rendered = helm.template(case.namespace(), &case.values()).await?;
        wrong.extend(
            compare::differences(&built, &rendered).iter().map(|of| format!("{}: {of}", case.name())),
        );
        let others = [&case.values()[..], &elsewhere::VALUES].concat();
        let rendered = helm.template(elsewhere::NAMESPACE, &others).await?;
        let built = elsewhere::moved(built, case.namespace());
        let differences = compare::differences(&built, &rendered);
        wrong.extend(differences.iter().map(|of| format!("{}, with other values: {of}", case.name())));
    }
    progress.step(format!("{} overlays are compared with the chart, twice", cases.len()));
    wrong.extend(helm.changes().await?);
    wrong.extend(helm.refuses().await);
    progress.step(format!("{} values are changed, {} are refused", CHANGES.len(), REFUSED.len()));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Error::Manifest { path: directory(), problem: wrong.join("\n") })
    }
}

fn directory() -> PathBuf {
    crate::repository().join("deploy/chart")
}

fn values(objects: Vec<kube::api::DynamicObject>) -> Result<Vec<Value>, Error> {
    let all = objects.into_iter().map(serde_json::to_value).collect::<Result<_, _>>();
    all.map_err(|error| Error::Manifest { path: directory(), problem: error.to_string() })
}

struct Helm {
    program: PathBuf,
}

impl Helm {
    async fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        tools::output(command).await
    }

    /// Renders a release of this namespace with these values.
    async fn template(&self, namespace: &str, values: &[&str]) -> Result<Vec<Value>, Error> {
        let directory = directory().display().to_string();
        let mut arguments = vec!["template", "fedhub", &directory, "--namespace", namespace];
        arguments.extend(values.iter().flat_map(|value| ["--set", value]));
        let text = self.run(&arguments).await?;
        self::values(manifests::parse(Path::new("helm template"), &text)?)
    }

    /// The values that do not change what they should.
    async fn changes(&self) -> Result<Vec<String>, Error> {
        let mut wrong = Vec::new();
        for (value, kind, path, expected) in CHANGES {
            let objects = self.template("elsewhere", &[value]).await?;
            let of_kind = objects.iter().filter(|object| object["kind"] == kind);
            let found: Vec<_> = of_kind
                .filter_map(|object| {
                    object
                        .pointer(path)
                        .map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned))
                })
                .collect();
            if !found.iter().any(|found| found == expected) {
                wrong.push(format!("{value}: {kind} has {found:?} at {path}, not {expected}"));
            }
        }
        Ok(wrong)
    }

    /// The values that are not refused.
    async fn refuses(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for values in REFUSED {
            if self.template("fedhub-system", &[values]).await.is_ok() {
                wrong.push(format!("{values} is not refused"));
            }
        }
        wrong
    }
}

/// A copy of `deploy/`, which overlays are added to. It goes with this value.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    fn new() -> Result<Self, Error> {
        let scratch = Self(crate::repository().join("tmp").join(format!("chart-{}", std::process::id())));
        copy(&crate::repository().join("deploy"), &scratch.0)?;
        Ok(scratch)
    }

    /// The directory of an overlay with the components of a case.
    fn overlay(&self, case: &Case, number: usize) -> Result<PathBuf, Error> {
        let overlays = self.0.join("overlays");
        let Some(components) = &case.components else { return Ok(overlays.join(case.overlay)) };
        let directory = overlays.join(format!("case-{number}"));
        copy(&overlays.join(case.overlay), &directory)?;
        let file = directory.join("kustomization.yaml");
        let text = fs::read_to_string(&file).map_err(Error::file("read", &file))?;
        let mut kustomization: Value = serde_saphyr::from_str(&text)
            .map_err(|error| Error::Manifest { path: file.clone(), problem: error.to_string() })?;
        kustomization["components"] =
            components.iter().map(|name| Value::from(format!("../../components/{name}"))).collect();
        fs::write(&file, kustomization.to_string()).map_err(Error::file("write", &file))?;
        Ok(directory)
    }
}
