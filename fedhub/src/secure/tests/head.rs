//! HEAD is answered as GET is, without the body.

use super::*;

#[tokio::test]
async fn i14_a_page_that_may_be_read_is_asked_for_without_its_body_too() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    write(directory.path(), &ca);
    let server = Server::from_args(&flags(directory.path())).await;
    let tls = client(&ca.pem(), None);
    for (line, token, code) in [
        ("HEAD /metrics", None, 401),
        ("HEAD /metrics", Some("tenant"), 403),
        ("HEAD /metrics", Some("prometheus"), 200),
        ("HEAD /status", Some("operator"), 200),
        ("POST /metrics", Some("prometheus"), 405),
    ] {
        let (got, body) = send(server.at, &tls, line, token).await.unwrap();
        assert_eq!(got, code, "{line} {token:?}");
        assert!(body.is_empty() || line.starts_with("POST"), "{line} {token:?}: {body}");
    }
}
