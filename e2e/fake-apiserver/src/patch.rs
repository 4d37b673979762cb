//! The two patch formats that are served.

use serde_json::Value;

use crate::answer::Refusal;

/// A patch that has been read, and not applied yet.
#[derive(Clone, Debug)]
pub(crate) enum Patch {
    /// RFC 7396.
    Merge(Value),
    /// RFC 6902.
    Json(json_patch::Patch),
}

impl Patch {
    /// Reads a patch by its content type.
    pub(crate) fn parse(content_type: &str, body: &[u8]) -> Result<Self, Refusal> {
        let bad = |error: serde_json::Error| Refusal::bad_request(format!("error decoding patch: {error}"));
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => {
                let patch: Value = serde_json::from_slice(body).map_err(bad)?;
                if patch.is_object() {
                    Ok(Self::Merge(patch))
                } else {
                    Err(Refusal::bad_request("error decoding patch: not an object"))
                }
            }
            "application/json-patch+json" => Ok(Self::Json(serde_json::from_slice(body).map_err(bad)?)),
            _ => Err(Refusal::unsupported_media_type()),
        }
    }

    /// The object with the patch applied.
    pub(crate) fn apply(&self, object: &Value) -> Result<Value, Refusal> {
        let mut object = object.clone();
        match self {
            Self::Merge(patch) => json_patch::merge(&mut object, patch),
            Self::Json(patch) => json_patch::patch(&mut object, patch)
                .map_err(|error| Refusal::patch_does_not_fit(&error.to_string()))?,
        }
        Ok(object)
    }
}
