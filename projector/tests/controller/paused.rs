//! Projections of a plane that an operator pauses and resumes (I12).

use fedhub_planes::{Health, Pauses};
use fedhub_testing::{HOME, follow_pauses, management_plane, set_paused};

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn i12_projections_of_a_paused_plane_wait_and_those_of_another_do_not() {
    let world = World::new();
    let management = management_plane();
    for name in ["wd-0", "wd-1"] {
        world.put_instance(NS_A, name);
    }
    let pauses = Pauses::stored(management.client(), HOME);
    let run = world.run_honouring(&pauses);
    let _followed = follow_pauses(&run.planes);
    until("the projections", || world.projection("wd-1").is_some()).await;
    quiet(10).await;
    let health = || run.planes.project(&plane_name("alpha")).unwrap().health();
    set_paused(&management, Some("alpha"), true).await;
    until("the pause", || health() == Health::Paused).await;
    let from = position(&world.alpha);
    world.hub.patch_status("Instance", NS_A, "wd-0", &status("False")).unwrap();
    world.hub.delete("Instance", NS_A, "wd-1").unwrap();
    world.put_instance(NS_A, "wd-2");
    world.put_instance(NS_B, "wd-0");
    until("the other plane's", || world.beta.get("Instance", SPACE, "wd-0").is_some()).await;
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    assert_eq!((run.failed("projector"), run.queue.depth(), run.objects("projector", "parked")), (0, 0, 0));

    set_paused(&management, Some("alpha"), false).await;
    until("all to be right", || {
        let ready = world.projection("wd-0").unwrap()["status"]["conditions"][0]["status"] == "False";
        ready && world.projection("wd-1").is_none() && world.projection("wd-2").is_some()
    })
    .await;
    run.stop().await;
}
