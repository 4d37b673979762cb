//! What each operation does, and who may ask for it.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{StatusCode, header};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::{Call, Done};
use crate::operation::Operation;
use crate::options::Client;
use crate::refusal::Refusal;
use crate::world::{AllocationBody, CreateBody, Power, ServerQuery, UpdateBody, World};

/// Does what is asked.
pub fn perform(world: &mut World, call: &Call, now: Instant) -> Result<Done, Refusal> {
    if call.operation == Operation::Token {
        return Ok(said(StatusCode::OK, token(world, call, now)?));
    }
    authenticate(world, call, now)?;
    call.bytes()?;
    let id = call.parameter(0);
    Ok(match call.operation {
        Operation::ListServers => {
            let query = ServerQuery {
                tags: call.all_of("tag"),
                organizations: call.all_of("organizationID"),
                projects: call.all_of("projectID"),
                regions: call.all_of("regionID"),
                networks: call.all_of("networkID"),
            };
            said(StatusCode::OK, world.list_servers(&query, now)?)
        }
        Operation::CreateServer => {
            let body: CreateBody = call.body()?;
            said(StatusCode::CREATED, world.create_server(body, now)?)
        }
        Operation::GetServer => said(StatusCode::OK, world.get_server(id, now)?),
        Operation::UpdateServer => {
            let body: UpdateBody = call.body()?;
            said(StatusCode::ACCEPTED, world.update_server(id, body, now)?)
        }
        Operation::DeleteServer => silent(StatusCode::ACCEPTED, world.delete_server(id, now)?),
        Operation::StartServer => silent(StatusCode::ACCEPTED, world.power(id, Power::Start, now)?),
        Operation::StopServer => silent(StatusCode::ACCEPTED, world.power(id, Power::Stop, now)?),
        Operation::SoftReboot => silent(StatusCode::ACCEPTED, world.power(id, Power::SoftReboot, now)?),
        Operation::HardReboot => silent(StatusCode::ACCEPTED, world.power(id, Power::HardReboot, now)?),
        Operation::ListFlavors => said(StatusCode::OK, world.list_flavors(id, call.parameter(1))?),
        Operation::ListImages => said(StatusCode::OK, world.list_images(id, call.parameter(1))?),
        Operation::GetNetwork => said(StatusCode::OK, world.get_network(id)?),
        Operation::PutReference => silent(StatusCode::CREATED, world.refer(id, call.parameter(1), true)?),
        Operation::DeleteReference => {
            silent(StatusCode::NO_CONTENT, world.refer(id, call.parameter(1), false)?)
        }
        Operation::ListAllocations => said(StatusCode::OK, world.list_allocations(id, now)?),
        Operation::CreateAllocation => {
            let body: AllocationBody = call.body()?;
            said(StatusCode::CREATED, world.create_allocation(call.scope(), body, now)?)
        }
        Operation::GetAllocation => {
            said(StatusCode::OK, world.get_allocation(call.scope(), call.parameter(2), now)?)
        }
        Operation::UpdateAllocation => {
            let body: AllocationBody = call.body()?;
            said(StatusCode::OK, world.update_allocation(call.scope(), call.parameter(2), body, now)?)
        }
        Operation::DeleteAllocation => {
            silent(StatusCode::ACCEPTED, world.delete_allocation(call.scope(), call.parameter(2), now)?)
        }
        Operation::Token => silent(StatusCode::OK, ()),
    })
}

fn said(status: StatusCode, body: Value) -> Done {
    Done { status, body: Some(body) }
}

fn silent(status: StatusCode, (): ()) -> Done {
    Done { status, body: None }
}

/// A token that has not ended, or a certificate together with the principal that it acts for.
fn authenticate(world: &World, call: &Call, now: Instant) -> Result<(), Refusal> {
    if world.options.client.is_none() {
        return Ok(());
    }
    if let Some(peer) = &call.peer {
        if !world.options.services.contains(&peer.0) {
            return Err(Refusal::denied("the certificate is of no service"));
        }
        let principal = call.headers.get("x-principal");
        let given = principal.is_some_and(|principal| !principal.is_empty());
        return if given { Ok(()) } else { Err(Refusal::denied("the header X-Principal is missing")) };
    }
    let token = call.header(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| Refusal::denied("the request has no token"))?;
    if world.tokens.get(token).is_some_and(|ends| *ends > now) {
        return Ok(());
    }
    Err(Refusal::denied("the token is not known, or has ended"))
}

/// A new token, for the name and the secret of the client: in the form, or in the header of basic
/// authentication.
fn token(world: &mut World, call: &Call, now: Instant) -> Result<Value, Refusal> {
    let form: Vec<(String, String)> = form_urlencoded::parse(call.bytes()?).into_owned().collect();
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    if field("grant_type").as_deref() != Some("client_credentials") {
        return Err(Refusal::invalid("the grant type is not client_credentials"));
    }
    let given = match basic(call) {
        Some(given) => Some(given),
        None => field("client_id").zip(field("client_secret")).map(|(id, secret)| Client { id, secret }),
    };
    if given != world.options.client {
        return Err(Refusal::denied("the client is not known"));
    }
    let lifetime = world.options.token_lifetime;
    let token = world.random_id();
    world.tokens.retain(|_, ends| *ends > now);
    world.tokens.insert(token.clone(), now + Duration::from_secs(lifetime));
    Ok(json!({"access_token": token, "token_type": "Bearer", "expires_in": lifetime}))
}

fn basic(call: &Call) -> Option<Client> {
    let value = call.header(header::AUTHORIZATION)?.strip_prefix("Basic ")?;
    let text = String::from_utf8(BASE64_STANDARD.decode(value).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some(Client { id: id.to_owned(), secret: secret.to_owned() })
}
