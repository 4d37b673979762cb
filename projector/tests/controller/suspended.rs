//! Projections of a project that is suspended and resumed (section 2).

use fedhub_fake_apiserver::Fault;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn projections_of_a_suspended_project_wait_in_silence() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.put_instance(NS_A, "wd-1");
    let run = world.run();
    until("the projections", || world.projection("wd-1").is_some()).await;
    quiet(10).await;
    let from = position(&world.alpha);
    for verb in ["create", "update", "patch", "delete"] {
        world.alpha.fault(Fault::Status(403).on(verb, "*"));
    }
    run.planes.suspend(&plane_name("alpha"), true);
    world.hub.patch_status("Instance", NS_A, "wd-0", &status("False")).unwrap();
    world.hub.delete("Instance", NS_A, "wd-1").unwrap();
    world.put_instance(NS_A, "wd-2");
    world.put_instance(NS_B, "wd-0");
    until("the other plane's", || world.beta.get("Instance", SPACE, "wd-0").is_some()).await;
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    let failed = |outcome| run.metrics.reconciles.with_label_values(&["projector", outcome]).get();
    assert_eq!([failed("failed"), failed("forbidden"), failed("bug")], [0; 3]);
    assert_eq!((run.queue.depth(), run.objects("projector", "parked")), (0, 0));

    world.alpha.clear_faults();
    run.planes.suspend(&plane_name("alpha"), false);
    until("all to be right", || {
        let ready = world.projection("wd-0").unwrap()["status"]["conditions"][0]["status"] == "False";
        ready && world.projection("wd-1").is_none() && world.projection("wd-2").is_some()
    })
    .await;
    run.stop().await;
}
