//! Reads and writes of a deployment.

use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::api::{Api, PostParams, Request};
use kube::core::Resource;

use super::plan::{self, DeployPlan, Wanted};
use super::refusal;
use crate::exit::Exit;
use crate::model::MANAGER;
use crate::problem::Problem;
use crate::session::Session;

/// How often a write is tried that other writers, such as those of the status, were faster than.
const ATTEMPTS: usize = 5;

/// The Workload that is there.
pub async fn existing(session: &Session, name: &str) -> Result<Option<Object>, Problem> {
    let api: Api<Object> =
        Api::namespaced_with(session.client.clone(), &session.namespace, Kind::Workload.resource());
    let found = api
        .get_opt(name)
        .await
        .map_err(|error| Problem::from_error(error, &format!("read workload {}", Quoted(name))))?;
    match found {
        Some(found) if found.is_terminating() => {
            Err(Problem::failed(format!("The workload {} is being deleted.", Quoted(name)))
                .remedy("Wait until it is gone, then deploy it again; or choose another name."))
        }
        found => Ok(found),
    }
}

/// Carries a plan out; as a dry run, the server checks it and stores nothing. What the server makes of the
/// Workload.
///
/// Where another writer was faster, it is decided again, and goes on only if it comes to the same.
pub async fn send(
    session: &Session,
    wanted: Wanted<'_>,
    plan: &DeployPlan,
    dry_run: bool,
) -> Result<Object, Problem> {
    let mut current = plan.clone();
    for _ in 0..ATTEMPTS {
        match request(session, &current, dry_run).await {
            Ok(stored) => return Ok(stored),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = existing(session, wanted.name()).await?;
                let again = plan::decide(wanted, &session.namespace, found.as_ref()).ok();
                let same = |again: &DeployPlan| {
                    again.before.is_some()
                        && again.changes == plan.changes
                        && again.object.uid() == plan.object.uid()
                };
                match again.filter(same) {
                    Some(again) => current = again,
                    None => break,
                }
            }
            Err(error) => return Err(refused(error, wanted, &current)),
        }
    }
    let name = Quoted(wanted.name());
    Err(Problem::failed(format!("The workload {name} was changed by another client in the meantime."))
        .remedy("It was not overwritten. Deploy it again to see what changes now."))
}

/// Creates or replaces. Fields that the server would drop are an error there, too: its schema may be an older
/// one.
async fn request(session: &Session, plan: &DeployPlan, dry_run: bool) -> kube::Result<Object> {
    let path = Object::url_path(Kind::Workload.resource(), Some(&session.namespace));
    let params = PostParams { dry_run, field_manager: Some(MANAGER.to_owned()) };
    let body = serde_json::to_vec(&plan.object).map_err(kube::Error::SerdeError)?;
    let request = if plan.before.is_some() {
        Request::new(path).replace(plan.object.name(), &params, body)
    } else {
        Request::new(path).create(&params, body)
    };
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    let separator = if request.uri().query().is_none_or(str::is_empty) { "" } else { "&" };
    let uri = format!("{}{separator}fieldValidation=Strict", request.uri());
    *request.uri_mut() =
        uri.parse().map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
    session.client.request(request).await
}

fn refused(error: kube::Error, wanted: Wanted<'_>, plan: &DeployPlan) -> Problem {
    let doing = format!("deploy workload {}", Quoted(wanted.name()));
    let sentences = match &error {
        kube::Error::Api(status) => refusal::sentences(status, wanted, plan.object.spec()),
        _ => None,
    };
    let problem = Problem::from_error(error, &doing);
    match sentences {
        Some(said) => Problem {
            sentence: format!("The workload {} is refused:\n  {}", Quoted(wanted.name()), said.join("\n  ")),
            remedy: Some("Correct that, and deploy again.".to_owned()),
            exit: Exit::Failed,
            ..problem
        },
        None => problem,
    }
}
