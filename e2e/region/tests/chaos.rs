//! Faults by chance: they come as often as they are ordered, the same for the same seed, and never make the
//! service itself do what it must not.

use std::collections::BTreeMap;

use fedhub_region::{Chaos, Event, Operation, Options};
use http::Method;
use proptest::prelude::*;

use crate::client::{Client, millis, path, server};

const SERVERS: &str = "/api/v2/servers";

/// How often each status came, 0 for no answer, of a thousand lists.
async fn statuses(seed: u64) -> BTreeMap<u16, usize> {
    let chaos = Chaos { cut: 50, lose: 50, broken: 100, unavailable: 100, too_many: 100, ..Chaos::default() };
    let client = Client::new(Options { seed, ..Options::default() }).await;
    client.region.set_chaos(Some(chaos));
    let mut statuses = BTreeMap::new();
    for _ in 0..1000 {
        let status = client.send(Method::GET, SERVERS, String::new()).await.map_or(0, |answer| answer.status);
        *statuses.entry(status).or_default() += 1;
    }
    statuses
}

#[tokio::test(start_paused = true)]
async fn chance_is_as_it_was_ordered_and_repeats() {
    let first = statuses(1).await;
    assert_eq!(first.keys().copied().collect::<Vec<_>>(), [0, 200, 429, 500, 503]);
    for (status, expected) in [(0, 100), (200, 600), (429, 100), (500, 100), (503, 100)] {
        assert!(first[&status].abs_diff(expected) < 50, "{first:?}");
    }
    assert_eq!(first, statuses(1).await);
    assert_ne!(first, statuses(2).await);
}

#[tokio::test(start_paused = true)]
async fn a_list_leaves_out_what_stands() {
    let client = Client::new(Options::default()).await;
    for at in 0..100 {
        client.create(&format!("web-{at}"), &format!("uid-{at}")).await;
    }
    client.region.set_chaos(Some(Chaos { vanish: 200, ..Chaos::default() }));
    let listed = client.get(SERVERS).await.body.as_array().unwrap().len();
    assert!((60..=95).contains(&listed), "{listed}");
    assert_eq!(client.region.servers().len(), 100);
}

/// An order about one of three names.
fn orders() -> impl Strategy<Value = Vec<(usize, u8, u64)>> {
    prop::collection::vec((0..3usize, 0..5u8, 0..700u64), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever is asked and goes wrong, there is one server for a name, each change in the record has an
    /// order before it, and all that is deleted goes.
    #[test]
    fn a_name_has_one_server_whatever_goes_wrong(seed in any::<u64>(), orders in orders()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let chaos = Chaos {
                cut: 100, lose: 150, broken: 50, unavailable: 50, denied: 50, delay: 100, vanish: 100, lag: 2000,
                ..Chaos::default()
            };
            let client = Client::new(Options { seed, ..Options::default() }).await;
            client.region.set_chaos(Some(chaos));
            for (at, order, wait) in orders {
                let name = format!("web-{at}");
                let id = fedhub_region::server_id(fedhub_region::known::NETWORK, &name).unwrap();
                let [method, path, body] = match order {
                    0 | 1 => ["POST", SERVERS, &server(&name, &name).to_string()].map(str::to_owned),
                    2 => ["DELETE".to_owned(), path(&id), String::new()],
                    3 => ["POST".to_owned(), format!("{}/stop", path(&id)), String::new()],
                    _ => ["GET", SERVERS, ""].map(str::to_owned),
                };
                client.send(method.parse().unwrap(), &path, body).await;
                millis(wait).await;
            }
            client.region.heal();
            assert_eq!(client.region.check(), Ok(()));
            let acts = |of: Operation| client.region.log(0).iter().filter(|entry| {
                matches!(&entry.event, Event::Request { operation, acted: true, .. } if *operation == of)
            }).count();
            let changes = |of: &str| client.region.log(0).iter().filter(|entry| {
                matches!(&entry.event, Event::Change { what, .. } if *what == of)
            }).count();
            assert_eq!(acts(Operation::CreateServer), changes("created"));
            assert_eq!(acts(Operation::StopServer), changes("stopping"));
            for server in client.region.servers() {
                assert_eq!(client.delete(&path(&server.id)).await.status, 202);
            }
            millis(1000).await;
            assert_eq!(client.region.servers(), []);
            assert_eq!(changes("created"), changes("gone"));
        });
    }
}
