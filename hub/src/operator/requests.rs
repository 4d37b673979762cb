//! Reads of planes that keep their errors.

use std::ops::ControlFlow;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::object::{Object, ObjectView};
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, ObjectList, PartialObjectMeta};

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

/// The metadata of one object.
pub async fn get_metadata(
    plane: &Connection,
    kind: &ApiResource,
    namespace: &str,
    name: &str,
) -> Read<Object> {
    match plane {
        Read::Found(plane) => {
            let api = api(plane.client.clone(), kind, namespace);
            within(plane.timeout, api.get_metadata(name)).await.map(bare)
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
    let mut objects = Vec::new();
    let query = Query { kind, namespace, labels, fields: "" };
    let read = each(plane, query, Part::Whole, |object| {
        objects.push(object);
        ControlFlow::Continue(())
    });
    let read = read.await;
    objects.sort_by(|a, b| a.name().cmp(b.name()));
    read.map(|()| objects)
}

/// What is listed.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The kind.
    pub kind: &'a ApiResource,
    /// The namespace; all of them where it is empty.
    pub namespace: &'a str,
    /// The selector by labels.
    pub labels: &'a str,
    /// The selector by fields.
    pub fields: &'a str,
}

/// The part of objects that a list asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole objects.
    Whole,
    /// Their metadata, which is all that `visit` sees then.
    Metadata,
}

/// Calls `visit` with each object, page by page, until it breaks off. Each page may take as long as a read.
pub async fn each(
    plane: &Connection,
    query: Query<'_>,
    part: Part,
    mut visit: impl FnMut(Object) -> ControlFlow<()>,
) -> Read<()> {
    let plane = match plane {
        Read::Found(plane) => plane,
        Read::Skipped | Read::Absent => return Read::Skipped,
        Read::Failed(error) => return Read::Failed(error.clone()),
    };
    let api = api(plane.client.clone(), query.kind, query.namespace);
    let mut params = ListParams::default().limit(PAGE).labels(query.labels);
    params.field_selector = Some(query.fields.to_owned()).filter(|fields| !fields.is_empty());
    loop {
        let page = match part {
            Part::Whole => within(plane.timeout, api.list(&params)).await,
            Part::Metadata => within(plane.timeout, api.list_metadata(&params)).await.map(without_data),
        };
        let page = match page {
            Read::Found(page) => page,
            Read::Failed(error) => return Read::Failed(error),
            Read::Absent | Read::Skipped => return Read::Found(()),
        };
        if page.items.into_iter().try_for_each(&mut visit).is_break() {
            return Read::Found(());
        }
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Read::Found(());
        }
    }
}

fn without_data(page: ObjectList<PartialObjectMeta<Object>>) -> ObjectList<Object> {
    let items = page.items.into_iter().map(bare).collect();
    ObjectList { types: page.types, metadata: page.metadata, items }
}

fn bare(item: PartialObjectMeta<Object>) -> Object {
    Object { types: None, metadata: item.metadata, data: serde_json::Value::Null }
}

fn api(client: kube::Client, kind: &ApiResource, namespace: &str) -> Api<Object> {
    if namespace.is_empty() {
        Api::all_with(client, kind)
    } else {
        Api::namespaced_with(client, namespace, kind)
    }
}
