//! `ConfigMap`s and Secrets whose content is copied from one plane to another (W6).
//!
//! Their content takes a way of its own: it is in no store, no log and no error, nothing that holds it can be
//! printed, and each buffer of this module that held it is wiped when it is dropped, the request's body
//! included. What a server answers to such a write is asked for without the content. The buffers of TLS and
//! HTTP that bytes pass through on their way are not this module's: they are those of connections that carry
//! nothing else and are closed soon after, and the allocator of the process overwrites what is freed.
//!
//! Decides W6.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use fedhub_core::errors::{self, ApiError, Category, Excess, RequestError, immutability};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, Unreadable};
use http::header::{ACCEPT, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{GetParams, Patch, PatchParams, PostParams};
use kube::core::{Status, request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::{Zeroize, Zeroizing};

use crate::listwatch::requests;
use crate::registry::pump::stripped::stripped;
use crate::transport::OwnConnection;
use crate::{DryRun, Pass, Plane, PlaneWriter};

/// The most bytes of an answer: no server stores as much, annotations included.
const LIMIT: usize = 4 << 20;
/// Requests the metadata of an object alone.
const METADATA_ONLY: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

/// A `ConfigMap` or Secret as it was read to be copied. Its content is wiped when it is dropped, and never
/// printed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confidential {
    metadata: Names,
    #[serde(default)]
    data: BTreeMap<String, Wiped>,
    #[serde(default)]
    binary_data: BTreeMap<String, Wiped>,
    /// The type, if the object is a Secret.
    #[serde(rename = "type")]
    secret_type: Option<String>,
}

/// The result of reading an object.
#[derive(Debug)]
pub enum ConfidentialRead {
    /// The object exists.
    Found(Confidential),
    /// The object does not exist.
    Absent,
    /// The plane does not let it be read.
    Forbidden,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
}

/// Text that is wiped when it is dropped.
#[derive(Deserialize, Serialize, PartialEq, Eq)]
#[serde(transparent)]
struct Wiped(String);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Confidential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Names { uid, resource_version } = &self.metadata;
        f.debug_struct("Confidential")
            .field("uid", uid)
            .field("version", resource_version)
            .finish_non_exhaustive()
    }
}

impl Confidential {
    /// Its UID.
    pub fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// Its resourceVersion.
    pub fn version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// The type of a Secret.
    pub fn secret_type(&self) -> Option<&str> {
        self.secret_type.as_deref()
    }

    /// Whether it has the content and the type of `other`.
    pub fn has_content_of(&self, other: &Self) -> bool {
        self.data == other.data
            && self.binary_data == other.binary_data
            && self.secret_type == other.secret_type
    }

    /// How many bytes of content it has: those of its keys, and of its values as they are used.
    pub fn bytes(&self, kind: Kind) -> usize {
        let text = |of: &BTreeMap<String, Wiped>| {
            of.iter().map(|(key, Wiped(v))| key.len() + v.len()).sum::<usize>()
        };
        let coded = |of: &BTreeMap<String, Wiped>| {
            of.iter().map(|(key, Wiped(v))| key.len() + decoded(v)).sum::<usize>()
        };
        let data = if kind == Kind::Secret { coded(&self.data) } else { text(&self.data) };
        data + coded(&self.binary_data)
    }
}

/// How many bytes base64 stands for.
fn decoded(text: &str) -> usize {
    let padding = text.bytes().rev().take(2).filter(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// An object that is written with content of another one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Copied<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: &'a ObjectMeta,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    data: &'a BTreeMap<String, Wiped>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    binary_data: &'a BTreeMap<String, Wiped>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    secret_type: Option<&'a str>,
}

impl Copied<'_> {
    /// Serializes into one buffer of the final size: a buffer that grew would leave copies behind.
    fn body(&self) -> serde_json::Result<Zeroizing<Vec<u8>>> {
        let mut size = Size(0);
        serde_json::to_writer(&mut size, self)?;
        let mut body = Zeroizing::new(Vec::with_capacity(size.0));
        serde_json::to_writer(&mut *body, self)?;
        Ok(body)
    }
}

/// Counts what is written.
struct Size(usize);

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error of a write with such content: the server's own words may quote it.
fn discreet(error: ApiError) -> ApiError {
    let ApiError::Server(mut status) = error else { return error };
    let mut causes: Vec<_> = immutability(&status).take(1).cloned().collect();
    for cause in &mut causes {
        (cause.message, cause.field) = ("field is immutable".to_owned(), String::new());
    }
    let immutable = if causes.is_empty() { "" } else { ": a field is immutable" };
    status.message = format!("the server answers {} {}{immutable}", status.code, status.reason);
    if let Some(details) = &mut status.details {
        details.causes = causes;
    }
    ApiError::Server(status)
}

/// The object that an answer holds, without content.
fn metadata_of(kind: Kind, text: &[u8]) -> Result<Object, ApiError> {
    Ok(stripped(kind, object_of(text)?))
}

