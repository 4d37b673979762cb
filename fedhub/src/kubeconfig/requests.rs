//! What is asked of planes for a kubeconfig: a token, whether it is accepted, and the write of the Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use fedhub_core::errors;
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET, PlaneName};
use fedhub_core::object::{Kind, Object};
use fedhub_planes::discovery::credentials::{Source, from_secret};
use http::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::Status;
use kube::{Client, Config};
use serde_json::{Value, json};

use super::args::CommonArgs;
use super::plan::Write;
use super::purpose::{Account, Purpose};
use super::render;
use crate::operator::connect::{self, Connection, Plane};
use crate::operator::planes::KEY;
use crate::operator::read::{Failure, Read};
use crate::operator::requests::within;

/// Field manager of the writes.
const MANAGER: &str = "fedhub-kubeconfig";
/// How much shorter than requested a token's lifetime may be without a warning.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

/// The plane with the Secrets.
pub fn store(args: &CommonArgs, purpose: Purpose) -> anyhow::Result<Connection> {
    let Some(source) = args.store(purpose) else { bail!("the cell is not named") };
    let plane = if purpose.is_stored_in_cell() { "the cell" } else { "the management plane" };
    let connected = connect::of_source(&source, args.timeout).map(Read::Found);
    connected.with_context(|| format!("failed to connect to {plane}"))
}

/// A server that can be asked, and how it is reached.
pub struct Target {
    /// Its client.
    pub plane: Plane,
    /// Its address, and whom to trust there.
    pub config: Config,
}

impl Target {
    /// The one that an operator names.
    pub fn of_source(source: &Source, timeout: Duration) -> Result<Self, String> {
        let config = source.read().map_err(|error| errors::chain(&error))?.config;
        Self::of_config(config, timeout)
    }

    /// The one of a configuration.
    pub fn of_config(config: Config, timeout: Duration) -> Result<Self, String> {
        let plane = connect::plane(config.clone(), timeout).map_err(|e| errors::chain(e.as_ref()))?;
        Ok(Self { plane, config })
    }
}

/// A token, without anything that would print it.
pub struct Minted {
    /// The token.
    pub token: String,
    /// When it ends.
    pub expires: Timestamp,
    /// What is to be said of it.
    pub warning: Option<String>,
}

/// What a new token is asked for by.
pub struct Terms<'a> {
    /// What the kubeconfig is for.
    pub purpose: Purpose,
    /// The account of the token.
    pub account: &'a Account,
    /// How long it is to last.
    pub duration: Duration,
    /// How long each request may take.
    pub timeout: Duration,
}

/// A kubeconfig for `server` with a new token, which that server accepts. It trusts whom the target's own
/// configuration trusts.
pub async fn made(terms: &Terms<'_>, target: &Target, server: &str) -> Result<(String, Minted), String> {
    let content = |token: &str| {
        let content = render::kubeconfig(server, &target.config, terms.account, token);
        let content = content.map_err(|error| errors::chain(error.as_ref()))?;
        from_secret(&content).map_err(|error| errors::chain(&error))?;
        Ok::<_, String>(content)
    };
    // No token is asked for that could not be stored.
    content("none")?;
    let mut minted = token(terms, target).await?;
    let content = content(&minted.token)?;
    let doubt = tried(&content, terms.timeout).await?;
    minted.warning = minted.warning.or(doubt);
    Ok((content, minted))
}

/// Asks for a token.
pub async fn token(terms: &Terms<'_>, target: &Target) -> Result<Minted, String> {
    let Terms { purpose, account, duration: lifetime, .. } = *terms;
    let Target { plane, .. } = target;
    let api: Api<ServiceAccount> = Api::namespaced(plane.client.clone(), &account.namespace);
    let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
    let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let asked = Timestamp::now();
    let params = PostParams::default();
    let answer = api.create_token_request(&account.name, &params, &request);
    match within(plane.timeout, answer).await {
        Read::Found(answer) => {
            let status = answer.status.unwrap_or_default();
            let (Some(token), Some(expires)) = (status.token, status.expiration_timestamp) else {
                return Err("the server answers without a token".to_owned());
            };
            let warning = shortened(lifetime, expires.0.duration_since(asked));
            Ok(Minted { token, expires: expires.0, warning })
        }
        Read::Absent | Read::Skipped => {
            Err(format!("ServiceAccount {account} is not on {}: {}", plane.server, purpose.origin()))
        }
        Read::Failed(error) => {
            let remedy = match error.failure {
                Failure::Forbidden | Failure::Unauthorized => format!("; {}", purpose.permitted()),
                _ => String::new(),
            };
            Err(format!(
                "failed to create a token of ServiceAccount {account} on {}: {}{remedy}",
                plane.server, error.message
            ))
        }
    }
}

