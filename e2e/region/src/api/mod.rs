//! Requests over HTTP: which operation one is of, what befalls it, and how it is answered.

mod call;
mod control;
mod perform;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request};
use axum::response::Response;
use axum::routing::on;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, Collected, Limited};
use serde_json::Value;
use strum::IntoEnumIterator;
use tokio::time::{Duration, Instant, sleep};

use crate::faults::FaultAction;
use crate::journal::Event;
use crate::operation::Operation;
use crate::refusal::Refusal;
use crate::region::Region;
use perform::perform;

pub use call::Peer;
use call::{Call, Done};

/// How large the body of a request may be.
const LARGEST: usize = 1 << 20;

/// An extension of a response that is never sent: its connection is cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut;

/// The routes of a region.
pub fn router(region: &Region) -> Router {
    let mut router = control::router(region);
    for operation in Operation::iter() {
        let region = region.clone();
        let answer = move |path: RawPathParams, request: Request| async move {
            let path = path.iter().map(|(_, value)| value.to_owned()).collect();
            answer(&region, operation, path, request).await
        };
        router = router.route(operation.path(), on(operation.method(), answer));
    }
    router
        .fallback(async || Refusal::not_found().response(""))
        .method_not_allowed_fallback(async || Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "").response(""))
}

/// What happens to a request, by the fault that befalls it.
async fn answer(region: &Region, operation: Operation, path: Vec<String>, request: Request) -> Response {
    let fault = region.world().befalls(operation);
    let call = read(operation, path, request).await;
    match fault {
        None => finish(region, &call, carry_out(region, &call)),
        Some(FaultAction::Answer { status, description, retry_after }) => {
            let words = description.unwrap_or_else(|| "a fault was ordered".to_owned());
            let refusal = Refusal { retry_after, ..Refusal::new(status_code(status), words) };
            finish(region, &call, Err(refusal))
        }
        Some(FaultAction::Say { status, content_type, body }) => {
            let status = status_code(status);
            record(region, &call, Some(status), false);
            said(status, &content_type, body)
        }
        Some(FaultAction::Cut) => {
            record(region, &call, None, false);
            cut()
        }
        Some(FaultAction::Lose) => {
            lose(region, &call);
            cut()
        }
        Some(FaultAction::Hang) => {
            record(region, &call, None, false);
            std::future::pending().await
        }
        Some(FaultAction::LoseAndHang) => {
            lose(region, &call);
            std::future::pending().await
        }
        Some(FaultAction::CutShort) => cut_short(finish(region, &call, carry_out(region, &call))).await,
        Some(FaultAction::Fail) => finish(region, &call, doom(region, &call)),
        Some(FaultAction::Delay { millis }) => {
            sleep(Duration::from_millis(millis)).await;
            finish(region, &call, carry_out(region, &call))
        }
    }
}

async fn read(operation: Operation, path: Vec<String>, request: Request) -> Call {
    let (parts, body) = request.into_parts();
    let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    Call {
        operation,
        uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        path,
        query: query.into_owned().collect(),
        peer: parts.extensions.get::<Peer>().cloned(),
        headers: parts.headers,
        body: Limited::new(body, LARGEST).collect().await.ok().map(Collected::to_bytes),
    }
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Carries out what is asked, of which nobody hears.
fn lose(region: &Region, call: &Call) {
    let acted = carry_out(region, call).is_ok() && call.operation.is_order();
    record(region, call, None, acted);
}

/// Carries out what is asked, and gives up on its server.
fn doom(region: &Region, call: &Call) -> Result<Done, Refusal> {
    let done = carry_out(region, call)?;
    if let Some(id) = done.body.as_ref().and_then(|body| body["metadata"]["id"].as_str()) {
        region.world().doom(id, Instant::now());
    }
    Ok(done)
}

fn cut() -> Response {
    let mut cut = Response::new(Body::empty());
    cut.extensions_mut().insert(Cut);
    cut
}

/// With half of the body: the connection ends where the rest should be.
async fn cut_short(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let whole = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    // One byte more than there is, where there is none.
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(whole.len().max(1)));
    Response::from_parts(parts, Body::from(whole.slice(..whole.len() / 2)))
}

fn said(status: StatusCode, content_type: &str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}

/// Does what is asked, within the limit on requests.
fn carry_out(region: &Region, call: &Call) -> Result<Done, Refusal> {
    let mut world = region.world();
    let now = Instant::now();
    world.admit(now).map_err(Refusal::too_many)?;
    perform(&mut world, call, now)
}

fn finish(region: &Region, call: &Call, result: Result<Done, Refusal>) -> Response {
    let acted = result.is_ok() && call.operation.is_order();
    let response = match result {
        Ok(done) => {
            let text = done.body.map(|body| body.to_string()).unwrap_or_default();
            said(done.status, "application/json", text)
        }
        Err(refusal) => {
            let trace = region.world().random_id();
            refusal.response(&trace)
        }
    };
    record(region, call, Some(response.status()), acted);
    response
}

fn record(region: &Region, call: &Call, status: Option<StatusCode>, acted: bool) {
    // Credentials are in no record, not even those of tests.
    let body = if call.operation == Operation::Token {
        Value::Null
    } else {
        serde_json::from_slice(call.body.as_deref().unwrap_or_default()).unwrap_or_default()
    };
    region.world().asked(Event::Request {
        operation: call.operation,
        path: call.uri.clone(),
        body,
        status: status.map(|status| status.as_u16()),
        acted,
    });
}
