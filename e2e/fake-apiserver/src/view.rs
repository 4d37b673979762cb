//! Objects and lists as they go over the wire.

use serde_json::{Value, json};

use crate::object::Stored;
use crate::read::Page;
use crate::resource::Resource;

/// An object's metadata only.
pub(crate) fn partial(object: &Stored) -> Value {
    let metadata = object.value()["metadata"].take();
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

/// A list's body. Items of built-in resources do not say their type, as the real server's do not.
pub(crate) fn list(resource: &Resource, page: &Page, metadata_only: bool) -> String {
    let mut metadata = json!({ "resourceVersion": page.revision.to_string() });
    match &page.token {
        Some(token) => metadata["continue"] = json!(token),
        // The real server says it for custom resources, empty as it is.
        None if resource.custom && !metadata_only => metadata["continue"] = json!(""),
        None => {}
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let (kind, api_version) = if metadata_only {
        ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned())
    } else {
        (format!("{}List", resource.kind), resource.api_version())
    };
    let head = json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata });
    let mut list = head.to_string();
    // The items go where the head's last bracket was: they are text already.
    list.pop();
    list.reserve(page.items.iter().map(|object| object.text().len() + 1).sum::<usize>() + 16);
    list.push_str(",\"items\":[");
    for (turn, object) in page.items.iter().enumerate() {
        if turn > 0 {
            list.push(',');
        }
        match (metadata_only, resource.custom) {
            (true, _) => list.push_str(&partial(object).to_string()),
            (false, true) => list.push_str(object.text()),
            (false, false) => list.push_str(&untyped(object).to_string()),
        }
    }
    list.push_str("]}");
    list
}

fn untyped(object: &Stored) -> Value {
    let mut object = object.value();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}
