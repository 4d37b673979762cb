//! Empties the hub, and leaves what runs in the cells.
//!
//! Karmada deletes in a cell what is deleted on the hub, unless the policy says `preserveResourcesOnDeletion`
//! (Karmada 1.13). So that is said first, and no WD is deleted before its `ResourceBinding` and its Works say
//! it too.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fedhub_core::errors;
use fedhub_core::names::REFERENCED_DATA;
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::DATA_KINDS;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::plan::{self, Emptying, Hub, is_preserved, unpreserved};
use super::report::{Entry, Line, Outcome};
use super::strip::{MANAGER, entry};
use crate::operator::concurrent::all;
use crate::operator::connect::{Connection, Plane};
use crate::operator::deletion::{self, delete};
use crate::operator::karmada::{BINDING_ID, WORK};
use crate::operator::read::Read;
use crate::operator::requests::{self, Part, Query, get, list};

/// How long Karmada may take to pass on what a policy says, and to let go of what is deleted.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// What stands on the hub.
pub async fn read(hub: &Connection) -> anyhow::Result<Hub> {
    let of = async |kind: Kind| {
        list(hub, kind.resource(), "", "")
            .await
            .required(|| format!("failed to list {} on the hub", kind.resource().plural))
    };
    Ok(Hub {
        namespaces: of(Kind::Namespace).await?,
        deployments: of(Kind::WorkloadDeployment).await?,
        policies: of(Kind::PropagationPolicy).await?,
        instances: of(Kind::Instance).await?,
        companions: companions(hub).await?,
    })
}

async fn companions(hub: &Connection) -> anyhow::Result<Vec<(Kind, Vec<Object>)>> {
    let labels = format!("{REFERENCED_DATA}=true");
    let mut companions = Vec::new();
    for kind in DATA_KINDS {
        let query = Query { kind: kind.resource(), namespace: "", labels: &labels, fields: "" };
        let mut of_kind = Vec::new();
        let listed = requests::each(hub, query, Part::Metadata, |object| {
            of_kind.push(object);
            ControlFlow::Continue(())
        });
        listed.await.required(|| format!("failed to list {} on the hub", kind.resource().plural))?;
        companions.push((kind, of_kind));
    }
    Ok(companions)
}

/// The plan, for the report.
pub fn planned(plan: &Emptying) -> Line {
    let mut line = Line { plane: "hub".to_owned(), ..Line::default() };
    for (kind, objects) in deleted(plan) {
        line.entries.extend(objects.iter().map(|object| entry(kind, object, Outcome::Planned)));
    }
    line.entries.extend(left(plan));
    line
}

/// What is deleted, in this order.
fn deleted(plan: &Emptying) -> impl Iterator<Item = (Kind, &[Object])> {
    let first = [(Kind::WorkloadDeployment, &plan.deployments[..]), (Kind::Instance, &plan.instances[..])];
    let companions = plan.companions.iter().map(|(kind, all)| (*kind, &all[..]));
    first.into_iter().chain(companions).chain([(Kind::PropagationPolicy, &plan.policies[..])])
}

fn left(plan: &Emptying) -> impl Iterator<Item = Entry> {
    plan.left.iter().map(|(object, why)| {
        let kind = object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default();
        let outcome = Outcome::Left((*why).to_owned());
        Entry { kind, namespace: object.namespace().to_owned(), name: object.name().to_owned(), outcome }
    })
}

/// Does it, as far as it is safe.
pub async fn empty(hub: &Connection, plan: &Emptying, concurrency: usize) -> anyhow::Result<Line> {
    let mut line = Line { plane: "hub".to_owned(), entries: left(plan).collect(), problem: None };
    let Some(plane) = hub.found() else { return Ok(line) };
    for policy in &plan.policies {
        if let Err(problem) = preserve(plane, policy).await {
            line.problem = Some(problem);
            return Ok(line);
        }
    }
    if let Err(problem) = until(async || Ok(open(hub, &plan.namespaces).await?.is_empty())).await {
        let open = open(hub, &plan.namespaces).await.unwrap_or_default();
        let words =
            "nothing was deleted: Karmada would delete in the cells what these ResourceBindings stand for";
        let named = || format!("{words}: {}", open.join(", "));
        line.problem = Some(if open.is_empty() { problem } else { named() });
        return Ok(line);
    }
    for (kind, objects) in deleted(plan) {
        let entries = each(plane, kind, objects, concurrency).await?;
        let done = entries.iter().all(Entry::is_done);
        line.entries.extend(entries);
        if kind != Kind::WorkloadDeployment {
            continue;
        }
        // What stands needs its policy.
        let gone = if done { until(async || are_gone(hub, kind, objects).await).await } else { Ok(()) };
        if !done || gone.is_err() {
            let problem = gone.err().map(|problem| format!(": {problem}")).unwrap_or_default();
            line.problem = Some(format!("WDs are left{problem}; Instances and policies stay with them"));
            return Ok(line);
        }
    }
    Ok(line)
}

