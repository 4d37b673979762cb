//! Project planes by their Secrets on the management plane, as discovery `kubeconfigs` reads them.

use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::credentials;
use k8s_openapi::ByteString;
use kube::api::{Api, ListParams};
use kube::core::PartialObjectMeta;

use super::connect::{self, Connection, Plane};
use super::read::{Failure, Read, ReadError};
use super::requests::{get, within};

/// The key of the Secret that holds the kubeconfig.
const KEY: &str = "kubeconfig";
/// How many Secrets a page of their metadata has.
const PAGE: u32 = 500;

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
    let Some(plane) = management.found() else { return Read::Absent };
    match annotated(plane, namespace, name).await {
        Read::Found(Some(secret)) => match get(management, kind, namespace, &secret).await {
            Read::Found(secret) => of_secret(&secret, timeout),
            Read::Absent | Read::Skipped => Read::Absent,
            Read::Failed(error) => Read::Failed(error),
        },
        Read::Found(None) | Read::Absent | Read::Skipped => Read::Absent,
        Read::Failed(error) => Read::Failed(error),
    }
}

/// Whether a labelled Secret stands for the plane of that name.
fn is_of(labels: Option<&std::collections::BTreeMap<String, String>>, secret: &Object, name: &str) -> bool {
    let labelled =
        labels.is_some_and(|labels| labels.get(PLANE_SECRET.0).is_some_and(|it| it == PLANE_SECRET.1));
    labelled && secret.annotation(PLANE_NAME).unwrap_or(secret.name()) == name
}

/// The name of the Secret whose annotation names the plane.
async fn annotated(plane: &Plane, namespace: &str, name: &str) -> Read<Option<String>> {
    let api = Api::<Object>::namespaced_with(plane.client.clone(), namespace, Kind::Secret.resource());
    let find = async {
        let labels = format!("{}={}", PLANE_SECRET.0, PLANE_SECRET.1);
        let mut params = ListParams::default().limit(PAGE).labels(&labels);
        loop {
            let page = api.list_metadata(&params).await?;
            let names_it = |secret: &PartialObjectMeta<Object>| {
                secret
                    .metadata
                    .annotations
                    .as_ref()
                    .and_then(|all| all.get(PLANE_NAME))
                    .is_some_and(|it| it == name)
            };
            if let Some(secret) = page.items.into_iter().find(names_it) {
                return Ok(secret.metadata.name);
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(None);
            }
        }
    };
    within(plane.timeout, find).await
}

/// The plane of a Secret, refused where fedhub refuses it.
pub fn of_secret(secret: &Object, timeout: Duration) -> Connection {
    let invalid = |message: String| {
        let message = format!("Secret {}: {message}", secret.name());
        Read::Failed(ReadError { failure: Failure::Invalid, message })
    };
    let bytes = serde_json::from_value::<ByteString>(secret.data["data"][KEY].clone());
    let Ok(ByteString(bytes)) = bytes else {
        return invalid(format!("the Secret has no key {KEY:?}"));
    };
    let Ok(content) = String::from_utf8(bytes) else {
        return invalid(format!("key {KEY:?} is not text"));
    };
    let config = match credentials::from_secret(&content) {
        Ok(config) => config,
        Err(error) => return invalid(errors::chain(&error)),
    };
    match connect::plane(config, timeout) {
        Ok(plane) => Read::Found(plane),
        Err(error) => invalid(errors::chain(error.as_ref())),
    }
}
