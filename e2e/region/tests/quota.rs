//! Quota.

use fedhub_region::Options;
use fedhub_region::known::{ORGANIZATION, PROJECT};
use serde_json::{Value, json};

use crate::client::{Client, NOBODYS};

fn organization() -> String {
    format!("/api/v1/organizations/{ORGANIZATION}")
}

fn allocations() -> String {
    format!("{}/projects/{PROJECT}/allocations", organization())
}

pub fn allocation(instance: &str, servers: u64) -> Value {
    json!({
        "metadata": {"name": instance},
        "spec": {
            "kind": "instance", "id": instance,
            "allocations": [{"kind": "servers", "committed": servers, "reserved": 0}],
        },
    })
}

/// Takes quota that has to be granted, and returns the path of its allocation.
pub async fn take(client: &Client, instance: &str) -> String {
    let taken = client.post(&allocations(), &allocation(instance, 1)).await;
    assert_eq!(taken.status, 201, "{taken:?}");
    format!("{}/{}", allocations(), taken.body["metadata"]["id"].as_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn quota_is_taken_up_to_its_limit() {
    let client = Client::new(Options::default()).await;
    client.region.set_quota("servers", Some(2));
    let first = take(&client, "uid-0").await;
    take(&client, "uid-1").await;
    let refused = client.post(&allocations(), &allocation("uid-2", 1)).await;
    assert_eq!((refused.status, refused.body["error"].as_str()), (403, Some("forbidden")));
    assert_eq!(client.put(&first, &allocation("uid-0", 2)).await.status, 403);
    assert_eq!(client.put(&first, &allocation("uid-0", 1)).await.status, 200);
    assert_eq!(client.delete(&first).await.status, 202);
    assert_eq!(client.delete(&first).await.status, 404);
    assert_eq!(client.get(&first).await.status, 404);
    take(&client, "uid-2").await;
    client.region.set_quota("servers", None);
    take(&client, "uid-3").await;
    let listed = client.get(&format!("{}/allocations", organization())).await.body;
    let mut resources: Vec<_> =
        listed.as_array().unwrap().iter().map(|it| it["spec"]["id"].as_str()).collect();
    resources.sort_unstable();
    assert_eq!(resources, [Some("uid-1"), Some("uid-2"), Some("uid-3")]);
    assert_eq!(client.region.check(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn quota_is_of_a_project_that_the_caller_may_see() {
    let client = Client::new(Options::default()).await;
    for (path, status) in [
        (format!("{}/projects/{NOBODYS}/allocations", organization()), 404),
        (format!("/api/v1/organizations/{NOBODYS}/projects/{NOBODYS}/allocations"), 403),
        (format!("{}/projects/shop/allocations", organization()), 400),
    ] {
        assert_eq!(client.post(&path, &allocation("uid-0", 1)).await.status, status, "{path}");
    }
}
