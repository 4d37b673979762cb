//! Kustomizations of `deploy/`, as `kubectl kustomize` builds them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, OnceLock};
use std::{env, fs};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a `kustomization.yaml` says that tests read.
#[derive(Debug, Deserialize)]
pub struct Kustomization {
    /// `Kustomization`, or `Component`: part of another.
    pub kind: String,
    #[serde(default)]
    components: Vec<PathBuf>,
}

/// The repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The directory `deploy/`, or one below it.
pub fn deploy(below: &str) -> PathBuf {
    repository().join("deploy").join(below)
}

/// Every directory of `deploy/` with a kustomization.
pub fn all() -> Vec<(PathBuf, Kustomization)> {
    fn below(directory: &Path, found: &mut Vec<(PathBuf, Kustomization)>) {
        if directory.join("kustomization.yaml").is_file() {
            found.push((directory.to_owned(), read(directory)));
        }
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    below(&deploy(""), &mut found);
    found
}

fn read(directory: &Path) -> Kustomization {
    let path = directory.join("kustomization.yaml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the components that a directory's own kustomization takes in.
pub fn components(below: &str) -> Vec<String> {
    read(&deploy(below))
        .components
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// An overlay's objects, once they are built.
type Built = Arc<OnceLock<Vec<Value>>>;

/// What was built, by base and components: most tests go over the same overlays.
static BUILT: LazyLock<Mutex<HashMap<String, Built>>> = LazyLock::new(Mutex::default);

/// The objects of an overlay with one base and these components.
pub fn overlay(base: &str, components: &[&str]) -> Vec<Value> {
    let key = [&[base], components].concat().join(" ");
    let built = Arc::clone(BUILT.lock().entry(key).or_default());
    built.get_or_init(|| build(base, components)).clone()
}

fn build(base: &str, components: &[&str]) -> Vec<Value> {
    if components.is_empty() {
        return kustomize(&deploy(base));
    }
    // Kustomize takes no absolute path, so the overlay is beside `deploy/`.
    let scratch = repository().join("tmp");
    fs::create_dir_all(&scratch).unwrap();
    let overlay = tempfile::tempdir_in(&scratch).unwrap();
    let components: Vec<_> =
        components.iter().map(|component| format!("../../deploy/components/{component}")).collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [format!("../../deploy/{base}")],
        "components": components,
    });
    fs::write(overlay.path().join("kustomization.yaml"), kustomization.to_string()).unwrap();
    kustomize(overlay.path())
}

fn kustomize(directory: &Path) -> Vec<Value> {
    let kubectl = kubectl();
    let output = Command::new(&kubectl).arg("kustomize").arg(directory).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", kubectl.display()));
    // Kustomize warns of fields that it will not take for long.
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{}: {complaints}", directory.display());
    serde_saphyr::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

/// `$KUBECTL`, else the one that the harness built last.
fn kubectl() -> PathBuf {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = variable("KUBECTL") {
        return named;
    }
    let cache = variable("FEDHUB_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("fedhub")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/fedhub")));
    let tools = cache.and_then(|cache| fs::read_dir(cache.join("bin")).ok()).into_iter().flatten().flatten();
    tools
        .filter(|tool| tool.file_name().to_string_lossy().starts_with("kubernetes-"))
        .map(|tool| tool.path().join("kubectl"))
        .filter(|kubectl| kubectl.is_file())
        .max_by_key(|kubectl| fs::metadata(kubectl).and_then(|metadata| metadata.modified()).ok())
        .expect("no kubectl: build it by `make kubectl`, or name one by KUBECTL")
}
