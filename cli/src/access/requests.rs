//! The requests that read and write access.

use std::time::Duration;

use fedhub_core::object::Kind;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::wait::{self, await_condition};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::catalog::Offer;
use super::state::Access;
use crate::problem::{Problem, is_final};
use crate::session::Session;

/// How long a watch is trusted before what it shows is read again.
const REREAD: Duration = Duration::from_mins(1);
/// The pause after a watch that broke, and between attempts to ask anew.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an entitlement that was taken back may take to go.
const DRAIN: Duration = Duration::from_secs(30);
/// The purpose of every read here, for errors.
const DOING: &str = "see whether compute is enabled";

fn services() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("services.miloapis.com", "v1alpha1", "Service"))
}

fn entitlements(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), Kind::ServiceEntitlement.resource())
}

/// The state of access in the session's project.
pub async fn access(session: &Session) -> Result<Access, Problem> {
    read(session).await.map_err(|error| Problem::from_error(error, DOING))
}

/// Returns the state of access in the session's project, for commands that only need access to work; `None`
/// if the account may not read it. Whether the command itself is allowed is then for the server to decide.
pub async fn visible(session: &Session) -> Result<Option<Access>, Problem> {
    match read(session).await {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        read => read.map(Some).map_err(|error| Problem::from_error(error, DOING)),
    }
}

async fn read(session: &Session) -> kube::Result<Access> {
    match entitlements(&session.client).list(&ListParams::default()).await {
        Ok(list) => Ok(Access::from_entitlements(Some(&list.items))),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Access::from_entitlements(None)),
        Err(error) => Err(error),
    }
}

/// Reads what the platform offers.
pub async fn offer(session: &Session) -> Result<Offer, Problem> {
    let Some(root) = &session.root else { return Ok(Offer::from_services(None)) };
    let services: Api<DynamicObject> = Api::all_with(root.clone(), &services());
    match services.list(&ListParams::default()).await {
        Ok(list) => Ok(Offer::from_services(Some(&list.items))),
        // A user of one project need not see the platform's catalogue.
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => {
            Ok(Offer::from_services(None))
        }
        Err(error) => Err(Problem::from_error(error, "see what the platform offers")),
    }
}

/// Requests access to compute. An existing request is fine.
pub async fn ask(session: &Session, offer: &Offer, message: Option<&str>) -> Result<(), Problem> {
    match create(session, offer, message).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(Problem::from_error(error, "ask for compute")),
        Ok(()) => Ok(()),
    }
}

/// Deletes a refused request, and requests access again once it is gone.
pub async fn renew(
    session: &Session,
    old: &str,
    offer: &Offer,
    message: Option<&str>,
) -> Result<(), Problem> {
    take_back(session, old).await?;
    let until = Instant::now() + DRAIN;
    loop {
        match create(session, offer, message).await {
            Ok(()) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 && Instant::now() < until => {
                sleep(PAUSE).await;
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                return Err(Problem::failed(
                    "Could not ask again: the former request is still being removed.",
                )
                .remedy("Run the command again in a minute."));
            }
            Err(error) => return Err(Problem::from_error(error, "ask for compute again")),
        }
    }
}

async fn take_back(session: &Session, old: &str) -> Result<(), Problem> {
    let api = entitlements(&session.client);
    let doing = "take the former request back";
    let Some(standing) = api.get_opt(old).await.map_err(|error| Problem::from_error(error, doing))? else {
        return Ok(());
    };
    if Access::of_entitlement(&standing).state == super::state::State::Active {
        // It was approved after it was read.
        return Ok(());
    }
    let uid = standing.uid();
    let resource_version = standing.resource_version();
    let preconditions = Some(Preconditions { uid, resource_version });
    match api.delete(old, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(|_| ()).map_err(|error| Problem::from_error(error, doing)),
    }
}

async fn create(session: &Session, offer: &Offer, message: Option<&str>) -> Result<(), kube::Error> {
    let resource = Kind::ServiceEntitlement.resource();
    let mut spec = json!({ "serviceRef": { "name": offer.name } });
    if let Some(message) = message {
        spec["requestMessage"] = message.into();
    }
    let entitlement = DynamicObject::new(&offer.name, resource).data(json!({ "spec": spec }));
    entitlements(&session.client).create(&PostParams::default(), &entitlement).await.map(|_| ())
}

/// Waits until the access is as `done` wants it, or the time is over, and says how it stands then. By watch;
/// what a watch shows is read again from time to time, for one may be silent for ever. A connection that is
/// lost ends no wait.
pub async fn wait(
    session: &Session,
    limit: Option<Duration>,
    done: fn(&Access) -> bool,
) -> Result<Access, Problem> {
    let until = limit.map(|limit| Instant::now() + limit);
    let mut lost = false;
    loop {
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        let access = match read(session).await {
            Ok(access) => access,
            Err(error) if is_final(&error) || is_over => return Err(Problem::from_error(error, DOING)),
            Err(_) => {
                if !std::mem::replace(&mut lost, true) {
                    session.tell("The platform does not answer: trying again.");
                }
                sleep(PAUSE).await;
                continue;
            }
        };
        if std::mem::take(&mut lost) {
            session.tell("The platform answers again.");
        }
        let Some(name) = access.entitlement.clone().filter(|_| !done(&access)) else { return Ok(access) };
        if is_over {
            return Ok(access);
        }
        let is_done = move |it: Option<&DynamicObject>| it.is_none_or(|it| done(&Access::of_entitlement(it)));
        let watched = await_condition(entitlements(&session.client), &name, is_done);
        let reread = Instant::now() + REREAD;
        match timeout_at(until.map_or(reread, |until| until.min(reread)), watched).await {
            Ok(Err(wait::Error::ProbeFailed(_))) => sleep(PAUSE).await,
            // Read once more: what was watched is one entitlement, and there may be others.
            Ok(Ok(_)) | Err(_) => {}
        }
    }
}
