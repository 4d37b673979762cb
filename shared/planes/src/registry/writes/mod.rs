//! Requests to a plane. Every answer to a write enters the store at once (read your own writes); every update
//! and delete carries a precondition; every write passes the fence of leadership, dry runs need not. Nothing
//! is written to a plane that was disengaged.

pub mod confidential;
mod managers;
pub(crate) mod pass;
mod pause_gate;
pub(crate) mod writer;

use std::ops::ControlFlow;
use std::sync::Arc;

use fedhub_core::errors::{ApiError, Category, NotSent, RequestError};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, bare, set_too_large};
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::request;
use serde_json::{Value, json};

use crate::listwatch::limits::{self, ListLimits};
use crate::listwatch::pages::{self, Part};
use crate::listwatch::requests;
use crate::registry::pump::stripped::stripped;
use crate::{Pass, Plane, WriteState, listwatch};

/// Whether a write is stored, or only answered as if it were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The write is stored.
    No,
    /// Nothing is stored; the answer is what the server would have made of the write.
    Yes,
}

/// The precondition of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The object has the same UID.
    Uid,
    /// The object has the same UID and the same resourceVersion.
    UidAndVersion,
}

/// The result of a write.
#[derive(Debug)]
pub enum Written {
    /// The plane stored it.
    Stored(ObjectRef),
    /// A create found an object of that name, which the watch has not shown, as after a list that was not
    /// whole.
    Exists {
        /// The object, as it was read. Where the watch selects it, the store has it now.
        object: ObjectRef,
        /// The server's answer.
        conflict: RequestError,
    },
}

impl Written {
    /// The object that was stored; one that exists already is a conflict, and the next reconcile plans by it.
    #[allow(clippy::result_large_err, reason = "it is what requests return")]
    pub fn stored(self) -> Result<ObjectRef, RequestError> {
        match self {
            Self::Stored(object) => Ok(object),
            Self::Exists { conflict, .. } => Err(conflict),
        }
    }
}

impl Plane {
    /// Sends a request whose answer is an object, and reads that in bounded memory (I8).
    async fn ask(
        &self,
        kind: Kind,
        request: Result<http::Request<Vec<u8>>, request::Error>,
    ) -> Result<Object, ApiError> {
        let answer = listwatch::object(&self.client(), request?, kind, &self.id, &self.budget).await?;
        Ok(answer.0?)
    }

