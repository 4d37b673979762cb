//! Requests: preconditions, own writes known at once, pruned fields said once, dry runs in place of writes.

use std::sync::Arc;

use fedhub_cache::ObjectPart;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_fake_apiserver::{ApiServer, resource};
use fedhub_planes::{
    DryRun, Pass, Plane, PlaneWriter, Planes, Precondition, StatusWrite, Write, WriteMode, Written,
};
use fedhub_testing::normalized_instances;
use serde_json::{Value, json};

use crate::planes::support::*;

async fn engaged(server: &ApiServer) -> (Arc<Planes>, Arc<Plane>) {
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(server));
    until("alpha in sync", || plane.synced()).await;
    (planes, plane)
}

fn object(value: Value) -> Box<Object> {
    Box::new(serde_json::from_value(value).unwrap())
}

fn known(plane: &Plane, name: &str) -> Option<ObjectRef> {
    plane.store(Kind::Instance).object("n", name)
}

fn namespace(server: &ApiServer) {
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn own_writes_are_known_before_any_event() {
    let server = ApiServer::project_plane("alpha");
    namespace(&server);
    let (planes, plane) = engaged(&server).await;
    // From here on no watch says anything.
    server.fault(fedhub_fake_apiserver::Fault::Hang.on("watch", "*"));
    let made = plane.create(&Pass::unbound(), Kind::Instance, &object(instance("a")), "m").await.unwrap();
    assert_eq!(known(&plane, "a").unwrap().uid(), made.uid());
    let mut changed = made.as_ref().clone();
    changed.data["spec"]["a"] = json!(2);
    let replaced = plane.replace(&Pass::unbound(), Kind::Instance, &changed, "m", DryRun::No).await.unwrap();
    assert_eq!(known(&plane, "a").unwrap().version(), replaced.version());
    let reported = plane
        .replace_status(&Pass::unbound(), Kind::Instance, &replaced, &json!({"s": 1}), "m", DryRun::No)
        .await
        .unwrap();
    assert_eq!(known(&plane, "a").unwrap().status(), &json!({"s": 1}));
    let patched = plane
        .patch_metadata(
            &Pass::unbound(),
            Kind::Instance,
            &reported,
            json!({"annotations": {"a/b": "c"}}),
            "m",
        )
        .await
        .unwrap();
    assert_eq!(known(&plane, "a").unwrap().annotation("a/b"), Some("c"));
    assert_eq!(known(&plane, "a").unwrap().version(), patched.version());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_update_and_delete_carries_its_precondition() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, plane) = engaged(&server).await;
    let old = plane.get_or_fetch(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap().unwrap();
    server.patch("Instance", "n", "a", &json!({"spec": {"a": 3}})).unwrap();
    quiet(1).await;
    let code = |e: fedhub_core::errors::RequestError| e.code();
    let conflict = Some(Some(409));
    assert_eq!(
        plane.replace(&Pass::unbound(), Kind::Instance, &old, "m", DryRun::No).await.err().map(code),
        conflict
    );
    let status = json!({"s": 1});
    assert_eq!(
        plane
            .replace_status(&Pass::unbound(), Kind::Instance, &old, &status, "m", DryRun::No)
            .await
            .err()
            .map(code),
        conflict
    );
    let note = json!({"annotations": {"a/b": "c"}});
    assert_eq!(
        plane.patch_metadata(&Pass::unbound(), Kind::Instance, &old, note, "m").await.err().map(code),
        conflict
    );
    assert_eq!(
        plane
            .delete(&Pass::unbound(), Kind::Instance, &old, Precondition::UidAndVersion)
            .await
            .err()
            .map(code),
        conflict
    );
    let mut other = old.as_ref().clone();
    other.metadata.uid = Some("another".to_owned());
    assert_eq!(
        plane.delete(&Pass::unbound(), Kind::Instance, &other, Precondition::Uid).await.err().map(code),
        conflict
    );
    let stands = server.get("Instance", "n", "a").unwrap();
    assert_eq!(
        (&stands["spec"]["a"], &stands["status"]["s"]),
        (&json!(3), &json!(null)),
        "nothing is stored"
    );
    assert_eq!(stands["metadata"].get("annotations"), None);
    plane.delete(&Pass::unbound(), Kind::Instance, &old, Precondition::Uid).await.unwrap();
    plane
        .delete(&Pass::unbound(), Kind::Instance, &old, Precondition::Uid)
        .await
        .expect("gone already is no error");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_the_watch_hid_is_read_into_the_store() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    server.fault(fedhub_fake_apiserver::Fault::EmptyList.on("list", "instances").times(1));
    let (planes, plane) = engaged(&server).await;
    assert!(known(&plane, "a").is_none());
    assert!(plane.refresh(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap().is_some());
    assert!(known(&plane, "a").is_some());
    assert!(plane.refresh(&Pass::unbound(), Kind::Instance, "n", "absent").await.unwrap().is_none());
    planes.stop().await;
}

fn normalizing() -> ApiServer {
    let instances = normalized_instances(&[("spec", "runtime", "default")]);
    let server = ApiServer::builder("alpha").resources(resource::project_plane()).resource(instances).build();
    namespace(&server);
    server
}

#[tokio::test(start_paused = true)]
async fn i1_what_a_plane_does_not_keep_is_counted_once() {
    let server = normalizing();
    let (planes, plane) = engaged(&server).await;
    let pruned = || planes.metrics().fields_pruned.get();
    let writer =
        PlaneWriter { plane: &plane, pass: &Pass::unbound(), manager: "m", metrics: planes.metrics() };
    let mut sent = instance("a");
    sent["spec"]["unknown"] = json!({"x": 1});
    let made = writer.write(Kind::Instance, Write::Create(object(sent.clone()))).await;
    let made = made.unwrap().unwrap().stored().unwrap();
    assert_eq!((pruned(), made.spec()), (1, &json!({"a": 1, "runtime": "default"})));
    let echo = plane.store(Kind::Instance).normalization("n", "a", ObjectPart::Spec);
    assert!(fedhub_cache::normalization::settled(&sent["spec"], made.spec(), echo));

    let mut again = made.as_ref().clone();
    again.data["spec"] = sent["spec"].clone();
    again.metadata.labels = Some([("l".to_owned(), "v".to_owned())].into());
    let write = Write::Replace { object: Box::new(again), mode: WriteMode::Direct };
    let stored = writer.write(Kind::Instance, write).await.unwrap().unwrap().stored().unwrap();
    assert_eq!(pruned(), 1, "the same loss is not said twice");
    let status = StatusWrite { status: json!({"s": 1, "unknown": 2}), mode: WriteMode::Direct };
    writer.write_status(Kind::Instance, &stored, status).await.unwrap().unwrap();
    assert_eq!(pruned(), 2, "the status is another part");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_create_of_an_object_that_the_watch_has_not_shown_reads_it() {
    let server = ApiServer::project_plane("alpha");
    let (planes, plane) = engaged(&server).await;
    let writer =
        PlaneWriter { plane: &plane, pass: &Pass::unbound(), manager: "m", metrics: planes.metrics() };
    server.fault(fedhub_fake_apiserver::Fault::Hang.on("watch", "*"));
    server.put(instance("a")).unwrap();
    let written = writer.write(Kind::Instance, Write::Create(object(instance("a")))).await.unwrap().unwrap();
    let Written::Exists { object: found, conflict } = written else { panic!("{written:?}") };
    assert_eq!(conflict.category(), fedhub_core::errors::Category::Conflict);
    assert_eq!(known(&plane, "a").unwrap().uid(), found.uid(), "the store knows it now");

    // It goes between the create and the read: the create's answer stands.
    server.fault(fedhub_fake_apiserver::Fault::Status(409).on("create", "*"));
    let error = writer.write(Kind::Instance, Write::Create(object(instance("b")))).await.unwrap_err();
    assert_eq!(error.code(), Some(409));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_dry_run_takes_the_place_of_a_write_that_would_change_nothing() {
    let server = normalizing();
    let (planes, plane) = engaged(&server).await;
    let writer =
        PlaneWriter { plane: &plane, pass: &Pass::unbound(), manager: "m", metrics: planes.metrics() };
    let made = writer.write(Kind::Instance, Write::Create(object(instance("a")))).await;
    let made = made.unwrap().unwrap().stored().unwrap();
    let mark = server.mark();
    let replace = |change: &dyn Fn(&mut Object)| {
        let mut object = made.as_ref().clone();
        object.data["spec"] = json!({"a": 1, "unknown": 1});
        change(&mut object);
        Write::Replace { object: Box::new(object), mode: WriteMode::DryRunFirst }
    };
    assert!(writer.write(Kind::Instance, replace(&|_| ())).await.unwrap().is_none());
    let status = StatusWrite { status: json!({"unknown": 1}), mode: WriteMode::Direct };
    let reported = writer.write_status(Kind::Instance, &made, status.clone()).await.unwrap().unwrap();
    let again = StatusWrite { mode: WriteMode::DryRunFirst, ..status };
    assert!(writer.write_status(Kind::Instance, &reported, again).await.unwrap().is_none());
    assert_eq!(server.writes_since(mark).len(), 1, "the first status only");

    let changes: [&dyn Fn(&mut Object); 4] = [
        &|o| o.data["spec"]["a"] = json!(2),
        &|o| o.metadata.labels = Some([("l".to_owned(), "v".to_owned())].into()),
        &|o| o.metadata.annotations = Some([("l".to_owned(), "v".to_owned())].into()),
        &|o| o.metadata.resource_version.clone_from(&reported.metadata.resource_version),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let current = known(&plane, "a").unwrap();
        let Write::Replace { mut object, mode } = replace(change) else { panic!("a replace") };
        object.metadata.resource_version.clone_from(&current.metadata.resource_version);
        let written = writer.write(Kind::Instance, Write::Replace { object, mode }).await.unwrap();
        assert!(written.is_some(), "change {n} is a change to what stands");
    }
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plane_that_was_let_go_is_not_written_to_any_more() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, plane) = engaged(&server).await;
    let known = plane.get_or_fetch(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap().unwrap();
    // One write is in flight when the plane is disengaged, as in a connection that has no room for it yet.
    server.fault(fedhub_fake_apiserver::Fault::Hang.on("patch", "*"));
    let patch = {
        let plane = plane.clone();
        let known = known.clone();
        let note = json!({"annotations": {"a/b": "c"}});
        tokio::spawn(async move {
            plane.patch_metadata(&Pass::unbound(), Kind::Instance, &known, note, "m").await
        })
    };
    quiet(1).await;
    planes.disengage(&plane_name("alpha"));
    let mark = server.mark();
    let refused = |answer: Result<ObjectRef, fedhub_core::errors::RequestError>| {
        assert_eq!(answer.unwrap_err().category(), fedhub_core::errors::Category::NotEngaged);
    };
    refused(patch.await.unwrap());
    server.clear_faults();
    let note = json!({"annotations": {"a/b": "c"}});
    refused(plane.patch_metadata(&Pass::unbound(), Kind::Instance, &known, note, "m").await);
    refused(plane.create(&Pass::unbound(), Kind::Instance, &object(instance("b")), "m").await);
    refused(plane.replace(&Pass::unbound(), Kind::Instance, &known, "m", DryRun::No).await);
    refused(
        plane
            .replace_status(&Pass::unbound(), Kind::Instance, &known, &json!({"s": 1}), "m", DryRun::No)
            .await,
    );
    let deleted =
        plane.delete(&Pass::unbound(), Kind::Instance, &known, Precondition::Uid).await.unwrap_err();
    assert_eq!(deleted.category(), fedhub_core::errors::Category::NotEngaged);
    assert!(server.writes_since(mark).is_empty());
    assert!(
        plane.get_live(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap().is_some(),
        "it may still be read"
    );
    planes.stop().await;
}
