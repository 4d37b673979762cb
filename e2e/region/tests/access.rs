//! Who is let in.

use fedhub_region::{Operation, Options};
use http::Method;

use crate::client::Client;

const SERVERS: &str = "/api/v2/servers";

#[tokio::test(start_paused = true)]
async fn a_token_ends_by_time_and_by_order() {
    let mut client = Client::new(Options { token_lifetime: 60, ..Options::default() }).await;
    assert_eq!(client.get(SERVERS).await.status, 200);
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    let refused = client.get(SERVERS).await;
    assert_eq!(refused.status, 401);
    assert!(refused.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    client.renew().await;
    assert_eq!(client.get(SERVERS).await.status, 200);
    client.region.end_tokens();
    assert_eq!(client.get(SERVERS).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn only_who_knows_the_secret_gets_a_token() {
    let client = Client::new(Options::default()).await;
    for (form, status) in [
        ("grant_type=client_credentials&client_id=fedhub&client_secret=guessed", 401),
        ("grant_type=client_credentials&client_id=fedhub", 401),
        ("grant_type=password&client_id=fedhub&client_secret=a-secret-of-tests", 400),
        ("", 400),
    ] {
        let answer = client.send(Method::POST, "/oauth2/v2/token", form.to_owned()).await.unwrap();
        assert_eq!(answer.status, status, "{form}");
    }
    let log = serde_json::to_string(&client.region.log(0)).unwrap();
    assert!(!log.contains("guessed") && !log.contains("a-secret"), "{log}");
    assert_eq!(client.region.requests(Operation::Token), 5);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_for_a_token_where_there_is_no_client() {
    let mut client = Client::new(Options { client: None, ..Options::default() }).await;
    client.token.clear();
    assert_eq!(client.get(SERVERS).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_said_as_all_else() {
    let client = Client::new(Options::default()).await;
    let nowhere = client.get("/api/v3/servers").await;
    assert_eq!((nowhere.status, nowhere.body["error"].as_str()), (404, Some("not_found")));
    let never = client.delete(SERVERS).await;
    assert_eq!((never.status, never.body["error"].as_str()), (405, Some("method_not_allowed")));
}
