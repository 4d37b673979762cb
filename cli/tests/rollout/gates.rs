//! `rollout approve`, `abort`, `retry`, `pause` and `resume` of a workload with a WorkloadRollout.

use std::time::Duration;

use fedhub_api::RolloutGate;
use fedhub_cli::exit::Exit;
use fedhub_cli::problem::Problem;
use fedhub_cli::rollout::WaitArgs;
use fedhub_cli::rollout::approve::{Refusal, plan};
use fedhub_cli::rollout::args::{AbortArgs, ApproveArgs, PauseArgs, ResumeArgs, RetryArgs};
use fedhub_cli::rollout::command::{RolloutArgs, RolloutCommand, run};
use fedhub_core::names::{APPROVED, ROLLOUT_PAUSED};
use fedhub_core::object::Object;
use fedhub_fake_apiserver::resource::Resource;
use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::{Value, json};

use crate::rollout::fixtures::*;

const NO_WAIT: WaitArgs = WaitArgs { no_wait: true, timeout: Duration::ZERO };

/// A rollout to revision 2 of a canary in Dallas, of Chicago and of the rest.
pub fn waves() -> Object {
    let wave = |name: &str, approval: &str, deployments: &[&str]| json!({"name": name, "approval": approval, "maxConcurrent": 1, "maxFailures": 0, "deployments": deployments});
    let city = |wave: &str, city: &str, state: &str, revision: u64| {
        json!({"city": city, "deployment": format!("web-us-{}", city.to_lowercase()), "wave": wave, "state": state,
            "revision": revision, "since": "2026-01-01T00:00:00Z"})
    };
    let spec = json!({"name": "spec-only", "approval": "Before"});
    let value = json!({
        "apiVersion": API, "kind": "WorkloadRollout",
        "metadata": {"namespace": SPACE, "name": NAME, "generation": 1},
        "spec": {"workloadRef": {"name": NAME}, "waves": [spec]},
        "status": {
            "observedGeneration": 1, "targetRevision": 2, "direction": "Forward",
            "plan": [
                wave("canary", "After", &["web-us-dfw"]), wave("ord", "Before", &["web-us-ord"]),
                wave("rest", "None", &["web-us-nrt"]),
            ],
            "cities": [
                city("canary", "DFW", "Complete", 2), city("ord", "ORD", "Waiting", 1), city("rest", "NRT", "Waiting", 1),
            ],
        },
    });
    serde_json::from_value(value).unwrap()
}

/// A server that has the kind.
pub fn serving() -> ApiServer {
    let server = server();
    let kind = Resource::custom("compute.datumapis.com", "v1alpha", "WorkloadRollout", "workloadrollouts");
    server.register(kind.with_status());
    server
}

fn on(rollout: &Object) -> ApiServer {
    let server = serving();
    World::done(&["DFW"], "web:1").put(&server);
    put(&server, rollout);
    server
}

fn stored(server: &ApiServer) -> Value {
    server.get("WorkloadRollout", SPACE, NAME).unwrap()
}

fn asked(server: &ApiServer) -> Value {
    let stored = stored(server);
    serde_json::from_str(stored["metadata"]["annotations"][APPROVED].as_str().unwrap_or("null")).unwrap()
}

async fn rollout(server: &ApiServer, command: RolloutCommand) -> Result<(), Problem> {
    let session = session(server);
    let args = RolloutArgs { command: Some(command), status: None };
    Box::pin(run(&session, &args)).await
}

fn approve(wave: &str) -> ApproveArgs {
    ApproveArgs { name: NAME.to_owned(), wave: wave.to_owned(), before: false, after: false }
}

fn abort(yes: bool) -> RolloutCommand {
    RolloutCommand::Abort(AbortArgs { name: NAME.to_owned(), yes })
}

fn retry() -> RolloutCommand {
    RolloutCommand::Retry(RetryArgs { name: NAME.to_owned(), wait: NO_WAIT })
}

fn pause() -> RolloutCommand {
    RolloutCommand::Pause(PauseArgs { name: NAME.to_owned() })
}

fn resume() -> RolloutCommand {
    RolloutCommand::Resume(ResumeArgs { name: NAME.to_owned(), wait: NO_WAIT })
}

#[test]
fn r5_what_cannot_be_approved_is_refused() {
    let plain = waves();
    let named = ["canary", "ord", "rest"].map(str::to_owned).to_vec();
    assert_eq!(plan(&plain, "spec-only", None), Err(Refusal::NoSuchWave(named)), "it is of the next rollout");
    assert_eq!(plan(&plain, "rest", None), Err(Refusal::NotRequired));
    let other = plan(&plain, "canary", Some(RolloutGate::Before));
    assert_eq!(other, Err(Refusal::OtherGate(RolloutGate::After)));
    let mut approved = waves();
    approved.data["status"]["approvals"] =
        json!([{"wave": "canary", "gate": "After", "by": "eve", "at": "2026-01-01T00:00:00Z"}]);
    assert_eq!(plan(&approved, "canary", None), Err(Refusal::Approved("eve".to_owned())));
    assert!(plan(&approved, "ord", None).is_ok());
    for entry in
        [json!({"wave": "ord", "gate": "Before"}), json!({"wave": "ord", "gate": "Before", "revision": 2})]
    {
        let mut asked = waves();
        let annotation = (APPROVED.to_owned(), json!([entry]).to_string());
        asked.metadata.annotations = Some([annotation].into());
        assert_eq!(plan(&asked, "ord", None), Err(Refusal::Asked), "{entry}");
    }
    // Where no rollout has started, the waves are those that are wanted.
    let mut fresh = waves();
    fresh.data["status"] = json!({});
    assert_eq!(
        plan(&fresh, "spec-only", None).unwrap().annotation,
        r#"[{"gate":"Before","wave":"spec-only"}]"#
    );
}

