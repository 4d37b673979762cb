//! `instances`: what runs, where, and how it is; `instances describe`: one of them in full; `instances stop`,
//! `start` and `restart`: what single ones are to do.

mod deployments;
pub mod power;
pub mod state;
pub mod view;

use clap::{Args, Subcommand};
use deployments::deployments_for;
use fedhub_api::instance_power::PowerOrder;
use fedhub_core::object::Kind;
use jiff::Timestamp;
use power::args::PowerArgs;
use view::{Filter, rows};

use crate::args::names;
use crate::model::{get, list};
use crate::problem::Problem;
use crate::reading::{self, note};
use crate::session::Session;
use crate::view::Look;

/// Shown after the help.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute instances
  datumctl compute instances --workload web --city DFW
  datumctl compute instances describe web-default-dfw-0
  datumctl compute instances stop web-default-dfw-0
  datumctl compute instances --city DFW -o json";

/// Shown after the help of `describe`.
const DESCRIBE: &str = "\
Examples:
  datumctl compute instances describe web-default-dfw-0
  datumctl compute instances describe web-default-dfw-0 -o yaml";

/// The flags of `instances`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct InstancesArgs {
    /// What is done with some of them, in place of the list.
    #[command(subcommand)]
    pub one: Option<One>,
    /// Only the instances of this workload.
    #[arg(short, long, value_name = "WORKLOAD", value_parser = names::existing)]
    pub workload: Option<String>,
    /// Only the instances in these cities.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
}

/// What is done with single instances.
#[derive(Debug, Subcommand)]
pub enum One {
    /// Show one instance in full: what runs in it, its addresses, and what its conditions say.
    #[command(after_help = DESCRIBE)]
    Describe {
        /// The instance's name.
        #[arg(value_name = "INSTANCE", value_parser = names::existing)]
        name: String,
    },
    /// Stop instances: they are kept and do not run, until they are started.
    #[command(after_help = power::args::STOP)]
    Stop(PowerArgs),
    /// Start instances that were stopped.
    #[command(after_help = power::args::START)]
    Start(PowerArgs),
    /// Restart instances in place, also those that were stopped.
    #[command(after_help = power::args::RESTART)]
    Restart(PowerArgs),
}

impl InstancesArgs {
    /// Whether it changes anything.
    pub fn writes(&self) -> bool {
        match self.one {
            None | Some(One::Describe { .. }) => false,
            Some(One::Stop(_) | One::Start(_) | One::Restart(_)) => true,
        }
    }
}

/// Runs the command.
pub async fn run(session: &Session, args: &InstancesArgs) -> Result<(), Problem> {
    match &args.one {
        Some(One::Describe { name }) => describe(session, name).await,
        Some(One::Stop(args)) => power::run(session, PowerOrder::Stop, args).await,
        Some(One::Start(args)) => power::run(session, PowerOrder::Start, args).await,
        Some(One::Restart(args)) => power::run(session, PowerOrder::Restart, args).await,
        None => table(session, args).await,
    }
}

async fn table(session: &Session, args: &InstancesArgs) -> Result<(), Problem> {
    // A label of the Workload does not select them: an instance without its labels would be omitted
    // unnoticed.
    let instances = list(session, Kind::Instance, "").await?;
    let deployments = deployments_for(session, &instances).await;
    let index = reading::index(&deployments);
    let filter = Filter { workload: args.workload.as_deref(), cities: &args.city };
    let rows = rows(&instances, |name| index.deployment(name), filter);
    let look = Look::from_session(session);
    let now = Timestamp::now();
    let empty = rows.is_empty();
    if !empty || session.global.output.is_structured() {
        session.print(|| view::json(&rows), || view::table(&rows, &look, now))?;
    }
    if let Err(problem) = &deployments {
        session.tell(&note(problem));
    }
    match (empty, instances.is_empty()) {
        (false, _) => session.tell(&format!("\n{}", view::totals(&rows))),
        (true, true) => session.tell(&format!("There are no instances in {}.", session.place_in_words())),
        (true, false) => session.tell("No instance matches."),
    }
    Ok(())
}

async fn describe(session: &Session, name: &str) -> Result<(), Problem> {
    let instance = [get(session, Kind::Instance, name).await?];
    let deployments = deployments_for(session, &instance).await;
    let index = reading::index(&deployments);
    let rows = rows(&instance, |name| index.deployment(name), Filter::default());
    let look = Look::from_session(session);
    let now = Timestamp::now();
    for row in &rows {
        session.print(|| row.json(), || view::described(row, &look, now))?;
    }
    if let Err(problem) = &deployments {
        session.tell(&note(problem));
    }
    Ok(())
}
