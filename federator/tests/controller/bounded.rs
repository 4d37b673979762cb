//! Nothing is remembered of what is gone for good, however often planes come and go.

use fedhub_fake_apiserver::Fault;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn bounded_nothing_is_left_of_planes_that_joined_worked_and_left() {
    let world = World::telling();
    let run = world.federated().await;
    run.planes.disengage(&plane_name("alpha"));
    quiet(60).await;
    let at_rest = (run.federator.remembered(), run.queue.pending(), run.queue.lanes());
    for n in 0..10 {
        run.planes.engage(&plane_name("alpha"), world.alpha.client());
        let name = format!("job-{n}");
        put_wd(&world.alpha, &name, "ORD");
        until("it to be federated", || world.hub_wd(&name).is_some()).await;
        world.report(&name, &reported(n));
        until("its status", || world.wd(&name).unwrap()["status"]["replicas"] == n).await;
        // It is deleted while the hub does not do its part, and while another client replaces the first.
        let stuck = world.hub.fault(Fault::Status(503).on("delete", "workloaddeployments"));
        world.delete(&name);
        quiet(5).await;
        assert_eq!(run.held("hub_unreachable"), 1);
        run.planes.engage(&plane_name("alpha"), world.alpha.client());
        quiet(5).await;
        run.planes.disengage(&plane_name("alpha"));
        assert_eq!(run.held("hub_unreachable"), 0, "no worker reconciles it any more");
        world.hub.clear_fault(stuck);
        run.planes.engage(&plane_name("alpha"), world.alpha.client());
        until("it to go", || world.wd(&name).is_none()).await;
        quiet(60).await;
        run.planes.disengage(&plane_name("alpha"));
        quiet(60).await;
        assert_eq!(
            (run.federator.remembered(), run.queue.pending(), run.queue.lanes()),
            at_rest,
            "round {n}"
        );
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bounded_a_deletion_while_the_client_is_replaced_leaves_nothing() {
    let world = World::telling();
    let run = world.federated().await;
    quiet(10).await;
    let at_rest = run.federator.remembered();
    for n in 0..5 {
        let name = format!("job-{n}");
        put_wd(&world.alpha, &name, "DFW");
        until("it to be federated", || world.hub_wd(&name).is_some()).await;
        world.report(&name, &reported(2));
        until("its status", || world.wd(&name).unwrap()["status"]["replicas"] == 2).await;
        // No watch hears of its end: the hub WD goes by itself, and the finalizer is stripped.
        let deaf = [&world.alpha, &world.hub].map(|s| (s, s.fault(Fault::Hang.on("watch", "*"))));
        let none = serde_json::json!({"metadata": {"finalizers": null}});
        world.alpha.patch("WorkloadDeployment", SPACE, &name, &none).unwrap();
        world.delete(&name);
        world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), &name).unwrap();
        run.planes.engage(&plane_name("alpha"), world.alpha.client());
        for (server, id) in deaf {
            server.clear_fault(id);
        }
        world.gap();
        quiet(120).await;
        assert_eq!(run.federator.remembered(), at_rest, "round {n}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bounded_a_pass_that_fails_after_its_plane_has_left_leaves_no_failure() {
    let world = World::telling();
    let run = world.run_over(client(&world.hub));
    until("both WDs to be federated", || {
        world.hub_wd(WD).is_some() && world.hub_wd_of(&world.beta, WD).is_some()
    })
    .await;
    quiet(60).await;
    run.planes.disengage(&plane_name("alpha"));
    quiet(60).await;
    let at_rest = run.federator.remembered();
    run.planes.engage(&plane_name("alpha"), world.alpha.client());
    quiet(60).await;
    let hangs = world.hub.fault(Fault::Hang.on("create", "workloaddeployments"));
    put_wd(&world.alpha, "waits", "DFW");
    quiet(2).await;
    run.planes.disengage(&plane_name("alpha"));
    quiet(60).await;
    assert_eq!(run.federator.remembered(), at_rest);
    world.hub.clear_fault(hangs);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bounded_a_standby_keeps_no_keys() {
    let world = World::telling();
    let leader = world.federated().await;
    let standby = world.run();
    standby.queue.hold();
    for n in 0..50 {
        let name = format!("job-{n}");
        put_wd(&world.alpha, &name, "DFW");
        until("it to be federated", || world.hub_wd(&name).is_some()).await;
        world.delete(&name);
        until("it to go", || world.wd(&name).is_none()).await;
    }
    quiet(60).await;
    assert_eq!((standby.queue.pending(), standby.queue.lanes()), (0, 0));
    let spaces = [
        ("namespaces", 2),
        ("setups", 0),
        ("blocked", 0),
        ("unused", 0),
        ("orphans", 0),
        ("touches", 0),
        ("seen_deleted", 0),
        ("waits", 0),
        ("convergence", 0),
    ];
    assert_eq!(standby.federator.remembered(), spaces, "one for each namespace that a WD of ours stands in");
    leader.stop().await;
    standby.stop().await;
}
