//! `restart`: replaces the instances of a workload one by one, everywhere or in some cities.

pub mod plan;

use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, ObjectView};
use jiff::Timestamp;
use kube::api::Patch;

use crate::args::names;
use crate::model::{self, Project, absent};
use crate::problem::Problem;
use crate::rollout::{WaitArgs, follow};
use crate::session::Session;
use plan::plan;

/// Flags of `restart`.
#[derive(Clone, Debug, clap::Args)]
pub struct RestartArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// The cities to restart it in, in place of all.
    #[arg(long, value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs it.
pub async fn run(session: &Session, args: &RestartArgs) -> Result<(), Problem> {
    let project = Project::of_workload(session, &args.name).await;
    let workloads = project.workloads.as_ref().map_err(Clone::clone)?;
    if let Err(problem) = &project.deployments {
        return Err(problem.clone());
    }
    let Some(workload) = workloads.first() else {
        return Err(absent(session, Kind::Workload, &args.name));
    };
    let restart = plan(&project.index().workload(workload), &args.city, Timestamp::now())
        .map_err(|refusal| refusal.problem(&args.name))?;
    for target in &restart.targets {
        let api = model::api(session.client.clone(), &session.namespace, target.kind);
        // Only a time is written: whatever else is changed at the same moment stays.
        let written =
            api.patch(target.object.name(), &model::patch_params(), &Patch::Merge(&restart.patch)).await;
        let doing = match target.kind {
            Kind::Workload => format!("restart {}", Quoted(&args.name)),
            _ => format!("restart {} in {}", Quoted(&args.name), target.city),
        };
        written.map_err(|error| Problem::from_error(error, &doing))?;
    }
    session.tell(&format!("{} restarts in {}.", Quoted(&args.name), restart.cities.join(", ")));
    follow(session, &args.name, &args.wait).await
}
