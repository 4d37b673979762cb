//! `destroy`: deletes a workload, and waits until nothing of it is left.

pub mod plan;
pub mod remains;
mod requests;
mod wait;

use std::time::Duration;

use fedhub_core::object::{Kind, Object};
use plan::{Consent, Target};
use requests::{delete, workloads};
use serde_json::json;

use crate::args::{names, timeout};
use crate::model::absent;
use crate::problem::Problem;
use crate::session::Session;
use crate::url::{self, Intent, Settled};

/// The flags of `destroy`.
#[derive(Debug, clap::Args)]
pub struct DestroyArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Do not ask. Without a terminal, nothing is deleted unless this is given.
    #[arg(short, long)]
    pub yes: bool,
    /// Do not wait until everything is gone.
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait, such as 90s or 10m; 0 for as long as it takes.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = timeout::parse)]
    pub timeout: Duration,
}

/// Runs the command.
pub async fn run(session: &Session, args: &DestroyArgs) -> Result<(), Problem> {
    let api = workloads(session);
    let doing = format!("read workload {:?}", args.name);
    let found = api.get_opt(&args.name).await.map_err(|error| Problem::from_error(error, &doing))?;
    let Some(workload) = found else { return Err(absent(session, Kind::Workload, &args.name)) };
    let target = Target::from_workload(&workload);
    if !target.is_going {
        let url = url::address(session, &workload).await;
        agree(session, args, &target, url.as_deref()).await?;
        delete_with_url(session, &workload, url.as_deref()).await?;
    }
    if args.no_wait {
        return session.print(
            || json!({ "workload": args.name, "deleted": true, "gone": false }),
            || format!("Workload {:?} is being deleted.", args.name),
        );
    }
    session.tell(&format!("Waiting until workload {:?} and its instances are gone ...", args.name));
    wait::gone(session, &workload, timeout::limit(args.timeout)).await?;
    session.print(
        || json!({ "workload": args.name, "deleted": true, "gone": true }),
        || format!("Workload {:?} and its instances are gone.", args.name),
    )
}

/// Deletes a workload, and before it its URL. A workload that may not be deleted keeps it.
async fn delete_with_url(session: &Session, workload: &Object, url: Option<&str>) -> Result<(), Problem> {
    let api = workloads(session);
    delete(&api, workload, true).await?;
    // The URL is also removed through its owner reference: without a right to it, the workload is deleted
    // first.
    match (url::settle(session, workload, Intent::Unpublish).await, url) {
        (Ok(Settled::None), Some(url)) => session.tell(&format!("Removed its URL {url}.")),
        (Ok(_), _) => {}
        (Err(problem), _) => session.tell(&format!("{} It goes with the workload.", problem.sentence)),
    }
    delete(&api, workload, false).await
}

/// Makes sure that the user wants it.
async fn agree(
    session: &Session,
    args: &DestroyArgs,
    target: &Target,
    url: Option<&str>,
) -> Result<(), Problem> {
    match plan::consent(args.yes, session.terminal.can_ask()) {
        Consent::Given => Ok(()),
        Consent::Missing => Err(Problem::usage(format!(
            "There is no terminal to ask whether to delete {}.",
            target.in_words()
        ))
        .remedy("Give --yes to delete it without a question.")),
        Consent::Question => {
            let with = url.map_or_else(String::new, |url| format!(", with its URL {url}"));
            session.tell(&format!(
                "This deletes {} in {}{with}.",
                target.in_words(),
                session.project_in_words()
            ));
            let agreed = session.confirms("Delete it?", false).await;
            if agreed { Ok(()) } else { Err(Problem::failed("Nothing was deleted.")) }
        }
    }
}
