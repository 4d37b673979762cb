//! Creates that land after their request was given up: no stale effect is left once things have settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_fake_apiserver::Fault;
use fedhub_planes::transport::HeaderTimeoutLayer;
use fedhub_testing::HEADERS;
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

use crate::controller::support::*;

/// A line to the hub on which the first create of `alpha`'s WD is on its way until it is let through, whatever becomes
/// of its sender.
#[derive(Clone, Default)]
struct Slow {
    caught: Arc<AtomicBool>,
    through: Arc<Notify>,
}

impl Slow {
    fn client(&self, world: &World) -> kube::Client {
        let (slow, hub) = (self.clone(), world.hub.service());
        let path = format!("/namespaces/{}/workloaddeployments", hub_space(&world.alpha));
        let service = service_fn(move |request: http::Request<kube::client::Body>| {
            let (slow, hub, path) = (slow.clone(), hub.clone(), path.clone());
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

async fn released(world: &World) {
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none());
}

#[tokio::test(start_paused = true)]
async fn i3_a_create_of_a_stopped_leader_that_lands_after_the_release_is_undone() {
    let world = World::new();
    let slow = stopped_leader(&world).await;
    let run = world.federated().await;
    released(&world).await;
    slow.land().await;
    quiet(60).await;
    assert!(world.hub.audit().iter().any(|e| e.verb == "create" && e.code == 201 && e.name.is_none()));
    assert!(world.hub_wd(WD).is_none(), "no orphan is left");
    assert!(world.policy("city-dfw").is_none(), "nor a policy for it");
    assert!(world.hub_wd_of(&world.beta, WD).is_some(), "another tenant's WD of that name stands");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_late_create_does_not_stand_in_the_way_of_a_new_wd_of_that_name() {
    let world = World::new();
    let slow = stopped_leader(&world).await;
    let run = world.federated().await;
    // The new leader cannot make it before the late one lands.
    let stuck = world.hub.fault(Fault::Status(503).on("create", "workloaddeployments").times(3));
    released(&world).await;
    put_wd(&world.alpha, WD, "ORD");
    world.hub.clear_fault(stuck);
    slow.land().await;
    until("the new one", || {
        world.hub_wd(WD).is_some_and(|wd| {
            wd["spec"]["cityCode"] == "ORD" && wd["metadata"]["deletionTimestamp"].is_null()
        })
    })
    .await;
    quiet(60).await;
    assert_ne!(reason(&world.wd(WD).unwrap()).as_deref(), Some("FederationConflict"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_create_whose_own_sender_gave_it_up_is_undone() {
    let world = World::new();
    let slow = Slow::default();
    let run = world.run_over(slow.client(&world));
    until("the create to be on its way", || slow.caught()).await;
    quiet(30).await;
    until("it to be made by another", || world.hub_wd(WD).is_some()).await;
    released(&world).await;
    slow.land().await;
    quiet(60).await;
    assert!(world.hub_wd(WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_standby_that_saw_it_go_undoes_it_in_its_own_term() {
    let world = World::new();
    let slow = stopped_leader(&world).await;
    let standby = world.run();
    standby.queue.hold();
    let leader = world.federated().await;
    released(&world).await;
    leader.stop().await;
    // There is no leader when it lands.
    slow.land().await;
    assert!(world.hub_wd(WD).is_some());
    quiet(20).await;
    standby.queue.gather(Instant::now());
    standby.planes.resync();
    standby.queue.lead(2);
    until("it to be undone", || world.hub_wd(WD).is_none()).await;
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_what_stood_before_a_finalizer_was_stripped_is_left_to_the_operator() {
    let world = World::new();
    let run = world.federated().await;
    let stuck = world.hub.fault(Fault::Status(503).on("update", "workloaddeployments"));
    world.delete(WD);
    quiet(1).await;
    let none = serde_json::json!({"metadata": {"finalizers": null}});
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &none).unwrap();
    until("the WD to go", || world.wd(WD).is_none()).await;
    world.hub.clear_fault(stuck);
    world.report(WD, &reported(3));
    quiet(3600).await;
    assert!(world.hub_wd(WD).is_some(), "never by a loop");
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
