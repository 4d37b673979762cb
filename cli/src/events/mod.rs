//! `events`: what happened to a workload, in its cities and to its instances, in one list; newest last.

pub mod join;
pub mod view;
pub mod watch;

use clap::Args;
use fedhub_core::message::Quoted;
use fedhub_core::object::Kind;
use jiff::Timestamp;
use join::{Filter, Names, entries};

use crate::args::names;
use crate::model::{Listed, get, list};
use crate::problem::Problem;
use crate::reading::{self, Query, known, note};
use crate::session::Session;
use crate::view::Look;

/// Shown after the help.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute events
  datumctl compute events web --warnings
  datumctl compute events web --watch";

/// The flags of `events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Only of this workload, its cities and its instances.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: Option<String>,
    /// Only in these cities.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
    /// Only warnings.
    #[arg(long)]
    pub warnings: bool,
    /// Go on with what happens from now on, until Ctrl-C. With -o json, an object on each line.
    #[arg(short, long)]
    pub watch: bool,
}

impl EventsArgs {
    fn filter(&self) -> Filter<'_> {
        Filter { workload: self.name.as_deref(), cities: &self.city, warnings: self.warnings }
    }
}

/// Runs the command.
pub async fn run(session: &Session, args: &EventsArgs) -> Result<(), Problem> {
    let names = names(session, args);
    if args.watch {
        return watch::run(session, args.filter(), told(session, names.await?)).await;
    }
    let query = Query {
        what: "events",
        group: "",
        version: "v1",
        kind: "Event",
        plural: "events",
        namespace: Some(&session.namespace),
    };
    let (names, events) = tokio::join!(names, reading::list(&session.client, query));
    let events = events?;
    let names = told(session, names?);
    let found = entries(&events, &names, args.filter());
    let look = Look::from_session(session);
    let now = Timestamp::now();
    if !found.is_empty() || session.global.output.is_structured() {
        session.print(|| view::json(&found), || view::table(&found, &look, now))?;
    }
    if found.is_empty() {
        session.tell(&format!("There are no {}; the platform keeps them for about an hour.", sought(args)));
    }
    Ok(())
}

/// Describes what was looked for and not found.
fn sought(args: &EventsArgs) -> String {
    match &args.name {
        _ if args.warnings || !args.city.is_empty() => "such events".to_owned(),
        Some(name) => format!("events of {}", Quoted(name)),
        None => "events".to_owned(),
    }
}

/// What deployments stand for. Those of a Workload are known by its spec alone where they may not be listed;
/// a Workload that is gone leaves events behind, and a name that never was one is an error.
async fn names(session: &Session, args: &EventsArgs) -> Result<(Names, Vec<Problem>), Problem> {
    let (workloads, deployments): (Listed, Listed) =
        tokio::join!(list(session, Kind::Workload, ""), list(session, Kind::WorkloadDeployment, ""));
    let names = Names::new(known(&workloads), known(&deployments));
    if let (Some(name), Ok(_)) = (&args.name, &workloads)
        && !names.has_workload(name)
    {
        get(session, Kind::Workload, name).await?;
    }
    let unknown = [workloads, deployments].into_iter().filter_map(Result::err).collect();
    Ok((names, unknown))
}

/// The names, once what is not known of them is told.
fn told(session: &Session, (names, unknown): (Names, Vec<Problem>)) -> Names {
    for problem in &unknown {
        session.tell(&note(problem));
    }
    names
}
