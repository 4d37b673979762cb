//! Programs of their own for one cell: one of them acts at a time.

use std::sync::Arc;

use fedhub_api::conditions::is_true;
use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_fake_apiserver::ApiServer;
use fedhub_provider::run::{Standalone, serve};
use fedhub_provider::{Phase, ProviderSettings};
use fedhub_testing::{cell, client, put_hub_namespace, put_namespace, quiet};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::model::{Faults, Region};

const NS: &str = "ns-a";
const LEASES: &str = "fedhub-cells";

/// A program that runs.
struct Program {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Program {
    fn start(cell: &ApiServer, region: &Arc<Region>, identity: &str) -> Self {
        let options = Standalone {
            lease_namespace: LEASES.to_owned(),
            lease_name: "provider".to_owned(),
            identity: identity.to_owned(),
            seed: 7,
            metrics: Metrics::new().unwrap(),
            clock: Clock::from_tokio(cell.clock().now()),
            settings: ProviderSettings::default(),
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(client(cell), options, region.clone(), stop.clone()));
        Self { stop, task }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn v1_of_two_programs_for_a_cell_one_acts_and_the_other_takes_over() {
    let cell = cell("cell");
    put_hub_namespace(&cell, NS, "alpha", "shop");
    put_namespace(&cell, LEASES);
    let clock = Clock::from_tokio(cell.clock().now());
    let region = Arc::new(Region::new(1, Faults::default(), true, clock));
    let runs = region.clone();
    tokio::spawn(async move { runs.run().await });
    let first = Program::start(&cell, &region, "first");
    quiet(20).await;
    let second = Program::start(&cell, &region, "second");
    let put = |name: &str| {
        cell.put(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
            "metadata": {"namespace": NS, "name": name},
            "spec": {
                "network": "n1", "image": "i1", "flavor": "f1",
                "controller": {"templateHash": "h"},
            },
        }))
        .unwrap();
    };
    put("wd-0");
    quiet(60).await;
    let calls = |call: &str| region.with(|inner| inner.calls.get(call).copied().unwrap_or_default());
    assert_eq!((calls("create"), calls("find")), (1, 1));
    let holder = || cell.get("Lease", LEASES, "provider").unwrap()["spec"]["holderIdentity"].clone();
    assert_eq!(holder(), "first");

    first.stop().await;
    put("wd-1");
    quiet(60).await;
    assert_eq!(holder(), "second");
    assert_eq!(calls("create"), 2);
    let phases: Vec<_> = region.with(|inner| inner.now.servers.values().map(|server| server.phase).collect());
    assert_eq!(phases, [Phase::Running, Phase::Running]);
    for name in ["wd-0", "wd-1"] {
        let status = cell.get("Instance", NS, name).unwrap()["status"].take();
        assert!(is_true(&status, "Available"), "{status}");
    }
    second.stop().await;
    let after = calls("list");
    quiet(300).await;
    assert_eq!(calls("list"), after, "what has ended asks for nothing");
}
