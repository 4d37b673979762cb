//! Undo restores a template as it was recorded, or leaves everything as it is.

use std::time::Duration;

use fedhub_api::facts::workload::template_hash;
use fedhub_cli::rollout::WaitArgs;
use fedhub_cli::rollout::args::UndoArgs;
use fedhub_cli::rollout::refusal::Refusal;
use fedhub_cli::rollout::revision::revisions;
use fedhub_cli::rollout::undo::{self, Undo, apply, plan};
use fedhub_core::object::{Object, ObjectView};
use fedhub_fake_apiserver::{ApiServer, Fault};
use kube::Api;
use serde_json::{Value, json};

use crate::rollout::fixtures::*;

fn decided(workload: &Object, entries: &[(u64, Value)], to: u64) -> Result<Undo, Refusal> {
    plan(workload, &revisions(&history(entries)), to)
}

fn entries() -> Vec<(u64, Value)> {
    (1..=3).map(|revision| (revision, entry(revision, &template(&format!("web:{revision}"))))).collect()
}

#[test]
fn w10_it_goes_to_the_revision_that_is_named_or_to_the_one_before() {
    let now = recorded(workload(&["DFW"], "web:3"), 3);
    for (to, expected) in [(0, 2), (1, 1), (2, 2)] {
        let undo = decided(&now, &entries(), to).unwrap();
        assert_eq!((undo.revision, &undo.template), (expected, &template(&format!("web:{expected}"))));
        let changes: Vec<_> = undo.changes.iter().map(fedhub_cli::changes::Change::line).collect();
        let line = format!(
            "~ spec.template.spec.runtime.sandbox.containers[app].image: \"web:3\" -> \"web:{expected}\""
        );
        assert_eq!(changes, [line]);
    }
    // What the one before has is what there is: the one before that.
    let mut same = entries();
    same[1].1 = entry(2, &template("web:3"));
    assert_eq!(decided(&now, &same, 0).unwrap().revision, 1);
}

#[tokio::test]
async fn w10_what_is_stale_or_lost_is_refused() {
    let now = || recorded(workload(&["DFW"], "web:3"), 3);
    let mut unrecorded = now();
    unrecorded.data["spec"]["template"] = template("web:4");
    let mut large = entries();
    let mut damaged = entries();
    large[0].1["spec"] = json!("");
    damaged[0].1["spec"] = json!(json!({"template": template("evil")}).to_string());
    let first = recorded(workload(&["DFW"], "web:1"), 1);
    for (workload, entries, to, expected) in [
        (now(), Vec::new(), 0, Refusal::NoHistory),
        (unrecorded.clone(), entries(), 0, Refusal::NotRecorded),
        (unrecorded, entries(), 1, Refusal::NotRecorded),
        (first, entries(), 0, Refusal::NoneBefore),
        (now(), entries(), 7, Refusal::NoSuchRevision(7, vec![1, 2, 3])),
        (now(), large, 1, Refusal::NotKept(1)),
        (now(), damaged, 1, Refusal::Damaged(1)),
    ] {
        let refused = decided(&workload, &entries, to).unwrap_err();
        assert_eq!(refused, expected, "{to}");
        let text = refused.problem(&session(&server()), NAME).text(false);
        assert!(text.starts_with("Error: ") && text.lines().count() == 2, "{text}");
    }
}

#[tokio::test]
async fn w10_the_present_template_is_no_fault_and_is_not_written() {
    let server = at_three();
    let mark = server.mark();
    let wait = WaitArgs { no_wait: true, timeout: Duration::ZERO };
    let args = UndoArgs { name: NAME.to_owned(), to_revision: 3, dry_run: false, wait };
    undo::run(&session(&server), &args).await.unwrap();
    assert!(server.writes_since(mark).is_empty());
}

/// What stands on the server.
async fn stored(server: &ApiServer) -> Object {
    let api: Api<Object> =
        Api::namespaced_with(server.client(), SPACE, fedhub_core::object::Kind::Workload.resource());
    api.get(NAME).await.unwrap()
}

