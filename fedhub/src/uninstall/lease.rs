//! Whether fedhub runs: whether its Lease is held and renewed, or a Deployment runs it without one.

use std::time::Duration;

use anyhow::{Context, bail};
use fedhub_lease::Record;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Container;
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt};

use crate::common::complain;
use crate::operator::connect::Plane;
use crate::operator::read::{Failure, Read};
use crate::operator::requests::within;

/// How long a Lease lasts that does not say so.
const USUAL: Duration = Duration::from_secs(15);

/// A Lease of fedhub.
pub struct Seat {
    /// Where it is, in words.
    pub what: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How to stop who holds it.
    pub remedy: String,
}

/// What there is to say of fedhub at a seat.
enum Standing {
    /// The Lease has a holder, or its last holder did not release it.
    Held(Record),
    /// The Lease was released.
    Released,
    /// A Deployment of that name runs fedhub without leader election.
    Unelected(String),
    /// Whether a fedhub runs that does not elect, nothing tells: there is no Lease, or nobody holds it and
    /// Deployments cannot be read.
    Unknown,
}

/// What the Deployments say of a process without leader election.
enum Unelected {
    /// One of that name runs it.
    By(String),
    /// No Deployment runs one.
    Nowhere,
    /// They cannot be read.
    Unread,
}

/// What the Lease says and, as a process without leader election holds none, the Deployments beside it.
async fn standing(plane: &Plane, seat: &Seat) -> anyhow::Result<Standing> {
    let unelected = match unelected(plane, seat).await {
        Unelected::By(name) => return Ok(Standing::Unelected(name)),
        other => other,
    };
    Ok(match (record(plane, seat).await?, unelected) {
        (Some(record), _) if !record.holder.is_empty() => Standing::Held(record),
        (None, _) | (_, Unelected::Unread) => Standing::Unknown,
        (Some(_), _) => Standing::Released,
    })
}

/// What a Lease says; `None` where there is none.
async fn record(plane: &Plane, seat: &Seat) -> anyhow::Result<Option<Record>> {
    let api: Api<Lease> = Api::namespaced(plane.client.clone(), &seat.namespace);
    let read = within(plane.timeout, api.get_opt(&seat.name)).await;
    Ok(read
        .required(|| format!("failed to read the Lease {}/{} on {}", seat.namespace, seat.name, seat.what))?
        .as_ref()
        .map(Record::from_lease))
}

/// Whether a Deployment runs fedhub without leader election. A server that serves no Deployments has none.
async fn unelected(plane: &Plane, seat: &Seat) -> Unelected {
    let api: Api<Deployment> = Api::namespaced(plane.client.clone(), &seat.namespace);
    match within(plane.timeout, api.list(&ListParams::default())).await {
        Read::Found(all) => {
            let found = all.items.iter().find(|it| runs_unelected(it));
            found.map_or(Unelected::Nowhere, |it| Unelected::By(it.name_any()))
        }
        Read::Failed(error) if error.failure != Failure::NotServed => Unelected::Unread,
        Read::Absent | Read::Skipped | Read::Failed(_) => Unelected::Nowhere,
    }
}

/// Whether a Deployment has Pods that run `fedhub run` without leader election, by its arguments or its
/// environment.
pub fn runs_unelected(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let left = deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or_default();
    let mut containers = deployment.spec.template.spec.iter().flat_map(|spec| &spec.containers);
    wanted.max(left) > 0 && containers.any(runs_without_election)
}

fn runs_without_election(container: &Container) -> bool {
    let words = || container.command.iter().chain(&container.args).flatten().map(String::as_str);
    let apart = || words().zip(words().skip(1)).any(|pair| pair == ("--leader-elect", "false"));
    let by_environment = || {
        let mut env = container.env.iter().flatten();
        env.any(|it| it.name == "FEDHUB_LEADER_ELECT" && it.value.as_deref() == Some("false"))
            && !words().any(|word| word.starts_with("--leader-elect"))
    };
    words().any(|word| word == "run")
        && (words().any(|word| word == "--leader-elect=false") || apart() || by_environment())
}

/// An error while fedhub runs; whether that is certain. Clocks are not compared: a holder that renews its
/// Lease within its duration runs, one that does not has ended.
pub async fn refuse_while_held(plane: &Plane, seat: &Seat) -> anyhow::Result<bool> {
    let seen = match standing(plane, seat).await? {
        Standing::Held(record) => record,
        Standing::Released => return Ok(true),
        Standing::Unknown => return Ok(false),
        Standing::Unelected(name) => bail!(
            "fedhub runs on {} without leader election, by Deployment {}/{name}: {}",
            seat.what,
            seat.namespace,
            seat.remedy
        ),
    };
    let duration = if seen.duration.is_zero() { USUAL } else { seen.duration };
    complain(&format!(
        "{}: {} holds the Lease; looking for {} s whether it renews it",
        seat.what,
        seen.holder,
        duration.as_secs()
    ));
    let api: Api<Lease> = Api::namespaced(plane.client.clone(), &seat.namespace);
    let version = seen.version.clone();
    let is_news = move |lease: Option<&Lease>| {
        lease.is_none_or(|lease| lease.metadata.resource_version.as_ref() != Some(&version))
    };
    match tokio::time::timeout(duration, await_condition(api, &seat.name, is_news)).await {
        Err(_) => return Ok(!matches!(unelected(plane, seat).await, Unelected::Unread)),
        Ok(Err(error)) => {
            return Err(error).with_context(|| format!("failed to watch the Lease on {}", seat.what));
        }
        Ok(Ok(_)) => {}
    }
    match record(plane, seat).await?.filter(|record| !record.holder.is_empty()) {
        None => Ok(!matches!(unelected(plane, seat).await, Unelected::Unread)),
        Some(now) => bail!("fedhub runs on {}, as {}: {}", seat.what, now.holder, seat.remedy),
    }
}
