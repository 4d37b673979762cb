//! `projection`: hub Instances written as fast as the hub takes them, until the project has the last one.

use super::Options;
use super::baseline::Bare;
use super::course::{Accounted, Course, Turn};
use super::environment::Environment;
use super::figure::Figure;
use super::fixture::Fixture;
use super::judge::Bar;
use super::process::Process;
use super::report::Findings;
use crate::Error;

/// WDs that own the Instances of a lap.
const DEPLOYMENTS: usize = 500;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Instances of each WD.
const EACH: usize = 20;

/// Laps of fedhub and of the bare client in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let fixture =
        &Fixture::build(environment, "p", options.scaled(NAMESPACES), options.scaled(DEPLOYMENTS)).await?;
    let count = fixture.on_hub.len() * EACH;
    let course = Course {
        environment,
        objects: "instances",
        count,
        conditions: 0,
        place: async |_: &str| Ok(()),
        bare: async |(): &()| {
            let owners = fixture.on_project.iter().map(|(_, wd)| (wd.name.clone(), wd.clone())).collect();
            Ok(vec![Bare::projector(environment, fixture.homes(), owners).await?])
        },
        arrive: async |(): &(), _: &str| {
            let took = fixture.projected(environment, EACH).await?;
            environment.progress.step(format!("{count} were written in {:.1} s", took.created));
            Ok(took.arrived)
        },
        finish: async |_: &Turn, (): &(), fedhub: Process, _: &mut Accounted| fedhub.stop().await,
        clear: async |(): &()| fixture.vacate(environment).await,
    };
    let (_, findings) = course
        .race(options, |race, error| {
            vec![Figure::ratio("pace", "of the bare client", &race.paces()).within(Bar::at_least(0.8), error)]
        })
        .await?;
    Ok(findings)
}
