//! Services that answer badly: each call ends, in its time, with a failure that says what is so (V7).

use std::convert::Infallible;
use std::time::{Duration, Instant};

use fedhub_provider::{FailureKind, Found, Provider, ServerId};
use fedhub_provider_region::RegionProvider;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{link, place, provider, spec};

const ID: &str = "b0000000-0000-4000-8000-000000000001";

/// A provider of a service that answers all but tokens so.
async fn answering<F>(answer: F) -> (RegionProvider, TempDir)
where
    F: Fn() -> Response<Full<Bytes>> + Clone + Send + Sync + 'static,
{
    serving(move || answer().map(|body| body.map_err(|never| match never {}).boxed_unsync())).await
}

/// A provider of such a service, with bodies that may have no end.
async fn serving<F>(answer: F) -> (RegionProvider, TempDir)
where
    F: Fn() -> Response<UnsyncBoxBody<Bytes, std::io::Error>> + Clone + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    let token = said(200, "application/json", r#"{"access_token":"t0ken","expires_in":600}"#)
                        .map(|body| body.map_err(|never: Infallible| match never {}).boxed_unsync());
                    let is_token = request.uri().path() == "/oauth2/v2/token";
                    let _sent = request.into_body().collect().await;
                    Ok::<_, Infallible>(if is_token { token } else { answer() })
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("client-secret"), "s").unwrap();
    (provider(&url, &url, folder.path()), folder)
}

fn said(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, content_type.parse().unwrap());
    response
}

#[tokio::test]
async fn v3_a_404_of_something_before_the_service_proves_nothing() {
    for (content_type, body) in [
        ("text/plain", "404 page not found"),
        ("text/html", "<h1>not_found</h1>"),
        ("application/json", "{\"code\":404}"),
        ("text/plain", "{\"error\":\"not_found\"}"),
    ] {
        let (provider, _folder) = answering(move || said(404, content_type, body)).await;
        let id = ServerId(ID.into());
        assert_eq!(provider.get(&place(), &id).await.unwrap_err().kind, FailureKind::Retry, "{body}");
        assert!(provider.delete(&place(), &id).await.is_err(), "{body}");
        assert!(provider.find(&link("web-0")).await.is_err(), "{body}");
    }
}

#[tokio::test]
async fn a_body_without_an_end_costs_its_limit_and_no_more() {
    let (provider, _folder) = serving(|| {
        let chunk = Bytes::from(vec![b' '; 64 << 10]);
        let chunks = futures::stream::repeat_with(move || Ok(Frame::data(chunk.clone())));
        said(200, "application/json", "").map(|_| StreamBody::new(chunks).boxed_unsync())
    })
    .await;
    let begun = Instant::now();
    let failure = provider.get(&place(), &ServerId(ID.into())).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("262144"), "{failure}");
    let failure = provider.list(&place()).await.unwrap_err();
    assert!(failure.message.contains("33554432"), "{failure}");
    let failure = provider.create(&link("web-0"), &spec()).await.unwrap_err();
    assert!(failure.may_have_acted, "{failure:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (provider, _folder) = answering(|| {
        let mut answer = said(307, "text/html", "");
        answer.headers_mut().insert(header::LOCATION, "http://127.0.0.1:1/login".parse().unwrap());
        answer
    })
    .await;
    let failure = provider.create(&link("web-0"), &spec()).await.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Denied, false), "{failure:?}");
    assert!(failure.message.contains("redirects are not followed"), "{failure}");
}

/// A server and an allocation, but for its ID.
const NO_UUID: &str = r#"{"metadata":{"id":"first","name":"web-0","projectId":"p"},
    "spec":{"flavorId":"f","imageId":"i"},"status":{"regionId":"r","networkId":"n"}}"#;

#[tokio::test]
async fn a_success_that_is_none_is_looked_at_again() {
    for (status, content_type, body) in [
        (200, "text/html", "<html>"),
        (201, "application/json", "{}"),
        (201, "application/json", NO_UUID),
        (201, "application/json", "[1, 2"),
        (204, "application/json", ""),
        (201, "text/plain", "{}"),
    ] {
        let (provider, _folder) = answering(move || said(status, content_type, body)).await;
        let failure = provider.create(&link("web-0"), &spec()).await.unwrap_err();
        assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Retry, true), "{status} {body}");
        assert!(provider.list(&place()).await.is_err(), "{status} {body}");
        let failure = provider.reserve(&link("web-0"), &spec()).await.unwrap_err();
        assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Retry, true), "{status} {body}");
    }
}

