//! What a provider must never do is noticed.

use fedhub_region::known::{IMAGE, OTHER_NETWORK, SMALL};
use fedhub_region::{Options, Plant};
use serde_json::json;

use crate::client::{Client, millis, path, server};
use crate::quota::take;
use crate::reads::plant;

/// The only thing that was noticed.
fn noticed(client: &Client) -> String {
    let mut noticed = client.region.check().unwrap_err();
    assert_eq!(noticed.len(), 1, "{noticed:?}");
    noticed.remove(0)
}

#[tokio::test(start_paused = true)]
async fn v1_a_second_server_of_an_instance_is_noticed_while_the_first_is_being_deleted() {
    let client = Client::new(Options::default()).await;
    let first = client.create("web-0", "uid-0").await;
    // Without its tag it is a server of this Instance all the same.
    client.region.retag(&first, Vec::new());
    client.delete(&path(&first)).await;
    let mut second = server("web-0", "uid-0");
    second["spec"]["networkId"] = json!(OTHER_NETWORK);
    assert_eq!(client.post("/api/v2/servers", &second).await.status, 201);
    assert!(noticed(&client).contains("Instance uid-0 has server"), "{:?}", client.region.check());
}

#[tokio::test(start_paused = true)]
async fn v1_a_server_after_another_is_none_too_many() {
    let client = Client::new(Options::default()).await;
    let first = client.create("web-0", "uid-0").await;
    client.delete(&path(&first)).await;
    millis(600).await;
    client.create("web-0", "uid-0").await;
    client.create("web-1", "uid-1").await;
    assert_eq!(client.region.check(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn v2_an_order_about_a_server_of_another_is_noticed() {
    let body = json!({"metadata": {"name": "other"}, "spec": {"flavorId": SMALL, "imageId": IMAGE}});
    for order in ["delete", "update", "stop"] {
        let client = Client::new(Options::default()).await;
        let other = client.region.plant(plant());
        let ours = client.region.plant(Plant { ours: true, ..plant() });
        for id in [other, ours] {
            let answer = match order {
                "delete" => client.delete(&path(&id)).await,
                "update" => client.put(&path(&id), &body).await,
                _ => client.post(&format!("{}/stop", path(&id)), &json!(null)).await,
            };
            assert_eq!(answer.status, 202, "{order}");
        }
        assert!(noticed(&client).contains("is not ours"), "{order}");
    }
}

#[tokio::test(start_paused = true)]
async fn v4_quota_that_is_taken_twice_is_noticed() {
    let client = Client::new(Options::default()).await;
    take(&client, "uid-0").await;
    take(&client, "uid-1").await;
    take(&client, "uid-0").await;
    assert!(noticed(&client).contains("Instance uid-0 has allocation"));
}

#[tokio::test(start_paused = true)]
async fn v4_quota_that_is_released_before_the_server_is_gone_is_noticed() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    for is_gone in [true, false] {
        let taken = take(&client, "uid-0").await;
        if is_gone {
            client.delete(&path(&id)).await;
            millis(600).await;
        } else {
            client.create("web-0", "uid-0").await;
            client.delete(&path(&id)).await;
        }
        client.delete(&taken).await;
        assert_eq!(client.region.check().is_ok(), is_gone);
    }
    assert!(noticed(&client).contains("is released while server"));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_over_is_named() {
    let client = Client::new(Options::default()).await;
    client.create("web-0", "uid-0").await;
    take(&client, "uid-0").await;
    client.region.plant(plant());
    assert_eq!(client.region.check_leftovers(&["uid-0"]), Ok(()));
    let left = client.region.check_leftovers(&[]).unwrap_err();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].starts_with("server") && left[1].starts_with("allocation"), "{left:?}");
}
