//! `rollout pause` and `rollout resume`, and what the other commands say of a paused rollout.

use std::time::Duration;

use fedhub_api::reason::Reason;
use fedhub_cli::exit::Exit;
use fedhub_cli::model::absent;
use fedhub_cli::restart;
use fedhub_cli::rollout::args::{PauseArgs, ResumeArgs, UndoArgs};
use fedhub_cli::rollout::command::{RolloutArgs, RolloutCommand, run};
use fedhub_cli::rollout::judge::{Phase, Verdict};
use fedhub_cli::rollout::wait::Outcome;
use fedhub_cli::rollout::{StatusArgs, WaitArgs, conclude, paused};
use fedhub_cli::scale::{self, args::ScaleArgs};
use fedhub_core::names::{RESTARTED_AT, ROLLOUT_PAUSED};
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::rollout::fixtures::*;
use crate::rollout::waiting::{Record, of as wait_for, status, waited};
use crate::rollout::{restarts, scaling};

const HELD: &str = "The rollout is paused, which holds back a new template in \"DFW\"";

fn paused(mut world: World, status: &str, message: &str) -> World {
    let annotations = world.workload.metadata.annotations.get_or_insert_default();
    annotations.insert(ROLLOUT_PAUSED.to_owned(), "true".to_owned());
    let generation = world.workload.metadata.generation.unwrap();
    say(
        &mut world.workload,
        of(generation, condition("Progressing", status, Reason::RolloutPaused.as_str(), message)),
    );
    world
}

/// A rollout that is done, and paused.
fn settled() -> World {
    let message = "The rollout is paused. All instances are on the newest template";
    paused(World::done(&["DFW"], "web:1"), "False", message)
}

/// A paused rollout, with a template that the city has not.
pub fn held() -> World {
    let mut world = World::done(&["DFW"], "web:1");
    world.workload.data["spec"]["template"] = template("web:2");
    paused(world, "Unknown", HELD)
}

fn annotation(server: &ApiServer) -> Value {
    server.get("Workload", SPACE, NAME).unwrap()["metadata"]["annotations"][ROLLOUT_PAUSED].clone()
}

fn on(world: &World) -> ApiServer {
    let server = server();
    world.put(&server);
    server
}

async fn rollout(server: &ApiServer, command: RolloutCommand) -> Result<(), fedhub_cli::problem::Problem> {
    let session = session(server);
    let args = RolloutArgs { command: Some(command), status: None };
    Box::pin(run(&session, &args)).await
}

fn pause_command() -> RolloutCommand {
    RolloutCommand::Pause(PauseArgs { name: NAME.to_owned() })
}

fn resume_command(wait: WaitArgs) -> RolloutCommand {
    RolloutCommand::Resume(ResumeArgs { name: NAME.to_owned(), wait })
}

fn status_command(watch: bool) -> RolloutCommand {
    RolloutCommand::Status(StatusArgs { name: NAME.to_owned(), watch, timeout: Duration::from_mins(1) })
}

const NO_WAIT: WaitArgs = WaitArgs { no_wait: true, timeout: Duration::ZERO };
const WAIT: WaitArgs = WaitArgs { no_wait: false, timeout: Duration::from_mins(1) };

#[test]
fn a_paused_rollout_is_judged_by_what_it_holds_back() {
    assert_eq!(settled().judge().verdict, Verdict::Done, "nothing is held back");
    assert_eq!(held().judge().verdict, Verdict::Paused);
    assert_eq!(held().row("DFW").phase, Phase::Paused);
    // A city that is new, one whose instances are on their way, and one that is blocked.
    let mut world = held();
    world.workload.data["spec"]["placements"][0]["cityCodes"] = json!(["DFW", "ORD"]);
    world.deployments[0].data["status"]["readyReplicas"] = json!(1);
    assert_eq!([world.row("DFW").phase, world.row("ORD").phase], [Phase::Updating, Phase::Paused]);
    assert_eq!(world.judge().verdict, Verdict::Paused);
    // A field that only one side has, and a restart, are held back, too.
    for change in ["env", "restart"] {
        let mut world = paused(World::done(&["DFW"], "web:1"), "Unknown", HELD);
        let template = &mut world.workload.data["spec"]["template"];
        match change {
            "env" => template["spec"]["terminationGracePeriodSeconds"] = json!(5),
            _ => template["metadata"] = json!({"annotations": {RESTARTED_AT: "2026-01-01T00:00:00Z"}}),
        }
        assert_eq!(world.row("DFW").phase, Phase::Paused, "{change}");
    }
}

#[test]
fn what_the_platform_has_not_said_of_a_pause_counts_as_nothing() {
    // It has not taken the pause up.
    let mut world = held();
    say(&mut world.workload, of(1, condition("Progressing", "True", "RolloutInProgress", "")));
    assert_eq!(world.judge().verdict, Verdict::Progressing);
    // It has not observed the newest generation.
    let mut world = held();
    world.workload.metadata.generation = Some(2);
    assert_eq!(world.judge().verdict, Verdict::Progressing);
    // The rollout was resumed, which it has not seen yet. No city shows what a field is that only the
    // Workload has.
    let mut world = paused(World::done(&["DFW"], "web:1"), "Unknown", HELD);
    world.workload.metadata.annotations = None;
    assert_eq!(world.judge().verdict, Verdict::Progressing);
}

