//! The health of planes, as their watches report it (section 2, I8).

use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault, Resource, resource};
use fedhub_planes::Health;
use tokio::time::Instant;

use crate::planes::support::*;

#[tokio::test(start_paused = true)]
async fn i8_a_server_that_hangs_costs_the_time_out_and_no_other_plane_anything() {
    let silent = ApiServer::project_plane("silent");
    let fine = ApiServer::project_plane("fine");
    silent.fault(Fault::Hang);
    fine.put(instance("a")).unwrap();
    let planes = registry(&ApiServer::hub("hub"));
    planes.start();
    let start = Instant::now();
    let bad = planes.engage(&plane_name("silent"), client(&silent));
    let good = planes.engage(&plane_name("fine"), client(&fine));
    until("the other to be in sync", || good.synced()).await;
    assert!(start.elapsed().as_millis() <= 20, "{:?}", start.elapsed());
    assert_eq!((bad.health(), good.health()), (Health::Engaging, Health::Engaged));
    until("the time-out", || bad.health() != Health::Engaging).await;
    assert!((HEADERS.as_secs()..=HEADERS.as_secs() + 1).contains(&start.elapsed().as_secs()));
    assert!(reason(&bad.health()).contains("no answer within 9s"), "{}", reason(&bad.health()));
    assert_eq!(
        planes.states(),
        [("engaging", 0), ("engaged", 1), ("unreachable", 1), ("suspended", 0), ("paused", 0)]
    );

    fine.put(instance("b")).unwrap();
    quiet(1).await;
    assert!(good.store(Kind::Instance).get("n", "b").is_some());
    silent.clear_faults();
    until("the recovery", || bad.health() == Health::Engaged).await;
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plane_without_the_crds_says_which_and_how_and_recovers() {
    let server = ApiServer::builder("alpha").resources(resource::base()).build();
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("the reason", || plane.health() != Health::Engaging).await;
    let words = reason(&plane.health());
    assert!(words.starts_with("workloaddeployments.compute.datumapis.com is not served there"), "{words}");
    assert!(words.contains("CRD is missing") && words.contains("fedhub crds | kubectl apply"), "{words}");
    assert!(planes.engaged(&plane_name("alpha")).is_none());

    let custom =
        |kind, plural| Resource::custom("compute.datumapis.com", "v1alpha", kind, plural).with_status();
    server.register(custom("WorkloadDeployment", "workloaddeployments"));
    quiet(60).await;
    let words = reason(&plane.health());
    assert!(words.starts_with("instances.compute.datumapis.com"), "{words}");
    server.register(custom("Instance", "instances"));
    until("the recovery", || plane.health() == Health::Engaged).await;
    assert!(planes.engaged(&plane_name("alpha")).is_some());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_what_was_refused() {
    let server = ApiServer::project_plane("alpha");
    server.fault(Fault::Status(403).on("list", "instances"));
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("the reason", || plane.health() != Health::Engaging).await;
    let words = reason(&plane.health());
    assert!(words.to_lowercase().contains("forbidden"), "{words}");
    assert!(words.contains("instances"), "{words}");
    let restarts = planes.metrics().watch_restarts.with_label_values(&["project", "forbidden"]).get();
    assert!(restarts >= 1);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_resumes_makes_the_plane_engaged_again_also_without_news() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    let id = server.fault(Fault::Disconnect.on("watch", "instances"));
    until("trouble", || plane.health() != Health::Engaged).await;
    quiet(300).await;
    assert_ne!(plane.health(), Health::Engaged);
    server.clear_fault(id);
    until("the recovery", || plane.health() == Health::Engaged).await;
    assert_eq!(count(&server, "list", "instances"), 1, "by the watch, not by a new list");

    server.fault(Fault::Hang.on("watch", "instances").times(6));
    server.break_watches();
    until("trouble", || plane.health() != Health::Engaged).await;
    until("the recovery", || plane.health() == Health::Engaged).await;
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_first_list_that_is_slow_is_not_taken_for_health() {
    let server = ApiServer::project_plane("alpha");
    server.fault(Fault::Status(500).on("list", "instances"));
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    for _ in 0..100 {
        quiet(7).await;
        assert_ne!(plane.health(), Health::Engaged);
    }
    assert!(!reason(&plane.health()).is_empty());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_silently_is_noticed() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    let id = server.fault(Fault::Hang.on("watch", "instances"));
    server.put(instance("a")).unwrap();
    quiet(280).await;
    assert_ne!(plane.health(), Health::Engaged, "the watch's own time is up, and no new one begins");
    server.clear_fault(id);
    until("the change", || plane.store(Kind::Instance).get("n", "a").is_some()).await;
    planes.stop().await;
}

/// What stands between may keep a watch open that nothing comes through any more.
#[tokio::test(start_paused = true)]
async fn i8_a_watch_that_is_mute_is_noticed_by_the_bookmarks_that_do_not_come() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    quiet(65).await;
    let id = server.fault(Fault::Hang.on("watch", "instances"));
    server.put(instance("a")).unwrap();
    quiet(165).await;
    assert_ne!(plane.health(), Health::Engaged, "another one was asked for, and does not begin");
    server.clear_fault(id);
    until("the change", || plane.store(Kind::Instance).get("n", "a").is_some()).await;
    planes.stop().await;
}
