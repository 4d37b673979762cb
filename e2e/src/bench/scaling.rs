//! `scaling`: what a WD costs fedhub itself, with ever more planes.

use serde_json::json;

use super::Options;
use super::fake_apiserver::Fleet;
use super::report::{Claim, Report};
use super::stats::{median, number, rounded};
use crate::Error;

/// Planes.
const PLANES: [usize; 4] = [10, 100, 1_000, 10_000];
/// WDs that are federated once all planes are engaged, spread over them. Before that each plane has one already: its
/// hub namespace and its policy are there, so that a WD costs the same writes everywhere.
const DEPLOYMENTS: usize = 10_000;

/// Laps of all numbers of planes in turn, up and down again: what else the machine does weighs on all of them alike.
pub async fn run(options: &Options) -> Result<Report, Error> {
    let planes = PLANES.map(|planes| options.scaled(planes));
    let (mut costs, mut details) = (vec![Vec::new(); planes.len()], Vec::new());
    for lap in 0..options.repetitions {
        let mut turns: Vec<_> = planes.into_iter().zip(&mut costs).collect();
        if lap % 2 == 1 {
            turns.reverse();
        }
        for (planes, costs) in turns {
            let fleet = Fleet::up(options, planes).await?;
            fleet.populate(planes, 0, "in-order", "first").await?;
            let mut fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
            let count = options.scaled(DEPLOYMENTS);
            fleet.watched().await?;
            let connections = fedhub.connections_to(fleet.port())?;
            fleet.count_anew().await?;
            let before = fedhub.cpu()?;
            fleet.populate(count, 0, "unfederated", "wd").await?;
            // With few planes that comes last: their own work goes first.
            fedhub.conditions_written(count).await?;
            let cpu = fedhub.cpu()?.saturating_sub(before);
            fedhub.settled().await?;
            let engaging = before.as_secs_f64();
            let cost = cpu.as_secs_f64() * 1e3 / number(count);
            fleet.progress.step(format!("{planes} planes, lap {lap}: {cost:.3} ms each"));
            let resident = rounded(fedhub.resident()? / 1e6, 1);
            details.push(json!({
                "planes": planes, "cpu_ms_per_deployment": rounded(cost, 3),
                "cpu_s_to_engage": rounded(engaging, 2), "connections": connections, "resident_mb": resident,
            }));
            costs.push(cost);
            fedhub.stop().await?;
        }
    }
    let costs: Vec<f64> = costs.iter().map(|laps| median(laps).unwrap_or(f64::NAN)).collect();
    let (most, least) =
        (costs.iter().copied().fold(0.0, f64::max), costs.iter().copied().fold(f64::MAX, f64::min));
    let spread = most / least;
    let details = json!({ "cpu_ms_per_deployment": costs.iter().map(|cost| rounded(*cost, 3)).collect::<Vec<_>>(), "laps": details });
    Ok(Report::on(
        "scaling",
        spread,
        "times the cheapest",
        &[Claim::at_most("dearest", spread, 1.25)],
        details,
    ))
}
