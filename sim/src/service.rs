//! The server as a tower service.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, pending};
use futures::stream;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use tower::{BoxError, Service};

use crate::answer::Refusal;
use crate::audit::{AuditEntry, Mark};
use crate::dispatch::{Reply, dispatch};
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

/// What a request comes to, once the lock is let go.
enum Outcome {
    Answer(Reply),
    Refused(Refusal),
    Garbage,
    Silence,
    Broken,
}

impl ApiService {
    async fn answer(&self, parts: &Parts, body: &Bytes) -> Result<Response<AnswerBody>, BoxError> {
        match self.shared.with(|world| self.decide(world, parts, body)) {
            Outcome::Answer(Reply::Json(code, body)) => respond(code, "application/json", body),
            Outcome::Answer(Reply::Watch(session)) => stream_watch(*session),
            Outcome::Refused(refusal) => {
                let (body, content_type) = refusal.wire();
                respond(refusal.code, content_type, body)
            }
            Outcome::Garbage => respond(200, "application/json", "<html>garbage</html>\n".to_owned()),
            Outcome::Silence => pending().await,
            Outcome::Broken => {
                Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer").into())
            }
        }
    }

    fn decide(&self, world: &mut World, parts: &Parts, body: &Bytes) -> Outcome {
        let mut call = Call::read(parts, &world.resources);
        if call.user_agent.is_none() {
            call.user_agent.clone_from(&self.user_agent);
        }
        let mark = record(world, &call, body);
        let mut target =
            call.resource.map_or_else(|| call.path.clone(), |i| world.resources[i].plural.clone());
        if let Some(subresource) = &call.subresource {
            target = format!("{target}/{subresource}");
        }
        let fault = world.faults.strike(call.verb, &target);
        let outcome = match fault {
            Some(Fault::Hang) => Outcome::Silence,
            Some(Fault::Status(code)) => Outcome::Refused(Refusal::of_code(code)),
            Some(Fault::Garbage) => Outcome::Garbage,
            Some(Fault::Disconnect) => Outcome::Broken,
            Some(Fault::EmptyList) => call.resource.map_or(Outcome::Garbage, |index| {
                let page =
                    Page { items: Vec::new(), revision: world.store.revision, token: None, remaining: None };
                Outcome::Answer(Reply::Json(
                    200,
                    view::list(&world.resources[index], &page, call.metadata_only),
                ))
            }),
            Some(Fault::LostAnswer) | None => match dispatch(&self.shared, world, &call, body) {
                _ if fault.is_some() => Outcome::Broken,
                Ok(reply) => Outcome::Answer(reply),
                Err(refusal) => Outcome::Refused(refusal),
            },
        };
        let code = match &outcome {
            Outcome::Answer(Reply::Json(code, _)) => *code,
            Outcome::Answer(Reply::Watch(_)) | Outcome::Garbage => 200,
            Outcome::Refused(refusal) => refusal.code,
            Outcome::Silence | Outcome::Broken => 0,
        };
        world.audit.answered(mark, code);
        outcome
    }
}

fn record(world: &mut World, call: &Call, body: &Bytes) -> Mark {
    let body: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let in_body =
        body.as_ref().is_some_and(|body| call.verb.starts_with("delete") && body["dryRun"][0] == "All");
    let resource = call.resource.map(|index| &world.resources[index]);
    let entry = AuditEntry {
        verb: call.verb,
        group: resource.map(|r| r.group.clone()).unwrap_or_default(),
        resource: resource.map_or_else(|| call.path.clone(), |r| r.plural.clone()),
        subresource: call.subresource.clone(),
        namespace: call.namespace.clone(),
        name: call.name.clone(),
        user_agent: call.user_agent.clone(),
        dry_run: in_body || call.param("dryRun") == Some("All"),
        body: body.filter(|_| !matches!(call.verb, "get" | "list" | "watch")),
        code: 0,
    };
    world.audit.begin(entry)
}

fn respond(code: u16, content_type: &str, body: String) -> Result<Response<AnswerBody>, BoxError> {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::builder().status(code).header("content-type", content_type);
    if code == 429 {
        response = response.header("retry-after", "1");
    }
    Ok(response.body(body)?)
}

fn stream_watch(session: Session) -> Result<Response<AnswerBody>, BoxError> {
    let frames = stream::unfold(session, |mut session| async move {
        let line = session.next().await?;
        Some((line.map(|line| Frame::data(Bytes::from(line))), session))
    });
    let response = Response::builder().status(200).header("content-type", "application/json;stream=watch");
    Ok(response.body(StreamBody::new(frames).boxed_unsync())?)
}
