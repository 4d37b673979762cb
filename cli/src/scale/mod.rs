//! `scale`: how many instances a workload has in each city.

pub mod args;
pub mod plan;
pub mod settings;

use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, Object};
use kube::api::Patch;

use crate::model;
use crate::problem::Problem;
use crate::rollout::follow;
use crate::session::Session;
use args::ScaleArgs;
use plan::{Scale, plan};

/// How often a change is decided anew where the workload was changed at the same time.
const ATTEMPTS: usize = 5;

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
            Err(error) => return Err(Problem::from_error(error, &format!("scale {}", Quoted(&args.name)))),
            Ok(_) => {
                session.tell(&format!("{} changes:", args.name));
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
