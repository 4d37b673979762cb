//! Reads of planes that keep their errors.

use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::object::{Object, ObjectView};
use kube::api::{Api, ListParams};
use kube::core::ApiResource;

use super::connect::Connection;
use super::read::{Failure, Read, ReadError};

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// What came of a request, which may take so long.
pub async fn within<T>(limit: Duration, request: impl Future<Output = kube::Result<T>>) -> Read<T> {
    match tokio::time::timeout(limit, request).await {
        Ok(Ok(answer)) => Read::Found(answer),
        Ok(Err(error)) => failed(&error),
        Err(_) => {
            let message = format!("no answer within {} s", limit.as_secs_f64());
            Read::Failed(ReadError { failure: Failure::Unreachable, message })
        }
    }
}

fn failed<T>(error: &kube::Error) -> Read<T> {
    let failure = match error {
        kube::Error::Api(status) => match status.code {
            401 => Failure::Unauthorized,
            403 => Failure::Forbidden,
            // An object that is missing is named; a kind that is not served is not.
            404 if status.details.as_ref().is_some_and(|it| !it.name.is_empty()) => return Read::Absent,
            404 => Failure::NotServed,
            _ => Failure::Unreachable,
        },
        _ => Failure::Unreachable,
    };
    Read::Failed(ReadError { failure, message: errors::chain(error) })
}

/// One object; of a cluster-scoped kind where `namespace` is empty.
pub async fn get(plane: &Connection, kind: &ApiResource, namespace: &str, name: &str) -> Read<Object> {
    match plane {
        Read::Found(plane) => {
            let api = api(plane.client.clone(), kind, namespace);
            within(plane.timeout, api.get(name)).await
        }
        Read::Skipped => Read::Skipped,
        Read::Absent => Read::Absent,
        Read::Failed(error) => Read::Failed(error.clone()),
    }
}

/// All objects with these labels, page by page; of all namespaces where `namespace` is empty.
pub async fn list(
    plane: &Connection,
    kind: &ApiResource,
    namespace: &str,
    labels: &str,
) -> Read<Vec<Object>> {
    let plane = match plane {
        Read::Found(plane) => plane,
        Read::Skipped | Read::Absent => return Read::Skipped,
        Read::Failed(error) => return Read::Failed(error.clone()),
    };
    let api = api(plane.client.clone(), kind, namespace);
    let pages = async {
        let mut params = ListParams::default().limit(PAGE).labels(labels);
        let mut objects = Vec::new();
        loop {
            let page = api.list(&params).await?;
            objects.extend(page.items);
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                objects.sort_by(|a, b| a.name().cmp(b.name()));
                return Ok(objects);
            }
        }
    };
    within(plane.timeout, pages).await
}

fn api(client: kube::Client, kind: &ApiResource, namespace: &str) -> Api<Object> {
    if namespace.is_empty() {
        Api::all_with(client, kind)
    } else {
        Api::namespaced_with(client, namespace, kind)
    }
}
