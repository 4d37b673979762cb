//! An entitlement that is missing after a gap of the watch proves nothing, and an operator decides (I4, W9).

use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::ServiceState;
use fedhub_testing::{entitle, gap, withdraw};

use crate::planes::services::{World, active};
use crate::planes::support::{quiet, until};

/// The next list of entitlements is answered as if there were none.
fn lose(plane: &ApiServer) {
    plane.fault(Fault::EmptyList.on("list", "serviceentitlements").times(1));
}

#[tokio::test(start_paused = true)]
async fn i4_w9_one_list_without_the_entitlement_takes_nothing_away() {
    for restarts in [false, true] {
        let world = World::new();
        entitle(&world.alpha, &active());
        let mut run = world.run();
        until("the plane", || run.is_engaged()).await;
        quiet(10).await;
        if restarts {
            run.end().await;
            lose(&world.alpha);
            run = world.run();
            until("the plane", || run.is_engaged()).await;
        } else {
            lose(&world.alpha);
            gap(&world.alpha);
        }
        quiet(600).await;
        assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"), "restarts: {restarts}");
        assert!(run.is_held(), "an operator is told");
        gap(&world.alpha);
        quiet(10).await;
        assert!(!run.is_held(), "it was there all the time");
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i4_w9_an_entitlement_that_went_while_nobody_looked_on_is_withdrawn_by_an_operator() {
    for granted in [true, false] {
        let world = World::new();
        if granted {
            entitle(&world.alpha, &active());
        }
        let run = world.run();
        until("the plane", || run.is_engaged()).await;
        quiet(10).await;
        run.end().await;
        if granted {
            withdraw(&world.alpha);
        }
        let run = world.run();
        until("the plane", || run.is_engaged()).await;
        quiet(3600).await;
        assert_eq!((run.state(), run.is_held()), (ServiceState::Active, granted));
        assert_eq!(world.decide().await, granted, "what was never granted is not withdrawn");
        quiet(10).await;
        let expected = if granted { ServiceState::Withdrawn } else { ServiceState::Active };
        assert_eq!((run.state(), run.is_held()), (expected, false), "granted: {granted}");
        assert!(!world.decide().await, "it is withdrawn already");
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i4_w9_what_an_operator_withdraws_comes_back_with_its_entitlement() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    // By mistake: it is there.
    assert!(world.decide().await);
    quiet(10).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"));
    // By a list that was wrong.
    lose(&world.alpha);
    gap(&world.alpha);
    until("the plane", || run.is_held()).await;
    assert!(world.decide().await);
    until("the end", || run.state() == ServiceState::Withdrawn).await;
    gap(&world.alpha);
    until("the service", || run.state() == ServiceState::Active).await;
    quiet(10).await;
    assert_eq!(world.grant(), "granted");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_w9_a_deletion_counts_while_the_watch_that_showed_it_is_unbroken() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    withdraw(&world.alpha);
    quiet(20).await;
    assert!(!run.is_held(), "it may come back");
    gap(&world.alpha);
    quiet(3600).await;
    assert_eq!((run.state(), run.is_held()), (ServiceState::Active, true));
    run.end().await;
}
