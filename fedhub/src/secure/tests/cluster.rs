//! An API server that answers reviews.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

/// The API server: it knows `prometheus`, who may get `/metrics`, `operator`, who may get `/status` and
/// `/status/plane`, and `tenant`, who may get nothing.
#[derive(Clone, Default)]
pub struct Cluster {
    asked: Arc<AtomicUsize>,
    /// Whether it answers with errors.
    pub fails: Arc<AtomicBool>,
}

impl Cluster {
    /// A client of it.
    pub fn client(&self) -> kube::Client {
        let this = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let this = this.clone();
            async move { Ok::<_, tower::BoxError>(this.answer(request).await) }
        });
        kube::Client::new(service, "default")
    }

    /// Its answer.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            let status =
                json!({"kind": "Status", "status": "Failure", "message": "etcd", "reason": "", "code": 500});
            let answer = Response::builder().status(500).body(Body::from(status.to_string().into_bytes()));
            return answer.unwrap();
        }
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect_bytes().await.unwrap();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        let spec = &review["spec"];
        review["status"] = match path.as_str() {
            "/apis/authentication.k8s.io/v1/tokenreviews" => match spec["token"].as_str().unwrap() {
                "expired" => json!({"authenticated": false, "error": "expired"}),
                token => json!({"authenticated": true, "user": {"username": token, "groups": ["g"]}}),
            },
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                assert_eq!(spec["groups"], json!(["g"]));
                let asked = &spec["nonResourceAttributes"];
                assert_eq!(asked["verb"], "get");
                let allowed = matches!(
                    (spec["user"].as_str().unwrap(), asked["path"].as_str().unwrap()),
                    ("prometheus", "/metrics") | ("operator", "/status" | "/status/plane" | "/other")
                );
                json!({"allowed": allowed})
            }
            other => panic!("{other}"),
        };
        Response::builder().status(201).body(Body::from(review.to_string().into_bytes())).unwrap()
    }

    /// How many requests it had.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