#[tokio::test]
async fn v6_items_that_cannot_be_read_do_not_fail_a_list() {
    let good = json!({
        "metadata": {"id": ID, "name": "web-0", "projectId": crate::support::PROJECT, "tags": null},
        "spec": {"flavorId": "f", "imageId": "i"},
        "status": {"regionId": crate::support::REGION, "networkId": crate::support::NETWORK,
            "powerState": "Levitating"},
    });
    let mut nameless = good.clone();
    nameless["metadata"]["id"] = "../admin".into();
    let list = json!([{"metadata": {"id": 7}}, nameless, good, "rubbish", null]).to_string();
    let (provider, _folder) = answering(move || said(200, "application/json", list.clone())).await;
    let servers = provider.list(&place()).await.unwrap();
    assert_eq!(servers.len(), 1);
    assert_eq!(servers[0].phase, fedhub_provider::Phase::Unknown);
}

#[tokio::test]
async fn v4_quota_that_cannot_be_read_is_not_none() {
    for list in ["null", "[{}]", "[7]", r#"[{"metadata":{"id":7}}]"#] {
        let (provider, _folder) = answering(move || said(200, "application/json", list)).await;
        let failure = provider.reserved(&link("web-0")).await.unwrap_err();
        assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Retry, false), "{list}: {failure}");
    }
    let (provider, _folder) = answering(|| said(200, "application/json", "[]")).await;
    assert!(provider.reserved(&link("web-0")).await.unwrap().is_empty());
}

#[tokio::test]
async fn v3_null_is_an_empty_list_which_proves_nothing() {
    let (provider, _folder) = answering(|| said(200, "application/json", "null")).await;
    assert!(provider.list(&place()).await.unwrap().is_empty());
    let found = provider.find(&link("web-0")).await;
    assert!(!matches!(found, Ok(Found::Absent(_))), "{found:?}");
}

#[tokio::test]
async fn v2_a_service_that_does_not_filter_gives_us_no_stranger() {
    let stranger = json!({
        "metadata": {"id": ID, "name": "db", "projectId": crate::support::PROJECT,
            "tags": [{"name": "compute.datumapis.com/instance", "value": "another"}]},
        "spec": {"flavorId": "f", "imageId": "i"},
        "status": {"regionId": crate::support::REGION, "networkId": crate::support::NETWORK},
    });
    let list = json!([stranger]).to_string();
    let (provider, _folder) = answering(move || said(200, "application/json", list.clone())).await;
    assert!(!matches!(provider.find(&link("web-0")).await, Ok(Found::One(_) | Found::Many(_))));
}

#[tokio::test]
async fn what_a_service_says_is_cut() {
    let body = json!({"error": "x", "error_description": "é".repeat(20_000)}).to_string();
    let (provider, _folder) = answering(move || said(422, "application/json", body.clone())).await;
    let failure = provider.create(&link("web-0"), &spec()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid);
    assert!(failure.message.len() <= 512);
    assert!(!failure.message.contains("t0ken"));
}

#[tokio::test]
async fn a_service_that_is_not_there_was_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("client-secret"), "s").unwrap();
    let provider = provider("http://127.0.0.1:1", "http://127.0.0.1:1", folder.path());
    let failure = provider.create(&link("web-0"), &spec()).await.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Unavailable, false), "{failure}");
}

#[tokio::test]
async fn headers_without_an_end_are_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _read = stream.read(&mut request).await;
                let _head = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
                while stream
                    .write_all(b"x-more: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
                    .await
                    .is_ok()
                {}
            });
        }
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("client-secret"), "s").unwrap();
    let provider = provider(&url, &url, folder.path());
    let begun = Instant::now();
    assert_eq!(provider.list(&place()).await.unwrap_err().kind, FailureKind::Unavailable);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
