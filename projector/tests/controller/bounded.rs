//! Nothing is remembered of what is gone for good; what lands late is repaired.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn bounded_nothing_is_left_of_planes_that_joined_worked_and_left() {
    let world = World::new();
    // One that stays on the hub all the time.
    world.put_instance(NS_A, "wd-500");
    let run = world.run();
    until("its projection", || world.projection("wd-500").is_some()).await;
    quiet(5).await;
    run.planes.disengage(&plane_name("alpha"));
    quiet(120).await;
    let at_rest = (run.projector.remembered(), run.queue.pending(), run.queue.lanes());
    for n in 0..10 {
        run.planes.engage(&plane_name("alpha"), client(&world.alpha));
        let names: Vec<_> = (0..5).map(|i| format!("wd-{}", n * 10 + i)).collect();
        for name in &names {
            world.put_instance(NS_A, name);
        }
        // One that cannot be projected.
        world.put_instance(NS_A, "wd-999");
        let odd = json!({"metadata": {"labels": {"meta.datumapis.com/upstream-namespace": "other"}}});
        world.hub.patch("Instance", NS_A, "wd-999", &odd).unwrap();
        until("the projections", || names.iter().all(|name| world.projection(name).is_some())).await;
        until("the quarantine", || run.quarantined("contradictory") == 1).await;
        // Two are deleted on an unbroken watch, the plane cannot be written to for two more, one stays until
        // it is gone.
        for name in &names[..2] {
            world.hub.delete("Instance", NS_A, name).unwrap();
        }
        until("the first to go", || names[..2].iter().all(|name| world.projection(name).is_none())).await;
        let stuck = world.alpha.fault(Fault::Status(503).on("delete", "*"));
        for name in &names[2..4] {
            world.hub.delete("Instance", NS_A, name).unwrap();
        }
        quiet(30).await;
        run.planes.disengage(&plane_name("alpha"));
        world.hub.delete("Instance", NS_A, &names[4]).unwrap();
        assert_eq!(run.quarantined("contradictory"), 0, "it is not considered any more");
        world.hub.delete("Instance", NS_A, "wd-999").unwrap();
        world.alpha.clear_fault(stuck);
        quiet(1).await;
        run.planes.engage(&plane_name("alpha"), client(&world.alpha));
        until("all to go", || names.iter().all(|name| world.projection(name).is_none())).await;
        quiet(60).await;
        run.planes.disengage(&plane_name("alpha"));
        quiet(120).await;
        run.planes.disengage(&plane_name("alpha"));
        let now = run.projector.remembered();
        // A bucket that is not full yet stays until another is asked: one, however many rounds.
        let others = |of: [(&'static str, usize); 3]| {
            of.into_iter().filter(|(name, _)| *name != "buckets").collect::<Vec<_>>()
        };
        assert_eq!(others(now), others(at_rest.0), "round {n}");
        assert!(now[2].1 <= 1, "{now:?}");
        assert_eq!((run.queue.pending(), run.queue.lanes()), (at_rest.1, at_rest.2), "round {n}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bounded_a_standby_remembers_only_what_still_stands() {
    let world = World::new();
    let leader = world.run();
    let standby = world.run_as_standby();
    quiet(5).await;
    let at_rest = standby.projector.remembered();
    for n in 0..50 {
        let name = format!("wd-{n}");
        world.put_instance(NS_A, &name);
        until("the projection", || world.projection(&name).is_some()).await;
        world.hub.delete("Instance", NS_A, &name).unwrap();
        until("it to go", || world.projection(&name).is_none()).await;
        // And one that never was projected.
        let odd = format!("odd{n}");
        let object =
            json!({"apiVersion": API, "kind": "Instance", "metadata": {"namespace": NS_A, "name": odd}});
        world.hub.put(object).unwrap();
        quiet(1).await;
        world.hub.delete("Instance", NS_A, &odd).unwrap();
    }
    quiet(10).await;
    assert_eq!((standby.projector.remembered(), standby.queue.pending()), (at_rest, 0));
    leader.stop().await;
    standby.stop().await;
}

/// A create has no precondition: that of a leader that was stopped may land when its Instance is gone.
#[tokio::test(start_paused = true)]
async fn i4_a_projection_that_lands_late_goes_again() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    until("the projection", || world.projection("wd-0").is_some()).await;
    let mut late = world.projection("wd-0").unwrap();
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    until("it to go", || world.projection("wd-0").is_none()).await;
    quiet(60).await;
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
        late["metadata"].as_object_mut().unwrap().remove(field);
    }
    world.alpha.put(late.clone()).unwrap();
    until("it to go again", || world.projection("wd-0").is_none()).await;
    // Or when its WD is gone: then the plane's own garbage collection takes it.
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    quiet(5).await;
    world.alpha.put(late).unwrap();
    until("it to be collected", || world.projection("wd-0").is_none()).await;
    run.stop().await;
}

/// Instances that a tenant created, about which nothing is to be done.
#[tokio::test(start_paused = true)]
async fn i8_what_a_tenant_relabels_without_end_takes_no_room_from_the_others() {
    let world = World::new();
    world.put_instance(NS_B, "wd-0");
    let run = world.run();
    until("its projection", || world.beta.get("Instance", SPACE, "wd-0").is_some()).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own"}});
    world.alpha.put(namespace).unwrap();
    for n in 0..4200 {
        let object = json!({
            "apiVersion": API, "kind": "Instance", "metadata": {"namespace": "own", "name": format!("own-{n}")},
        });
        world.alpha.put(object).unwrap();
        if n % 100 == 0 {
            quiet(1).await;
        }
    }
    quiet(5).await;
    assert!(run.planes.budget().held() < 100_000, "{} bytes are kept", run.planes.budget().held());
    let from = position(&world.hub);
    for n in 0..20 {
        let status = json!({"conditions": [{"type": "Ready", "status": "True", "reason": format!("R{n}")}]});
        world.hub.patch_status("Instance", NS_B, "wd-0", &status).unwrap();
        let projected = || world.beta.get("Instance", SPACE, "wd-0").unwrap()["status"]["conditions"].clone();
        until("the status", || projected() == status["conditions"]).await;
    }
    let reads: Vec<_> =
        asked(&world.hub, from).into_iter().filter(|asked| asked.starts_with("get")).collect();
    assert_eq!(reads, Vec::<String>::new(), "another's events cost no reads");
    run.stop().await;
}
