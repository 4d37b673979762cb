//! Events by the group that a plane serves (F10).

use fedhub_api::reason::{AnyReason, Reason};
use fedhub_fake_apiserver::{ApiServer, Fault, resource};
use fedhub_planes::events::{EventType, Events, ObjectReference};
use serde_json::{Value, json};

use crate::planes::support::*;

/// A root server: it serves no `events.k8s.io`.
fn root() -> ApiServer {
    let resources = resource::base().into_iter().filter(|resource| resource.group != "events.k8s.io");
    ApiServer::builder("root").resources(resources).build()
}

fn about(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("resourcemanager.miloapis.com/v1alpha1".to_owned()),
        kind: Some("Project".to_owned()),
        name: Some(name.to_owned()),
        uid: Some(format!("uid-{name}")),
        ..ObjectReference::default()
    }
}

async fn say(events: &Events, name: &str, reason: &str) {
    events.say(&about(name), EventType::Warning, AnyReason::parse(reason), format!("{reason}: a note")).await;
}

/// Each by what it is about, its reason, its note, and how often it was said.
fn core(server: &ApiServer) -> Vec<[Value; 4]> {
    let events = server.list("Event").into_iter().filter(|event| event["apiVersion"] == "v1");
    let recorded =
        events.map(|e| ["/involvedObject/name", "/reason", "/message", "/count"].map(|at| value(&e, at)));
    recorded.collect()
}

fn value(event: &Value, at: &str) -> Value {
    event.pointer(at).cloned().unwrap_or_default()
}

/// Requests for Events of either group: `events.k8s.io`, core.
fn asked(server: &ApiServer) -> (usize, usize) {
    let audit = server.audit();
    // Where the group is not served, the path stands for the resource.
    let named = audit.iter().filter(|e| format!("{}/{}", e.group, e.resource).contains("events.k8s.io"));
    let core = audit.iter().filter(|e| e.group.is_empty() && e.resource == "events");
    (named.count(), core.count())
}

#[tokio::test(start_paused = true)]
async fn f10_where_events_k8s_io_is_not_served_events_are_of_the_core_group() {
    let server = root();
    let events = Events::new(client(&server), "fedhub");
    say(&events, "a", "PlaneRefused").await;
    let refused = |name: &str, count: u32| {
        [json!(name), json!("PlaneRefused"), json!("PlaneRefused: a note"), json!(count)]
    };
    assert_eq!(core(&server), [refused("a", 1)]);
    let stored = &server.list("Event")[0];
    assert_eq!(value(stored, "/metadata/namespace"), "default");
    assert_eq!(value(stored, "/type"), "Warning");
    assert_eq!(value(stored, "/involvedObject/kind"), "Project");
    assert_eq!(value(stored, "/source/component"), "fedhub");
    // The group is not asked for again with each, and one Event counts all of one object and reason.
    say(&events.clone(), "b", "PlaneRefused").await;
    say(&events, "a", "PlaneRefused").await;
    assert_eq!(core(&server), [refused("a", 2), refused("b", 1)]);
    assert_eq!(asked(&server), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn f10_one_event_counts_all_of_an_object_and_a_reason() {
    let server = ApiServer::management("m");
    let events = Events::new(client(&server), "fedhub");
    for _ in 0..3 {
        say(&events, "a", "PlaneRefused").await;
        say(&events, "b", "PlaneRefused").await;
    }
    events.say(&about("a"), EventType::Normal, Reason::PlaneRefused, "of another type".to_owned()).await;
    let recorded = || {
        let events = server.list("events.events.k8s.io").into_iter();
        events
            .map(|e| ["/regarding/name", "/type", "/series/count"].map(|at| value(&e, at)))
            .collect::<Vec<_>>()
    };
    let expected = [
        [json!("a"), json!("Warning"), json!(3)],
        [json!("a"), json!("Normal"), Value::Null],
        [json!("b"), json!("Warning"), json!(3)],
    ];
    let mut now = recorded();
    let mut all = expected.to_vec();
    now.sort_by_key(|recorded| json!(recorded).to_string());
    all.sort_by_key(|recorded| json!(recorded).to_string());
    assert_eq!(now, all);
    quiet(3600).await;
    say(&events, "b", "PlaneRefused").await;
    assert_eq!(recorded().len(), 4, "of that time it is another");
}

#[tokio::test(start_paused = true)]
async fn f10_a_group_that_is_served_after_a_while_is_used_then() {
    let server = root();
    let events = Events::new(client(&server), "fedhub");
    say(&events, "a", "PlaneRefused").await;
    let group = resource::base().into_iter().find(|resource| resource.group == "events.k8s.io").unwrap();
    server.register(group);
    say(&events, "b", "PlaneRefused").await;
    assert_eq!((core(&server).len(), server.list("events.events.k8s.io").len()), (2, 0));
    quiet(3600).await;
    say(&events, "c", "PlaneRefused").await;
    assert_eq!((core(&server).len(), server.list("events.events.k8s.io").len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn f10_only_a_404_of_the_group_makes_events_those_of_the_core_group() {
    let server = ApiServer::management("m");
    let events = Events::new(client(&server), "fedhub");
    for fault in [Fault::Status(403), Fault::Status(500), Fault::Disconnect] {
        let id = server.fault(fault);
        say(&events, "a", "PlaneRefused").await;
        server.clear_fault(id);
    }
    let lost = ObjectReference { namespace: Some("lost".to_owned()), ..about("a") };
    events.say(&lost, EventType::Warning, Reason::PlaneRefused, "its namespace is missing".to_owned()).await;
    assert_eq!(asked(&server).1, 0, "{:?}", server.audit());
    say(&events, "a", "PlaneRefused").await;
    assert_eq!((core(&server).len(), server.list("events.events.k8s.io").len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn f10_an_event_that_the_server_has_dropped_is_written_anew() {
    let server = root();
    let events = Events::new(client(&server), "fedhub");
    say(&events, "a", "PlaneRefused").await;
    let name = value(&server.list("Event")[0], "/metadata/name");
    server.delete("Event", "default", name.as_str().unwrap()).unwrap();
    say(&events, "a", "PlaneRefused").await;
    assert_eq!(core(&server).len(), 1);
}
