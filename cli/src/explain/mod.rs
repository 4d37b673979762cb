//! `explain`: why a workload is as it is, city by city and instance by instance, and who has to act.

pub mod view;

use clap::Args;
use jiff::Timestamp;
use view::{Explanation, Outcome};

use crate::args::names;
use crate::exit::Exit;
use crate::model::{Index, Project};
use crate::problem::Problem;
use crate::reading::{known, note};
use crate::rollout::{awaiting, governed};
use crate::session::Session;
use crate::view::Look;

/// Shown after the help.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute explain web
  datumctl compute explain web --city DFW
  datumctl compute explain web -o json

Exit codes: 0: all is well, or on its way; 1: not everything could be read, and nothing that was says that anything is \
blocked; 4: the user or the platform operator has to act, a wave of the rollout requires approval, or a pause of it holds \
changes back.";

/// The flags of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The workload's name.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Only these cities.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
}

/// Runs the command. Fails with [`Exit::Blocked`] where the user or an operator has to act; with
/// [`Exit::Failed`] where some of it could not be read and the rest needs no action.
pub async fn run(session: &Session, args: &ExplainArgs) -> Result<(), Problem> {
    let (project, rollout) = tokio::join!(
        Project::of_workload(session, &args.name),
        governed::find(&session.client, &session.namespace, &args.name),
    );
    let Project { workloads, deployments, instances } = &project;
    let workload = match workloads {
        Ok(all) => all.first(),
        Err(problem) => return Err(problem.clone()),
    };
    let Some(workload) = workload else { return Ok(()) };
    let index = Index::new(known(deployments), known(instances));
    let seen = index.workload(workload);
    let unread = [deployments, instances].into_iter().filter_map(|it| it.as_ref().err());
    let unknown: Vec<&Problem> = unread.chain(rollout.as_ref().err()).collect();
    let rollout = rollout.as_ref().ok().and_then(Option::as_ref);
    let now = Timestamp::now();
    let mut explanation = Explanation::new(&seen, rollout, deployments.is_ok(), instances.is_ok(), now);
    if !args.city.is_empty() {
        explanation.narrow(&args.city);
        if explanation.cities.is_empty() {
            let cities = seen.cities().join(", ");
            return Err(Problem::usage(format!("{:?} does not run in {}.", args.name, args.city.join(", ")))
                .remedy(format!("Its cities are {cities}.")));
        }
    }
    let look = Look::from_session(session);
    session.print(
        || view::json(&explanation, &unknown),
        || view::text(&explanation, |rest| session.command(rest), &look, now),
    )?;
    for problem in &unknown {
        session.tell(&note(problem));
    }
    let events = session.command(&format!("events {}", args.name));
    match explanation.outcome() {
        Outcome::Blocked => Err(Problem::new(Exit::Blocked, explanation.headline())
            .remedy(format!("`{events}` shows what happened."))),
        Outcome::Paused => {
            let resume = session.command(&format!("rollout resume {}", args.name));
            Err(Problem::new(Exit::Blocked, explanation.headline())
                .remedy(format!("`{resume}` lets it go on.")))
        }
        Outcome::AwaitingApproval => {
            awaiting::problem(session, &args.name, &explanation.judgement).map_or(Ok(()), Err)
        }
        Outcome::Unknown => Err(Problem::failed(format!(
            "Whether anything blocks {:?} is not known: not everything could be read.",
            args.name
        ))),
        Outcome::Well | Outcome::OnItsWay => Ok(()),
    }
}
