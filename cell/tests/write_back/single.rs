//! A cell that is its own hub: its Instances are their own copies (C7).

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn c7_where_the_cell_is_the_hub_an_instance_is_its_own_copy() {
    let world = World::new();
    put_kube_system(&world.hub);
    for name in ["wd-0", "wd-1"] {
        put_instance(&world.hub, NS_A, name, "DFW");
    }
    let before = world.copy("wd-0").unwrap();
    let run = world.run_cell(&world.hub, "dfw", "DFW", 20);
    let from = position(&world.hub);
    quiet(60).await;
    // Its owner is the WD of the cell, which is that of the hub; nothing has to be said of where it is from.
    assert!(writes(&world.hub, from).is_empty());
    assert_eq!(world.copy("wd-0"), Some(before));

    world.hub.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert_eq!(world.copy("wd-0"), None, "nothing else has to go first");
    assert_eq!(run.failed("write_back"), 0);
    assert!(writes(&world.hub, from).is_empty());
    run.stop().await;
}
