//! Objects and lists as they go over the wire.

use serde::Serialize;
use serde_json::{Value, json};

use crate::read::Page;
use crate::resource::Resource;

/// An object's metadata only.
pub(crate) fn partial(object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}

#[derive(Serialize)]
struct List<'a> {
    kind: String,
    #[serde(rename = "apiVersion")]
    api_version: String,
    metadata: Value,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Whole(&'a Value),
    Made(Value),
}

/// A list's body. Items of built-in resources do not say their type, as the real server's do not.
pub(crate) fn list(resource: &Resource, page: &Page, metadata_only: bool) -> String {
    let mut metadata = json!({ "resourceVersion": page.revision.to_string() });
    if let Some(token) = &page.token {
        metadata["continue"] = json!(token);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let item = |object| match (metadata_only, resource.custom) {
        (true, _) => Item::Made(partial(object)),
        (false, true) => Item::Whole(object),
        (false, false) => Item::Made(untyped(object)),
    };
    let (kind, api_version) = if metadata_only {
        ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned())
    } else {
        (format!("{}List", resource.kind), resource.api_version())
    };
    let items = page.items.iter().map(|object| item(&**object)).collect();
    let list = List { kind, api_version, metadata, items };
    // Values always serialize; an empty body would be the client's parse error, never a silent success.
    serde_json::to_string(&list).unwrap_or_default()
}

fn untyped(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}
