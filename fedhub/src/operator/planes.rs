//! The facts about project planes: the kubeconfigs in their Secrets, which clusters they are, what is
//! paused.

use std::collections::BTreeMap;

use fedhub_core::errors;
use fedhub_core::names::{IDENTITIES, UID_RULE, is_uid};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::credentials;
use fedhub_planes::identity::IdentityEntry;
use fedhub_planes::pauses::stored::{NAME as PAUSED, PausedPlanes};
use k8s_openapi::ByteString;
use kube::Config;

use super::connect::Connection;
use super::read::{Failure, Read, ReadError};
use super::requests::{get, list};

/// The key of the Secret that holds the kubeconfig.
pub const KEY: &str = "kubeconfig";

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
        let failure = |error: &&ReadError| {
            matches!(error.failure, Failure::Unreachable | Failure::Unauthorized | Failure::TooLarge)
        };
        read.failure().filter(failure).cloned()
    };
    if let Some(error) = unanswered(&system) {
        return Read::Failed(error);
    }
    let uids: Vec<String> =
        [system, default].iter().filter_map(|it| it.found().map(|it| it.uid().to_owned())).collect();
    if uids.iter().any(|uid| !is_uid(uid)) {
        let message = format!("the namespaces that identify the plane have no UID ({UID_RULE})");
        return Read::Failed(ReadError { failure: Failure::Unreachable, message });
    }
    Read::Found(uids)
}

/// The identities that fedhub remembers, by plane.
pub async fn remembered(management: &Connection, namespace: &str) -> Read<BTreeMap<String, String>> {
    let entries = entries(management, namespace).await;
    entries.map(|entries| entries.into_iter().map(|(plane, entry)| (plane, entry.identity)).collect())
}

/// Reads everything that fedhub remembers of planes, by their names.
pub async fn entries(management: &Connection, namespace: &str) -> Read<BTreeMap<String, IdentityEntry>> {
    let label = format!("{}={}", IDENTITIES.0, IDENTITIES.1);
    let maps = list(management, Kind::ConfigMap.resource(), namespace, &label).await;
    maps.map(|maps| {
        let entries = maps.iter().filter_map(|map| map.data["data"].as_object()).flatten();
        let entries =
            entries.filter_map(|(plane, value)| Some((plane.clone(), IdentityEntry::read(value.as_str()?)?)));
        entries.collect()
    })
}

/// Reads which planes operators paused.
pub async fn paused(management: &Connection, namespace: &str) -> Read<PausedPlanes> {
    match get(management, Kind::ConfigMap.resource(), namespace, PAUSED).await {
        Read::Absent => Read::Found(PausedPlanes::default()),
        read => read.map(|map| {
            let entries = map.data["data"].as_object().into_iter().flatten();
            PausedPlanes::from_entries(
                entries.map(|(plane, entry)| (plane.as_str(), entry.as_str().unwrap_or_default())),
            )
        }),
    }
}
