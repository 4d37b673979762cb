//! `footprint`: what a plane takes in memory that is in sync and idle, and what it adds to a scrape.

use serde_json::{Value, json};

use super::Options;
use super::fake_apiserver::Fleet;
use super::figure::Figure;
use super::judge::Bar;
use super::laps::ERROR;
use super::report::Findings;
use super::stats::{number, rounded};
use crate::Error;

/// Planes that the process takes its own memory with, those that a scrape is compared with, and those that
/// count.
const PLANES: [usize; 3] = [10, 100, 10_000];

/// Restarts on few planes and on many; the difference is the cost of the planes. First without any object;
/// then with a WD on each plane that is in sync on the hub, with its namespace and its policy there. A scrape
/// with many planes has about the series of one with 100.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let planes = [PLANES[0], PLANES[1], options.scaled(PLANES[2])];
    let few = Seen::on(options, planes[0]).await?;
    let some = Seen::on(options, planes[1]).await?;
    let many = Seen::on(options, planes[2]).await?;
    let each = |few: &[f64], many: &[f64]| {
        let added = few.iter().zip(many).map(|(few, many)| (many - few) / number(planes[2] - planes[0]));
        added.map(|bytes| bytes / 1e3).collect::<Vec<_>>()
    };
    let mean = |what, few: &[f64], many: &[f64]| Figure::mean(what, "kB for each plane", &each(few, many));
    let megabytes = |laps: &[f64]| laps.iter().map(|bytes| bytes / 1e6).collect::<Vec<_>>();
    // The planes in memory cannot be exchanged between two laps at a bearable price, so these laps are so
    // many.
    let figures = vec![
        mean("idle", &few.empty.resident, &many.empty.resident).within(Bar::at_most(30.0), ERROR),
        Figure::exact("a scrape", "series", many.filled.scrape[0]).exactly(Bar::at_most(500.0)),
        Figure::mean("idle, in all", "MB", &megabytes(&many.empty.resident)),
        mean("idle, at the peak of the start", &few.empty.peak, &many.empty.peak),
        mean("with a WD in order", &few.filled.resident, &many.filled.resident),
        mean("with a WD in order, at the peak of the start", &few.filled.peak, &many.filled.peak),
    ];
    let details = json!({ "planes": planes, "few": few.json(), "some": some.json(), "many": many.json() });
    Ok(Findings { figures, details })
}

struct Seen {
    empty: Laps,
    filled: Laps,
}

impl Seen {
    async fn on(options: &Options, planes: usize) -> Result<Self, Error> {
        let fleet = Fleet::up(options, planes).await?;
        let empty = Laps::on(&fleet, options).await?;
        fleet.populate(planes, 0, "in-order", "wd").await?;
        Ok(Self { empty, filled: Laps::on(&fleet, options).await? })
    }

    fn json(&self) -> Value {
        json!({ "empty": self.empty.json(), "with_a_deployment": self.filled.json() })
    }
}

/// The resident memory in bytes, one lap after the other: after the allocator gave back what the start took,
/// and at most.
#[derive(Default)]
struct Laps {
    resident: Vec<f64>,
    peak: Vec<f64>,
    /// Samples and bytes of the last lap's scrape.
    scrape: [f64; 2],
}

impl Laps {
    async fn on(fleet: &Fleet, options: &Options) -> Result<Self, Error> {
        let mut laps = Self::default();
        for _ in 0..options.repeats() {
            let fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
            fleet.watched().await?;
            laps.resident.push(fedhub.steady().await?);
            laps.peak.push(fedhub.peak()?);
            laps.scrape = fedhub.scrape_size().await?;
            fedhub.stop().await?;
        }
        fleet.progress.step(format!("{} planes: {}", fleet.planes, laps.json()));
        Ok(laps)
    }

    fn json(&self) -> Value {
        let megabytes = |laps: &[f64]| laps.iter().map(|bytes| rounded(bytes / 1e6, 1)).collect::<Vec<_>>();
        json!({
            "resident_mb": megabytes(&self.resident), "peak_mb": megabytes(&self.peak),
            "series": self.scrape[0], "scrape_bytes": self.scrape[1],
        })
    }
}
