//! What tests order over HTTP, below `/_control`. It needs no token, knows no limit, and is in no record.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{RawPathParams, RawQuery};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use http::{HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use crate::refusal::Refusal;
use crate::region::Region;
use crate::world::{Hidden, Overlay, Plant, Tag};

/// A change of a server past the interface. What is not named stays as it is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tampering {
    tags: Option<Vec<Tag>>,
    hidden: Option<Hidden>,
    stuck: Option<bool>,
    overlay: Option<Overlay>,
}

type Answer = Result<Response, Refusal>;
/// What gets the region, the parameter of the path or else the query, and the body.
type Handler = fn(&Region, &str, &Bytes) -> Answer;

const HANDLERS: [(MethodFilter, &str, Handler); 15] = [
    (MethodFilter::GET, "/_control/log", log),
    (MethodFilter::GET, "/_control/check", check),
    (MethodFilter::GET, "/_control/servers", |region, _, _| ok(&region.servers())),
    (MethodFilter::POST, "/_control/servers", plant),
    (MethodFilter::GET, "/_control/allocations", |region, _, _| ok(&region.allocations())),
    (MethodFilter::POST, "/_control/faults", |region, _, body| ok(&region.fault(read(body)?))),
    (MethodFilter::DELETE, "/_control/faults", |region, _, _| ok(&region.heal())),
    (MethodFilter::DELETE, "/_control/tokens", |region, _, _| ok(&region.end_tokens())),
    (MethodFilter::PUT, "/_control/lag", |region, _, body| ok(&region.set_lag(read(body)?))),
    (MethodFilter::PUT, "/_control/timing", |region, _, body| ok(&region.set_timing(read(body)?))),
    (MethodFilter::PUT, "/_control/chaos", |region, _, body| ok(&region.set_chaos(read(body)?))),
    (MethodFilter::PUT, "/_control/rate-limit", |region, _, body| ok(&region.set_rate_limit(read(body)?))),
    (MethodFilter::PUT, "/_control/quotas", quotas),
    (MethodFilter::PATCH, "/_control/servers/{id}", tamper),
    (MethodFilter::DELETE, "/_control/servers/{id}", |region, id, _| found(region.destroy(id))),
];

/// The routes.
pub fn router(region: &Region) -> Router {
    let mut router = Router::new();
    for (method, path, handler) in HANDLERS {
        let region = region.clone();
        let route = on(method, async move |path: RawPathParams, query: RawQuery, body: Bytes| {
            answer(&region, handler, &path, &query, &body)
        });
        router = router.route(path, route);
    }
    router
}

fn answer(
    region: &Region,
    handler: Handler,
    path: &RawPathParams,
    query: &RawQuery,
    body: &Bytes,
) -> Response {
    let id = path.iter().next().map(|(_, id)| id);
    let asked = id.or(query.0.as_deref()).unwrap_or_default();
    handler(region, asked, body).unwrap_or_else(|refusal| refusal.response(""))
}

fn ok(body: &impl Serialize) -> Answer {
    let failed =
        |error: serde_json::Error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let text = serde_json::to_vec(body).map_err(failed)?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::invalid(error.to_string()))
}

fn found(found: bool) -> Answer {
    if found { ok(&()) } else { Err(Refusal::not_found()) }
}

fn log(region: &Region, query: &str, _: &Bytes) -> Answer {
    let since = match query.strip_prefix("since=") {
        Some(number) => number.parse().map_err(|_| Refusal::invalid("since is no number"))?,
        None => 0,
    };
    ok(&region.log(since))
}

/// What was done that must never be done. Whoever runs a check only looks at the status.
fn check(region: &Region, _: &str, _: &Bytes) -> Answer {
    let violations = region.check().err().unwrap_or_default();
    let is_well = violations.is_empty();
    let mut response = ok(&json!({"violations": violations}))?;
    if !is_well {
        *response.status_mut() = StatusCode::CONFLICT;
    }
    Ok(response)
}

fn plant(region: &Region, _: &str, body: &Bytes) -> Answer {
    let plant: Plant = read(body)?;
    ok(&json!({"id": region.plant(plant)}))
}

/// Limits by kind; null takes one away.
fn quotas(region: &Region, _: &str, body: &Bytes) -> Answer {
    let quotas: BTreeMap<String, Option<u64>> = read(body)?;
    for (kind, limit) in quotas {
        region.set_quota(&kind, limit);
    }
    ok(&())
}

fn tamper(region: &Region, id: &str, body: &Bytes) -> Answer {
    let asked: Tampering = read(body)?;
    let changed = region.world().tamper(id, Instant::now(), |server| {
        if let Some(tags) = asked.tags {
            server.tags = tags;
        }
        if let Some(overlay) = asked.overlay {
            server.overlay = overlay;
        }
        server.hidden = asked.hidden.unwrap_or(server.hidden);
        server.stuck = asked.stuck.unwrap_or(server.stuck);
    });
    found(changed)
}
