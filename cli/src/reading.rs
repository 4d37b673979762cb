//! Reads of kinds that only some projects serve. What could not be read is an error beside the others, as in
//! [`crate::model`], and is told, never shown as none.

use fedhub_core::object::Object;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::model::{Index, Listed, pages};
use crate::problem::Problem;

/// A list request.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The name of the objects, in the plural.
    pub what: &'static str,
    /// Its group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// The namespace; `None` for a kind that has none.
    pub namespace: Option<&'a str>,
}

impl Query<'_> {
    fn resource(&self) -> ApiResource {
        let kind = GroupVersionKind::gvk(self.group, self.version, self.kind);
        ApiResource::from_gvk_with_plural(&kind, self.plural)
    }
}

/// Lists all objects that a query selects, by name.
pub async fn list(client: &Client, query: Query<'_>) -> Listed {
    let resource = query.resource();
    let api: Api<Object> = match query.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    pages(&api, "", query.what).await
}

/// Returns the objects of a kind; none if it could not be read, which the caller shows as such.
pub fn known(listed: &Listed) -> &[Object] {
    listed.as_deref().unwrap_or_default()
}

/// The deployments that were read, joined; where they could not be, nothing is said of them.
pub fn index(deployments: &Listed) -> Index<'_> {
    deployments.as_ref().map_or_else(|_| Index::default(), |all| Index::new(all, []))
}

/// Whether the project does not have a kind at all, so that there can be none of it.
pub fn is_unserved<T>(read: &Result<T, Problem>) -> bool {
    read.as_ref().is_err_and(|problem| problem.exit == Exit::Unavailable)
}

/// Returns a note for the user about something that could not be read.
pub fn note(problem: &Problem) -> String {
    let remedy = problem.remedy.as_ref().map_or_else(String::new, |remedy| format!(" {remedy}"));
    format!("Not everything is known here. {}{remedy}", problem.sentence)
}

/// Returns the problem as an entry of `--output json` and `yaml`.
pub fn missing(problem: &Problem) -> Value {
    json!({"message": problem.sentence, "remedy": problem.remedy})
}
