//! Takes fedhub's finalizers off on project planes and in cells.

use std::ops::ControlFlow;

use fedhub_core::errors;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::plan::{Place, Release, has_any, release};
use super::report::{Entry, Line, Outcome};
use crate::operator::connect::{Connection, Plane, in_time};
use crate::operator::read::{Failure, Read};
use crate::operator::requests::{Part, Query, each, get};

/// Field manager of the writes.
pub const MANAGER: &str = "fedhub-uninstall";
/// How often an object that others write meanwhile is tried.
const TRIES: usize = 5;
/// What is said of an object whose deletion is not done.
const HELD: &str =
    "it is being deleted, and what runs for it would stay: let fedhub finish, or give --abandon-deletions";

/// How finalizers are taken off.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Whether objects that are being deleted are released too.
    pub abandon_deletions: bool,
    /// Whether anything is written.
    pub run: bool,
}

/// Does it on one plane, object by object, whatever becomes of the others.
pub async fn plane(name: String, place: Place, connection: Connection, order: Order) -> Line {
    let mut line = Line { plane: name, ..Line::default() };
    // What was done until then stays in the report.
    if let Err(error) = in_time(&connection, on_plane(&mut line, place, &connection, order)).await {
        line.problem(error.message);
    }
    line
}

async fn on_plane(line: &mut Line, place: Place, connection: &Connection, order: Order) {
    for (kind, ours) in place.finalizers() {
        let found = match carrying(connection, *kind, ours).await {
            Ok(found) => found,
            Err(problem) => return line.problem(problem),
        };
        for object in found {
            let outcome = object_of(connection, *kind, ours, &object, order).await;
            line.entries.push(entry(*kind, &object, outcome));
        }
        if order.run
            && let Some(problem) = remaining(connection, *kind, ours, &line.entries).await
        {
            line.problem(problem);
        }
    }
}

/// An entry of the report.
pub fn entry(kind: Kind, object: &Object, outcome: Outcome) -> Entry {
    Entry {
        kind: kind.resource().kind.clone(),
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        outcome,
    }
}

/// The metadata of the objects with one of these finalizers.
async fn carrying(plane: &Connection, kind: Kind, ours: &[&str]) -> Result<Vec<Object>, String> {
    let mut found = Vec::new();
    let all = Query { kind: kind.resource(), namespace: "", labels: "", fields: "" };
    let read = each(plane, all, Part::Metadata, |object| {
        if has_any(&object, ours) {
            found.push(object);
        }
        ControlFlow::Continue(())
    });
    match read.await {
        // An older plane has no Workloads; without WDs it is no plane of fedhub's.
        Read::Failed(error) if kind == Kind::Workload && error.failure == Failure::NotServed => Ok(found),
        Read::Failed(error) => Err(format!("failed to list {}: {}", kind.resource().plural, error.message)),
        Read::Found(()) | Read::Absent | Read::Skipped => Ok(found),
    }
}

/// What carries one of the finalizers still, and is not among what is known to remain: somebody puts it
/// there.
async fn remaining(plane: &Connection, kind: Kind, ours: &[&str], known: &[Entry]) -> Option<String> {
    let is_known = |object: &Object| {
        known.iter().filter(|entry| matches!(entry.outcome, Outcome::Left(_) | Outcome::Failed(_))).any(
            |it| {
                it.kind == kind.resource().kind
                    && it.namespace == object.namespace()
                    && it.name == object.name()
            },
        )
    };
    match carrying(plane, kind, ours).await {
        Err(error) => Some(error),
        Ok(found) => {
            let new = found.iter().filter(|object| !is_known(object)).count();
            let plural = &kind.resource().plural;
            (new > 0).then(|| format!("{new} {plural} carry {} again: does a fedhub run?", ours.join(" or ")))
        }
    }
}

async fn object_of(
    connection: &Connection,
    kind: Kind,
    ours: &[&str],
    listed: &Object,
    order: Order,
) -> Outcome {
    let mut object = listed.clone();
    for _ in 0..TRIES {
        let others = match release(&object, ours, order.abandon_deletions) {
            Release::Nothing => return Outcome::Gone,
            Release::Hold => return Outcome::Left(HELD.to_owned()),
            Release::Strip(_) if !order.run => return Outcome::Planned,
            Release::Strip(others) => others,
        };
        let Some(plane) = connection.found() else { return Outcome::Failed("it is not asked".to_owned()) };
        if let Ok(outcome) = write(plane, kind, &object, &others).await {
            return outcome;
        }
        object = match get(connection, kind.resource(), listed.namespace(), listed.name()).await {
            Read::Found(now) if now.uid() == listed.uid() => now,
            Read::Found(_) | Read::Absent | Read::Skipped => return Outcome::Gone,
            Read::Failed(error) => return Outcome::Failed(error.message),
        };
    }
    Outcome::Failed("others write it again and again".to_owned())
}

/// Another writer was first.
struct Conflict;

/// Leaves the other finalizers on this very version.
async fn write(plane: &Plane, kind: Kind, object: &Object, others: &[String]) -> Result<Outcome, Conflict> {
    let api = Api::<Object>::namespaced_with(plane.client.clone(), object.namespace(), kind.resource());
    let metadata = json!({"uid": object.uid(), "resourceVersion": object.version(), "finalizers": others});
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let written = tokio::time::timeout(plane.timeout, api.patch_metadata(object.name(), &params, &patch));
    match written.await {
        Ok(Ok(_)) => Ok(Outcome::Done),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(Outcome::Gone),
        Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(Conflict),
        Ok(Err(error)) => Ok(Outcome::Failed(errors::chain(&error))),
        Err(_) => Ok(Outcome::Failed(format!("no answer within {} s", plane.timeout.as_secs_f64()))),
    }
}
