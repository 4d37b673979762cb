//! `rollout pause` and `rollout resume`: a field of the workload's WorkloadRollout where it has one, else an
//! annotation of the workload, which the platform honours, too.
//!
//! Only that is written: whatever else is changed at the same moment stays.

use fedhub_api::facts::workload::is_paused;
use fedhub_core::message::Quoted;
use fedhub_core::names::ROLLOUT_PAUSED;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::api::Patch;
use serde_json::{Value, json};

use super::args::{PauseArgs, ResumeArgs};
use super::{follow, governed, paused};
use crate::model;
use crate::problem::Problem;
use crate::session::Session;

/// Runs `rollout pause`.
pub async fn pause(session: &Session, args: &PauseArgs) -> Result<(), Problem> {
    let name = &*args.name;
    let by_annotation = is_paused(&model::get(session, Kind::Workload, name).await?);
    let rollout = governed::find(&session.client, &session.namespace, name).await?;
    if by_annotation || rollout.as_ref().is_some_and(is_held) {
        session.tell(&format!("The rollout of {} is paused already.", Quoted(name)));
    } else if rollout.is_some() {
        set_paused(session, name, Some(true), "pause").await?;
        session.tell(&format!(
            "Paused the rollout of {}: no other city starts. Those that have started go on.",
            Quoted(name)
        ));
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
    let by_annotation = is_paused(&model::get(session, Kind::Workload, name).await?);
    let rollout = governed::find(&session.client, &session.namespace, name).await?;
    let by_rollout = rollout.as_ref().is_some_and(is_held);
    if by_annotation {
        write(session, name, None, "resume").await?;
    }
    if by_rollout {
        set_paused(session, name, None, "resume").await?;
    }
    if by_annotation || by_rollout {
        session.tell(&format!("Resumed the rollout of {}.", Quoted(name)));
    } else {
        // An earlier resume may have ended before the rollout did.
        session.tell(&format!("The rollout of {} is not paused.", Quoted(name)));
    }
    follow(session, name, &args.wait).await
}

/// Whether a WorkloadRollout pauses itself.
fn is_held(rollout: &Object) -> bool {
    rollout.spec()["paused"] == true
}

async fn set_paused(session: &Session, name: &str, value: Option<bool>, doing: &str) -> Result<(), Problem> {
    let patch = json!({"spec": {"paused": value}});
    governed::change(session, name, doing, |_| Ok(Some(patch.clone()))).await.map(|_| ())
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
