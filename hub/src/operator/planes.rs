//! Project planes by their Secrets on the management plane, as discovery `kubeconfigs` reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::names::{IDENTITIES, PLANE_NAME, PLANE_SECRET};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::credentials;
use fedhub_planes::identity::IdentityEntry;
use fedhub_planes::pauses::stored::{NAME as PAUSED, PausedPlanes};
use k8s_openapi::ByteString;
use kube::Config;

use super::connect::{self, Connection};
use super::read::{Failure, Read, ReadError};
use super::requests::{Part, Query, each, get, list};

/// The key of the Secret that holds the kubeconfig.
pub const KEY: &str = "kubeconfig";

/// The project plane of that name. One whose Secret has its name is one read; only for one that an annotation names is
/// the metadata of all Secrets read.
pub async fn find(management: &Connection, namespace: &str, name: &str, timeout: Duration) -> Connection {
    let kind = Kind::Secret.resource();
    match get(management, kind, namespace, name).await {
        Read::Found(secret) if is_of(secret.metadata.labels.as_ref(), &secret, name) => {
            return of_secret(&secret, timeout);
        }
        Read::Found(_) | Read::Absent => {}
        // A name that no Secret can have is answered so, too.
        Read::Failed(error) if error.failure == Failure::NotServed => {}
        Read::Failed(error) => return Read::Failed(error),
        Read::Skipped => return Read::Skipped,
    }
    match annotated(management, namespace, name).await {
        Read::Found(Some(secret)) => match get(management, kind, namespace, &secret).await {
            Read::Found(secret) => of_secret(&secret, timeout),
            Read::Absent | Read::Skipped => Read::Absent,
            Read::Failed(error) => Read::Failed(error),
        },
        Read::Found(None) | Read::Absent | Read::Skipped => Read::Absent,
        Read::Failed(error) => Read::Failed(error),
    }
}

/// The names of all project planes that have a Secret.
pub async fn names(management: &Connection, namespace: &str) -> Read<BTreeSet<String>> {
    let labels = format!("{}={}", PLANE_SECRET.0, PLANE_SECRET.1);
    let labelled = Query { kind: Kind::Secret.resource(), namespace, labels: &labels };
    let mut names = BTreeSet::new();
    let read = each(management, labelled, Part::Metadata, |secret| {
        names.insert(secret.annotation(PLANE_NAME).unwrap_or(secret.name()).to_owned());
        ControlFlow::Continue(())
    });
    read.await.map(|()| names)
}

/// Whether a labelled Secret stands for the plane of that name.
fn is_of(labels: Option<&BTreeMap<String, String>>, secret: &Object, name: &str) -> bool {
    let labelled =
        labels.is_some_and(|labels| labels.get(PLANE_SECRET.0).is_some_and(|it| it == PLANE_SECRET.1));
    labelled && secret.annotation(PLANE_NAME).unwrap_or(secret.name()) == name
}

/// The name of the Secret whose annotation names the plane.
async fn annotated(management: &Connection, namespace: &str, name: &str) -> Read<Option<String>> {
    let labels = format!("{}={}", PLANE_SECRET.0, PLANE_SECRET.1);
    let labelled = Query { kind: Kind::Secret.resource(), namespace, labels: &labels };
    let mut found = None;
    let read = each(management, labelled, Part::Metadata, |secret| {
        if secret.annotation(PLANE_NAME) != Some(name) {
            return ControlFlow::Continue(());
        }
        found = Some(secret.name().to_owned());
        ControlFlow::Break(())
    });
    read.await.map(|()| found)
}

/// The plane of a Secret, refused where fedhub refuses it.
pub fn of_secret(secret: &Object, timeout: Duration) -> Connection {
    let plane = config_of_secret(secret)
        .and_then(|config| connect::plane(config, timeout).map_err(|error| errors::chain(error.as_ref())));
    match plane {
        Ok(plane) => Read::Found(plane),
        Err(message) => {
            let message = format!("Secret {}: {message}", secret.name());
            Read::Failed(ReadError { failure: Failure::Invalid, message })
        }
    }
}

/// The kubeconfig in a Secret.
pub fn content_of_secret(secret: &Object) -> Result<String, String> {
    let bytes = serde_json::from_value::<ByteString>(secret.data["data"][KEY].clone());
    let Ok(ByteString(bytes)) = bytes else {
        return Err(format!("the Secret has no key {KEY:?}"));
    };
    String::from_utf8(bytes).map_err(|_| format!("key {KEY:?} is not text"))
}

/// The configuration in a Secret, or why there is none that may be used.
pub fn config_of_secret(secret: &Object) -> Result<Config, String> {
    credentials::from_secret(&content_of_secret(secret)?).map_err(|error| errors::chain(&error))
}

/// The namespaces by whose UIDs a plane is identified.
pub const IDENTIFYING: [&str; 2] = ["kube-system", "default"];

/// The UIDs by which a plane is identified: of [`IDENTIFYING`].
pub async fn identities(plane: &Connection) -> Read<Vec<String>> {
    let kind = Kind::Namespace.resource();
    let [first, second] = IDENTIFYING;
    let (system, default) = tokio::join!(get(plane, kind, "", first), get(plane, kind, "", second));
    // A right that is missing is shown by what is counted.
    let unanswered = |read: &Read<Object>| {
        let failure =
            |error: &&ReadError| matches!(error.failure, Failure::Unreachable | Failure::Unauthorized);
        read.failure().filter(failure).cloned()
    };
    if let Some(error) = unanswered(&system) {
        return Read::Failed(error);
    }
    Read::Found([system, default].iter().filter_map(|it| it.found().map(|it| it.uid().to_owned())).collect())
}

/// The identities that fedhub remembers, by plane.
pub async fn remembered(management: &Connection, namespace: &str) -> Read<BTreeMap<String, String>> {
    let label = format!("{}={}", IDENTITIES.0, IDENTITIES.1);
    let maps = list(management, Kind::ConfigMap.resource(), namespace, &label).await;
    maps.map(|maps| {
        let entries = maps.iter().filter_map(|map| map.data["data"].as_object()).flatten();
        let identity = |value: &serde_json::Value| IdentityEntry::read(value.as_str()?).map(|it| it.identity);
        entries.filter_map(|(plane, value)| Some((plane.clone(), identity(value)?))).collect()
    })
}

/// What operators paused.
pub async fn paused(management: &Connection, namespace: &str) -> Read<PausedPlanes> {
    match get(management, Kind::ConfigMap.resource(), namespace, PAUSED).await {
        Read::Absent => Read::Found(PausedPlanes::default()),
        read => read.map(|map| {
            let entries = map.data["data"].as_object().into_iter().flatten();
            PausedPlanes::of(
                entries.map(|(plane, entry)| (plane.as_str(), entry.as_str().unwrap_or_default())),
            )
        }),
    }
}
