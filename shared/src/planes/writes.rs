//! Requests to a plane. Every answer to a write enters the store at once (read your own writes); every update and
//! delete carries a precondition; every write passes the fence of leadership, dry runs need not. Nothing is written to
//! a plane that was let go.

use std::sync::Arc;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use serde_json::{Value, json};

use super::Plane;
use super::identity::Unrecognised;
use crate::engine::heard;
use crate::errors::RequestError;
use crate::object::{Key, Kind, Object, ObjectView, Shared};

/// The plane was let go, or its client replaced, while a pass over one of its objects was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plane was let go")]
pub struct LetGo;

impl Plane {
    fn api(&self, kind: Kind, namespace: &str) -> Api<Object> {
        if kind.namespaced() {
            Api::namespaced_with(self.client.clone(), namespace, kind.resource())
        } else {
            Api::all_with(self.client.clone(), kind.resource())
        }
    }

    fn failed(&self, verb: &'static str, kind: Kind) -> impl FnOnce(kube::Error) -> RequestError + '_ {
        move |source| RequestError {
            verb,
            resource: kind.resource().plural.clone(),
            plane: self.id.clone(),
            source,
        }
    }

    /// Sends a write, if this process leads and the plane is not let go for as long as that takes. Where it had left
    /// already, its end is as unknown as after a crash.
    async fn fenced<T>(
        &self,
        dry_run: bool,
        request: impl Future<Output = kube::Result<T>>,
    ) -> kube::Result<T> {
        let answer = if dry_run {
            request.await
        } else if !self.recognition.holds() {
            Err(kube::Error::Service(Box::new(Unrecognised)))
        } else {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => Err(kube::Error::Service(Box::new(LetGo))),
                answer = self.fence.guard(request) => {
                    answer.unwrap_or_else(|fenced| Err(kube::Error::Service(Box::new(fenced))))
                }
            }
        };
        heard::note(&self.id, &answer);
        answer
    }

    /// The key of an object of this plane.
    pub fn key(&self, kind: Kind, namespace: &str, name: &str) -> Key {
        Key { plane: self.id.clone(), kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    fn learn(&self, kind: Kind, mut object: Object) -> Shared {
        object.metadata.managed_fields = None;
        let object = Arc::new(object);
        if let Some(store) = self.store_of(kind, &object) {
            store.own(&object);
        }
        object
    }

    /// Reads one object from the server, past every store. `None` where the server says that there is none.
    pub async fn live(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, RequestError> {
        let answer = self.api(kind, namespace).get_opt(name).await;
        heard::note(&self.id, &answer);
        answer.map_err(self.failed("get", kind))
    }

    /// Reads one object from the server into the store, which keeps it: for one that is known by its digest only, and
    /// for one that the server says is there and the watch does not show, as after a list that was not whole.
    pub async fn refresh(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Shared>, RequestError> {
        let Some(mut object) = self.live(kind, namespace, name).await? else { return Ok(None) };
        object.metadata.managed_fields = None;
        let object = Arc::new(object);
        if let Some(store) = self.store_of(kind, &object) {
            store.read(&object);
        }
        Ok(Some(object))
    }

    /// The object that the store knows of: as it is kept there, or else read. `None` where the store knows of none,
    /// or the server has it no more.
    pub async fn whole(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Shared>, RequestError> {
        match self.store(kind).get(namespace, name) {
            None => Ok(None),
            Some(known) if known.object.is_some() => Ok(known.object),
            Some(_) => self.refresh(kind, namespace, name).await,
        }
    }

    /// Creates an object.
    pub async fn create(&self, kind: Kind, object: &Object, manager: &str) -> Result<Shared, RequestError> {
        let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        let api = self.api(kind, object.space());
        let made =
            self.fenced(false, api.create(&params, object)).await.map_err(self.failed("create", kind))?;
        Ok(self.learn(kind, made))
    }

    /// Replaces an object; its resourceVersion, which must be set, is the precondition. With `dry_run` nothing is
    /// stored, and the answer is what the server would have made of it.
    pub async fn replace(
        &self,
        kind: Kind,
        object: &Object,
        manager: &str,
        dry_run: bool,
    ) -> Result<Shared, RequestError> {
        let params = PostParams { field_manager: Some(manager.to_owned()), dry_run };
        let api = self.api(kind, object.space());
        let made = self
            .fenced(dry_run, api.replace(object.called(), &params, object))
            .await
            .map_err(self.failed("update", kind))?;
        Ok(if dry_run { Arc::new(made) } else { self.learn(kind, made) })
    }

    /// Replaces the status of `of`, whose resourceVersion is the precondition. With `dry_run` nothing is stored.
    pub async fn replace_status(
        &self,
        kind: Kind,
        of: &Object,
        status: &Value,
        manager: &str,
        dry_run: bool,
    ) -> Result<Shared, RequestError> {
        let mut body = crate::object::bare(kind, of.space(), of.called());
        body.metadata.resource_version = Some(of.version().to_owned());
        body.metadata.uid = Some(of.uid().to_owned());
        crate::object::set_field(&mut body, "status", status.clone());
        let params = PostParams { field_manager: Some(manager.to_owned()), dry_run };
        let api = self.api(kind, of.space());
        let made = self
            .fenced(dry_run, api.replace_status(of.called(), &params, &body))
            .await
            .map_err(self.failed("update", kind))?;
        Ok(if dry_run { Arc::new(made) } else { self.learn(kind, made) })
    }

    /// Merges `metadata` into that of `of`, whose resourceVersion is the precondition: one patch for finalizers and
    /// annotations (I2).
    pub async fn patch_metadata(
        &self,
        kind: Kind,
        of: &Object,
        metadata: Value,
        manager: &str,
    ) -> Result<Shared, RequestError> {
        self.patch(kind, of, json!({ "metadata": metadata }), manager).await
    }

    /// Merges `patch` into `of`, whose resourceVersion is the precondition: one patch for metadata and spec.
    pub async fn patch(
        &self,
        kind: Kind,
        of: &Object,
        mut patch: Value,
        manager: &str,
    ) -> Result<Shared, RequestError> {
        patch["metadata"]["resourceVersion"] = json!(of.version());
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let api = self.api(kind, of.space());
        let made = self
            .fenced(false, api.patch(of.called(), &params, &Patch::Merge(patch)))
            .await
            .map_err(self.failed("patch", kind))?;
        Ok(self.learn(kind, made))
    }

    /// Deletes `object` if it is still the one with this UID and, where `exact`, still at this resourceVersion. One
    /// that is gone already is no error. Says whether it is gone by now: finalizers may hold it.
    pub async fn delete(&self, kind: Kind, object: &Object, exact: bool) -> Result<bool, RequestError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(object.uid().to_owned()),
                resource_version: exact.then(|| object.version().to_owned()),
            }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let api = self.api(kind, object.space());
        match self.fenced(false, api.delete(object.called(), &params)).await {
            Ok(answer) => {
                let held = answer.left().filter(|o| o.deleting() && o.metadata.finalizers.is_some());
                Ok(held.map(|object| self.learn(kind, object)).is_none())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
            Err(error) => Err(self.failed("delete", kind)(error)),
        }
    }
}
