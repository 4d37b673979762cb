//! Planes come and go, each with its own tasks and no other's (section 2).

use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::Health;

use crate::planes::support::*;

#[tokio::test(start_paused = true)]
async fn disengaging_ends_exactly_its_own_watches() {
    let a = ApiServer::project_plane("a");
    let b = ApiServer::project_plane("b");
    let planes = registry(&ApiServer::hub("hub"));
    let notes = Notes::on(&planes);
    planes.start();
    let first = planes.engage(&plane_name("a"), client(&a));
    let second = planes.engage(&plane_name("b"), client(&b));
    until("sync", || first.synced() && second.synced()).await;
    notes.take();
    planes.disengage(&plane_name("a"));
    assert_eq!(notes.take(), ["a left"]);
    assert!(first.stop.is_cancelled() && !second.stop.is_cancelled() && !planes.hub().stop.is_cancelled());
    assert!(planes.project(&plane_name("a")).is_none());
    let asked_a = a.audit().len();
    let asked_b = count(&b, "watch", "instances");
    a.put(instance("x")).unwrap();
    b.put(instance("y")).unwrap();
    quiet(600).await;
    assert_eq!(a.audit().len(), asked_a, "no request is sent to it any more");
    assert!(count(&b, "watch", "instances") > asked_b, "the other one's watches go on");
    assert_eq!(notes.take(), ["b +y"]);
    assert_eq!(count(&b, "list", "instances"), 1);

    planes.disengage(&plane_name("a"));
    assert!(notes.take().is_empty(), "a plane leaves once");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plane_engaged_again_under_its_name_replaces_the_old_one() {
    let old = ApiServer::project_plane("old");
    let new = ApiServer::project_plane("new");
    old.put(instance("x")).unwrap();
    new.put(instance("y")).unwrap();
    let planes = registry(&ApiServer::hub("hub"));
    let notes = Notes::on(&planes);
    let first = planes.engage(&plane_name("a"), client(&old));
    until("sync", || first.synced()).await;
    notes.take();
    let second = planes.engage(&plane_name("a"), client(&new));
    assert!(first.stop.is_cancelled());
    assert!(planes.engaged(&plane_name("a")).is_none(), "not before its own lists are complete");
    until("sync", || second.synced()).await;
    let asked = old.audit().len();
    old.put(instance("z")).unwrap();
    quiet(600).await;
    assert_eq!(old.audit().len(), asked);
    assert_eq!(notes.take(), ["a +y", "a sync Instance"], "nothing of the old one is reported as gone");
    let known = planes.engaged(&plane_name("a")).unwrap();
    assert!(known.store(Kind::Instance).get("n", "x").is_none());
    assert_eq!(planes.projects().len(), 1);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_engaging_waits_for_nobody() {
    let planes = registry(&ApiServer::hub("hub"));
    planes.start();
    let stuck: Vec<_> = (0..50)
        .map(|n| {
            let server = ApiServer::project_plane(&format!("stuck{n}"));
            server.fault(if n % 2 == 0 { Fault::Hang } else { Fault::Status(503) });
            planes.engage(&plane_name(&format!("stuck{n}")), client(&server))
        })
        .collect();
    let server = ApiServer::project_plane("fine");
    let fine = planes.engage(&plane_name("fine"), client(&server));
    until("sync", || fine.synced()).await;
    quiet(120).await;
    assert!(stuck.iter().all(|p| matches!(p.health(), Health::Unreachable(_))));
    assert_eq!(
        planes.states(),
        [("engaging", 0), ("engaged", 1), ("unreachable", 50), ("suspended", 0), ("paused", 0)]
    );
    tokio::time::timeout(HEADERS, planes.stop()).await.expect("stopping waits for no server");
}

#[tokio::test(start_paused = true)]
async fn refusals_are_news_once_and_end_with_the_engagement() {
    let planes = registry(&ApiServer::hub("hub"));
    assert!(planes.refuse("a", "broken", None));
    assert!(!planes.refuse("a", "broken", None));
    assert!(planes.refuse("a", "broken otherwise", None));
    assert_eq!(planes.states()[2], ("unreachable", 1));
    let server = ApiServer::project_plane("a");
    let plane = planes.engage(&plane_name("a"), client(&server));
    until("sync", || plane.synced()).await;
    assert_eq!(
        planes.states(),
        [("engaging", 0), ("engaged", 1), ("unreachable", 0), ("suspended", 0), ("paused", 0)]
    );
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_hub_recovers_by_itself() {
    let hub = ApiServer::hub("hub");
    hub.fault(Fault::Disconnect);
    let planes = registry(&hub);
    planes.start();
    quiet(120).await;
    assert!(matches!(planes.hub().health(), Health::Unreachable(_)));
    hub.clear_faults();
    until("the hub in sync", || planes.hub().synced()).await;
    assert_eq!(planes.hub().health(), Health::Engaged);
    planes.stop().await;
}
