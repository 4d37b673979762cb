//! What lists show, and what they leave out.

use fedhub_region::known::{IMAGE, NETWORK, OTHER_NETWORK, SMALL};
use fedhub_region::{Hidden, INSTANCE_TAG, Lag, Network, Options, Overlay, Plant, Tag};
use serde_json::{Value, json};

use crate::client::{Client, NOBODYS, millis, path, server};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_is_filtered_by_all_that_is_asked() {
    let client = Client::new(Options::default()).await;
    client.create("web-0", "uid-0").await;
    let mut other = server("web-1", "uid-1");
    other["spec"]["networkId"] = json!(OTHER_NETWORK);
    other["metadata"]["tags"].as_array_mut().unwrap().push(json!({"name": "of", "value": "tests"}));
    assert_eq!(client.post("/api/v2/servers", &other).await.status, 201);
    let options = Options::default();
    let [organization, project] = [&options.networks[0].organization_id, &options.networks[0].project_id];
    for (query, expected) in [
        (String::new(), &["web-1", "web-0"][..]),
        (format!("networkID={NETWORK}"), &["web-0"]),
        (format!("networkID={NETWORK}&networkID={OTHER_NETWORK}"), &["web-1", "web-0"]),
        (format!("tag={INSTANCE_TAG}%3Duid-1"), &["web-1"]),
        (format!("tag={INSTANCE_TAG}%3Duid-1&tag=of%3Dtests"), &["web-1"]),
        (format!("tag={INSTANCE_TAG}%3Duid-0&tag=of%3Dtests"), &[]),
        (format!("organizationID={organization}&projectID={project}"), &["web-1", "web-0"]),
        (format!("regionID={}", options.region_id), &["web-1", "web-0"]),
        (format!("regionID={NOBODYS}"), &[]),
    ] {
        let list = client.get(&format!("/api/v2/servers?{query}")).await.body;
        let mut found = names(&list);
        found.sort_by_key(|name| std::cmp::Reverse(*name));
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_makes_no_sense_is_refused_and_one_that_may_see_nothing_is_null() {
    let client = Client::new(Options::default()).await;
    client.create("web-0", "uid-0").await;
    for query in ["tag=a", "tag=a%3Db%3Dc", "networkID=net-1", "projectID="] {
        assert_eq!(client.get(&format!("/api/v2/servers?{query}")).await.status, 400, "{query}");
    }
    for query in [format!("organizationID={NOBODYS}"), format!("projectID={NOBODYS}")] {
        let answer = client.get(&format!("/api/v2/servers?{query}")).await;
        assert_eq!([answer.status.into(), answer.body], [json!(200), Value::Null], "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn reads_lag_behind_and_answers_to_orders_do_not() {
    let client = Client::new(Options::default()).await;
    client.region.set_lag(Lag { list: 2000, get: 1000, orders: 500 });
    let id = client.create("web-0", "uid-0").await;
    let seen = async || {
        let listed = client.get("/api/v2/servers").await.body;
        (client.get(&path(&id)).await.status, names(&listed).len())
    };
    assert_eq!(seen().await, (404, 0));
    assert_eq!(client.delete(&path(&id)).await.status, 404, "not even to be deleted");
    assert_eq!(client.post("/api/v2/servers", &server("web-0", "uid-0")).await.status, 409);
    millis(1500).await;
    assert_eq!(seen().await, (200, 0));
    millis(1000).await;
    assert_eq!(seen().await, (200, 1));
    assert_eq!(client.delete(&path(&id)).await.status, 202);
    millis(600).await;
    assert_eq!(client.region.servers(), []);
    assert_eq!(seen().await, (200, 1), "what is gone is still shown");
    millis(1000).await;
    assert_eq!(seen().await, (404, 1));
    millis(1000).await;
    assert_eq!(seen().await, (404, 0));
}

#[tokio::test(start_paused = true)]
async fn an_item_vanishes_from_lists_while_it_stands() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    for (hidden, status, count) in
        [(Hidden::Lists, 200, 0), (Hidden::Everywhere, 403, 0), (Hidden::No, 200, 1)]
    {
        assert!(client.region.hide(&id, hidden));
        let list = client.get("/api/v2/servers").await.body;
        assert_eq!(names(&list).len(), count, "{hidden:?}");
        assert_eq!(client.get(&path(&id)).await.status, status, "{hidden:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_of_another_organization_is_forbidden_and_left_out() {
    let foreign = Network { organization_id: NOBODYS.to_owned(), ..Network::new(NOBODYS) };
    let client =
        Client::new(Options { networks: vec![Network::new(NETWORK), foreign], ..Options::default() }).await;
    let id = client.region.plant(Plant { network_id: NOBODYS.to_owned(), ..plant() });
    assert_eq!(client.get("/api/v2/servers").await.body, json!([]));
    assert_eq!(client.get(&path(&id)).await.status, 403);
    let mut body = server("web-0", "uid-0");
    body["spec"]["networkId"] = json!(NOBODYS);
    assert_eq!(client.post("/api/v2/servers", &body).await.status, 403);
    assert_eq!(client.get(&format!("/api/v2/networks/{NOBODYS}")).await.status, 403);
}

pub fn plant() -> Plant {
    Plant {
        name: "other".to_owned(),
        network_id: NETWORK.to_owned(),
        tags: Vec::new(),
        flavor_id: SMALL.to_owned(),
        image_id: IMAGE.to_owned(),
        id: None,
        ours: false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_of_another_shows_our_tag_and_ours_loses_it() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    let tag = Tag { name: INSTANCE_TAG.to_owned(), value: "uid-0".to_owned() };
    let other = client.region.plant(Plant { tags: vec![tag], ..plant() });
    let query = format!("/api/v2/servers?tag={INSTANCE_TAG}%3Duid-0");
    assert_eq!(client.get(&query).await.body.as_array().unwrap().len(), 2);
    assert!(client.region.retag(&id, Vec::new()));
    let list = client.get(&query).await.body;
    assert_eq!(
        [list.as_array().unwrap().len().into(), list[0]["metadata"]["id"].clone()],
        [json!(1), json!(other)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_shows_words_that_nobody_knows() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    let overlay = Overlay {
        power_state: Some("Hibernating".to_owned()),
        provisioning_status: Some("error".to_owned()),
        health_status: Some(String::new()),
        message: Some("no host was found".to_owned()),
    };
    assert!(client.region.overlay(&id, overlay));
    let shown = client.get(&path(&id)).await.body;
    assert_eq!(shown["status"]["powerState"], "Hibernating");
    assert_eq!(shown["metadata"]["provisioningStatus"], "error");
    assert_eq!(shown["metadata"]["healthStatus"], "");
    assert_eq!(shown["metadata"]["provisioningStatusDetail"]["message"], "no host was found");
    assert!(client.region.overlay(&id, Overlay::default()));
    assert_eq!(client.get(&path(&id)).await.body["metadata"]["provisioningStatus"], "pending");
}

#[tokio::test(start_paused = true)]
async fn the_catalogue_is_of_one_organization_and_region() {
    let client = Client::new(Options::default()).await;
    let options = Options::default();
    let root = format!("/api/v1/organizations/{}/regions/", options.networks[0].organization_id);
    let flavors = client.get(&format!("{root}{}/flavors", options.region_id)).await.body;
    assert_eq!(names(&flavors), ["small", "large"]);
    let images = client.get(&format!("{root}{}/images", options.region_id)).await.body;
    assert_eq!(images[0]["metadata"]["id"], IMAGE);
    assert_eq!(client.get(&format!("{root}{NOBODYS}/flavors")).await.status, 404);
    let network = client.get(&format!("/api/v2/networks/{NETWORK}")).await.body;
    assert_eq!(network["metadata"]["projectId"], options.networks[0].project_id.as_str());
    let reference = format!("/api/v2/networks/{NETWORK}/references/fedhub");
    assert_eq!(client.put(&reference, &json!(null)).await.status, 201);
    assert_eq!(client.delete(&reference).await.status, 204);
}
