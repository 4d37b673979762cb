//! Completion of names from the project.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::plane::Plane;
use crate::support::{instance, ready, workload};

#[tokio::test]
async fn names_are_completed_from_the_project() {
    let plane = Plane::with([
        workload("web", &["DFW", "ORD"], json!({})),
        workload("api", &["AMS"], json!({})),
        instance("web", "DFW", 0, ready()),
    ])
    .await;
    for (words, expected) in [
        ("explain ''", "api\nweb\n:4\n"),
        ("workloads describe w", "web\n:4\n"),
        ("instances describe ''", "web-us-dfw-0\n:4\n"),
        ("instances --workload a", "api\n:4\n"),
        ("instances --city ''", "AMS\nDFW\nORD\n:4\n"),
        ("instances --city DFW,O", "DFW,ORD\n:4\n"),
        ("events a", "api\n:4\n"),
    ] {
        assert_eq!(plane.complete(words).await, expected, "{words}");
    }
    plane.server.fault(Fault::Status(403));
    assert_eq!(plane.complete("explain ''").await, ":4\n", "a shell has no place for errors");
}
