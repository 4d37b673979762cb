//! The WorkloadRollout of a workload, where its project has such a kind and the workload has one: reads, and
//! writes that carry the version by which they were decided.

use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::api::Patch;
use serde_json::{Value, json};

use crate::model::{self, api};
use crate::problem::Problem;
use crate::session::Session;

/// How often a change is decided anew where only the version of the object has moved: each write of its
/// status moves it.
const ATTEMPTS: usize = 5;

/// Reads the WorkloadRollout of a workload. `None` where there is none, the project has no such kind, or the
/// account may not read it: a workload without one is rolled out all the same.
pub async fn find(client: &kube::Client, namespace: &str, workload: &str) -> Result<Option<Object>, Problem> {
    match api(client.clone(), namespace, Kind::WorkloadRollout).get_opt(workload).await {
        Ok(found) => Ok(found),
        Err(kube::Error::Api(status)) if matches!(status.code, 403..=405) => Ok(None),
        Err(error) => Err(Problem::from_error(error, &doing("read", workload))),
    }
}

/// Reads the WorkloadRollout of a workload that has to have one.
pub async fn get(session: &Session, workload: &str) -> Result<Object, Problem> {
    let api = api(session.client.clone(), &session.namespace, Kind::WorkloadRollout);
    match api.get_opt(workload).await {
        Ok(Some(rollout)) => Ok(rollout),
        Err(kube::Error::Api(status)) if status.code != 404 => {
            Err(Problem::from_error(kube::Error::Api(status), &doing("read", workload)))
        }
        Ok(None) | Err(kube::Error::Api(_)) => {
            // This tells a mistyped name from a workload without waves.
            model::get(session, Kind::Workload, workload).await?;
            Err(without(session, workload))
        }
        Err(error) => Err(Problem::from_error(error, &doing("read", workload))),
    }
}

/// The workload goes city by city, without waves.
fn without(session: &Session, workload: &str) -> Problem {
    let sentence = format!(
        "{} has no WorkloadRollout: its cities get a new template one after the other, without waves and \
         approvals.",
        Quoted(workload)
    );
    let pause = session.command(&format!("rollout pause {workload}"));
    let undo = session.command(&format!("rollout undo {workload}"));
    Problem::failed(sentence).remedy(format!("`{pause}` holds the rollout, `{undo}` goes back."))
}

/// Changes the WorkloadRollout as `plan` decides by what it is; without a patch it stays as it is. Where
/// another writer was faster it is decided anew. Returns the object as `plan` saw it last.
pub async fn change(
    session: &Session,
    workload: &str,
    verb: &str,
    plan: impl Fn(&Object) -> Result<Option<Value>, Problem>,
) -> Result<Object, Problem> {
    let api = api(session.client.clone(), &session.namespace, Kind::WorkloadRollout);
    let mut left = ATTEMPTS;
    loop {
        let rollout = get(session, workload).await?;
        let Some(mut patch) = plan(&rollout)? else { return Ok(rollout) };
        patch["metadata"]["resourceVersion"] = json!(rollout.version());
        left -= 1;
        match api.patch(workload, &model::patch_params(), &Patch::Merge(&patch)).await {
            Ok(_) => return Ok(rollout),
            Err(kube::Error::Api(status)) if status.code == 409 && left > 0 => {}
            Err(error) => return Err(Problem::from_error(error, &doing(verb, workload))),
        }
    }
}

fn doing(verb: &str, workload: &str) -> String {
    format!("{verb} the rollout of {}", Quoted(workload))
}

/// Whether nothing of the rollout is left to do, by what its status says of its present generation.
pub fn is_complete(rollout: &Object) -> bool {
    fedhub_api::conditions::find(rollout.status(), "Complete").is_some_and(|complete| {
        complete["status"] == "True" && complete["observedGeneration"] == json!(rollout.metadata.generation)
    })
}
