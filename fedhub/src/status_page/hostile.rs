//! An object of a plane whose server sends far more than any chain has: no more of it is read than is taken
//! of a list (I8).
//!
//! Time is paused: it passes only where everybody waits, however slow the machine is, so that a limit of the
//! explainer that is reached is a read that hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::Planes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::{BoxError, ServiceExt, service_fn};

use super::data::{ObjectAnswer, ObjectQuery};
use super::explainer::Explainer;

const MIB: usize = 1 << 20;

/// Returns a client of a plane that answers the list of a WD's Instances with one page of `items` copies of
/// `item`, and a counter of the bytes that were read of it.
fn client(server: &ApiServer, item: String, items: usize) -> (Client, Arc<AtomicUsize>) {
    let read = Arc::<AtomicUsize>::default();
    let server = server.clone();
    let counted = read.clone();
    let service = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        let item = item.clone();
        let counted = counted.clone();
        async move {
            // That of a chain; a watch lists all.
            let is_list = request.uri().path().ends_with("/instances")
                && request.uri().query().is_some_and(|query| query.contains("labelSelector="));
            if !is_list {
                return server.service().oneshot(request).await;
            }
            let before =
                "{\"kind\":\"InstanceList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[".to_owned();
            let texts = [before].into_iter().chain(std::iter::repeat_n(item, items));
            let frames = stream::iter(texts).map(move |text| {
                counted.fetch_add(text.len(), Ordering::Relaxed);
                Ok::<_, std::io::Error>(Frame::data(Bytes::from(text)))
            });
            Ok::<_, BoxError>(Response::new(StreamBody::new(frames).boxed_unsync()))
        }
    });
    (Client::new(service, "default"), read)
}

fn wd(spec: &Value) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": spec,
    })
}

fn project(wd: Value) -> ApiServer {
    let server = ApiServer::project_plane("project-a");
    let namespaces = ["shop", "kube-system"]
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    for object in namespaces.into_iter().chain([wd]) {
        server.put(object).unwrap();
    }
    server
}

/// The verdict on the WD of a project plane.
async fn verdict(client: Client) -> String {
    let hub = ApiServer::hub("hub");
    let management = ApiServer::management("management");
    let planes = Planes::new(hub.client(), Metrics::new().unwrap(), Clock::system(), 7);
    planes.engage(&PlaneName::new("project-a").unwrap(), client);
    let explainer = Explainer::new(planes.clone(), management.client(), "fedhub-system", "fedhub");
    let query = ObjectQuery {
        kind: "wd".to_owned(),
        plane: "project-a".to_owned(),
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
    };
    let explaining = explainer.explain("test", &query);
    let answer = tokio::time::timeout(Duration::from_secs(20), explaining).await.expect("an answer in time");
    let ObjectAnswer::Explained(chain) = answer else { panic!("{answer:?}") };
    planes.stop().await;
    format!("{:?}", chain.verdict)
}

#[tokio::test(start_paused = true)]
async fn i8_of_a_plane_that_sends_too_much_no_more_is_read_than_a_chain_may_have() {
    let small = json!({"metadata": {"name": "web-0", "namespace": "shop", "uid": "u"}, "spec": {"text": "x".repeat(500)}});
    let maps = json!({"metadata": {"name": "web-0"}, "spec": vec![json!({"a": 1}); MIB]});
    for (item, items) in [(small, 112_000), (maps, 7)] {
        let server = project(wd(&json!({"cityCode": "DFW"})));
        let (client, read) = client(&server, format!("{item},"), items);
        let verdict = verdict(client).await;
        assert!(verdict.contains("plane-too-large"), "{verdict}");
        let read = read.load(Ordering::Relaxed);
        assert!(read < 10 * MIB, "{} MiB", read / MIB);
    }
}

#[tokio::test(start_paused = true)]
async fn i8_an_object_that_would_take_many_times_its_text_in_memory_is_not_decoded() {
    for (maps, is_too_large) in [(1_000, false), (30_000, true)] {
        let server = project(wd(&json!({"cityCode": "DFW", "maps": vec![json!({"a": 1}); maps]})));
        let verdict = verdict(server.client()).await;
        assert_eq!(verdict.contains("plane-too-large"), is_too_large, "{maps}: {verdict}");
    }
}
