//! What is watched on a project plane, and when.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::referenced_data::support::{SPACE, World, quiet, until};

fn lists(world: &World, resource: &str) -> usize {
    world.alpha.audit().iter().filter(|entry| entry.verb == "list" && entry.resource == resource).count()
}

#[tokio::test(start_paused = true)]
async fn w6_a_plane_whose_wds_refer_to_nothing_pays_nothing() {
    let world = World::new();
    world.put_wd("web", &json!([]));
    world.put_source("ConfigMap", "app", &json!({"mode": "on"}));
    let run = world.run();
    quiet(600).await;
    assert_eq!((lists(&world, "configmaps"), lists(&world, "secrets")), (0, 0));
    world.edit_wd("web", &json!([{"configMap": {"name": "app"}}]));
    until("the data", || world.is_ready("web")).await;
    assert_eq!((lists(&world, "configmaps"), lists(&world, "secrets")), (1, 0));
    // No WD refers to any: the watch ends, and its objects are dropped.
    world.edit_wd("web", &json!([]));
    world.roll_out("web").await;
    until("the companion to go", || world.companion("ConfigMap", "app").is_none()).await;
    quiet(5).await;
    let alpha = run.planes.engaged(&crate::referenced_data::support::plane_name("alpha")).unwrap();
    assert_eq!(alpha.store(fedhub_core::object::Kind::ConfigMap).len(), 0);
    let watches = world.alpha.mark();
    world.alpha.break_watches();
    quiet(600).await;
    let again = world.alpha.requests_since(watches);
    assert!(again.iter().all(|entry| entry.resource != "configmaps"), "{again:?}");
    world.edit_wd("web", &json!([{"configMap": {"name": "app"}}]));
    until("the data", || world.is_ready("web")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w6_no_content_is_kept_of_what_is_watched() {
    let world = World::with_web();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"k": "Y2FuYXJ5"}, "metadata": {
        "namespace": SPACE, "name": "other",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "Y2FuYXJ5"}}});
    world.alpha.put(secret).unwrap();
    let run = world.ready().await;
    let kind = fedhub_core::object::Kind::Secret;
    let alpha = run.planes.engaged(&crate::referenced_data::support::plane_name("alpha")).unwrap();
    for (plane, namespace) in [(&alpha, SPACE.to_owned()), (run.planes.hub(), world.hub_space())] {
        for name in ["db", "other"] {
            let kept = plane.store(kind).get(&namespace, name).map(|known| format!("{known:?}"));
            assert!(!kept.unwrap_or_default().contains("Y2FuYXJ5"), "{name} on {}", plane.id);
        }
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_watch_that_fails_holds_up_nothing_else() {
    let world = World::with_web();
    world.put_wd("plain", &json!([]));
    let id = world.alpha.fault(Fault::Status(503).on("list", "secrets"));
    let run = world.run();
    until("the other WD", || world.hub.get("WorkloadDeployment", &world.hub_space(), "plain").is_some())
        .await;
    until("this one too", || world.hub.get("WorkloadDeployment", &world.hub_space(), "web").is_some()).await;
    assert!(world.expected("web").is_null());
    world.alpha.clear_fault(id);
    until("the data", || world.is_ready("web")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_what_is_known_by_its_digest_takes_no_room_from_other_planes() {
    let world = World::with_web();
    let run = world.ready().await;
    let before = run.planes.budget().held();
    for n in 0..200 {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {},
            "metadata": {"namespace": SPACE, "name": format!("other-{n}")}});
        object["metadata"]["annotations"] = json!({"example.com/note": "x".repeat(10_000)});
        world.alpha.put(object).unwrap();
    }
    world.alpha.patch("Secret", SPACE, "db", &json!({"data": {"password": "YQ=="}})).unwrap();
    quiet(5).await;
    let alpha = run.planes.engaged(&crate::referenced_data::support::plane_name("alpha")).unwrap();
    assert_eq!(alpha.store(fedhub_core::object::Kind::ConfigMap).len(), 201);
    assert!(run.planes.budget().held() <= before, "{} and {before}", run.planes.budget().held());
    for (plane, namespace) in [(&alpha, SPACE.to_owned()), (run.planes.hub(), world.hub_space())] {
        let kept = plane.store(fedhub_core::object::Kind::Secret).object(&namespace, "db");
        assert!(kept.is_none(), "on {}", plane.id);
    }
    run.stop().await;
}
