//! `status`: the project at a glance: each workload, and in which cities something is the matter.

pub mod view;

use clap::Args;
use fedhub_core::object::{Kind, ObjectView};
use jiff::Timestamp;
use view::{Overview, text, value};

use crate::args::names;
use crate::model::{absent, list};
use crate::problem::Problem;
use crate::reading::{self, note};
use crate::session::Session;
use crate::view::Look;

/// Shown after the help.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute status
  datumctl compute status web -o json";

/// The flags of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only these workloads.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub names: Vec<String>,
}

/// Runs the command.
pub async fn run(session: &Session, args: &StatusArgs) -> Result<(), Problem> {
    let (workloads, deployments) =
        tokio::join!(list(session, Kind::Workload, ""), list(session, Kind::WorkloadDeployment, ""));
    let mut workloads = workloads?;
    if let Some(missing) = args.names.iter().find(|name| !workloads.iter().any(|it| it.name() == **name)) {
        return Err(absent(session, Kind::Workload, missing));
    }
    workloads.retain(|it| args.names.is_empty() || args.names.iter().any(|name| it.name() == name));
    let index = reading::index(&deployments);
    let seen: Vec<_> = workloads.iter().map(|object| index.workload(object)).collect();
    let overview = Overview {
        project: session.project.as_deref(),
        workloads: &seen,
        unknown: deployments.as_ref().err(),
    };
    let look = Look::from_session(session);
    let now = Timestamp::now();
    if !workloads.is_empty() || session.global.output.is_structured() {
        session.print(|| value(&overview), || text(&overview, &look, now))?;
    }
    if let Err(problem) = &deployments {
        session.tell(&note(problem));
    }
    if workloads.is_empty() {
        session.tell(&format!("There are no workloads in {}.", session.place_in_words()));
    } else if overview.troubled().next().is_some() {
        session.tell(&format!("\n`{}` says more.", session.command("explain WORKLOAD")));
    }
    Ok(())
}
