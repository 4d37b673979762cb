//! The way of a request: to the project's plane by its path, with a token, answered in time or given up.

use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube::runtime::watcher;
use tower::BoxError;
use tower::util::service_fn;

use super::token::Tokens;
use crate::problem::Failure;

/// How long a server may take to begin its answer, and to go on with it. A watch begins at once, too.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server keeps a watch open, in seconds: a connection that is half open is noticed little later.
const WATCH: u32 = 60;
/// How often a request is sent again that the server asks to be sent later.
const RETRIES: u32 = 3;
/// The first pause before that; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause that is waited for without a word.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A client of a server whose paths begin with `prefix`.
pub fn client(server: Client, tokens: Option<Arc<Tokens>>, prefix: &str, namespace: &str) -> Client {
    let prefix: Arc<str> = prefix.trim_end_matches('/').into();
    let service = service_fn(move |request: Request<Body>| {
        send(server.clone(), tokens.clone(), Arc::clone(&prefix), request)
    });
    Client::new(service, namespace)
}

/// Returns the common configuration of the watches of rollouts and events.
pub fn watch_config() -> watcher::Config {
    watcher::Config::default().timeout(WATCH)
}

async fn send(
    server: Client,
    tokens: Option<Arc<Tokens>>,
    prefix: Arc<str>,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let (mut parts, body) = request.into_parts();
    parts.uri = prefixed(&parts.uri, &prefix)?;
    let mut attempt = 0;
    let mut renewed = false;
    loop {
        let again = body.try_clone().ok_or("the body of a request cannot be sent again")?;
        let mut request = Request::from_parts(parts.clone(), again);
        let token = match &tokens {
            Some(tokens) => Some(tokens.get().await?),
            None => None,
        };
        if let Some(token) = &token {
            request.headers_mut().insert(AUTHORIZATION, token.header.clone());
        }
        let answer = tokio::time::timeout(PATIENCE, server.send(request)).await;
        let response = answer.map_err(|_| Failure::Silent(PATIENCE))??;
        if let (StatusCode::UNAUTHORIZED, false, Some(tokens), Some(token)) =
            (response.status(), renewed, &tokens, &token)
        {
            renewed = true;
            tokens.reject(token).await;
            continue;
        }
        let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let Some(pause) = pause(&parts.method, response.status(), asked, attempt) else {
            return if is_watch(&parts.uri) { Ok(response) } else { whole(response).await };
        };
        attempt += 1;
        tokio::time::sleep(pause).await;
    }
}

/// Whether a request is a watch, whose answer pauses for as long as nothing happens.
fn is_watch(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|part| part == "watch=true" || part == "watch=1"))
}

/// An answer with its whole body, which may not stall in the middle: the client below waits for that without
/// end.
async fn whole(response: Response<Body>) -> Result<Response<Body>, BoxError> {
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await;
        let Some(frame) = frame.map_err(|_| Failure::Silent(PATIENCE))? else { break };
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(Response::from_parts(head, Body::from(bytes)))
}

/// How long to wait before a request is sent again, if it is. What may have been done by a server that failed
/// is not: only reads are repeated then.
fn pause(method: &Method, status: StatusCode, asked: Option<u64>, attempt: u32) -> Option<Duration> {
    let again = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            method == Method::GET
        }
        _ => false,
    };
    let pause = asked.map_or(FIRST_PAUSE * 2_u32.pow(attempt.min(RETRIES)), Duration::from_secs);
    (again && attempt < RETRIES && pause <= LONGEST_PAUSE).then_some(pause)
}

fn prefixed(uri: &Uri, prefix: &str) -> Result<Uri, http::Error> {
    let rest = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{prefix}{rest}").parse()?);
    Uri::from_parts(parts).map_err(http::Error::from)
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::Kind;
    use futures::{StreamExt, stream};
    use http_body_util::StreamBody;
    use hyper::body::{Bytes, Frame};
    use kube::Api;
    use kube::api::{ListParams, WatchParams};
    use kube::core::DynamicObject;
    use tokio::time::Instant;

    use super::*;

    /// Workloads of a server whose answers stop after these bytes.
    fn stalling(bytes: &'static [u8]) -> Api<DynamicObject> {
        let server = service_fn(move |_: Request<Body>| async move {
            let begun = stream::iter([Ok::<_, BoxError>(Frame::data(Bytes::from_static(bytes)))]);
            Ok::<_, BoxError>(Response::new(StreamBody::new(begun.chain(stream::pending()))))
        });
        let client = client(Client::new(server, "default"), None, "", "default");
        Api::all_with(client, Kind::Workload.resource())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_stalls_is_given_up_and_a_watch_that_is_silent_is_not() {
        let began = Instant::now();
        let error = stalling(b"{\"items\": [").list(&ListParams::default()).await.unwrap_err();
        let kube::Error::Service(cause) = &error else { panic!("{error:?}") };
        assert!(matches!(cause.downcast_ref(), Some(Failure::Silent(PATIENCE))), "{error:?}");
        assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
        let mut watched = Box::pin(stalling(b"").watch(&WatchParams::default(), "0").await.unwrap());
        assert!(tokio::time::timeout(10 * PATIENCE, watched.next()).await.is_err(), "it waits");
    }

    #[test]
    fn a_request_is_repeated_where_that_is_safe_and_soon() {
        let ms = Duration::from_millis;
        for (method, status, asked, attempt, expected) in [
            (Method::GET, 429, None, 0, Some(ms(250))),
            (Method::POST, 429, None, 1, Some(ms(500))),
            (Method::POST, 429, Some(1), 2, Some(ms(1000))),
            (Method::GET, 429, None, 3, None),
            (Method::GET, 429, Some(60), 0, None),
            (Method::GET, 503, None, 0, Some(ms(250))),
            (Method::POST, 503, None, 0, None),
            (Method::PATCH, 504, None, 0, None),
            (Method::GET, 500, None, 0, None),
            (Method::GET, 200, None, 0, None),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                pause(&method, status, asked, attempt),
                expected,
                "{method} {status} {asked:?} {attempt}"
            );
        }
    }

    #[test]
    fn the_path_of_the_project_comes_first() {
        let prefixed = |uri: &str, prefix| prefixed(&uri.parse().unwrap(), prefix).unwrap().to_string();
        assert_eq!(prefixed("/api/v1?limit=5", "/p/shop"), "/p/shop/api/v1?limit=5");
        assert_eq!(prefixed("/api/v1", ""), "/api/v1");
    }
}
