//! Whether fedhub runs: whether its Lease is held and renewed.

use std::time::Duration;

use anyhow::{Context, bail};
use fedhub_lease::Record;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::runtime::wait::await_condition;

use crate::operator::connect::Plane;
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

/// What a Lease says; `None` where nobody holds it, or there is none.
pub async fn record(plane: &Plane, seat: &Seat) -> anyhow::Result<Option<Record>> {
    let api: Api<Lease> = Api::namespaced(plane.client.clone(), &seat.namespace);
    let read = within(plane.timeout, api.get_opt(&seat.name)).await;
    let doing = || format!("failed to read the Lease {}/{} on {}", seat.namespace, seat.name, seat.what);
    let lease = read.required(doing)?;
    Ok(lease.as_ref().map(Record::of).filter(|record| !record.holder.is_empty()))
}

/// An error while fedhub runs. Clocks are not compared: a holder that renews its Lease within its duration runs, one that does
/// not has ended.
pub async fn refuse_while_held(plane: &Plane, seat: &Seat) -> anyhow::Result<()> {
    let Some(seen) = record(plane, seat).await? else { return Ok(()) };
    let duration = if seen.duration.is_zero() { USUAL } else { seen.duration };
    eprintln!(
        "fedhub: {}: {} holds the Lease; looking for {} s whether it renews it",
        seat.what,
        seen.holder,
        duration.as_secs()
    );
    let api: Api<Lease> = Api::namespaced(plane.client.clone(), &seat.namespace);
    let version = seen.version.clone();
    let is_news = move |lease: Option<&Lease>| {
        lease.is_none_or(|lease| lease.metadata.resource_version.as_ref() != Some(&version))
    };
    match tokio::time::timeout(duration, await_condition(api, &seat.name, is_news)).await {
        Err(_) => return Ok(()),
        Ok(Err(error)) => {
            return Err(error).with_context(|| format!("failed to watch the Lease on {}", seat.what));
        }
        Ok(Ok(_)) => {}
    }
    match record(plane, seat).await? {
        None => Ok(()),
        Some(now) => bail!("fedhub runs on {}, as {}: {}", seat.what, now.holder, seat.remedy),
    }
}