/// What is said of a token that lasts for a shorter time than was asked for.
fn shortened(asked: Duration, granted: SignedDuration) -> Option<String> {
    let asked = SignedDuration::try_from(asked).unwrap_or(SignedDuration::MAX);
    let short = granted.checked_add(TOLERANCE).is_some_and(|granted| granted < asked);
    // Rotation is due in the last third.
    let words = |granted: SignedDuration| match granted.as_hours() {
        0 => format!("{} min", granted.as_mins()),
        hours => format!("{hours} h"),
    };
    short.then(|| {
        format!(
            "the server shortened the token's life to {}: rotate at least every {}",
            words(granted),
            words(granted / 3)
        )
    })
}

/// Whether the server of a kubeconfig accepts it: an error where it does not, and a warning where it cannot
/// be asked from here.
pub async fn tried(content: &str, timeout: Duration) -> Result<Option<String>, String> {
    let config = from_secret(content).map_err(|error| errors::chain(&error))?;
    let plane = connect::plane(config, timeout).map_err(|error| errors::chain(error.as_ref()))?;
    // Every authenticated user may get it, and none whose token is not accepted.
    let request = Request::get("/version").body(Vec::new()).map_err(|error| errors::chain(&error))?;
    let answer = within(timeout, version(&plane.client, request)).await;
    match answer.failure() {
        Some(error) if error.failure == Failure::Unauthorized => {
            Err(format!("{} does not accept the new token: {}", plane.server, error.message))
        }
        Some(error) if error.failure == Failure::Unreachable => {
            Ok(Some(format!("the new kubeconfig could not be tried from here: {}", error.message)))
        }
        _ => Ok(None),
    }
}

async fn version(client: &Client, request: Request<Vec<u8>>) -> kube::Result<Value> {
    client.request(request).await
}

/// A Secret that is to be written.
pub struct Destination<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The project plane that it stands for.
    pub plane: Option<&'a PlaneName>,
}

/// Creates the Secret, or replaces the kubeconfig in it and nothing else, as it was read and not otherwise.
pub async fn write(store: &Plane, to: &Destination<'_>, how: &Write, content: String) -> Result<(), String> {
    let kind = Kind::Secret.resource();
    let api: Api<Object> = Api::namespaced_with(store.client.clone(), to.namespace, kind);
    let mut metadata = json!({});
    if let Some(plane) = to.plane {
        metadata["labels"] = json!({PLANE_SECRET.0: PLANE_SECRET.1});
        metadata["annotations"] = json!({PLANE_NAME: plane.as_str()});
    }
    let data = BTreeMap::from([(KEY, ByteString(content.into_bytes()))]);
    let written = match how {
        Write::Create => {
            metadata["name"] = to.name.into();
            let secret = json!({"metadata": metadata, "type": "Opaque", "data": data});
            let mut secret: Object = serde_json::from_value(secret).map_err(|e| errors::chain(&e))?;
            secret.types =
                Some(kube::core::TypeMeta { api_version: "v1".to_owned(), kind: kind.kind.clone() });
            let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            tokio::time::timeout(store.timeout, api.create(&params, &secret)).await
        }
        Write::Replace(version) => {
            metadata["resourceVersion"] = version.as_str().into();
            let patch = Patch::Merge(json!({"metadata": metadata, "data": data}));
            let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
            tokio::time::timeout(store.timeout, api.patch(to.name, &params, &patch)).await
        }
    };
    let place = format!("Secret {}/{} on {}", to.namespace, to.name, store.server);
    match written {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(kube::Error::Api(status))) if is_conflict(&status) => {
            Err(format!("{place} changed meanwhile; run the command again"))
        }
        Ok(Err(error)) => Err(format!("failed to write {place}: {}", errors::chain(&error))),
        Err(_) => Err(format!("failed to write {place}: no answer within {} s", store.timeout.as_secs_f64())),
    }
}

fn is_conflict(status: &Status) -> bool {
    status.code == 409
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_the_server_shortened_is_named() {
        let hours = |hours: i64| SignedDuration::from_hours(hours);
        for (granted, expected) in [
            (hours(2160), None),
            (hours(2160) - SignedDuration::from_secs(30), None),
            (hours(24), Some("to 24 h: rotate at least every 8 h")),
            (SignedDuration::from_mins(30), Some("to 30 min: rotate at least every 10 min")),
        ] {
            let warning = shortened(Duration::from_hours(2160), granted);
            assert!(
                expected
                    .map_or(warning.is_none(), |end| warning.as_ref().is_some_and(|it| it.ends_with(end))),
                "{granted}: {warning:?}"
            );
        }
    }
}
