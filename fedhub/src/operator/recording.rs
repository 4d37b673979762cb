//! Planes in a file: what `fedhub snapshot` writes, and a client that answers reads from it.
//!
//! A command that reads a file asks the same requests of the same clients; what answers them is the file in
//! place of a server. Nothing can be written to it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use fedhub_cache::MemoryBudget;
use fedhub_core::object::{Object, ObjectView, PlaneId};
use fedhub_planes::listwatch::limits::ListLimits;
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower::service_fn;

use super::connect::{Connection, Plane};
use super::read::{Failure, Read, ReadError};

/// The format of the file. Another number is another format.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    version: u32,
    /// When it was taken: ages are counted from there.
    pub taken_at: Timestamp,
    /// fedhub's own namespace on the management plane.
    pub namespace: String,
    /// The management plane.
    pub management: Recording,
    /// The hub.
    pub hub: Recording,
    /// Project planes, by name.
    pub projects: BTreeMap<String, Recording>,
    /// Cells, by the names of their Clusters.
    pub cells: BTreeMap<String, Recording>,
}

/// A plane in the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recording {
    /// Why it could not be read at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    /// The lists of the recording, by `<apiVersion>/<plural>`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Listed>,
}

/// An error of reading, as [`ReadError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The name of the [`Failure`].
    failure: String,
    message: String,
}

/// A kind on a plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Listed {
    /// Its objects.
    Objects(Vec<Object>),
    /// The server's answer, if it is not a list.
    Refused(Box<Status>),
}

impl From<&ReadError> for Failed {
    fn from(error: &ReadError) -> Self {
        Self { failure: <&str>::from(error.failure).to_owned(), message: error.message.clone() }
    }
}

impl From<&Failed> for ReadError {
    fn from(failed: &Failed) -> Self {
        let failure = <Failure as strum::VariantArray>::VARIANTS
            .iter()
            .find(|failure| <&str>::from(**failure) == failed.failure);
        Self { failure: failure.copied().unwrap_or(Failure::Unreachable), message: failed.message.clone() }
    }
}

impl Snapshot {
    /// A file of these planes.
    pub fn new(namespace: &str, management: Recording, hub: Recording) -> Self {
        Self {
            version: VERSION,
            taken_at: Timestamp::now(),
            namespace: namespace.to_owned(),
            management,
            hub,
            projects: BTreeMap::new(),
            cells: BTreeMap::new(),
        }
    }

    /// Returns what could not be read, a line each.
    pub fn gaps(&self) -> Vec<String> {
        let planes = [("management plane", &self.management), ("hub", &self.hub)];
        let planes = planes.map(|(name, plane)| (name.to_owned(), plane)).into_iter();
        let projects = self.projects.iter().map(|(name, plane)| (format!("plane {name}"), plane));
        let cells = self.cells.iter().map(|(name, plane)| (format!("cell {name}"), plane));
        planes.chain(projects).chain(cells).flat_map(|(name, plane)| plane.gaps(&name)).collect()
    }

    /// Reads the file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let content = std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
        let invalid = || format!("{} is no snapshot", path.display());
        let value: Value = serde_json::from_slice(&content).with_context(invalid)?;
        match value["version"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                bail!("{} has the format {version}, this fedhub reads {VERSION}", path.display())
            }
            None => bail!("{}: it has no version", invalid()),
        }
        serde_json::from_value(value).with_context(invalid)
    }
}

impl Recording {
    /// The objects of a kind, as far as they could be listed.
    pub fn listed(&self, resource: &str) -> &[Object] {
        match self.resources.get(resource) {
            Some(Listed::Objects(objects)) => objects,
            Some(Listed::Refused(_)) | None => &[],
        }
    }