#[tokio::test]
async fn r5_an_approval_is_of_the_present_target_and_keeps_the_others_of_it() {
    let mut rollout_object = waves();
    let others = json!([{"wave": "ord", "gate": "Before", "by": "bob", "revision": 2}, {"wave": "canary", "gate": "After",
        "by": "eve", "revision": 1}]);
    rollout_object.metadata.annotations = Some([(APPROVED.to_owned(), others.to_string())].into());
    let server = on(&rollout_object);
    let before = stored(&server);
    rollout(&server, RolloutCommand::Approve(approve("canary"))).await.unwrap();
    let wanted = json!([others[0], {"wave": "canary", "gate": "After", "revision": 2}]);
    assert_eq!(asked(&server), wanted);
    assert_eq!((&stored(&server)["spec"], &stored(&server)["status"]), (&before["spec"], &before["status"]));
    let mark = server.mark();
    let again = rollout(&server, RolloutCommand::Approve(approve("canary"))).await.unwrap_err();
    assert_eq!(again.exit, Exit::Failed);
    assert!(again.sentence.contains("is stored already"), "{again:?}");
    assert!(server.writes_since(mark).is_empty());
}

#[tokio::test]
async fn r5_a_wave_is_approved_again_where_only_the_status_has_moved_and_only_so_often() {
    let server = on(&waves());
    let fault = server.fault(Fault::Status(409).on("patch", "workloadrollouts"));
    let refused = rollout(&server, RolloutCommand::Approve(approve("canary"))).await.unwrap_err();
    server.clear_fault(fault);
    assert!(refused.sentence.contains("changed by another client"), "{refused:?}");
    assert!(asked(&server).is_null());
}

#[tokio::test]
async fn a_workload_without_waves_is_told_from_one_that_is_not_there() {
    for server in [server(), serving()] {
        let missing = rollout(&server, RolloutCommand::Approve(approve("canary"))).await.unwrap_err();
        assert!(missing.sentence.starts_with("There is no workload \"web\""), "{missing:?}");
        World::done(&["DFW"], "web:1").put(&server);
        for command in [RolloutCommand::Approve(approve("canary")), abort(true), retry()] {
            let refused = rollout(&server, command).await.unwrap_err();
            assert!(refused.sentence.starts_with("\"web\" has no WorkloadRollout"), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn r8_an_abort_is_agreed_to_first_and_taken_back_by_a_retry() {
    let server = on(&waves());
    let mark = server.mark();
    let refused = rollout(&server, abort(false)).await.unwrap_err();
    assert_eq!((refused.exit, server.writes_since(mark).len()), (Exit::Usage, 0), "there is no terminal");
    rollout(&server, abort(true)).await.unwrap();
    assert_eq!(stored(&server)["spec"]["abort"], true);
    let mark = server.mark();
    rollout(&server, abort(false)).await.unwrap();
    assert!(server.writes_since(mark).is_empty(), "it is aborted already");
    rollout(&server, retry()).await.unwrap();
    assert!(stored(&server)["spec"]["abort"].is_null());
    let mark = server.mark();
    rollout(&server, retry()).await.unwrap();
    assert!(server.writes_since(mark).is_empty(), "nothing holds it");
}

#[tokio::test]
async fn r8_what_is_over_is_neither_aborted_nor_tried_again() {
    let mut complete = waves();
    say(&mut complete, of(1, condition("Complete", "True", "RolloutComplete", "")));
    let server = on(&complete);
    let refused = rollout(&server, abort(true)).await.unwrap_err();
    assert!(refused.sentence.contains("nothing to abort"), "{refused:?}");
    let mut back = waves();
    back.data["status"]["direction"] = json!("Back");
    let server = on(&back);
    let refused = rollout(&server, retry()).await.unwrap_err();
    assert!(refused.sentence.contains("a newer one is needed"), "{refused:?}");
    assert!(stored(&server)["spec"]["abort"].is_null());
}

#[tokio::test]
async fn r7_a_workload_with_waves_is_paused_in_its_workloadrollout() {
    let server = on(&waves());
    let annotation =
        || server.get("Workload", SPACE, NAME).unwrap()["metadata"]["annotations"][ROLLOUT_PAUSED].clone();
    rollout(&server, pause()).await.unwrap();
    assert_eq!((stored(&server)["spec"]["paused"].clone(), annotation()), (json!(true), Value::Null));
    let mark = server.mark();
    rollout(&server, pause()).await.unwrap();
    assert!(server.writes_since(mark).is_empty(), "it is paused already");
    // The workload is paused by its annotation, too.
    let paused = json!({"metadata": {"annotations": {ROLLOUT_PAUSED: "true"}}});
    server.patch("Workload", SPACE, NAME, &paused).unwrap();
    rollout(&server, resume()).await.unwrap();
    assert!(stored(&server)["spec"]["paused"].is_null() && annotation().is_null());
}

/// What may not be read is not known to be there: the annotation pauses a rollout over waves, too.
#[tokio::test]
async fn r7_without_a_right_to_the_workloadrollout_the_annotation_pauses() {
    let server = on(&waves());
    server.fault(Fault::Status(403).on("get", "workloadrollouts"));
    rollout(&server, pause()).await.unwrap();
    assert_eq!(
        server.get("Workload", SPACE, NAME).unwrap()["metadata"]["annotations"][ROLLOUT_PAUSED],
        "true"
    );
}
