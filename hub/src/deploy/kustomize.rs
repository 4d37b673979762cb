//! Kustomizations, built as far as those of `deploy/` go: resources, components, JSON patches. Anything else in one fails.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A `kustomization.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Kustomization {
    #[allow(dead_code, reason = "every one has it")]
    api_version: String,
    /// `Kustomization`, or `Component`: part of another.
    pub kind: String,
    #[serde(default)]
    resources: Vec<PathBuf>,
    #[serde(default)]
    components: Vec<PathBuf>,
    #[serde(default)]
    patches: Vec<Patch>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    target: Target,
    patch: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    kind: String,
    name: Option<String>,
}

impl Target {
    fn is(&self, object: &Value) -> bool {
        let named = |name: &String| object["metadata"]["name"] == name.as_str();
        object["kind"] == self.kind.as_str() && self.name.as_ref().is_none_or(named)
    }
}

/// The directory `deploy/`, or one below it.
pub fn deploy(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy").join(below)
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

/// The objects of an overlay with one base and these components.
pub fn overlay(base: &str, components: &[&str]) -> Vec<Value> {
    let mut objects = Vec::new();
    accumulate(&deploy(base), &mut objects);
    for component in components {
        accumulate(&deploy("components").join(component), &mut objects);
    }
    objects
}

fn accumulate(directory: &Path, objects: &mut Vec<Value>) {
    let kustomization = read(directory);
    for resource in &kustomization.resources {
        let path = directory.join(resource);
        if path.is_dir() {
            accumulate(&path, objects);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        for object in documents {
            let taken = objects.iter().any(|other| id(other) == id(&object));
            assert!(!taken, "{} has {:?}, which is there already", path.display(), id(&object));
            objects.push(object);
        }
    }
    for component in &kustomization.components {
        accumulate(&directory.join(component), objects);
    }
    for Patch { target, patch } in &kustomization.patches {
        let operations: json_patch::Patch = serde_saphyr::from_str(patch).unwrap();
        for object in objects.iter_mut().filter(|object| target.is(object)) {
            json_patch::patch(object, &operations)
                .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        }
    }
}

/// What no two objects of an overlay may share.
fn id(object: &Value) -> (&Value, &Value, &Value, &Value) {
    let metadata = &object["metadata"];
    (&object["apiVersion"], &object["kind"], &metadata["namespace"], &metadata["name"])
}