/// The object that an answer holds.
pub(crate) fn object_of(text: &[u8]) -> Result<Object, ApiError> {
    serde_json::from_slice(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> ApiError {
    Unreadable { metadata: ObjectMeta::default(), error: errors::json(error) }.into()
}

impl Plane {
    /// Reads a `ConfigMap` or Secret to copy it. Nothing of it enters a store.
    pub async fn read_confidential(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<ConfidentialRead, RequestError> {
        let request = requests(kind, namespace).get(name, &GetParams::default());
        let request = request.map(|mut request| {
            request.extensions_mut().insert(OwnConnection);
            request.map(Bytes::from)
        });
        match self.exchange(pass, request).await {
            Ok(text) => match serde_json::from_slice(&text) {
                Ok(found) => Ok(ConfidentialRead::Found(found)),
                Err(error) => Err(self.failed("get", kind)(unreadable(&error))),
            },
            Err(ApiError::Server(status)) if status.code == 404 => Ok(ConfidentialRead::Absent),
            Err(error) if error.category() == Category::Forbidden => {
                self.forbidden("get", &kind.resource().plural);
                Ok(ConfidentialRead::Forbidden)
            }
            Err(error) => Err(self.failed("get", kind)(error)),
        }
    }

    /// Reads the metadata of one object, past every store. `None` where there is none.
    pub async fn read_metadata(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, RequestError> {
        let read = self.get_metadata(pass, kind, namespace, name).await?;
        Ok(read.map(|object| stripped(kind, object)))
    }

    /// Sends a request, and reads its answer whole: the transport weighs it, and has it paid for.
    pub(crate) async fn exchange(
        &self,
        pass: &Pass,
        request: Result<http::Request<Bytes>, request::Error>,
    ) -> Result<Zeroizing<Vec<u8>>, ApiError> {
        let request = request?;
        let answer = match pass.admit(&self.id) {
            Ok(()) => self.sent(request).await,
            Err(held_back) => Err(held_back.into()),
        };
        pass.note(&self.id, &answer);
        answer
    }

    async fn sent(&self, request: http::Request<Bytes>) -> Result<Zeroizing<Vec<u8>>, ApiError> {
        let response = self.client().send(request.map(Into::into)).await?;
        let code = response.status();
        let mut body = response.into_body();
        let mut parts = Vec::new();
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(io::Error::other)?;
            let Ok(part) = frame.into_data() else { continue };
            size += part.len();
            if size > LIMIT {
                return Err(Excess::Bytes(LIMIT).into());
            }
            parts.push(part);
        }
        let mut text = Zeroizing::new(Vec::with_capacity(size));
        for part in parts {
            text.extend_from_slice(&part);
            // Where nothing else has it.
            if let Ok(mut part) = part.try_into_mut() {
                part.as_mut().zeroize();
            }
        }
        if code.is_success() {
            return Ok(text);
        }
        let status = serde_json::from_slice::<Status>(&text);
        Err(ApiError::Server(
            status.unwrap_or_else(|_| Status::failure("", "").with_code(code.as_u16())).boxed(),
        ))
    }
}

/// The object on the plane that a copy is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// Nothing: it is created.
    New,
    /// An object, whose resourceVersion is the precondition.
    Standing,
}

impl PlaneWriter<'_> {
    /// Writes an object with this metadata and the content of `source`; of the answer the metadata is kept.
    pub async fn copy(
        &self,
        kind: Kind,
        object: &Object,
        source: &Confidential,
        target: CopyTarget,
    ) -> Result<ObjectRef, RequestError> {
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let (verb, request) = match target {
            CopyTarget::New => ("create", requests(kind, object.namespace()).create(&params, Vec::new())),
            CopyTarget::Standing => {
                ("update", requests(kind, object.namespace()).replace(object.name(), &params, Vec::new()))
            }
        };
        let resource = kind.resource();
        let copied = Copied {
            api_version: &resource.api_version,
            kind: &resource.kind,
            metadata: &object.metadata,
            data: &source.data,
            binary_data: &source.binary_data,
            secret_type: source.secret_type.as_deref(),
        };
        let body = copied.body().map_err(request::Error::SerializeBody);
        let request = request.and_then(|request| {
            let mut request = request.map(|_| Bytes::new());
            request.headers_mut().insert(ACCEPT, METADATA_ONLY);
            request.extensions_mut().insert(OwnConnection);
            *request.body_mut() = Bytes::from_owner(body?);
            Ok(request)
        });
        let Self { plane, pass, .. } = *self;
        let sent = async {
            let text = plane.exchange(pass, request).await.map_err(discreet)?;
            metadata_of(kind, &text)
        };
        let stored =
            plane.fenced(pass, DryRun::No, (kind, object), sent).await.map_err(plane.failed(verb, kind))?;
        Ok(plane.learn(kind, stored))
    }

    /// Merges metadata into that of `of`, whose resourceVersion is the precondition; of the answer the
    /// metadata is kept.
    pub async fn recount(
        &self,
        kind: Kind,
        of: &Object,
        mut metadata: Value,
    ) -> Result<ObjectRef, RequestError> {
        metadata["resourceVersion"] = json!(of.version());
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        let request = requests(kind, of.namespace()).patch_metadata(of.name(), &params, &patch);
        let Self { plane, pass, .. } = *self;
        let sent = async {
            let text = plane.exchange(pass, request.map(|request| request.map(Bytes::from))).await?;
            metadata_of(kind, &text)
        };
        let stored =
            plane.fenced(pass, DryRun::No, (kind, of), sent).await.map_err(plane.failed("patch", kind))?;
        Ok(plane.learn(kind, stored))
    }
}

#[cfg(test)]
mod tests;
