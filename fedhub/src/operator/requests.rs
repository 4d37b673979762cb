//! Reads of planes that keep their errors.

use std::ops::ControlFlow;
use std::time::Duration;

use fedhub_core::errors::{self, ApiError};
use fedhub_core::object::{Object, ObjectView};
pub use fedhub_planes::listwatch::pages::Part;
use kube::core::ApiResource;

use super::connect::{Connection, Plane, in_time};
use super::read::{Failure, Read, ReadError};

/// Runs a request with a time limit, and returns its result.
pub async fn within<T, E: Into<ApiError>>(
    limit: Duration,
    request: impl Future<Output = Result<T, E>>,
) -> Read<T> {
    match tokio::time::timeout(limit, request).await {
        Ok(Ok(answer)) => Read::Found(answer),
        Ok(Err(error)) => failed(&error.into()),
        Err(_) => {
            let message = format!("no answer within {} s", limit.as_secs_f64());
            Read::Failed(ReadError { failure: Failure::Unreachable, message })
        }
    }
}

fn failed<T>(error: &ApiError) -> Read<T> {
    let failure = match error {
        ApiError::TooLarge(_) => Failure::TooLarge,
        ApiError::Server(status) => match status.code {
            401 => Failure::Unauthorized,
            403 => Failure::Forbidden,
            // An object that is missing is named; a kind that is not served is not.
            404 if status.details.as_ref().is_some_and(|it| !it.name.is_empty()) => return Read::Absent,
            404 => Failure::NotServed,
            _ => Failure::Unreachable,
        },
        ApiError::NotSent(_) | ApiError::Unreadable(_) | ApiError::Transport { .. } => Failure::Unreachable,
    };
    Read::Failed(ReadError { failure, message: errors::chain(error) })
}

/// Gets an object; of a cluster-scoped kind if `namespace` is empty.
pub async fn get(plane: &Connection, kind: &ApiResource, namespace: &str, name: &str) -> Read<Object> {
    part_of(plane, kind, namespace, name, Part::Whole).await
}

/// The metadata of one object.
pub async fn get_metadata(
    plane: &Connection,
    kind: &ApiResource,
    namespace: &str,
    name: &str,
) -> Read<Object> {
    part_of(plane, kind, namespace, name, Part::Metadata).await.map(bare)
}

async fn part_of(
    plane: &Connection,
    kind: &ApiResource,
    namespace: &str,
    name: &str,
    part: Part,
) -> Read<Object> {
    match plane {
        Read::Found(plane) => {
            // In a box: a chain of reads must not hold room for the requests of all of them.
            let source = plane.source();
            within(plane.timeout, Box::pin(source.object(kind, namespace, name, part))).await
        }
        Read::Skipped => Read::Skipped,
        Read::Absent => Read::Absent,
        Read::Failed(error) => Read::Failed(error.clone()),
    }
}

/// Lists all objects with these labels, page by page; in all namespaces if `namespace` is empty.
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

/// A list request.
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

/// Calls `visit` with each object, page by page, until it breaks off. Each page may take as long as a read,
/// and all of them as long as a plane as a whole.
pub async fn each(
    plane: &Connection,
    query: Query<'_>,
    part: Part,
    visit: impl FnMut(Object) -> ControlFlow<()> + Send,
) -> Read<()> {
    let listed = match plane {
        Read::Found(plane) => in_time(&Read::Found(plane.clone()), pages(plane, query, part, visit)).await,
        Read::Skipped | Read::Absent => return Read::Skipped,
        Read::Failed(error) => return Read::Failed(error.clone()),
    };
    match listed {
        Ok(Read::Absent | Read::Skipped) => Read::Found(()),
        Ok(listed) => listed,
        Err(error) => Read::Failed(error),
    }
}

async fn pages(
    plane: &Plane,
    query: Query<'_>,
    part: Part,
    mut visit: impl FnMut(Object) -> ControlFlow<()> + Send,
) -> Read<()> {
    let pages = plane.source().pages(query.kind, query.namespace, part, plane.limits);
    let mut pages = pages.labels(query.labels).fields(query.fields);
    let mut visit = |object: Object| visit(if part == Part::Metadata { bare(object) } else { object });
    loop {
        match within(plane.timeout, Box::pin(pages.next(&mut visit))).await {
            Read::Found(ControlFlow::Continue(())) => {}
            read => return read.map(|_| ()),
        }
    }
}

fn bare(item: Object) -> Object {
    Object { types: None, metadata: item.metadata, data: serde_json::Value::Null }
}
