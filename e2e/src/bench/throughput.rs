//! `throughput`: WDs created as fast as the project plane takes them, until the hub has the last one.

use super::baseline::Bare;
use super::course::{Accounted, Course, Turn};
use super::environment::{Environment, Space};
use super::figure::Figure;
use super::fixture::federated;
use super::judge::Bar;
use super::process::Process;
use super::report::Findings;
use super::stats::number;
use super::{Options, loader};
use crate::Error;

/// WDs of a lap.
const DEPLOYMENTS: usize = 5_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// The share of the bare client's pace that each lap has to reach. All laps together have to reach more.
const EACH: f64 = 0.8;

/// Laps of fedhub and of the bare client in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let count = options.scaled(DEPLOYMENTS);
    let namespaces = options.scaled(NAMESPACES);
    let course = Course {
        environment,
        objects: "deployments",
        count,
        conditions: 0,
        place: async |prefix: &str| loader::spaces(&environment.project, prefix, namespaces).await,
        bare: async |spaces: &Vec<Space>| Ok(vec![Bare::federator(environment, spaces).await?]),
        arrive: async |spaces: &Vec<Space>, prefix: &str| {
            let took = federated(environment, spaces, prefix, count).await?;
            environment.progress.step(format!("{count} were created in {:.1} s", took.created));
            Ok(took.arrived)
        },
        finish: async |_: &Turn, _: &Vec<Space>, fedhub: Process, _: &mut Accounted| fedhub.stop().await,
        clear: async |spaces: &Vec<Space>| environment.clear(spaces).await,
    };
    let (_, findings) = course
        .race(options, |race, error| {
            let paces = race.paces();
            let slow = paces.iter().filter(|pace| !Bar::at_least(EACH).is_met(**pace)).count();
            vec![
                Figure::ratio("pace", "of the bare client", &paces).within(Bar::at_least(0.9), error),
                Figure::exact("each lap", "laps below 0.8", number(slow)).exactly(Bar::at_most(0.0)),
            ]
        })
        .await?;
    Ok(findings)
}
