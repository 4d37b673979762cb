//! `rollout pause` and `rollout resume`: an annotation of the workload, which the platform honours.
//!
//! Only that annotation is written: whatever else is changed at the same moment stays.

use fedhub_api::facts::workload::is_paused;
use fedhub_core::message::Quoted;
use fedhub_core::names::ROLLOUT_PAUSED;
use fedhub_core::object::Kind;
use kube::api::Patch;
use serde_json::{Value, json};

use super::args::{PauseArgs, ResumeArgs};
use super::{follow, paused};
use crate::model;
use crate::problem::Problem;
use crate::session::Session;

/// Runs `rollout pause`.
pub async fn pause(session: &Session, args: &PauseArgs) -> Result<(), Problem> {
    let name = &*args.name;
    if is_paused(&model::get(session, Kind::Workload, name).await?) {
        session.tell(&format!("The rollout of {} is paused already.", Quoted(name)));
    } else {
        write(session, name, Some("true"), "pause").await?;
        session.tell(&format!(
            "Paused the rollout of {}: a new template, a restart and new cities wait. The number of instances changes, and \
             cities that it leaves are removed, all the same.",
            Quoted(name)
        ));
    }
    session.tell(&format!("{}.", paused::resumes(session, name)));
    if session.global.output.is_structured() {
        session.print(|| json!({"workload": name, "paused": true}), String::new)?;
    }
    Ok(())
}

/// Runs `rollout resume`.
pub async fn resume(session: &Session, args: &ResumeArgs) -> Result<(), Problem> {
    let name = &*args.name;
    if is_paused(&model::get(session, Kind::Workload, name).await?) {
        write(session, name, None, "resume").await?;
        session.tell(&format!("Resumed the rollout of {}.", Quoted(name)));
    } else {
        // An earlier resume may have ended before the rollout did.
        session.tell(&format!("The rollout of {} is not paused.", Quoted(name)));
    }
    follow(session, name, &args.wait).await
}

async fn write(session: &Session, name: &str, value: Option<&str>, doing: &str) -> Result<(), Problem> {
    let api = model::api(session.client.clone(), &session.namespace, Kind::Workload);
    let patch: Value = json!({"metadata": {"annotations": {ROLLOUT_PAUSED: value}}});
    match api.patch(name, &model::patch_params(), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            Err(model::absent(session, Kind::Workload, name))
        }
        Err(error) => Err(Problem::from_error(error, &format!("{doing} the rollout of {}", Quoted(name)))),
    }
}
