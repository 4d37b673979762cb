//! What is remembered of many planes stands in several `ConfigMap`s: one that cannot be stored keeps no other
//! from it (I8).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Identities, Planes, Settings};
use http::{Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use kube::client::Body;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::{Service, service_fn};

use crate::planes::support::*;

const PLANES: usize = 12;

fn management() -> ApiServer {
    let server = ApiServer::management("m");
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})).unwrap();
    server
}

/// A client of the management plane that refuses to store the `ConfigMap` of that name, as one that is too
/// large.
fn refusing(management: &ApiServer, name: &str, refuses: &Arc<AtomicBool>) -> kube::Client {
    let management = management.clone();
    let name = name.to_owned();
    let refuses = refuses.clone();
    let service = service_fn(move |request: Request<Body>| {
        let mut management = management.service();
        let name = name.clone();
        let refuses = refuses.clone();
        async move {
            if request.method() == "GET" || !refuses.load(Ordering::SeqCst) {
                let answer = Service::call(&mut management, request).await?;
                return Ok::<_, tower::BoxError>(answer.map(Either::Left));
            }
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let written: Value = serde_json::from_slice(&body).unwrap();
            if written["metadata"]["name"] == name {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": "ConfigMap is invalid: []: Too long: may not be more than 1048576 bytes",
                });
                let body = Either::Right(Full::<Bytes>::from(status.to_string()));
                return Ok(Response::builder().status(422).body(body).unwrap());
            }
            let request = Request::from_parts(parts, Body::from(body.to_vec()));
            Ok(Service::call(&mut management, request).await?.map(Either::Left))
        }
    });
    kube::Client::new(service, "default")
}

fn process(management: kube::Client, stop: &CancellationToken) -> Arc<Planes> {
    let hub = ApiServer::hub("hub");
    let identities = Identities::new(HOME);
    let settings = Settings { seed: 7, identities: Some(identities.clone()), ..Settings::default() };
    let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
    tokio::spawn(identities.run(management, planes.clone(), Fence::open(), stop.clone()));
    for number in 0..PLANES {
        let name = format!("project-{number}");
        planes.engage(&plane_name(&name), client(&ApiServer::project_plane(&name)));
    }
    planes
}

/// The names of the `ConfigMap`s, and how many planes they have.
fn stored(management: &ApiServer) -> Vec<(String, usize)> {
    let maps = management.list("configmaps");
    let mut maps: Vec<_> = maps
        .iter()
        .map(|map| {
            let planes = map["data"].as_object().map_or(0, serde_json::Map::len);
            (map["metadata"]["name"].as_str().unwrap().to_owned(), planes)
        })
        .filter(|(name, _)| name.starts_with("fedhub-plane-identities-"))
        .collect();
    maps.sort();
    maps
}

async fn all_stored(management: &ApiServer) {
    let sum = || stored(management).iter().map(|(_, planes)| planes).sum::<usize>();
    until("all planes to be remembered", || sum() == PLANES).await;
}

#[tokio::test(start_paused = true)]
async fn i8_what_cannot_be_stored_of_one_plane_is_named_and_keeps_no_other_from_being_remembered() {
    let first = management();
    let stop = CancellationToken::new();
    let planes = process(client(&first), &stop);
    all_stored(&first).await;
    let all = stored(&first);
    assert!(all.len() > 2, "{all:?}");
    stop.cancel();
    planes.stop().await;

    let second = management();
    let stop = CancellationToken::new();
    let refuses = Arc::new(AtomicBool::new(true));
    let (shard, _) = &all[0];
    let planes = process(refusing(&second, shard, &refuses), &stop);
    until("the others to be stored", || stored(&second) == all[1..]).await;
    let unstored = || planes.metrics().identities_unstored.with_label_values(&[shard]).get();
    quiet(60).await;
    assert_eq!((stored(&second), unstored()), (all[1..].to_vec(), 1));
    let text = planes.metrics().encode(|_| true).unwrap();
    assert_eq!(text.matches("fedhub_identities_unstored{").count(), 1, "the others are not named");
    refuses.store(false, Ordering::SeqCst);
    all_stored(&second).await;
    quiet(10).await;
    let text = planes.metrics().encode(|_| true).unwrap();
    assert!(!text.contains("fedhub_identities_unstored{"), "{text}");
    stop.cancel();
    planes.stop().await;
}

/// A `ConfigMap` that the watch does not show, because its label was taken off, conflicts for ever.
#[tokio::test(start_paused = true)]
async fn i8_a_conflict_that_does_not_end_is_named_too() {
    let management = management();
    let stop = CancellationToken::new();
    management.fault(Fault::Status(409).on("create", "configmaps"));
    let planes = process(client(&management), &stop);
    quiet(60).await;
    let text = planes.metrics().encode(|_| true).unwrap();
    assert!(text.matches("fedhub_identities_unstored{").count() > 2, "{text}");
    management.clear_faults();
    all_stored(&management).await;
    stop.cancel();
    planes.stop().await;
}
