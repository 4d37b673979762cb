//! What is ordered over HTTP.

use fedhub_region::Options;
use fedhub_region::known::{IMAGE, NETWORK, SMALL};
use http::Method;
use serde_json::json;

use crate::client::{Client, path, server};

#[tokio::test(start_paused = true)]
async fn all_can_be_ordered_over_http_and_needs_no_token() {
    let mut client = Client::new(Options::default()).await;
    let token = std::mem::take(&mut client.token);
    let orders = [
        (Method::PUT, "lag", json!({"list": 1000})),
        (Method::PUT, "timing", json!({"build": 0, "change": 0, "rebuild": 0, "deletion": 0})),
        (Method::PUT, "chaos", json!({"lose": 1, "vanish": 1})),
        (Method::PUT, "chaos", json!(null)),
        (Method::PUT, "rate-limit", json!({"perSecond": 100, "burst": 100})),
        (Method::PUT, "rate-limit", json!(null)),
        (Method::PUT, "quotas", json!({"servers": 3, "gpus": null})),
        (
            Method::POST,
            "faults",
            json!({
                "operations": ["createServer"], "times": 1, "action": {"answer": {"status": 503, "retryAfter": "2"}},
            }),
        ),
        (Method::POST, "faults", json!({"operations": ["createServer"], "times": 1, "action": "cut"})),
        (
            Method::POST,
            "servers",
            json!({"name": "other", "networkId": NETWORK, "flavorId": SMALL, "imageId": IMAGE}),
        ),
    ];
    for (method, what, body) in orders {
        let answer = client.send(method, &format!("/_control/{what}"), body.to_string()).await.unwrap();
        assert_eq!(answer.status, 200, "{what}: {answer:?}");
    }
    client.token = token;
    let create = async || {
        let body = server("web-0", "uid-0").to_string();
        client.send(Method::POST, "/api/v2/servers", body).await.map(|answer| answer.status)
    };
    assert_eq!([create().await, create().await, create().await], [Some(503), None, Some(201)]);
    let servers = client.get("/_control/servers").await.body;
    let ours = servers.as_array().unwrap().iter().find(|server| server["foreign"] == false).unwrap();
    assert_eq!((&ours["instance"], &ours["powerState"]), (&json!("uid-0"), &json!("Running")));
    let id = ours["id"].as_str().unwrap();
    let change = json!({"tags": [], "hidden": "lists", "stuck": true, "overlay": {"powerState": "Error"}});
    let control = format!("/_control/servers/{id}");
    let changed = client.send(Method::PATCH, &control, change.to_string()).await.unwrap();
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(client.get(&path(id)).await.body["status"]["powerState"], "Error");
    assert_eq!(client.delete(&control).await.status, 200);
    assert_eq!(client.delete(&control).await.status, 404);
    assert_eq!(client.delete("/_control/tokens").await.status, 200);
    assert_eq!(client.get("/api/v2/servers").await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn an_order_that_is_misspelt_is_refused() {
    let client = Client::new(Options::default()).await;
    for (method, what, body) in [
        (Method::PUT, "lag", json!({"lists": 1})),
        (Method::PUT, "chaos", json!({"loose": 1})),
        (Method::POST, "faults", json!({"operations": ["makeServer"], "action": "cut"})),
        (Method::POST, "faults", json!({"action": {"answer": {"status": 500, "retry_after": "1"}}})),
        (Method::POST, "servers", json!({"name": "other"})),
        (Method::PUT, "quotas", json!([])),
    ] {
        let answer = client.send(method, &format!("/_control/{what}"), body.to_string()).await.unwrap();
        assert_eq!(answer.status, 400, "{what} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_record_has_requests_and_changes_in_order_and_the_check_fails_by_its_status() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    assert_eq!(client.get("/_control/check").await.status, 200);
    let log = client.get("/_control/log?since=1").await.body;
    let log = log.as_array().unwrap();
    assert_eq!(
        (&log[0]["event"], &log[0]["what"], &log[0]["id"]),
        (&json!("change"), &json!("created"), &json!(id))
    );
    assert_eq!((&log[1]["operation"], &log[1]["status"]), (&json!("createServer"), &json!(201)));
    assert_eq!(log[1]["body"]["metadata"]["name"], "web-0");
    let numbers: Vec<_> = log.iter().map(|entry| entry["number"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");

    let other = json!({"name": "other", "networkId": NETWORK, "flavorId": SMALL, "imageId": IMAGE});
    let planted = client.post("/_control/servers", &other).await.body;
    client.delete(&path(planted["id"].as_str().unwrap())).await;
    let check = client.get("/_control/check").await;
    assert_eq!((check.status, check.body["violations"].as_array().unwrap().len()), (409, 1));
}

#[test]
fn options_are_read_from_json_and_nothing_else_is() {
    let options: Options = serde_json::from_value(json!({"tokenLifetime": 5, "tls": "mutual"})).unwrap();
    assert_eq!((options.token_lifetime, options.networks.len()), (5, 2));
    assert!(serde_json::from_value::<Options>(json!({"tokenlifetime": 5})).is_err());
    let again: Options = serde_json::from_value(json!(options)).unwrap();
    assert_eq!(again.tls, options.tls);
}
