//! The server as a tower service.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, pending};
use futures::{Stream, StreamExt, stream};
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use tower::{BoxError, Service};

use crate::answer::Refusal;
use crate::audit::{AuditEntry, Mark, RequestKind};
use crate::dispatch::{Reply, Sent, dispatch};
use crate::faults::Fault;
use crate::read::Page;
use crate::route::Call;
use crate::view;
use crate::watch::Session;
use crate::world::{Shared, World};

/// The body of an answer; that of a watch goes on.
pub type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;

/// Answers requests as the server. Clones are cheap; wrap it in tower layers as needed.
#[derive(Clone)]
pub struct ApiService {
    pub(crate) shared: Arc<Shared>,
    pub(crate) user_agent: Option<String>,
}

impl<B> Service<Request<B>> for ApiService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            service.answer(&parts, &body).await
        })
    }
}

/// The outcome of a request, once the lock is released.
enum Outcome {
    Answer(Reply),
    /// The connection breaks in the middle of this answer.
    CutShort(Reply),
    /// The answer stops in the middle.
    Stalled(Reply),
    Refused(Refusal),
    Garbage(&'static str),
    Silence,
    Broken,
}

/// A request as it was read and recorded, and what goes wrong with it.
struct Begun {
    call: Call,
    target: String,
    dry_run: bool,
    mark: Option<Mark>,
    fault: Option<Fault>,
}

/// Not JSON, nor anything else that a client could take for an answer.
const GARBAGE: &str = "<html><head><title>Welcome</title></head><body>garbage</body></html>\n";

impl ApiService {
    async fn answer(&self, parts: &Parts, body: &Bytes) -> Result<Response<AnswerBody>, BoxError> {
        let begun = self.shared.with(|world| self.begin(world, parts, body));
        if let Some(Fault::Slow(delay)) = begun.fault {
            tokio::time::sleep(delay).await;
        }
        let sent = Sent::read(&begun.call, body);
        match self.shared.with(|world| self.decide(world, begun, sent)) {
            Outcome::Answer(Reply::Json(code, body)) => respond(code, "application/json", body),
            Outcome::Answer(Reply::Watch(session)) | Outcome::Stalled(Reply::Watch(session)) => {
                stream_watch(*session)
            }
            Outcome::CutShort(reply) => cut_short(reply, stream::iter([Err(reset())])),
            Outcome::Stalled(reply) => cut_short(reply, stream::pending()),
            Outcome::Refused(refusal) => refuse(&refusal),
            Outcome::Garbage(content_type) => respond(200, content_type, GARBAGE.to_owned()),
            Outcome::Silence => pending().await,
            Outcome::Broken => Err(reset().into()),
        }
    }

    fn begin(&self, world: &mut World, parts: &Parts, body: &Bytes) -> Begun {
        let mut call = Call::read(parts, &world.resources);
        if call.user_agent.is_none() {
            call.user_agent.clone_from(&self.user_agent);
        }
        let dry_run = is_dry_run(&call, body);
        let mark = world.audit.entries_kept.then(|| record(world, &call, body, dry_run));
        let mut target =
            call.resource.map_or_else(|| call.path.clone(), |i| world.resources[i].plural.clone());
        if let Some(subresource) = &call.subresource {
            target = format!("{target}/{subresource}");
        }
        let fault = world.faults.strike(call.verb, &target);
        Begun { call, target, dry_run, mark, fault }
    }

