//! `scaling`: what a WD costs fedhub itself, with ever more planes.

use serde_json::json;

use super::Options;
use super::fake_apiserver::Fleet;
use super::figure::Figure;
use super::judge::{Bar, Scale};
use super::report::Findings;
use super::stats::{number, rounded};
use crate::Error;

/// Planes.
const PLANES: [usize; 4] = [10, 100, 1_000, 10_000];
/// WDs that are federated once all planes are engaged, spread over them. Before that each plane has one
/// already: its hub namespace and its policy are there, so that a WD costs the same writes everywhere.
const DEPLOYMENTS: usize = 10_000;

/// Laps of all numbers of planes in turn, up and down again: what else the machine does weighs on all of them
/// alike.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let mut planes = PLANES.map(|planes| options.scaled(planes)).to_vec();
    if options.quick {
        // The fewest and the most: what grows with the planes shows between them.
        planes.drain(1..PLANES.len() - 1);
    }
    let mut costs = vec![Vec::new(); planes.len()];
    let mut details = Vec::new();
    let mut laps = options.laps();
    while let Some(lap) = laps.begin() {
        let mut turns: Vec<_> = planes.iter().copied().zip(&mut costs).collect();
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
        laps.judge(|error| {
            vec![
                Figure::ratio(
                    "a WD with the dearest number of planes",
                    "times the cheapest",
                    &spread(&costs),
                )
                .within(Bar::at_most(1.25), error),
            ]
        });
    }
    let means = costs.iter().map(|laps| rounded(Scale::Logarithmic.mean(laps), 3)).collect::<Vec<_>>();
    let details = json!({ "cpu_ms_per_deployment": means, "laps": details });
    Ok(Findings { figures: laps.figures(), details })
}

/// Returns, for each lap, the cost at the number of planes that is most expensive over all laps, divided by
/// the cost at the cheapest. Choosing by the laps themselves overestimates the spread.
fn spread(costs: &[Vec<f64>]) -> Vec<f64> {
    let mean = |laps: &&Vec<f64>| Scale::Logarithmic.mean(laps);
    let dearest = costs.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    let cheapest = costs.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    dearest
        .into_iter()
        .flatten()
        .zip(cheapest.into_iter().flatten())
        .map(|(most, least)| most / least)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_between_the_dearest_and_the_cheapest_of_all_laps() {
        let costs = [vec![1.0, 2.0], vec![4.0, 2.0], vec![2.0, 1.9]];
        assert_eq!(spread(&costs), [4.0, 1.0]);
        assert_eq!(spread(&[]), [] as [f64; 0]);
    }
}