/// A template with what a merge or a typed object would lose: nulls, unknown fields, an empty list, other
/// numbers.
fn odd() -> Value {
    let mut odd = template("web:1");
    odd["spec"]["unknown"] = json!({"b": [], "a": {"empty": {}}, "n": 1.5, "big": 9_007_199_254_740_993_i64});
    odd["metadata"] = json!({"labels": {"a": "ü\"\\\n"}});
    odd["spec"]["runtime"]["sandbox"]["containers"][0].as_object_mut().unwrap().remove("env");
    odd
}

#[tokio::test]
async fn w10_the_template_is_restored_byte_for_byte_and_nothing_else_is_touched() {
    let server = server();
    let mut present = template("web:2");
    present["spec"]["added"] = json!({"later": true});
    let mut world = World::done(&["DFW"], "web:2");
    world.workload.data["spec"]["template"] = present.clone();
    put(&server, &recorded(world.workload, 2));
    let workload = stored(&server).await;
    let undo = decided(&workload, &[(1, entry(1, &odd())), (2, entry(2, &present))], 0).unwrap();
    let after = apply(&session(&server), &workload, &undo).await.unwrap();
    assert_eq!(after.spec()["template"].to_string(), odd().to_string());
    assert_eq!(template_hash(&after.spec()["template"]), template_hash(&odd()));
    assert_eq!(after.spec()["placements"], workload.spec()["placements"]);
    assert_eq!(
        (&after.metadata.annotations, after.status()),
        (&workload.metadata.annotations, workload.status())
    );
}

/// A server with the workload at revision 3 of [`entries`].
fn at_three() -> ApiServer {
    let server = server();
    put(&server, &history(&entries()));
    put(&server, &recorded(World::done(&["DFW"], "web:3").workload, 3));
    server
}

#[tokio::test]
async fn w10_a_workload_whose_template_is_changed_at_the_same_time_is_left_alone() {
    let other: fn(&ApiServer) = |server| {
        server.patch("Workload", SPACE, NAME, &json!({"spec": {"template": template("web:9")}})).unwrap();
    };
    // The same template, of another workload by that name.
    let anew: fn(&ApiServer) = |server| {
        let mut workload = recorded(workload(&["DFW"], "web:3"), 3);
        workload.metadata.uid = Some("uid-of-another".to_owned());
        server.delete("Workload", SPACE, NAME).unwrap();
        put(server, &workload);
    };
    // The same template, and nothing says any more that it is recorded.
    let unrecorded: fn(&ApiServer) = |server| {
        let annotations = json!({"metadata": {"annotations": null}});
        server.patch("Workload", SPACE, NAME, &annotations).unwrap();
    };
    for (what, change) in [("template", other), ("UID", anew), ("record", unrecorded)] {
        let server = at_three();
        let workload = stored(&server).await;
        let undo = decided(&workload, &entries(), 1).unwrap();
        change(&server);
        let before = stored(&server).await;
        let refused = apply(&session(&server), &workload, &undo).await.unwrap_err();
        let sentence = "\"web\" was changed by another writer meanwhile: nothing was undone.";
        assert_eq!(refused.sentence, sentence, "{what}");
        assert_eq!(stored(&server).await, before, "{what}");
    }
}

#[tokio::test]
async fn w10_writes_of_the_status_and_of_metadata_do_not_keep_it_from_being_undone() {
    let server = at_three();
    let workload = stored(&server).await;
    let undo = decided(&workload, &entries(), 1).unwrap();
    server.patch("Workload", SPACE, NAME, &json!({"metadata": {"labels": {"mine": "1"}}})).unwrap();
    server.patch_status("Workload", SPACE, NAME, &json!({"readyReplicas": 1})).unwrap();
    server.fault(Fault::Status(409).on("patch", "workloads").times(2));
    let undone = apply(&session(&server), &workload, &undo).await.unwrap();
    assert_eq!(undone.spec()["template"], template("web:1"));
    assert_eq!((undone.label("mine"), &undone.status()["readyReplicas"]), (Some("1"), &json!(1)));
    // For ever, it is given up.
    let server = at_three();
    server.fault(Fault::Status(409).on("patch", "workloads"));
    let workload = stored(&server).await;
    let undo = decided(&workload, &entries(), 1).unwrap();
    let refused = apply(&session(&server), &workload, &undo).await.unwrap_err();
    assert!(refused.sentence.contains("nothing was undone"), "{refused:?}");
}
