//! `cities`: where workloads can run, and which of the project's do.

pub mod view;

use clap::Args;
use fedhub_core::object::Kind;
use serde_json::json;
use view::{Cities, cities};

use crate::model::list;
use crate::problem::Problem;
use crate::reading::{is_unserved, missing, note};
use crate::session::Session;
use crate::view::Look;

/// Shown after the help.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute cities
  datumctl compute cities --ready -o json";

/// The flags of `cities`.
#[derive(Debug, Args)]
pub struct CitiesArgs {
    /// Only cities that take new instances.
    #[arg(long)]
    pub ready: bool,
}

/// Runs the command.
pub async fn run(session: &Session, args: &CitiesArgs) -> Result<(), Problem> {
    let (bindings, workloads) =
        tokio::join!(list(session, Kind::LocationBinding, ""), list(session, Kind::Workload, ""));
    if let (Err(_), Err(problem)) = (&bindings, &workloads) {
        return Err(problem.clone());
    }
    let served = bindings.as_deref().ok();
    let Cities { mut rows, is_complete } = cities(served, workloads.as_deref().ok());
    rows.retain(|row| !args.ready || row.ready == Some(true));
    let look = Look::from_session(session);
    let unknown: Vec<&Problem> =
        [&bindings, &workloads].into_iter().filter_map(|it| it.as_ref().err()).collect();
    if !rows.is_empty() || session.global.output.is_structured() {
        session.print(
            || {
                json!({
                    "complete": is_complete,
                    "cities": view::json(&rows),
                    "unknown": unknown.iter().map(|problem| missing(problem)).collect::<Vec<_>>(),
                })
            },
            || view::table(&rows, &look),
        )?;
    } else if is_complete {
        session.tell(&format!("There are no cities that {} can run in.", session.project_in_words()));
    }
    if is_unserved(&bindings) {
        session.tell("This project has no list of its cities: shown are those that its workloads name.");
    } else if let Err(problem) = &bindings {
        session.tell(&note(problem));
    }
    if let Err(problem) = &workloads {
        session.tell(&note(problem));
    }
    Ok(())
}
