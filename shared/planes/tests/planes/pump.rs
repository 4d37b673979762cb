//! Pump and store over a simulated server: what a watch delivers is what is known, gaps are reported as gaps.

use fedhub_core::object::{Kind, ObjectView, PlaneId};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Pass, Plane, Planes};
use serde_json::json;

use crate::planes::support::*;

fn names(plane: &Plane) -> Vec<String> {
    plane.store(Kind::Instance).select(None, |o| Some(o.name.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn the_first_list_comes_in_pages_and_sync_is_told_after_all_of_it() {
    let server = ApiServer::project_plane("alpha");
    for n in 0..1201 {
        server.put(instance(&format!("i{n:04}"))).unwrap();
    }
    let (planes, plane, notes) = engaged(&server).await;
    assert_eq!(count(&server, "list", "instances"), 3, "pages of 500");
    let delivered = notes.take();
    assert_eq!(delivered.len(), 1202);
    assert_eq!(delivered.last().unwrap(), "alpha sync Instance");
    assert_eq!((plane.objects(), names(&plane).len()), (1201, 1201));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_once_and_known_before_they_are_told() {
    let server = ApiServer::project_plane("alpha");
    let (planes, plane, notes) = engaged(&server).await;
    notes.take();
    server.put(instance("a")).unwrap();
    server.put(instance("b")).unwrap();
    server.patch("Instance", "n", "a", &json!({"spec": {"a": 2}})).unwrap();
    server.delete("Instance", "n", "b").unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha +a", "alpha +b", "alpha +a", "alpha -b"]);
    assert_eq!(plane.store(Kind::Instance).object("n", "a").unwrap().spec()["a"], 2);
    assert!(plane.store(Kind::Instance).get("n", "b").is_none());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_goes_on_where_it_was_without_a_gap() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    server.put(instance("b")).unwrap();
    let (planes, _, notes) = engaged(&server).await;
    quiet(2).await;
    notes.take();
    server.break_watches();
    server.delete("Instance", "n", "a").unwrap();
    quiet(5).await;
    assert_eq!(notes.take(), ["alpha -a"], "a deletion while the watch was away is still a seen one");
    let id = server.fault(Fault::Disconnect.on("watch", "*"));
    quiet(60).await;
    server.delete("Instance", "n", "b").unwrap();
    server.clear_fault(id);
    quiet(60).await;
    let reason = "what failed meanwhile need not wait out its back-off";
    assert_eq!(notes.take(), ["alpha sync Instance", "alpha -b"], "{reason}");
    assert_eq!(count(&server, "list", "instances"), 1, "no new list");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_what_a_new_list_does_not_name_is_told_as_inferred() {
    let server = ApiServer::project_plane("alpha");
    for name in ["a", "b", "c"] {
        server.put(instance(name)).unwrap();
    }
    let (planes, plane, notes) = engaged(&server).await;
    notes.take();
    server.delete("Instance", "n", "b").unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha -b"]);
    // The watch hears nothing of this.
    let id = server.fault(Fault::Hang.on("watch", "*"));
    server.delete("Instance", "n", "a").unwrap();
    server.put(instance("d")).unwrap();
    server.compact();
    server.break_watches();
    server.clear_fault(id);
    quiet(60).await;
    assert_eq!(notes.take(), ["alpha +d", "alpha -a?", "alpha sync Instance"]);
    assert_eq!(names(&plane), ["c", "d"]);
    assert!(plane.synced(), "a new list is no loss of sync");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_410_in_place_of_a_watch_is_answered_by_a_new_list() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, plane, notes) = engaged(&server).await;
    notes.take();
    server.fault(Fault::Status(410).on("watch", "instances").times(1));
    server.break_watches();
    server.put(instance("b")).unwrap();
    until("b to be known", || plane.store(Kind::Instance).get("n", "b").is_some()).await;
    assert_eq!(count(&server, "list", "instances"), 2);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_lists_that_lead_to_no_watch_are_made_ever_more_rarely() {
    let server = ApiServer::project_plane("alpha");
    server.fault(Fault::Status(410).on("watch", "instances"));
    let planes = registry(&ApiServer::hub("hub"));
    planes.engage(&plane_name("alpha"), client(&server));
    quiet(600).await;
    let lists = count(&server, "list", "instances");
    assert!((15..=45).contains(&lists), "{lists} lists in ten minutes");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_garbled_watch_is_a_gap_and_ends_in_a_new_list() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, plane, _) = engaged(&server).await;
    server.fault(Fault::Garbage.on("watch", "instances").times(1));
    server.break_watches();
    until("a new list", || count(&server, "list", "instances") == 2).await;
    server.put(instance("b")).unwrap();
    until("b to be known", || names(&plane) == ["a", "b"]).await;
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_left_out_and_the_known_one_stands() {
    let server = ApiServer::project_plane("alpha");
    server.set_garbage_collection(false);
    server.put(instance("a")).unwrap();
    server.put(instance("b")).unwrap();
    let (planes, plane, notes) = engaged(&server).await;
    notes.take();
    let known = plane.store(Kind::Instance).get("n", "a").unwrap();
    let dropped = || planes.metrics().events_dropped.with_label_values(&["undecodable"]).get();
    // The server here does not mind these; the client's types do.
    let owners = json!([{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": "yes"}]);
    server.patch("Instance", "n", "a", &json!({"metadata": {"ownerReferences": owners}})).unwrap();
    let mut new = instance("new");
    new["metadata"]["creationTimestamp"] = json!("yesterday");
    server.put(new).unwrap();
    server.patch("Instance", "n", "b", &json!({"spec": {"a": 2}})).unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha +b"], "the watch goes on");
    assert_eq!(dropped(), 2);
    // Section 6: said where its users look, once for each version.
    let said = || {
        let events = server.list("events.events.k8s.io").into_iter();
        let mut of: Vec<_> = events
            .filter(|e| e["reason"] == "Undecodable")
            .map(|e| e["regarding"]["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        of.sort();
        of
    };
    assert_eq!(said(), ["a", "new"]);
    let stands = plane.store(Kind::Instance).get("n", "a").unwrap();
    assert_eq!(stands.digest, known.digest);
    assert!(plane.store(Kind::Instance).get("n", "new").is_none());

    // A list that names it does not make it absent either.
    server.compact();
    server.break_watches();
    until("a new list", || count(&server, "list", "instances") == 2).await;
    quiet(1).await;
    assert_eq!(names(&plane), ["a", "b"]);
    assert_eq!(said(), ["a", "new"], "it is not reported again");
    assert_eq!(notes.take(), ["alpha sync Instance"]);

    server.delete("Instance", "n", "a").unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha -a"], "its deletion is seen all the same");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restored_backup_is_believed_after_its_new_list() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let backup = server.snapshot();
    let (planes, plane, notes) = engaged(&server).await;
    server.patch("Instance", "n", "a", &json!({"spec": {"a": 2}})).unwrap();
    server.put(instance("b")).unwrap();
    quiet(1).await;
    notes.take();
    server.restore_bumped(&backup);
    until("a new list", || count(&server, "list", "instances") == 2).await;
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha +a", "alpha -b?", "alpha sync Instance"]);
    let known = plane.get_or_fetch(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap();
    assert_eq!(known.unwrap().spec()["a"], 1);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_record_and_another_seed_other_waits() {
    async fn once(seed: u64) -> (Vec<String>, Vec<String>) {
        let server = ApiServer::project_plane("alpha");
        let hub = ApiServer::hub("hub");
        let clock = fedhub_core::clock::Clock::from_tokio(hub.clock().now());
        let planes = Planes::new(client(&hub), metrics(), clock, seed);
        let notes = Notes::on(&planes);
        planes.start();
        planes.engage(&plane_name("alpha"), client(&server));
        let start = tokio::time::Instant::now();
        let mut times = Vec::new();
        for n in 0..20 {
            server.fault(Fault::Disconnect.on("watch", "*"));
            server.put(instance(&format!("i{n}"))).unwrap();
            quiet(20).await;
            server.clear_faults();
            let store = |p: &PlaneId| *p == project("alpha");
            let plane = planes.projects().into_iter().find(|p| store(&p.id)).unwrap();
            until("the change", || plane.store(Kind::Instance).get("n", &format!("i{n}")).is_some()).await;
            times.push(format!("{:?}", start.elapsed()));
        }
        planes.stop().await;
        times.extend(notes.take());
        (times, server.audit().iter().map(|e| format!("{} {} {}", e.verb, e.resource, e.code)).collect())
    }
    let first = once(1).await;
    assert_eq!(first, once(1).await);
    assert_ne!(first.0, once(2).await.0);
}
