//! `idle`: what fedhub does while nothing happens.

use std::time::Duration;

use serde_json::json;

use super::Options;
use super::fake_apiserver::{Count, Fleet};
use super::figure::Figure;
use super::judge::Bar;
use super::laps::ERROR;
use super::report::Findings;
use super::stats::rounded;
use crate::Error;

/// Planes.
const PLANES: usize = 1_000;
/// WDs and as many Instances, each on both sides: twenty thousand objects.
const DEPLOYMENTS: usize = 5_000;

/// Parts of the time, whose shares of a core are the laps.
const PARTS: u32 = 5;

/// Waits, once: the longer the better.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let fleet = Fleet::up(options, options.scaled(PLANES)).await?;
    let count = options.scaled(DEPLOYMENTS);
    fleet.populate(count, count, "in-order", "wd").await?;
    let fedhub = fleet.fedhub(&["--leader-elect=true"]).await?;
    let usual = Duration::from_secs(60 * u64::from(options.minutes));
    let time = options.or_quick(usual, Duration::from_secs(30));
    fleet.watched().await?;
    fleet.count_anew().await?;
    let part = time / PARTS;
    let mut shares = Vec::new();
    for _ in 0..PARTS {
        let before = fedhub.cpu()?;
        // Not a condition but what is measured: nothing happens for so long.
        tokio::time::sleep(part).await;
        let used = fedhub.cpu()?.saturating_sub(before);
        shares.push(used.as_secs_f64() / part.as_secs_f64() * 100.0);
    }
    let counters = fleet.counters().await?;
    let seconds = time.as_secs_f64();
    let rate =
        |is: fn(&Count) -> bool| f64::from(u32::try_from(counters.sum(is)).unwrap_or(u32::MAX)) / seconds;
    let kept_up = rate(keeps_up);
    let others = rate(|count| !keeps_up(count));
    let resident = rounded(fedhub.resident()? / 1e6, 1);
    fedhub.stop().await?;
    let figures = vec![
        Figure::mean("CPU", "% of a core", &shares).within(Bar::at_most(1.0), ERROR),
        Figure::exact("requests", "a second", others).exactly(Bar::at_most(1.0)),
        Figure::exact("renewals of watches and of the lease", "a second", kept_up).exactly(Bar::at_most(2.0)),
    ];
    let details = json!({
        "planes": fleet.planes, "objects": count * 4, "seconds": seconds,
        "renewals_per_second": rounded(kept_up, 3), "other_requests_per_second": rounded(others, 3),
        "writes": counters.writes, "resident_mb": resident,
        "requests": counters.requests.iter().map(|c| format!("{} {} {}: {}", c.plane, c.verb, c.resource, c.count)).collect::<Vec<_>>(),
    });
    Ok(Findings { figures, details })
}

/// Renewals of watches, and the lease.
fn keeps_up(count: &Count) -> bool {
    count.verb == "watch" || count.resource == "leases"
}