/// Makes Karmada keep in the cells what a policy propagates.
async fn preserve(plane: &Plane, policy: &Object) -> Result<(), String> {
    if is_preserved(policy) {
        return Ok(());
    }
    let kind = Kind::PropagationPolicy.resource();
    let api = Api::<Object>::namespaced_with(plane.client.clone(), policy.namespace(), kind);
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({
        "metadata": {"uid": policy.uid()}, "spec": {"preserveResourcesOnDeletion": true},
    }));
    let what = format!("PropagationPolicy {}/{}", policy.namespace(), policy.name());
    match tokio::time::timeout(plane.timeout, api.patch(policy.name(), &params, &patch)).await {
        Ok(Ok(written)) if is_preserved(&written) => Ok(()),
        Ok(Ok(_)) => {
            Err(format!("{what}: Karmada does not know preserveResourcesOnDeletion: 1.13 or later is needed"))
        }
        Ok(Err(error)) => Err(format!("failed to patch {what}: {}", errors::chain(&error))),
        Err(_) => Err(format!("failed to patch {what}: no answer within {} s", plane.timeout.as_secs_f64())),
    }
}

/// The bindings of which something would be deleted in a cell.
async fn open(hub: &Connection, namespaces: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let (bindings, works) =
        tokio::join!(list(hub, Kind::ResourceBinding.resource(), "", ""), list(hub, &WORK, "", BINDING_ID));
    let bindings = found(bindings)?;
    let works = found(works)?;
    let open = unpreserved(namespaces, &bindings, &works);
    Ok(open.into_iter().map(|it| format!("{}/{}", it.namespace(), it.name())).collect())
}

fn found(read: Read<Vec<Object>>) -> Result<Vec<Object>, String> {
    match read {
        Read::Found(objects) => Ok(objects),
        Read::Absent | Read::Skipped => Err("the hub is not asked".to_owned()),
        Read::Failed(error) => Err(error.message),
    }
}

/// Looks until something is so, for a while.
async fn until(mut is_so: impl AsyncFnMut() -> Result<bool, String>) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match is_so().await {
            Ok(true) => return Ok(()),
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Ok(false) if began.elapsed() > PATIENCE => {
                return Err(format!("Karmada took longer than {} s", PATIENCE.as_secs()));
            }
            Ok(false) | Err(_) => tokio::time::sleep(EVERY).await,
        }
    }
}

async fn are_gone(hub: &Connection, kind: Kind, objects: &[Object]) -> Result<bool, String> {
    let uids: BTreeSet<&str> = objects.iter().map(ObjectView::uid).collect();
    let standing = found(list(hub, kind.resource(), "", "").await)?;
    Ok(!standing.iter().any(|it| it.is_terminating() && uids.contains(it.uid())))
}

async fn each(
    plane: &Plane,
    kind: Kind,
    objects: &[Object],
    concurrency: usize,
) -> anyhow::Result<Vec<Entry>> {
    let what = match kind {
        Kind::WorkloadDeployment => "WDs of the hub",
        Kind::Instance => "copies of Instances",
        Kind::ConfigMap | Kind::Secret => "copies of referenced data",
        _ => "policies",
    };
    all(what, objects.to_vec(), concurrency, |object| {
        let plane = plane.clone();
        async move {
            let outcome = match current(&plane, kind, &object).await {
                Ok(Some(now)) => deletion_of(delete(&plane, kind, &now, MANAGER).await),
                Ok(None) => Outcome::Gone,
                Err(error) => Outcome::Failed(error),
            };
            entry(kind, &object, outcome)
        }
    })
    .await
}

/// The object as it is now: Karmada writes to what it propagates.
async fn current(plane: &Plane, kind: Kind, object: &Object) -> Result<Option<Object>, String> {
    let hub = Read::Found(plane.clone());
    match get(&hub, kind.resource(), object.namespace(), object.name()).await {
        Read::Found(now) if now.uid() == object.uid() => Ok(Some(now)),
        Read::Found(_) | Read::Absent | Read::Skipped => Ok(None),
        Read::Failed(error) => Err(error.message),
    }
}

fn deletion_of(outcome: deletion::Outcome) -> Outcome {
    match outcome {
        deletion::Outcome::Deleted => Outcome::Done,
        deletion::Outcome::Gone => Outcome::Gone,
        deletion::Outcome::Kept(why) => Outcome::Left(why),
        deletion::Outcome::Failed(error) => Outcome::Failed(error),
    }
}

/// What is to be deleted, by what the hub has now.
pub async fn plan(hub: &Connection) -> anyhow::Result<Emptying> {
    Ok(plan::emptying(&read(hub).await?))
}