    pub(crate) fn failed(
        &self,
        verb: &'static str,
        kind: Kind,
    ) -> impl FnOnce(ApiError) -> RequestError + '_ {
        move |source| {
            let resource = kind.resource().plural.clone();
            if source.category() == Category::Forbidden {
                self.forbidden(verb, &resource);
            }
            RequestError { verb, resource, plane: self.id.clone(), source }
        }
    }

    /// Sends a write, if this process leads and the plane is not disengaged for as long as that takes. Where
    /// it had left already, its end is as unknown as after a crash. See [`Self::refused`] for what is not
    /// sent at all.
    pub(crate) async fn fenced<T>(
        &self,
        pass: &Pass,
        dry_run: DryRun,
        (kind, of): (Kind, &Object),
        request: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let answer = if let Err(held_back) = pass.admit(&self.id) {
            Err(held_back.into())
        } else if let Some(refused) = self.refused(kind, of) {
            Err(refused.into())
        } else if dry_run == DryRun::Yes {
            request.await
        } else if !self.recognition.holds() {
            Err(NotSent::IdentityUnknown.into())
        } else {
            pass.note_write();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => Err(NotSent::PlaneDisengaged.into()),
                answer = self.fence.guard(pass.epoch(), request) => answer.unwrap_or_else(|fenced| Err(fenced.into())),
            }
        };
        pass.note(&self.id, &answer);
        match answer {
            Err(ApiError::Server(status))
                if status.code == 403 && self.write_state() == WriteState::Suspended =>
            {
                Err(NotSent::Suspended.into())
            }
            answer => answer,
        }
    }

    /// Sends a write of `finalizers` to `of`. One that may place ours is known to be under way until the
    /// server has answered it and the answer is in the store: without an answer it is not known whether it is
    /// stored.
    async fn marking(
        &self,
        pass: &Pass,
        kind: Kind,
        of: &Object,
        finalizers: &[&str],
        request: impl Future<Output = Result<Object, ApiError>>,
    ) -> Result<ObjectRef, ApiError> {
        let mark = self.marks.begin(kind, of, finalizers)?;
        let answer = self.fenced(pass, DryRun::No, (kind, of), request).await;
        let answered = match &answer {
            Ok(_) => true,
            Err(error) => error.status().is_some_and(|status| status.code < 500 && status.code != 408),
        };
        let answer = answer.map(|made| self.learn(kind, made));
        if let Some(mark) = mark
            && answered
        {
            mark.answered();
        }
        answer
    }

    /// The key of an object of this plane.
    pub fn key(&self, kind: Kind, namespace: &str, name: &str) -> Key {
        Key { plane: self.id.clone(), kind, namespace: namespace.into(), name: name.into() }
    }

    pub(crate) fn learn(&self, kind: Kind, object: Object) -> ObjectRef {
        let object = Arc::new(stripped(kind, object));
        if let Some(store) = self.store_of(kind, &object) {
            store.own(&object);
        }
        object
    }

    /// Reads one object from the server, past every store. `None` where the server says that there is none.
    pub async fn get_live(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, RequestError> {
        let request = requests(kind, namespace).get(name, &GetParams::default());
        let answer = match pass.admit(&self.id) {
            Ok(()) => self.ask(kind, request).await,
            Err(held_back) => Err(held_back.into()),
        };
        let answer = match answer {
            Err(ApiError::Server(status)) if status.is_not_found() => Ok(None),
            answer => answer.map(Some),
        };
        pass.note(&self.id, &answer);
        answer.map_err(self.failed("get", kind))
    }

    /// Reads one object from the server into the store, which keeps it: for one that is known by its digest
    /// only, and for one that the server says is there and the watch does not show, as after a list that was
    /// not whole.
    pub async fn refresh(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ObjectRef>, RequestError> {
        let Some(object) = self.get_live(pass, kind, namespace, name).await? else { return Ok(None) };
        let object = Arc::new(stripped(kind, object));
        if let Some(store) = self.store_of(kind, &object) {
            store.read(&object);
        }
        Ok(Some(object))
    }

    /// The object that the store knows of: as it is kept there, or else read. `None` where the store knows of
    /// none, or the server has it no more.
    pub async fn get_or_fetch(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ObjectRef>, RequestError> {
        let store = self.store(kind);
        match store.object(namespace, name) {
            Some(object) => Ok(Some(object)),
            None if store.digest(namespace, name).is_none() => Ok(None),
            None => self.refresh(pass, kind, namespace, name).await,
        }
    }

    /// Reads the metadata of objects from the server, past every store and page by page: of a kind that is
    /// not watched here. Stops at as many as are asked for that `keep` keeps.
    pub async fn list_metadata(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: Option<&str>,
        selector: Option<&str>,
        most: usize,
        keep: impl Fn(&Object) -> bool + Send + Sync,
    ) -> Result<Vec<Object>, RequestError> {
        let source = pages::BoundedClient {
            client: self.client(),
            plane: self.id.clone(),
            budget: self.budget.clone(),
        };
        let limits = ListLimits::objects(limits::OF_ALL);
        let pages = source.pages(kind.resource(), namespace.unwrap_or_default(), Part::Metadata, limits);
        let mut pages = pages.labels(selector.unwrap_or_default());
        let mut kept = Vec::new();
        let mut visit = |item: Object| {
            let object = Object { metadata: item.metadata, ..bare(kind, "", "") };
            if kept.len() < most && keep(&object) {
                kept.push(object);
            }
            if kept.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        loop {
            let page = match pass.admit(&self.id) {
                Ok(()) => pages.next(&mut visit).await,
                Err(held_back) => Err(held_back.into()),
            };
            pass.note(&self.id, &page);
            if page.map_err(self.failed("list", kind))?.is_break() {
                return Ok(kept);
            }
        }
    }

    /// Creates an object.
    pub async fn create(
        &self,
        pass: &Pass,
        kind: Kind,
        object: &Object,
        manager: &str,
    ) -> Result<ObjectRef, RequestError> {
        let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        let request = body(object).and_then(|body| requests(kind, object.namespace()).create(&params, body));
        let made = self
            .fenced(pass, DryRun::No, (kind, object), self.ask(kind, request))
            .await
            .map_err(self.failed("create", kind))?;
        Ok(self.learn(kind, made))
    }

    /// Creates an object, or reads the one of its name that the watch has not shown.
    pub async fn create_or_read(
        &self,
        pass: &Pass,
        kind: Kind,
        object: &Object,
        manager: &str,
    ) -> Result<Written, RequestError> {
        let conflict = match self.create(pass, kind, object, manager).await {
            Ok(stored) => return Ok(Written::Stored(stored)),
            Err(error) if error.code() == Some(409) => error,
            Err(error) => return Err(error),
        };
        Ok(match self.refresh(pass, kind, object.namespace(), object.name()).await? {
            Some(object) => Written::Exists { object, conflict },
            None => return Err(conflict),
        })
    }

    /// Replaces an object; its resourceVersion, which must be set, is the precondition. See [`DryRun`].
    pub async fn replace(
        &self,
        pass: &Pass,
        kind: Kind,
        object: &Object,
        manager: &str,
        dry_run: DryRun,
    ) -> Result<ObjectRef, RequestError> {
        let params = PostParams { field_manager: Some(manager.to_owned()), dry_run: dry_run == DryRun::Yes };
        let api = requests(kind, object.namespace());
        let request = body(object).and_then(|body| api.replace(object.name(), &params, body));
        let request = self.ask(kind, request);
        let answer = if dry_run == DryRun::Yes {
            self.fenced(pass, DryRun::Yes, (kind, object), request).await.map(Arc::new)
        } else {
            let finalizers = object.metadata.finalizers.iter().flatten().map(String::as_str);
            self.marking(pass, kind, object, &finalizers.collect::<Vec<_>>(), request).await
        };
        answer.map_err(self.failed("update", kind))
    }

    /// Replaces the status of `of`, whose resourceVersion is the precondition. With `dry_run` nothing is
    /// stored.
    pub async fn replace_status(
        &self,
        pass: &Pass,
        kind: Kind,
        of: &Object,
        status: &Value,
        manager: &str,
        dry_run: DryRun,
    ) -> Result<ObjectRef, RequestError> {
        let mut sent = fedhub_core::object::bare(kind, of.namespace(), of.name());
        sent.metadata.resource_version = Some(of.version().to_owned());
        sent.metadata.uid = Some(of.uid().to_owned());
        fedhub_core::object::set_field(&mut sent, "status", status.clone());
        let params = PostParams { field_manager: Some(manager.to_owned()), dry_run: dry_run == DryRun::Yes };
        let api = requests(kind, of.namespace());
        let request =
            body(&sent).and_then(|body| api.replace_subresource("status", of.name(), &params, body));
        let made = self
            .fenced(pass, dry_run, (kind, of), self.ask(kind, request))
            .await
            .map_err(self.failed("update", kind))?;
        Ok(if dry_run == DryRun::Yes { Arc::new(made) } else { self.learn(kind, made) })
    }

    /// Merges `metadata` into that of `of`, whose resourceVersion is the precondition: one patch for
    /// finalizers and annotations (I2).
    pub async fn patch_metadata(
        &self,
        pass: &Pass,
        kind: Kind,
        of: &Object,
        metadata: Value,
        manager: &str,
    ) -> Result<ObjectRef, RequestError> {
        self.patch(pass, kind, of, json!({ "metadata": metadata }), manager).await
    }

    /// Merges `patch` into `of`, whose resourceVersion is the precondition: one patch for metadata and spec.
    pub async fn patch(
        &self,
        pass: &Pass,
        kind: Kind,
        of: &Object,
        mut patch: Value,
        manager: &str,
    ) -> Result<ObjectRef, RequestError> {
        patch["metadata"]["resourceVersion"] = json!(of.version());
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let finalizers = patch["metadata"]["finalizers"].as_array().into_iter().flatten();
        let finalizers: Vec<_> = finalizers.filter_map(Value::as_str).collect();
        let request = requests(kind, of.namespace()).patch(of.name(), &params, &Patch::Merge(&patch));
        self.marking(pass, kind, of, &finalizers, self.ask(kind, request))
            .await
            .map_err(self.failed("patch", kind))
    }

    /// Deletes `object` under `precondition`. An object that is gone already is no error. Returns whether it
    /// is gone by now: finalizers may hold it.
    pub async fn delete(
        &self,
        pass: &Pass,
        kind: Kind,
        object: &Object,
        precondition: Precondition,
    ) -> Result<bool, RequestError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(object.uid().to_owned()),
                resource_version: (precondition == Precondition::UidAndVersion)
                    .then(|| object.version().to_owned()),
            }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let request = requests(kind, object.namespace()).delete(object.name(), &params);
        match self.fenced(pass, DryRun::No, (kind, object), self.ask(kind, request)).await {
            Ok(answer) => {
                let is_status = answer.types.as_ref().is_some_and(|types| types.kind == "Status");
                let held = (!is_status && answer.is_terminating() && answer.metadata.finalizers.is_some())
                    .then_some(answer);
                Ok(held.map(|object| self.learn(kind, object)).is_none())
            }
            Err(ApiError::Server(status)) if status.code == 404 => Ok(true),
            Err(error) => Err(self.failed("delete", kind)(error)),
        }
    }
}

fn body(object: &Object) -> Result<Vec<u8>, request::Error> {
    let mut object = std::borrow::Cow::Borrowed(object);
    if object.too_large().is_some() {
        set_too_large(object.to_mut(), None);
    }
    serde_json::to_vec(object.as_ref()).map_err(request::Error::SerializeBody)
}
