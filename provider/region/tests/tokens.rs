//! Who the provider is to a region: tokens and certificates, and what changes of them (V7).

use std::sync::Arc;
use std::time::{Duration, Instant};

use fedhub_core::clock::Clock;
use fedhub_provider::{FailureKind, Provider};
use fedhub_provider_region::{Config, RegionProvider};
use fedhub_region::{Client, Fault, FaultAction, Operation, Options, Region, Tls};

use crate::support::{Setup, config, link, place, spec};

fn denied() -> FaultAction {
    FaultAction::Answer { status: 401, description: None, retry_after: None }
}

#[tokio::test]
async fn v7_one_token_for_all_who_come_at_once() {
    let setup = Setup::new(Options::default()).await;
    let provider = Arc::new(setup.provider);
    let asking: Vec<_> = (0..10)
        .map(|_| {
            let provider = provider.clone();
            tokio::spawn(async move { provider.list(&place()).await.unwrap().len() })
        })
        .collect();
    for asking in asking {
        assert_eq!(asking.await.unwrap(), 0);
    }
    assert_eq!(setup.region.region.requests(Operation::Token), 1);
    assert_eq!(setup.region.region.requests(Operation::ListServers), 10);
}

#[tokio::test]
async fn v7_nobody_queues_for_a_token_that_is_long_in_coming() {
    let options = Options { token_lifetime: 5, ..Options::default() };
    let setup = Setup::new(options).await;
    let region = &setup.region.region;
    let slow = || Fault::once(Operation::Token, FaultAction::Delay { millis: 900 });
    region.fault(slow());
    let provider = Arc::new(setup.provider);
    let timed = |provider: Arc<RegionProvider>| async move {
        let begun = Instant::now();
        (provider.list(&place()).await, begun.elapsed())
    };
    let first = tokio::spawn(timed(provider.clone()));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (listed, took) = timed(provider.clone()).await;
    let failure = listed.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Unavailable, false), "{failure}");
    assert!(failure.after.is_some_and(|after| after <= Duration::from_secs(1)), "{failure:?}");
    assert!(took < Duration::from_millis(600), "{took:?}");
    first.await.unwrap().0.unwrap();

    // The token is about to end, and good: only the one who renews it waits.
    tokio::time::sleep(Duration::from_millis(3_400)).await;
    region.fault(slow());
    let renewing = tokio::spawn(timed(provider.clone()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let (listed, took) = timed(provider.clone()).await;
    listed.unwrap();
    assert!(took < Duration::from_millis(200), "{took:?}");
    renewing.await.unwrap().0.unwrap();
    assert_eq!(region.requests(Operation::Token), 2);
}

#[tokio::test]
async fn v7_a_token_that_ends_early_is_renewed_once() {
    let setup = Setup::new(Options::default()).await;
    setup.provider.list(&place()).await.unwrap();
    setup.region.region.end_tokens();
    setup.provider.create(&link("web-0"), &spec()).await.unwrap();
    assert_eq!(setup.region.region.requests(Operation::Token), 2);
    assert_eq!(setup.region.region.servers().len(), 1);
}

#[tokio::test]
async fn v7_a_service_that_lets_no_token_in_is_not_asked_for_ever_more_tokens() {
    let setup = Setup::new(Options::default()).await;
    setup.region.region.fault(Fault::always(Operation::ListServers, denied()));
    for _ in 0..20 {
        assert_eq!(setup.provider.list(&place()).await.unwrap_err().kind, FailureKind::Denied);
    }
    assert_eq!(setup.region.region.requests(Operation::Token), 1, "a new one is refused like this one");
}

#[tokio::test]
async fn v7_a_token_is_renewed_before_it_ends() {
    let setup = Setup::new(Options { token_lifetime: 5, ..Options::default() }).await;
    setup.provider.list(&place()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(4_200)).await;
    setup.provider.list(&place()).await.unwrap();
    assert_eq!(setup.region.region.requests(Operation::Token), 2);
    assert_eq!(setup.region.region.requests(Operation::ListServers), 2, "none came with one that had ended");
}

#[tokio::test]
async fn v7_a_wrong_secret_is_the_operators_and_is_not_tried_again_and_again() {
    let setup = Setup::new(Options::default()).await;
    std::fs::write(setup.folder.path().join("client-secret"), "wrong-and-secret").unwrap();
    for _ in 0..5 {
        let failure = setup.provider.create(&link("web-0"), &spec()).await.unwrap_err();
        assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Denied, false));
        assert!(failure.after.is_none_or(|after| after <= Duration::from_secs(5)));
        assert!(!failure.message.contains("wrong-and-secret"), "{failure}");
    }
    assert_eq!(setup.region.region.requests(Operation::Token), 1);
}

#[tokio::test]
async fn v7_a_secret_that_changes_is_read_with_the_next_token() {
    let client = Client { id: "fedhub".to_owned(), secret: "the-second".to_owned() };
    let setup = Setup::new(Options { client: Some(client), ..Options::default() }).await;
    setup.provider.list(&place()).await.unwrap();
    std::fs::remove_file(setup.folder.path().join("client-secret")).unwrap();
    setup.provider.list(&place()).await.unwrap();
    setup.region.region.end_tokens();
    let failure = setup.provider.list(&place()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Denied, "{failure}");
    assert!(failure.message.contains("client-secret"), "{failure}");
}

#[tokio::test]
async fn v7_a_certificate_stands_in_for_a_token() {
    let region = Region::start(Options { tls: Tls::Mutual, ..Options::default() }).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = region.client_certificate("fedhub").unwrap();
    for (name, content) in [("ca.crt", region.ca().unwrap()), ("tls.crt", certificate), ("tls.key", key)] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let text = config(&region.url(), &region.url());
    let (head, rest) = text.split_once("    clientCredentials:\n").unwrap();
    let (_, tail) = rest.split_once("  limits:").unwrap();
    let head = head.replace("  insecureLoopback: true\n", "  caFile: ca.crt\n");
    let text = format!("{head}    mtls: {{certFile: tls.crt, keyFile: tls.key}}\n  limits:{tail}");
    let of_folder = Config::parse(&text, folder.path()).unwrap();
    let provider = RegionProvider::new(of_folder, 7, Clock::system()).unwrap();
    provider.create(&link("web-0"), &spec()).await.unwrap();
    assert_eq!(region.region.requests(Operation::Token), 0);

    // Another authority is not trusted, and says so without asking.
    std::fs::write(folder.path().join("ca.crt"), fedhub_region_of_another().await).unwrap();
    let stranger =
        RegionProvider::new(Config::parse(&text, folder.path()).unwrap(), 7, Clock::system()).unwrap();
    let failure = stranger.create(&link("web-1"), &spec()).await.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Unavailable, false), "{failure}");
    std::fs::write(folder.path().join("ca.crt"), "nothing").unwrap();
    assert!(RegionProvider::new(Config::parse(&text, folder.path()).unwrap(), 7, Clock::system()).is_err());
}

async fn fedhub_region_of_another() -> String {
    Region::start(Options { tls: Tls::Server, ..Options::default() }).await.unwrap().ca().unwrap()
}
