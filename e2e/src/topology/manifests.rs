//! Manifests on their way to an API server.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use tokio::process::Command;

use crate::Error;

/// The field manager of everything that the harness applies: it is what an installer would apply by
/// `kubectl apply --server-side`, who may do that beside it.
const FIELD_MANAGER: &str = "kubectl";

/// Builds a kustomization, in the order in which its objects can be made.
pub async fn kustomize(kubectl: &Path, directory: &Path) -> Result<Vec<DynamicObject>, Error> {
    let mut command = Command::new(kubectl);
    command.arg("kustomize").arg(directory).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(Error::file("run", kubectl))?;
    if !output.status.success() {
        return Err(Error::Command {
            command: format!("kubectl kustomize {}", directory.display()),
            status: output.status.to_string(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    parse(directory, &String::from_utf8_lossy(&output.stdout))
}

/// Reads a file of manifests after replacing every `from` by its `to`.
pub fn read(path: &Path, replace: &[(&str, &str)]) -> Result<Vec<DynamicObject>, Error> {
    let mut text = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
    for (from, to) in replace {
        text = text.replace(from, to);
    }
    parse(path, &text)
}

/// Reads manifests; `path` is what an error names.
pub fn parse(path: &Path, text: &str) -> Result<Vec<DynamicObject>, Error> {
    serde_saphyr::from_multiple(text).map_err(|error| problem(path, error))
}

/// An object from literal JSON of ours.
pub fn object(manifest: serde_json::Value) -> Result<DynamicObject, Error> {
    serde_json::from_value(manifest).map_err(|error| problem("(built in)", error))
}

/// Applies objects in their order.
pub async fn apply_all(client: &Client, plane: &str, objects: &[DynamicObject]) -> Result<(), Error> {
    for object in objects {
        apply(client, plane, object).await?;
    }
    Ok(())
}

/// Makes an object be as given, by server-side apply.
pub async fn apply(client: &Client, plane: &str, object: &DynamicObject) -> Result<DynamicObject, Error> {
    let (api, what) = api(client, object)?;
    let name = object.name_any();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(object))
        .await
        .map_err(Error::api(format!("apply {what} {name} on {plane}")))
}

/// The API that an object belongs to, and the object's kind for messages.
fn api(client: &Client, object: &DynamicObject) -> Result<(Api<DynamicObject>, String), Error> {
    let types = object
        .types
        .as_ref()
        .ok_or_else(|| problem("(built in)", "an object without apiVersion and kind"))?;
    let kind = GroupVersionKind::try_from(types).map_err(|error| problem("(built in)", error))?;
    let resource = ApiResource::from_gvk(&kind);
    let api = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    Ok((api, kind.kind))
}

fn problem(path: impl Into<PathBuf>, problem: impl ToString) -> Error {
    Error::Manifest { path: path.into(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_documents_are_several_objects() {
        let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n";
        let names: Vec<_> = parse(Path::new("x"), text).unwrap().iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn placeholders_are_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a.yaml");
        std::fs::write(&path, "apiVersion: v1\nkind: Namespace\nmetadata: {name: \"{{x}}\"}\n").unwrap();
        assert_eq!(read(&path, &[("{{x}}", "y")]).unwrap()[0].name_any(), "y");
    }
}