    fn decide(&self, world: &mut World, begun: Begun, sent: Sent<'_>) -> Outcome {
        let Begun { call, target, dry_run, mark, fault } = begun;
        let outcome = match fault {
            Some(Fault::Hang) => Outcome::Silence,
            Some(Fault::Status(code)) => Outcome::Refused(Refusal::of_code(code)),
            Some(Fault::Throttle(seconds)) => Outcome::Refused(Refusal::throttled(seconds)),
            Some(Fault::Garbage) => Outcome::Garbage("application/json"),
            Some(Fault::Html) => Outcome::Garbage("text/html; charset=utf-8"),
            Some(Fault::Disconnect) => Outcome::Broken,
            Some(Fault::EmptyList) => call.resource.map_or(Outcome::Garbage("application/json"), |index| {
                let page =
                    Page { items: Vec::new(), revision: world.store.revision, token: None, remaining: None };
                let list = view::list(&world.resources[index], &page, call.metadata_only);
                Outcome::Answer(Reply::Json(200, list))
            }),
            Some(Fault::LostAnswer | Fault::CutShort | Fault::Stall | Fault::Slow(_)) | None => {
                match (dispatch(&self.shared, world, &call, sent), fault) {
                    (_, Some(Fault::LostAnswer)) => Outcome::Broken,
                    (Ok(reply), Some(Fault::CutShort)) => Outcome::CutShort(reply),
                    (Ok(reply), Some(Fault::Stall)) => Outcome::Stalled(reply),
                    (Ok(reply), _) => Outcome::Answer(reply),
                    (Err(refusal), _) => Outcome::Refused(refusal),
                }
            }
        };
        let code = match &outcome {
            Outcome::Answer(Reply::Json(code, _)) => *code,
            Outcome::Answer(Reply::Watch(_)) | Outcome::Garbage(_) => 200,
            Outcome::Refused(refusal) => refusal.code,
            Outcome::Silence | Outcome::Broken | Outcome::CutShort(_) | Outcome::Stalled(_) => 0,
        };
        world.audit.count(RequestKind { verb: call.verb, resource: target, dry_run, code });
        if let Some(mark) = mark {
            world.audit.answered(mark, code);
        }
        outcome
    }
}

fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer")
}

/// Whether nothing is to be stored: the query says so, or the options in the body of a delete.
fn is_dry_run(call: &Call, body: &Bytes) -> bool {
    let in_body = || {
        let options: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        options.is_some_and(|options| options["dryRun"][0] == "All")
    };
    call.param("dryRun") == Some("All") || (call.verb.starts_with("delete") && in_body())
}

fn record(world: &mut World, call: &Call, body: &Bytes, dry_run: bool) -> Mark {
    let body: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let resource = call.resource.map(|index| &world.resources[index]);
    let entry = AuditEntry {
        verb: call.verb,
        group: resource.map(|r| r.group.clone()).unwrap_or_default(),
        resource: resource.map_or_else(|| call.path.clone(), |r| r.plural.clone()),
        subresource: call.subresource.clone(),
        namespace: call.namespace.clone(),
        name: call.name.clone(),
        user_agent: call.user_agent.clone(),
        dry_run,
        body: body.filter(|_| !matches!(call.verb, "get" | "list" | "watch")),
        code: 0,
    };
    world.audit.begin(entry)
}

pub(crate) fn respond(code: u16, content_type: &str, body: String) -> Result<Response<AnswerBody>, BoxError> {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed_unsync();
    Ok(Response::builder().status(code).header("content-type", content_type).body(body)?)
}

pub(crate) fn refuse(refusal: &Refusal) -> Result<Response<AnswerBody>, BoxError> {
    let (body, content_type) = refusal.wire();
    let mut response = respond(refusal.code, content_type, body)?;
    if let Some(seconds) = refusal.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(response)
}

/// The first half of a body, then `rest`; of a watch not one line.
fn cut_short(
    reply: Reply,
    rest: impl Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static,
) -> Result<Response<AnswerBody>, BoxError> {
    let (code, mut bytes) = match reply {
        Reply::Json(code, body) => (code, Bytes::from(body)),
        Reply::Watch(_) => (200, Bytes::new()),
    };
    bytes.truncate(bytes.len() / 2);
    let frames = stream::iter([Ok(Frame::data(bytes))]).chain(rest);
    let response = Response::builder().status(code).header("content-type", "application/json");
    Ok(response.body(StreamBody::new(frames).boxed_unsync())?)
}

fn stream_watch(session: Session) -> Result<Response<AnswerBody>, BoxError> {
    let frames = stream::unfold(session, |mut session| async move {
        let line = session.next().await?;
        Some((line.map(|line| Frame::data(Bytes::from(line))), session))
    });
    let response = Response::builder().status(200).header("content-type", "application/json;stream=watch");
    Ok(response.body(StreamBody::new(frames).boxed_unsync())?)
}
