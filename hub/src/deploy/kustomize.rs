//! Kustomizations, built as far as those of `deploy/` go: resources, components, JSON patches, images and replacements.
//! Anything else in one fails. `e2e chart` compares what is built with what `kubectl kustomize` builds.

mod replacements;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use replacements::Replacement;

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
    #[serde(default)]
    images: Vec<Image>,
    #[serde(default)]
    replacements: Vec<Replacement>,
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Image {
    name: String,
    new_name: String,
    new_tag: String,
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

/// The names of the components that a directory's own kustomization takes in.
pub fn components(below: &str) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    read(&deploy(below)).components.iter().map(name).collect()
}

/// The objects of an overlay with one base and these components.
pub fn overlay(base: &str, components: &[&str]) -> Vec<Value> {
    let mut objects = Vec::new();
    accumulate(&deploy(base), read(&deploy(base)), &mut objects);
    for component in components {
        let component = deploy("components").join(component);
        accumulate(&component, read(&component), &mut objects);
    }
    objects
}

fn accumulate(directory: &Path, kustomization: Kustomization, objects: &mut Vec<Value>) {
    for resource in &kustomization.resources {
        let path = directory.join(resource);
        if path.is_dir() {
            // What it does is done to what it has, and not to what others have.
            let mut own = Vec::new();
            accumulate(&path, read(&path), &mut own);
            add(own, &path, objects);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        add(documents, &path, objects);
    }
    for component in &kustomization.components {
        let path = directory.join(component);
        let component = read(&path);
        assert_eq!(component.kind, "Component", "{}", path.display());
        accumulate(&path, component, objects);
    }
    for Patch { target, patch } in kustomization.patches {
        let operations: json_patch::Patch = serde_saphyr::from_str(&patch).unwrap();
        for object in objects.iter_mut().filter(|object| target.is(object)) {
            json_patch::patch(object, &operations)
                .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        }
    }
    for image in &kustomization.images {
        let name = |container: &Value| container["image"] == image.name.as_str();
        for container in objects.iter_mut().flat_map(containers).filter(|container| name(container)) {
            container["image"] = format!("{}:{}", image.new_name, image.new_tag).into();
        }
    }
    for replacement in &kustomization.replacements {
        replacement.make(objects).unwrap_or_else(|problem| panic!("{}: {problem}", directory.display()));
    }
}

fn containers(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut).into_iter().flatten()
}

fn add(more: Vec<Value>, from: &Path, objects: &mut Vec<Value>) {
    for object in more {
        let taken = objects.iter().any(|other| id(other) == id(&object));
        assert!(!taken, "{} has {:?}, which is there already", from.display(), id(&object));
        objects.push(object);
    }
}

/// What no two objects of an overlay may share.
fn id(object: &Value) -> (&Value, &Value, &Value, &Value) {
    let metadata = &object["metadata"];
    (&object["apiVersion"], &object["kind"], &metadata["namespace"], &metadata["name"])
}