#[tokio::test]
async fn a_pause_is_one_annotation_and_may_be_repeated() {
    let server = server();
    World::done(&["DFW"], "web:1").put(&server);
    let before = server.get("Workload", SPACE, NAME).unwrap();
    rollout(&server, pause_command()).await.unwrap();
    assert_eq!(annotation(&server), "true");
    let after = server.get("Workload", SPACE, NAME).unwrap();
    assert_eq!((&after["spec"], &after["status"]), (&before["spec"], &before["status"]));
    let mark = server.mark();
    rollout(&server, pause_command()).await.unwrap();
    assert!(server.writes_since(mark).is_empty(), "it is paused already");
    rollout(&server, resume_command(NO_WAIT)).await.unwrap();
    assert!(annotation(&server).is_null());
    let mark = server.mark();
    rollout(&server, resume_command(NO_WAIT)).await.unwrap();
    assert!(server.writes_since(mark).is_empty(), "it is not paused");
}

#[tokio::test]
async fn what_refuses_a_pause_is_said() {
    let server = server();
    let missing = rollout(&server, pause_command()).await.unwrap_err();
    assert_eq!(missing.sentence, absent(&session(&server), Kind::Workload, NAME).sentence);
    World::done(&["DFW"], "web:1").put(&server);
    for (code, exit) in [(403, Exit::Failed), (404, Exit::Failed), (409, Exit::Failed)] {
        let fault = server.fault(Fault::Status(code).on("patch", "workloads"));
        let refused = rollout(&server, pause_command()).await.unwrap_err();
        server.clear_fault(fault);
        assert_eq!(refused.exit, exit);
        if code == 404 {
            assert_eq!(refused.sentence, missing.sentence, "deleted meanwhile");
        } else {
            assert!(refused.sentence.contains("pause the rollout of \"web\""), "{code}: {refused:?}");
        }
    }
    assert!(annotation(&server).is_null());
}

#[tokio::test(start_paused = true)]
async fn a_status_with_changes_that_are_held_back_ends_with_4_at_once() {
    let server = on(&held());
    for watch in [true, false] {
        let began = Instant::now();
        let problem = rollout(&server, status_command(watch)).await.unwrap_err();
        assert_eq!((problem.exit, began.elapsed().as_secs()), (Exit::Blocked, 0));
        assert_eq!(
            problem.text(false),
            "Error: The rollout of \"web\" is paused, which holds back a new template in \"DFW\".\n\
             `datumctl compute rollout resume web` lets it go on."
        );
    }
    let server = on(&settled());
    for watch in [true, false] {
        rollout(&server, status_command(watch)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_held_back_is_stored_and_not_waited_for() {
    let server = on(&held());
    let began = Instant::now();
    let scales = ScaleArgs { min: Some(2), wait: WAIT, ..scaling::args() };
    scale::run(&session(&server), &scales).await.unwrap();
    restart::run(&session(&server), &restarts::args(&[])).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 0);
    // Where nothing is held back, a scale is waited for as ever.
    let mut world = settled();
    world.deployments[0].data["status"]["readyReplicas"] = json!(1);
    let server = on(&world);
    let late = scale::run(&session(&server), &scales).await.unwrap_err();
    assert_eq!((late.exit, began.elapsed().as_secs()), (Exit::TimedOut, 60));
}

/// Going back is a change like others: it is stored, held back once the platform has seen it, and resumes
/// nothing.
#[tokio::test(start_paused = true)]
async fn an_undo_of_a_paused_rollout_is_stored_and_resumes_nothing() {
    let mut world = World::done(&["DFW"], "web:2");
    world.workload.data["spec"]["template"] = template("web:3");
    world.workload = recorded(world.workload, 3);
    let mut world = paused(world, "Unknown", HELD);
    let entries = (1..=3).map(|number| (number, entry(number, &template(&format!("web:{number}")))));
    let server = on(&world);
    put(&server, &history(&entries.collect::<Vec<_>>()));
    let began = Instant::now();
    let undo = UndoArgs { name: NAME.to_owned(), to_revision: 1, dry_run: false, wait: WAIT };
    let (undone, ()) = tokio::join!(rollout(&server, RolloutCommand::Undo(undo)), async {
        sleep(Duration::from_secs(5)).await;
        world.workload.data["status"]["observedGeneration"] = json!(2);
        say(
            &mut world.workload,
            of(2, condition("Progressing", "Unknown", Reason::RolloutPaused.as_str(), HELD)),
        );
        status(&server, "Workload", NAME, world.workload.data["status"].clone());
    });
    undone.unwrap();
    assert_eq!(annotation(&server), "true");
    assert!(began.elapsed() < Duration::from_secs(10), "what is held back is not waited for");
    let stored = server.get("Workload", SPACE, NAME).unwrap();
    assert_eq!(stored["spec"]["template"], template("web:1"));
}

#[tokio::test(start_paused = true)]
async fn a_resume_waits_for_the_rollout_and_a_pause_ends_the_wait() {
    let server = on(&held());
    let (resumed, ()) = tokio::join!(rollout(&server, resume_command(WAIT)), async {
        sleep(Duration::from_secs(20)).await;
        assert!(annotation(&server).is_null());
        World::done(&["DFW"], "web:2").put(&server);
        status(&server, "WorkloadDeployment", "web-us-dfw", json!({"observedGeneration": 2}));
    });
    resumed.unwrap();
    let mut world = held();
    world.workload.metadata.annotations = None;
    let server = on(&world);
    let end = waited(&server, Record::default(), async {
        sleep(Duration::from_secs(10)).await;
        rollout(&server, pause_command()).await.unwrap();
    });
    let end = end.await.unwrap();
    assert_eq!(end.outcome, Outcome::Paused);
    let problem = conclude::conclude(&session(&server), &wait_for(&server, 600), &end).unwrap_err();
    let paused = end.judgement.unwrap().paused.unwrap();
    assert_eq!(problem, paused::problem(&session(&server), NAME, &paused));
}
