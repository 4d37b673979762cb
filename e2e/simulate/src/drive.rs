//! What the loops share: the kinds, how long something has been under way, writes, errors.

use std::fmt::{Debug, Display};
use std::time::Duration;

use dashmap::DashMap;
use fedhub_core::errors;
use fedhub_core::object::{Object, ObjectView};
use futures::{Stream, StreamExt};
use kube::api::{ApiResource, Patch, PatchParams};
use kube::runtime::controller::{Action, Error};
use kube::runtime::utils::Backoff;
use kube::{Api, Resource};
use serde_json::json;
use tokio::time::Instant;

use crate::step::Step;

/// The field manager of all writes.
pub const FIELD_MANAGER: &str = "fedhub-simulate";
/// A conflict means that what the watch is about to bring is newer.
const AFTER_CONFLICT: Duration = Duration::from_millis(50);
/// Any other failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long watches wait after each failure. kube's own wait grows to half a minute, and suites that come
/// after one that kills an API server would wait with it.
pub struct ConstantBackoff;

impl Iterator for ConstantBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(AFTER_FAILURE)
    }
}

impl Backoff for ConstantBackoff {
    fn reset(&mut self) {}
}

/// The kind of a type, for untyped objects of it.
pub fn kind<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

/// When each operation began. Kept in memory only: after a restart, operations begin again.
#[derive(Default)]
pub struct Waits(DashMap<String, Instant>);

impl Waits {
    /// How long; it begins now, if it has not yet.
    pub fn waited(&self, key: &str) -> Duration {
        self.0.entry(key.to_owned()).or_insert_with(Instant::now).elapsed()
    }

    /// Forgets an operation that has ended.
    pub fn forget(&self, key: &str) {
        self.0.remove(key);
    }
}

/// Performs a step.
pub async fn perform(api: &Api<Object>, object: &Object, step: Step) -> kube::Result<Action> {
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    // What was decided was decided about this version of the object: another one is a conflict.
    let version = object.version();
    if let Some(status) = step.status {
        let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
        written("status", object, api.patch_status(object.name(), &params, &Patch::Merge(patch)).await)?;
    }
    if let Some(finalizers) = step.finalizers {
        let patch = json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}});
        written("finalizers", object, api.patch(object.name(), &params, &Patch::Merge(patch)).await)?;
    }
    Ok(step.again.map_or_else(Action::await_change, Action::requeue))
}

/// Logs a write. An object that is gone counts as written.
fn written(what: &str, object: &Object, answer: kube::Result<Object>) -> kube::Result<()> {
    match answer {
        Ok(_) => {
            let kind = object.types.as_ref().map_or("", |types| &types.kind);
            tracing::debug!(what, kind, namespace = object.namespace(), name = object.name(), "written");
            Ok(())
        }
        Err(kube::Error::Api(answer)) if answer.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

/// When to try again.
pub fn retry(object: &Object, error: &kube::Error) -> Action {
    match error {
        kube::Error::Api(answer) if answer.code == 409 => Action::requeue(AFTER_CONFLICT),
        _ => {
            let error = errors::chain(error);
            tracing::warn!(namespace = object.namespace(), name = object.name(), error, "a step failed");
            Action::requeue(AFTER_FAILURE)
        }
    }
}

/// Runs a controller for as long as the future is polled.
pub async fn drive<R, Q>(
    part: &'static str,
    plane: &str,
    results: impl Stream<Item = Result<R, Error<kube::Error, Q>>>,
) where
    Q: std::error::Error + Debug + Display + 'static,
{
    tracing::info!(part, plane, "simulating");
    let mut results = std::pin::pin!(results);
    while let Some(result) = results.next().await {
        match result {
            // An object that is gone; a failure that `retry` has logged.
            Ok(_) | Err(Error::ObjectNotFound(_) | Error::ReconcilerFailed(..)) => {}
            Err(error) => tracing::warn!(part, plane, error = errors::chain(&error), "watching"),
        }
    }
}
