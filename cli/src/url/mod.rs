//! Public URLs of workloads, where a project serves the kinds that make them.

pub mod optional;
pub mod plan;

use std::time::Duration;

use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectView};
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::core::ApiResource;
use kube::runtime::wait::await_condition;

use crate::model::MANAGER;
use crate::problem::Problem;
use crate::session::Session;
use optional::{Found, find};
use plan::{NameTaken, Url};

/// How often a write is tried that other writers were faster than.
const ATTEMPTS: usize = 5;

/// What a deployment wants to do with the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Publish a URL.
    Publish,
    /// Remove the URL.
    Unpublish,
    /// Make an existing URL of this very workload lead to the workload's port.
    Follow,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The URL exists, or will.
    Published,
    /// The workload has no URL.
    None,
    /// A URL is not possible: the project does not serve the kinds.
    Unserved,
    /// An object of the workload's name is not the workload's, and is left alone.
    Taken,
}

/// Creates or removes the objects of a URL.
pub async fn settle(session: &Session, workload: &Object, intent: Intent) -> Result<Settled, Problem> {
    let name = workload.name();
    let doing = match intent {
        Intent::Unpublish => format!("remove the URL of workload {}", Quoted(name)),
        Intent::Publish | Intent::Follow => format!("publish workload {}", Quoted(name)),
    };
    let settled = match intent {
        Intent::Unpublish => unpublish(session, workload).await,
        Intent::Publish => publish(session, workload).await,
        Intent::Follow => follow(session, workload).await,
    };
    settled.map_err(|error| Problem::from_error(error, &doing))
}

/// Leads what is there of this very workload to the port that it has. Nothing is made and nothing is adopted:
/// only the flag makes something public.
async fn follow(session: &Session, workload: &Object) -> kube::Result<Settled> {
    let Some(port) = plan::port(workload) else { return Ok(Settled::None) };
    let own = |existing: Option<&Object>| {
        existing.filter(|object| plan::is_of(object, workload)).cloned().ok_or(NameTaken)
    };
    let service = |existing: Option<&Object>| plan::service(workload, port, Some(&own(existing)?));
    let proxy = |existing: Option<&Object>| plan::proxy(workload, Some(&own(existing)?));
    let settled = put_both(session, workload.name(), &service, &proxy).await?;
    Ok(if settled == Settled::Published { settled } else { Settled::None })
}

async fn publish(session: &Session, workload: &Object) -> kube::Result<Settled> {
    let Some(port) = plan::port(workload) else { return Ok(Settled::None) };
    let service = |existing: Option<&Object>| plan::service(workload, port, existing);
    let proxy = |existing: Option<&Object>| plan::proxy(workload, existing);
    put_both(session, workload.name(), &service, &proxy).await
}

/// The service first, and the proxy where that is as it is to be.
async fn put_both(
    session: &Session,
    name: &str,
    service: &impl Fn(Option<&Object>) -> Result<Option<Object>, NameTaken>,
    proxy: &impl Fn(Option<&Object>) -> Result<Option<Object>, NameTaken>,
) -> kube::Result<Settled> {
    match put(&api(session, &plan::service_resource()), name, service).await? {
        Settled::Published => put(&api(session, &plan::proxy_resource()), name, proxy).await,
        other => Ok(other),
    }
}

/// Writes an object if it differs, and retries if another writer was faster.
async fn put(
    api: &Api<Object>,
    name: &str,
    desired: &impl Fn(Option<&Object>) -> Result<Option<Object>, NameTaken>,
) -> kube::Result<Settled> {
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    for attempt in 1.. {
        let existing = match find(api, name).await? {
            Found::Unserved => return Ok(Settled::Unserved),
            Found::Absent => None,
            Found::There(object) => Some(*object),
        };
        let Ok(object) = desired(existing.as_ref()) else { return Ok(Settled::Taken) };
        let Some(object) = object else { break };
        let written = match existing {
            Some(_) => api.replace(name, &params, &object).await,
            None => api.create(&params, &object).await,
        };
        match written {
            Ok(_) => break,
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Settled::Published)
}

/// Removes what is this very workload's. The proxy goes first: one without its service answers everybody with
/// an error.
async fn unpublish(session: &Session, workload: &Object) -> kube::Result<Settled> {
    let name = workload.name();
    for kind in [plan::proxy_resource(), plan::service_resource()] {
        let api = api(session, &kind);
        let Found::There(object) = find(&api, name).await? else { continue };
        if !plan::is_of(&object, workload) {
            return Ok(Settled::Taken);
        }
        let preconditions = Preconditions { uid: object.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match api.delete(name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            deleted => drop(deleted?),
        }
    }
    Ok(Settled::None)
}

/// Returns the address at which the workload answers, or will; `None` if there is none, or it cannot be read.
pub async fn address(session: &Session, workload: &Object) -> Option<String> {
    match find(&api(session, &plan::proxy_resource()), workload.name()).await.ok()? {
        Found::There(proxy) if plan::is_of(&proxy, workload) => plan::address(&proxy),
        _ => None,
    }
}

/// Waits for the URL to answer, at most so long, and says how far it has come.
pub async fn wait(session: &Session, name: &str, limit: Duration) -> Result<Url, Problem> {
    let api = api(session, &plan::proxy_resource());
    let live = |proxy: Option<&Object>| proxy.is_some_and(|proxy| matches!(plan::url(proxy), Url::Live(_)));
    let doing = format!("read the URL of workload {}", Quoted(name));
    let waited = tokio::time::timeout(limit, await_condition(api.clone(), name, live)).await;
    if let Ok(Ok(Some(proxy))) = waited {
        return Ok(plan::url(&proxy));
    }
    match find(&api, name).await.map_err(|error| Problem::from_error(error, &doing))? {
        Found::There(proxy) => Ok(plan::url(&proxy)),
        Found::Unserved | Found::Absent => Ok(Url::Pending("it was removed".to_owned())),
    }
}

fn api(session: &Session, kind: &ApiResource) -> Api<Object> {
    Api::namespaced_with(session.client.clone(), &session.namespace, kind)
}
