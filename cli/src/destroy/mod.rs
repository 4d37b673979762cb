//! `destroy`: deletes a workload, and waits until nothing of it is left.

pub mod plan;
pub mod remains;
mod requests;
mod wait;

use std::time::Duration;

use fedhub_terminal::consent::confirms;
use kube::ResourceExt;
use kube::api::ListParams;
use plan::{Consent, Doomed};
use requests::{delete, workloads};
use serde_json::json;

use crate::problem::Problem;
use crate::session::Session;
use crate::url::{self, Intent};

/// The flags of `destroy`.
#[derive(Debug, clap::Args)]
pub struct DestroyArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD")]
    pub name: String,
    /// Do not ask. Without a terminal, nothing is deleted unless this is given.
    #[arg(short, long)]
    pub yes: bool,
    /// Do not wait until everything is gone.
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait, such as 90s or 10m; 0 for as long as it takes.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = crate::args::timeout::parse)]
    pub timeout: Duration,
}

/// Runs the command.
pub async fn run(session: &Session, args: &DestroyArgs) -> Result<(), Problem> {
    let api = workloads(session);
    let doing = format!("read workload {:?}", args.name);
    let found = api.get_opt(&args.name).await.map_err(|error| Problem::of(error, &doing))?;
    let Some(workload) = found else { return Err(missing(session, &args.name).await) };
    let doomed = Doomed::of(&workload);
    if !doomed.is_going {
        agree(session, args, &doomed)?;
        // What is published of it goes with it by its owner reference, too: without a right to it, the workload goes first.
        if let Err(problem) = url::settle(session, &workload, Intent::Unpublish).await {
            session.tell(&format!("{} It goes with the workload.", problem.sentence));
        }
        delete(&api, &workload).await?;
    }
    if args.no_wait {
        let text = || format!("Workload {:?} is being deleted.", args.name);
        return session.print(|| json!({ "workload": args.name, "deleted": true, "gone": false }), text);
    }
    session.tell(&format!("Waiting until everything of workload {:?} is gone ...", args.name));
    wait::gone(session, &workload, args.timeout).await?;
    let text = || format!("Workload {:?} and everything of it is gone.", args.name);
    session.print(|| json!({ "workload": args.name, "deleted": true, "gone": true }), text)
}

/// Makes sure that somebody wants it.
fn agree(session: &Session, args: &DestroyArgs, doomed: &Doomed) -> Result<(), Problem> {
    match plan::consent(args.yes, session.terminal.can_ask()) {
        Consent::Given => Ok(()),
        Consent::Missing => {
            Err(Problem::usage(format!("Nobody can be asked whether to delete {}.", doomed.in_words()))
                .remedy("Give --yes to delete it without a question."))
        }
        Consent::Question => {
            session.tell(&format!("This deletes {} in {}.", doomed.in_words(), session.project_in_words()));
            let agreed = confirms("Delete it?", false);
            if agreed { Ok(()) } else { Err(Problem::failed("Nothing was deleted.")) }
        }
    }
}

/// A name that leads nowhere, with the ones that do.
async fn missing(session: &Session, name: &str) -> Problem {
    let problem =
        Problem::failed(format!("There is no workload {name:?} in {}.", session.project_in_words()));
    let listed = workloads(session).list_metadata(&ListParams::default()).await;
    let names: Vec<String> = listed.into_iter().flatten().map(|workload| workload.name_any()).collect();
    match names.as_slice() {
        [] => problem,
        names => problem.remedy(format!("There are: {}.", names.join(", "))),
    }
}
