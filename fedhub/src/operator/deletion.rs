//! Deletion of an object as it was read, and not otherwise.

use std::fmt;

use fedhub_core::errors;
use fedhub_core::names::DELETION_PROTECTED;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;

use super::connect::Plane;

/// The result of deleting an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The object is deleted.
    Deleted,
    /// The object was gone already.
    Gone,
    /// The object stays, for this reason.
    Kept(String),
    /// A request failed.
    Failed(String),
}

impl Outcome {
    /// Whether it is there no more.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Deleted | Self::Gone)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str("deleted"),
            Self::Gone => f.write_str("gone already"),
            Self::Kept(why) => write!(f, "kept: {why}"),
            Self::Failed(error) => write!(f, "failed: {error}"),
        }
    }
}

/// Removes Karmada's protection and deletes the object, both in this very version and no other.
pub async fn delete(plane: &Plane, kind: Kind, object: &Object, manager: &str) -> Outcome {
    let api = Api::<Object>::namespaced_with(plane.client.clone(), object.namespace(), kind.resource());
    let mut version = object.version().to_owned();
    let protected = object.label(DELETION_PROTECTED.0).is_some();
    if protected {
        let labels = json!({DELETION_PROTECTED.0: null});
        let patch = json!({"metadata": {"resourceVersion": version, "labels": labels}});
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(patch);
        match write(plane, api.patch(object.name(), &params, &patch)).await {
            Ok(unprotected) => unprotected.version().clone_into(&mut version),
            Err(outcome) => return outcome,
        }
    }
    let preconditions = Preconditions { uid: Some(object.uid().to_owned()), resource_version: Some(version) };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match write(plane, api.delete(object.name(), &params)).await {
        Ok(_) => Outcome::Deleted,
        Err(Outcome::Kept(why)) if protected => {
            Outcome::Kept(format!("{why}; its deletion protection is off"))
        }
        Err(Outcome::Failed(error)) if protected => {
            Outcome::Failed(format!("{error}; its deletion protection is off"))
        }
        Err(outcome) => outcome,
    }
}

/// A write of an object that may have changed meanwhile.
async fn write<T>(plane: &Plane, request: impl Future<Output = kube::Result<T>>) -> Result<T, Outcome> {
    match tokio::time::timeout(plane.timeout, request).await {
        Ok(Ok(written)) => Ok(written),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(Outcome::Gone),
        Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
            Err(Outcome::Kept("it changed meanwhile; run the command again".to_owned()))
        }
        Ok(Err(error)) => {
            let lacks_right = matches!(&error, kube::Error::Api(status) if status.code == 403);
            let remedy = if lacks_right { "; use an operator's own kubeconfig, not fedhub's" } else { "" };
            Err(Outcome::Failed(format!("{}{remedy}", errors::chain(&error))))
        }
        Err(_) => {
            let seconds = plane.timeout.as_secs_f64();
            Err(Outcome::Failed(format!("no answer within {seconds} s: it may be deleted or not")))
        }
    }
}