    fn gaps(&self, name: &str) -> Vec<String> {
        let failed = self.failed.iter().map(|failed| format!("{name}: {}", failed.message));
        let refused = self.resources.iter().filter_map(|(resource, listed)| match listed {
            Listed::Refused(status) => Some(format!("{name}: {resource}: {}", status.message)),
            Listed::Objects(_) => None,
        });
        failed.chain(refused).collect()
    }

    /// A connection that answers as the plane did.
    pub fn connection(&self) -> Connection {
        if let Some(failed) = &self.failed {
            return Read::Failed(failed.into());
        }
        let resources = Arc::new(self.resources.clone());
        let service = service_fn(move |request: Request<Body>| {
            ready(Ok::<_, Infallible>(answer(&resources, &request)))
        });
        let client = Client::new(service, "default");
        Read::Found(Plane {
            client,
            server: String::new(),
            timeout: Duration::from_mins(1),
            limits: ListLimits { objects: usize::MAX, bytes: usize::MAX },
            id: PlaneId::Management,
            budget: MemoryBudget::unlimited(),
        })
    }
}

/// Answers a request; what the file does not have is not served.
fn answer(resources: &BTreeMap<String, Listed>, request: &Request<Body>) -> Response<Body> {
    let value = match Asked::from_path(request.uri().path()) {
        _ if request.method() != Method::GET => {
            Err(refusal(405, "MethodNotAllowed", "a snapshot is read only"))
        }
        None => Err(refusal(404, "NotFound", "404 page not found")),
        Some(path) => match resources.get(&path.resource) {
            None => Err(refusal(404, "NotFound", "404 page not found")),
            Some(Listed::Refused(status)) => Err(status.clone()),
            Some(Listed::Objects(objects)) => path.answer(objects, request.uri().query().unwrap_or_default()),
        },
    };
    let (code, body) = match value {
        Ok(value) => (200, value),
        Err(status) => (status.code, serde_json::to_value(&status).unwrap_or_default()),
    };
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn refusal(code: u16, reason: &str, message: &str) -> Box<Status> {
    Box::new(Status::failure(message, reason).with_code(code))
}

/// The object or list that the path of a request names.
struct Asked {
    /// `<apiVersion>/<plural>`.
    resource: String,
    plural: String,
    namespace: Option<String>,
    name: Option<String>,
}

impl Asked {
    fn from_path(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return None,
        };
        let (namespace, plural, name) = match rest {
            ["namespaces", namespace, plural] => (Some(*namespace), *plural, None),
            ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, Some(*name)),
            [plural] => (None, *plural, None),
            [plural, name] => (None, *plural, Some(*name)),
            _ => return None,
        };
        Some(Self {
            resource: format!("{version}/{plural}"),
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
        })
    }

    fn answer(&self, objects: &[Object], query: &str) -> Result<Value, Box<Status>> {
        let here = |object: &&Object| {
            self.namespace.as_deref().is_none_or(|namespace| object.namespace() == namespace)
        };
        let Some(name) = &self.name else {
            let labels = selected(query).map_err(|error| refusal(400, "BadRequest", &error))?;
            let items: Vec<&Object> = objects
                .iter()
                .filter(here)
                .filter(|object| labels.iter().all(|(key, value)| object.label(key) == Some(value.as_str())))
                .collect();
            return Ok(json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}));
        };
        let found = objects.iter().filter(here).find(|object| object.name() == name);
        found.map(|object| json!(object)).ok_or_else(|| {
            let mut status = refusal(404, "NotFound", &format!("{} {name:?} not found", self.plural));
            let details = json!({"name": name, "kind": self.plural});
            status.details = serde_json::from_value(details).ok();
            status
        })
    }
}

/// The labels that a query selects: the commands select by equality alone.
fn selected(query: &str) -> Result<Vec<(String, String)>, String> {
    let labels = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "labelSelector");
    let labels = labels.map(|(_, labels)| labels.into_owned()).unwrap_or_default();
    labels
        .split(',')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("cannot select {part:?}"))?;
            Ok((key.to_owned(), value.to_owned()))
        })
        .collect()
}
