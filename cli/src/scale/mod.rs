//! `scale`: how many instances a workload has in each city.

pub mod plan;

use clap::ArgGroup;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, Object};
use kube::api::Patch;

use crate::model;
use crate::problem::Problem;
use crate::rollout::{WaitArgs, follow};
use crate::session::Session;
use plan::{Scale, plan};

/// How often a change is decided anew where the workload was changed at the same time.
const ATTEMPTS: usize = 5;

/// The flags of which at least one is needed.
const NUMBERS: [&str; 4] = ["min", "max", "cpu_percent", "memory_percent"];

/// Flags of `scale`.
#[derive(Clone, Debug, clap::Args)]
#[command(group(ArgGroup::new("numbers").required(true).multiple(true).args(NUMBERS)))]
pub struct ScaleArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD")]
    pub name: String,
    /// Instances that each city has at least.
    #[arg(long, value_name = "COUNT")]
    pub min: Option<u32>,
    /// Instances that each city has at most, by how busy they are; 0 for as many as --min.
    #[arg(long, value_name = "COUNT")]
    pub max: Option<u32>,
    /// Percentage of its CPU that an instance is to use, with --max.
    #[arg(long, value_name = "PERCENT")]
    pub cpu_percent: Option<u32>,
    /// Percentage of its memory that an instance is to use, with --max.
    #[arg(long, value_name = "PERCENT")]
    pub memory_percent: Option<u32>,
    /// The placements to scale, in place of all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs it.
pub async fn run(session: &Session, args: &ScaleArgs) -> Result<(), Problem> {
    for attempt in 1.. {
        let workload = model::get(session, Kind::Workload, &args.name).await?;
        let scale = plan(&workload, args).map_err(|refusal| refusal.problem(&args.name))?;
        if scale.changes.is_empty() {
            session.tell(&format!("{} is scaled like that already.", Quoted(&args.name)));
            // An earlier scale may have ended before that was so everywhere.
            break;
        }
        match apply(session, &args.name, &workload, &scale).await {
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {}
            Err(error) => return Err(Problem::of(error, &format!("scale {}", Quoted(&args.name)))),
            Ok(_) => {
                for change in &scale.changes {
                    session.tell(&format!("  {}", change.line()));
                }
                break;
            }
        }
    }
    follow(session, &args.name, &args.wait).await
}

async fn apply(session: &Session, name: &str, workload: &Object, scale: &Scale) -> kube::Result<Object> {
    let api = model::api(session.client.clone(), &session.namespace, Kind::Workload);
    let patch = serde_json::from_value(scale.patch(workload)).map_err(kube::Error::SerdeError)?;
    api.patch(name, &model::patch_params(), &Patch::<()>::Json(patch)).await
}
