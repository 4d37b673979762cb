//! Objects of every size: what is held of them is bounded, and one that is too large does not affect others
//! (I8).

use std::time::Duration;

use fedhub_core::object::{Kind, ObjectView};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::ConfidentialRead;
use fedhub_planes::DryRun;
use fedhub_planes::{Health, Pass, Plane};
use serde_json::{Value, json};

use crate::planes::support::*;

const MIB: usize = 1 << 20;

/// An Instance with so many bytes in its spec.
fn large(name: &str, bytes: usize) -> Value {
    let mut large = instance(name);
    large["spec"]["text"] = json!("x".repeat(bytes));
    large
}

/// How much too large the Instance of that name is that is kept; zero where it is not.
fn too_large(plane: &Plane, name: &str) -> Option<usize> {
    plane.store(Kind::Instance).object("n", name).map(|object| object.too_large().map_or(0, |t| t.size))
}

#[tokio::test(start_paused = true)]
async fn i8_an_object_over_the_limit_is_left_out_of_a_list_and_the_rest_is_listed() {
    let server = ApiServer::project_plane("alpha");
    for name in ["a", "c"] {
        server.put(instance(name)).unwrap();
    }
    server.put(large("b", 2 * MIB)).unwrap();
    let (planes, plane, _) = engaged(&server).await;
    let store = plane.store(Kind::Instance);
    assert_eq!((store.len(), plane.health()), (3, Health::Engaged));
    let read = plane.get_or_fetch(&Pass::unbound(), Kind::Instance, "n", "b").await.unwrap().unwrap();
    assert!(read.too_large().is_some_and(|t| t.size > 2 * MIB && t.limit == MIB), "{:?}", read.too_large());
    assert_eq!((read.name(), read.spec()), ("b", &Value::Null));
    assert!(store.digest("n", "b").unwrap().object_bytes() < 16 << 10);
    assert_eq!(count(&server, "list", "instances"), 1, "one page is enough");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_an_object_that_grows_over_the_limit_does_not_end_its_watch() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, plane, notes) = engaged(&server).await;
    notes.take();
    let watches = count(&server, "watch", "instances");
    server.patch("Instance", "n", "a", &json!({"spec": {"text": "x".repeat(3 * MIB)}})).unwrap();
    server.put(instance("b")).unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha +a", "alpha +b"]);
    assert!(too_large(&plane, "a").is_some_and(|size| size > 3 * MIB));
    server.patch("Instance", "n", "a", &json!({"spec": {"text": null}})).unwrap();
    quiet(1).await;
    assert_eq!(too_large(&plane, "a"), Some(0), "it is small again");
    server.put(large("c", 2 * MIB)).unwrap();
    server.delete("Instance", "n", "c").unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha +a", "alpha +c", "alpha -c"]);
    assert_eq!((count(&server, "list", "instances"), count(&server, "watch", "instances")), (1, watches));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_list_asks_for_smaller_pages_where_objects_are_large() {
    let server = ApiServer::project_plane("alpha");
    for n in 0..50 {
        server.put(large(&format!("a{n:02}"), 500_000)).unwrap();
    }
    server.put(large("a20x", 20 * MIB)).unwrap();
    let (planes, plane, notes) = engaged(&server).await;
    assert_eq!(plane.store(Kind::Instance).len(), 51);
    let delivered = notes.take();
    assert_eq!(delivered.len(), 52, "each is delivered once, however often its page was asked for");
    // One page that was given up after 16 MiB, then eight objects on each.
    let lists = count(&server, "list", "instances");
    assert!((7..=20).contains(&lists), "{lists} pages");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_what_is_kept_of_all_planes_together_is_bounded_in_bytes() {
    let servers: Vec<_> = ["alpha", "beta"].map(ApiServer::project_plane).into();
    let planes = registry(&ApiServer::hub("hub"));
    let planes_of: Vec<_> =
        servers.iter().map(|server| planes.engage(&plane_name(server.name()), client(server))).collect();
    until("both", || planes_of.iter().all(|plane| plane.synced())).await;
    for n in 0..160 {
        servers[0].put(large(&format!("a{n}"), 250_000)).unwrap();
    }
    quiet(1).await;
    servers[1].put(instance("b")).unwrap();
    quiet(1).await;
    assert_eq!(planes_of[0].store(Kind::Instance).len(), 160);
    assert!(planes.budget().held() <= 4 * MIB, "{}", planes.budget().held());
    assert!(planes_of[1].store(Kind::Instance).object("n", "b").is_some(), "there is room for another's");
    planes.disengage(&plane_name("alpha"));
    drop(planes_of);
    quiet(1).await;
    assert!(planes.budget().held() < MIB, "what left takes none");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_w6_requests_for_data_that_a_plane_does_not_answer_hold_up_no_other_plane() {
    let servers: Vec<_> = ["alpha", "beta"].map(ApiServer::project_plane).into();
    let planes = registry(&ApiServer::hub("hub"));
    let planes_of: Vec<_> =
        servers.iter().map(|server| planes.engage(&plane_name(server.name()), client(server))).collect();
    until("both", || planes_of.iter().all(|plane| plane.synced())).await;
    servers[0].fault(Fault::Hang.on("get", "secrets"));
    let hanging: Vec<_> = (0..20)
        .map(|n| {
            let alpha = planes_of[0].clone();
            tokio::spawn(async move {
                alpha.read_confidential(&Pass::unbound(), Kind::Secret, "n", &format!("s{n}")).await
            })
        })
        .collect();
    quiet(1).await;
    let metadata = json!({"namespace": "n", "name": "b"});
    let data = json!({"text": "x".repeat(MIB / 4)});
    let large = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    servers[1].put(large).unwrap();
    let pass = Pass::unbound();
    let read = planes_of[1].read_confidential(&pass, Kind::ConfigMap, "n", "b");
    let read = tokio::time::timeout(Duration::from_secs(1), read).await.expect("it has room");
    assert!(matches!(read, Ok(ConfidentialRead::Found(found)) if found.bytes(Kind::ConfigMap) > MIB / 4));
    for request in hanging {
        request.await.unwrap().unwrap_err();
    }
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_answers_to_reads_and_writes_are_cut_as_lists_are() {
    let server = ApiServer::project_plane("alpha");
    server.put(large("a", 2 * MIB)).unwrap();
    let (planes, plane, _) = engaged(&server).await;
    let read = plane.get_live(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap().unwrap();
    let written = plane
        .replace_status(&Pass::unbound(), Kind::Instance, &read, &json!({"s": 1}), "m", DryRun::No)
        .await
        .unwrap();
    assert_eq!((written.status(), written.too_large().is_some()), (&json!({"s": 1}), true));
    let patched = plane
        .patch_metadata(&Pass::unbound(), Kind::Instance, &written, json!({"annotations": {"a/b": "c"}}), "m")
        .await;
    assert!(patched.unwrap().too_large().is_some());
    assert_eq!(server.get("Instance", "n", "a").unwrap()["spec"]["text"].as_str().unwrap().len(), 2 * MIB);
    // On the hub, where no user can change it, it cannot be read at all, which is not the hub's fault.
    let hub = ApiServer::hub("hub");
    let planes_of_hub = registry(&hub);
    planes_of_hub.start();
    hub.put(large("a", 5 * MIB)).unwrap();
    let error = planes_of_hub.hub().get_live(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap_err();
    assert_eq!(error.category(), fedhub_core::errors::Category::Invalid, "{error:?}");
    planes.stop().await;
    planes_of_hub.stop().await;
}
