//! Faults that are ordered.

use std::time::Duration;

use fedhub_region::known::NEW_IMAGE;
use fedhub_region::{Event, Fault, FaultAction, Operation, Options, RateLimit};
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::client::{Client, millis, path, server};

const SERVERS: &str = "/api/v2/servers";

fn answer(status: u16, after: Option<&str>) -> FaultAction {
    FaultAction::Answer { status, description: None, retry_after: after.map(str::to_owned) }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_given_as_often_as_it_is_ordered_and_nothing_is_done() {
    let client = Client::new(Options::default()).await;
    for status in [400, 401, 403, 409, 422, 429, 500, 503] {
        let action = answer(status, Some("7"));
        let fault = Fault { operations: vec![Operation::CreateServer], skip: 0, times: Some(2), action };
        client.region.fault(fault);
        for _ in 0..2 {
            let refused = client.post(SERVERS, &server("web-0", "uid-0")).await;
            assert_eq!(refused.status, status);
            assert_eq!(refused.headers["retry-after"], "7");
        }
        assert_eq!(client.get(SERVERS).await.body, json!([]), "{status}");
    }
    client.create("web-0", "uid-0").await;
}

#[tokio::test(start_paused = true)]
async fn a_fault_spares_the_first_and_lasts_until_it_is_healed() {
    let client = Client::new(Options::default()).await;
    client.region.fault(Fault { skip: 1, ..Fault::always(Operation::ListServers, answer(500, None)) });
    let status = async || client.get(SERVERS).await.status;
    assert_eq!([status().await, status().await, status().await], [200, 500, 500]);
    client.region.heal();
    assert_eq!(status().await, 200);
}

/// Whether the next creation is answered, how many servers stand after it, and what the record says of it.
async fn create(action: FaultAction) -> (bool, usize, Option<u16>, bool) {
    let client = Client::new(Options::default()).await;
    client.region.fault(Fault::once(Operation::CreateServer, action));
    let body = server("web-0", "uid-0").to_string();
    let sent = client.send(Method::POST, SERVERS, body);
    let answered = timeout(Duration::from_mins(10), sent).await.ok().flatten().is_some();
    let last = client.region.log(0).into_iter().rfind(|entry| matches!(entry.event, Event::Request { .. }));
    let Event::Request { operation: Operation::CreateServer, status, acted, .. } = last.unwrap().event else {
        panic!("the creation is not the last request");
    };
    (answered, client.region.servers().len(), status, acted)
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_lost_before_and_after_the_act() {
    assert_eq!(create(FaultAction::Cut).await, (false, 0, None, false));
    assert_eq!(create(FaultAction::Hang).await, (false, 0, None, false));
    assert_eq!(create(FaultAction::Lose).await, (false, 1, None, true));
    assert_eq!(create(FaultAction::LoseAndHang).await, (false, 1, None, true));
    assert_eq!(create(FaultAction::CutShort).await, (false, 1, Some(201), true));
    assert_eq!(create(FaultAction::Delay { millis: 3000 }).await, (true, 1, Some(201), true));
}

#[tokio::test(start_paused = true)]
async fn a_server_fails_and_is_parked_until_it_gets_another_image() {
    let client = Client::new(Options::default()).await;
    client.region.fault(Fault::once(Operation::CreateServer, FaultAction::Fail));
    let id = client.create("web-0", "uid-0").await;
    millis(600_000).await;
    let failed = client.get(&path(&id)).await.body;
    assert_eq!(failed["metadata"]["provisioningStatus"], "error");
    assert_eq!(failed["status"]["powerState"], "Error");
    assert_eq!(failed["metadata"]["provisioningStatusDetail"]["message"], "no host has room for it");
    let mut body = server("web-0", "uid-0");
    client.put(&path(&id), &body).await;
    millis(1000).await;
    assert_eq!(client.get(&path(&id)).await.body["metadata"]["provisioningStatus"], "error");
    body["spec"]["imageId"] = json!(NEW_IMAGE);
    client.put(&path(&id), &body).await;
    millis(1000).await;
    let runs = client.get(&path(&id)).await.body;
    assert_eq!(runs["status"]["powerState"], "Running");
    assert_eq!(runs["metadata"]["provisioningStatusDetail"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_something_else_is_said() {
    let client = Client::new(Options::default()).await;
    let action = FaultAction::Say {
        status: 302,
        content_type: "text/html".to_owned(),
        body: "<html>moved</html>".to_owned(),
    };
    client.region.fault(Fault::once(Operation::ListServers, action));
    let said = client.get(SERVERS).await;
    assert_eq!((said.status, said.headers["content-type"].to_str().unwrap()), (302, "text/html"));
    assert_eq!(client.get(SERVERS).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_delay_comes_before_the_act() {
    let client = Client::new(Options::default()).await;
    client.region.fault(Fault::once(Operation::CreateServer, FaultAction::Delay { millis: 3000 }));
    let before = Instant::now();
    let creates = client.create("web-0", "uid-0");
    let looks = async {
        millis(2000).await;
        client.region.servers().len()
    };
    let (_, seen) = tokio::join!(creates, looks);
    assert_eq!((seen, before.elapsed().as_secs()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn requests_above_the_limit_are_told_when_to_come_again() {
    let client = Client::new(Options::default()).await;
    client.region.set_rate_limit(Some(RateLimit { per_second: 2, burst: 3 }));
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(client.get(SERVERS).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    assert_eq!(client.get(SERVERS).await.headers["retry-after"], "1");
    millis(1000).await;
    assert_eq!(client.get(SERVERS).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_never_ends_until_it_may() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    assert!(client.region.stick(&id, true));
    assert_eq!(client.delete(&path(&id)).await.status, 202);
    millis(1_800_000).await;
    assert_eq!(client.get(&path(&id)).await.body["metadata"]["provisioningStatus"], "deprovisioning");
    assert!(client.region.stick(&id, false));
    assert_eq!(client.get(&path(&id)).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_server_vanishes_without_an_order() {
    let client = Client::new(Options::default()).await;
    let id = client.create("web-0", "uid-0").await;
    assert!(client.region.destroy(&id));
    assert_eq!(client.get(&path(&id)).await.status, 404);
    assert!(!client.region.destroy(&id));
}

#[tokio::test(start_paused = true)]
async fn a_body_without_end_is_too_large() {
    let client = Client::new(Options::default()).await;
    let body = json!({"metadata": {"name": "a".repeat(2 << 20)}, "spec": Value::Null});
    assert_eq!(client.post(SERVERS, &body).await.status, 413);
}
