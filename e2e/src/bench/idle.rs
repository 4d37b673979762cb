//! `idle`: what fedhub does while nothing happens.

use std::time::Duration;

use serde_json::json;

use super::Options;
use super::fake_apiserver::{Count, Fleet};
use super::report::{Claim, Report};
use super::stats::rounded;
use crate::Error;

/// Planes.
const PLANES: usize = 1_000;
/// WDs and as many Instances, each on both sides: twenty thousand objects.
const DEPLOYMENTS: usize = 5_000;

/// Waits, once: the longer the better.
pub async fn run(options: &Options) -> Result<Report, Error> {
    let fleet = Fleet::up(options, options.scaled(PLANES)).await?;
    let count = options.scaled(DEPLOYMENTS);
    fleet.populate(count, count, "in-order", "wd").await?;
    let fedhub = fleet.fedhub(&["--leader-elect=true"]).await?;
    let time = Duration::from_secs(60 * u64::from(options.minutes));
    fleet.watched().await?;
    fleet.count_anew().await?;
    let before = fedhub.cpu()?;
    tokio::time::sleep(time).await;
    let cpu = fedhub.cpu()?.saturating_sub(before);
    let counters = fleet.counters().await?;
    let seconds = time.as_secs_f64();
    let rate =
        |is: fn(&Count) -> bool| f64::from(u32::try_from(counters.sum(is)).unwrap_or(u32::MAX)) / seconds;
    let core = cpu.as_secs_f64() / seconds * 100.0;
    let (kept_up, others) = (rate(keeps_up), rate(|count| !keeps_up(count)));
    let resident = rounded(fedhub.resident()? / 1e6, 1);
    fedhub.stop().await?;
    let claims = [
        Claim::at_most("percent of a core", core, 1.0),
        Claim::at_most("requests a second", others, 1.0),
        Claim::at_most("renewals of watches and of the lease a second", kept_up, 2.0),
    ];
    let details = json!({
        "planes": fleet.planes, "objects": count * 4, "seconds": seconds, "cpu_percent": rounded(core, 3),
        "renewals_per_second": rounded(kept_up, 3), "other_requests_per_second": rounded(others, 3),
        "writes": counters.writes, "resident_mb": resident,
        "requests": counters.requests.iter().map(|c| format!("{} {} {}: {}", c.plane, c.verb, c.resource, c.count)).collect::<Vec<_>>(),
    });
    Ok(Report::on("idle", core, "% of a core", &claims, details))
}

/// Renewals of watches, and the lease.
fn keeps_up(count: &Count) -> bool {
    count.verb == "watch" || count.resource == "leases"
}
