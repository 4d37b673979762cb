//! Creates that land after their request was given up, and after their WD was released: what they make is an
//! orphan, which is counted, named, and left to the operator (F11).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_fake_apiserver::Fault;
use fedhub_planes::transport::HeaderTimeoutLayer;
use fedhub_testing::HEADERS;
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

use crate::controller::support::*;

/// A line to the hub on which the first create of `alpha`'s WD is on its way until it is let through,
/// whatever becomes of its sender.
#[derive(Clone, Default)]
struct Slow {
    caught: Arc<AtomicBool>,
    through: Arc<Notify>,
}

impl Slow {
    fn client(&self, world: &World) -> kube::Client {
        let slow = self.clone();
        let hub = world.hub.service();
        let path = format!("/namespaces/{}/workloaddeployments", hub_space(&world.alpha));
        let service = service_fn(move |request: http::Request<kube::client::Body>| {
            let slow = slow.clone();
            let hub = hub.clone();
            let path = path.clone();
            async move {
                let create = request.method() == http::Method::POST && request.uri().path().ends_with(&path);
                if create && !slow.caught.swap(true, Ordering::SeqCst) {
                    tokio::spawn(async move {
                        slow.through.notified().await;
                        let _landed = hub.oneshot(request).await;
                    });
                    std::future::pending::<()>().await;
                    unreachable!("it is pending");
                }
                hub.oneshot(request).await
            }
        });
        kube::Client::new(HeaderTimeoutLayer::new(HEADERS).layer(service), "default")
    }

    fn caught(&self) -> bool {
        self.caught.load(Ordering::SeqCst)
    }

    async fn land(&self) {
        self.through.notify_one();
        quiet(1).await;
    }
}

/// A process that is stopped (SIGSTOP) with a create on its way: from here on it does nothing.
async fn stopped_leader(world: &World) -> Slow {
    let slow = Slow::default();
    let run = world.run_over(slow.client(world));
    until("the create to be on its way", || slow.caught()).await;
    run.queue.close();
    run.planes.stop().await;
    slow
}

/// An operator deletes what is left on the hub.
fn reclaim(world: &World) {
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
}

async fn released(world: &World) {
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none());
}

#[tokio::test(start_paused = true)]
async fn f11_a_create_of_a_stopped_leader_that_lands_after_the_release_makes_an_orphan() {
    let world = World::new();
    let slow = stopped_leader(&world).await;
    let run = world.federated().await;
    released(&world).await;
    slow.land().await;
    assert!(world.hub.audit().iter().any(|e| e.verb == "create" && e.code == 201 && e.name.is_none()));
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1, "it is counted");
    let from = world.positions();
    quiet(3600).await;
    assert_eq!(world.asked(from), nothing());
    assert!(world.hub_wd(WD).is_some(), "no loop deletes it");
    assert!(world.hub_wd_of(&world.beta, WD).is_some(), "another tenant's WD of that name stands");
    reclaim(&world);
    quiet(1).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_the_next_leader_counts_what_landed_while_nobody_led() {
    let world = World::new();
    let slow = stopped_leader(&world).await;
    let standby = world.run();
    standby.queue.hold();
    let leader = world.federated().await;
    released(&world).await;
    leader.stop().await;
    slow.land().await;
    quiet(20).await;
    assert_eq!(standby.objects("federator", "orphaned"), 0, "it does not lead");
    standby.queue.gather(Instant::now());
    standby.planes.resync();
    standby.queue.lead(2);
    quiet(60).await;
    assert_eq!(standby.objects("federator", "orphaned"), 1);
    assert!(world.hub_wd(WD).is_some());
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_a_new_wd_waits_for_the_operator_where_a_late_create_has_its_name() {
    let world = World::new();
    let slow = stopped_leader(&world).await;
    let run = world.federated().await;
    // The new leader cannot make it before the late one lands.
    let stuck = world.hub.fault(Fault::Status(503).on("create", "workloaddeployments").times(3));
    released(&world).await;
    put_wd(&world.alpha, WD, "ORD");
    world.hub.clear_fault(stuck);
    slow.land().await;
    quiet(60).await;
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("FederationConflict"), "it is told");
    assert_eq!(run.objects("federator", "orphaned"), 1);
    assert_eq!(world.hub_wd(WD).unwrap()["spec"]["cityCode"], "DFW", "what stands there is not touched");
    reclaim(&world);
    until("the new one", || world.hub_wd(WD).is_some_and(|wd| wd["spec"]["cityCode"] == "ORD")).await;
    quiet(1).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_wd_that_came_back_from_a_backup_is_federated_and_not_undone() {
    let world = World::new();
    let run = world.federated().await;
    let backup = world.alpha.snapshot();
    released(&world).await;
    world.alpha.restore_bumped(&backup);
    until("it to be federated again", || world.hub_wd(WD).is_some()).await;
    let hub_uid = uid(&world.hub_wd(WD).unwrap());
    quiet(120).await;
    assert_eq!(uid(&world.hub_wd(WD).unwrap()), hub_uid);
    run.stop().await;
}
