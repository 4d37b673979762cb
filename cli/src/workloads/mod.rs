//! `workloads`: what there is in the project and how it is; `workloads describe`: one of them in full.

pub mod describe;
pub mod url;
pub mod view;

use clap::{Args, Subcommand};
use fedhub_core::object::{Kind, ObjectView};
use jiff::Timestamp;
use url::Url;
use view::{Filter, Row};

use crate::args::names;
use crate::model::{Health, Listed, Project, list};
use crate::problem::Problem;
use crate::reading::{self, note};
use crate::session::Session;
use crate::view::Look;

/// Shown after the help.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute workloads
  datumctl compute workloads --health degraded --city DFW,ORD
  datumctl compute workloads describe web
  datumctl compute workloads -o json

What is not known is shown as `?`, in JSON as null; a URL that there is none of as a dash.";

/// Shown after the help of `describe`.
const DESCRIBE: &str = "\
Examples:
  datumctl compute workloads describe web
  datumctl compute workloads describe web -o json";

/// The flags of `workloads`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WorkloadsArgs {
    /// One workload in place of the list.
    #[command(subcommand)]
    pub one: Option<One>,
    /// Only the workloads of this health.
    #[arg(long, value_enum, ignore_case = true)]
    pub health: Option<Health>,
    /// Only the workloads that run in these cities.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
}

/// What is asked of one workload.
#[derive(Debug, Subcommand)]
pub enum One {
    /// Show one workload in full: its placements, how it is in each city, and what it runs.
    #[command(after_help = DESCRIBE)]
    Describe {
        /// The workload's name.
        #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
        name: String,
    },
}

/// Runs the command.
pub async fn run(session: &Session, args: &WorkloadsArgs) -> Result<(), Problem> {
    match &args.one {
        Some(One::Describe { name }) => describe(session, name).await,
        None => table(session, args).await,
    }
}

async fn table(session: &Session, args: &WorkloadsArgs) -> Result<(), Problem> {
    let (workloads, deployments, urls) = tokio::join!(
        list(session, Kind::Workload, ""),
        list(session, Kind::WorkloadDeployment, ""),
        reading::list(&session.client, url::proxies(&session.namespace)),
    );
    let workloads = workloads?;
    let index = reading::index(&deployments);
    let filter = Filter { health: args.health, cities: &args.city };
    let rows: Vec<Row<'_>> = workloads
        .iter()
        .map(|object| Row { workload: index.workload(object), url: Url::new(&urls, object.name()) })
        .filter(|row| row.passes(filter))
        .collect();
    let look = Look::from_session(session);
    let now = Timestamp::now();
    if !rows.is_empty() || session.global.output.is_structured() {
        session.print(|| view::json(&rows, now), || view::table(&rows, &look, now))?;
    }
    if let Err(problem) = &deployments {
        session.tell(&note(problem));
    }
    tell_unknown_urls(session, &urls);
    match (rows.is_empty(), workloads.is_empty()) {
        (false, _) => session.tell(&format!("\n{}", view::totals(&rows))),
        (true, true) => {
            session.tell(&format!("There are no workloads in {}.", session.place_in_words()));
            session.tell(&format!(
                "Deploy one with `{}`.",
                session.command("deploy NAME --image IMAGE --city CITY")
            ));
        }
        (true, false) => session.tell("No workload matches."),
    }
    Ok(())
}

async fn describe(session: &Session, name: &str) -> Result<(), Problem> {
    let (project, urls) = tokio::join!(
        Project::of_workload(session, name),
        reading::list(&session.client, url::proxies(&session.namespace)),
    );
    let look = Look::from_session(session);
    let now = Timestamp::now();
    let Project { workloads, deployments, .. } = &project;
    let is_known = deployments.is_ok();
    let index = reading::index(deployments);
    for object in workloads.as_ref().map_err(Clone::clone)? {
        let row = Row { workload: index.workload(object), url: Url::new(&urls, name) };
        session
            .print(|| describe::json(&row, is_known, now), || describe::text(&row, is_known, &look, now))?;
    }
    if let Err(problem) = deployments {
        session.tell(&note(problem));
    }
    tell_unknown_urls(session, &urls);
    Ok(())
}

/// Reports why URLs are not known; a platform without URLs needs no report.
fn tell_unknown_urls(session: &Session, urls: &Listed) {
    if let Err(problem) = urls
        && !reading::is_unserved(urls)
    {
        session.tell(&note(problem));
    }
}
