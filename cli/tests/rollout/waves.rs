//! A rollout over waves: how it is judged, shown and waited for.

use std::time::Duration;

use fedhub_api::RolloutGate;
use fedhub_cli::exit::Exit;
use fedhub_cli::problem::Problem;
use fedhub_cli::rollout::args::StatusArgs;
use fedhub_cli::rollout::command::{RolloutArgs, RolloutCommand, run};
use fedhub_cli::rollout::display::{Display, Plain};
use fedhub_cli::rollout::judge::{Judgement, Phase, Verdict, judge_with};
use fedhub_cli::rollout::view::{report, table};
use fedhub_cli::rollout::wait::Outcome;
use fedhub_cli::rollout::waves::Stop;
use fedhub_cli::rollout::{WaitArgs, conclude, follow};
use fedhub_cli::view::Look;
use fedhub_core::object::Object;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_terminal::Terminal;
use serde_json::json;
use tokio::time::{Instant, sleep};
use unicode_width::UnicodeWidthStr;

use crate::rollout::fixtures::*;
use crate::rollout::gates::{serving, waves};
use crate::rollout::turns::turns;
use crate::rollout::waiting::{Record, of as wait_for, waited};

const FAILED: &str = "The city of \"web-us-dfw\" failed by ImageUnavailable: no such image. Action required by the \
                      user: correct the template, or abort the rollout: other cities are left as they are";
const AWAITS: &str = "The wave \"canary\" requires approval after its last city. Action required by the user: approve the wave by datumctl \
                      compute rollout approve, or abort the rollout";
const CITIES: [&str; 3] = ["DFW", "ORD", "NRT"];

/// The canary runs revision 2, the other two cities revision 1.
fn world() -> World {
    let mut world = turns(&CITIES);
    let done = World::done(&["DFW"], "web:2");
    world.deployments[0].data["status"] = done.deployments[0].data["status"].clone();
    world.instances[1] = done.instances[1].clone();
    world
}

fn says(reason: &str, message: &str) -> Object {
    let mut rollout = waves();
    say(&mut rollout, of(1, condition("Progressing", "False", reason, message)));
    rollout
}

fn awaiting() -> Object {
    let mut rollout = says("RolloutAwaitingApproval", AWAITS);
    rollout.data["status"]["awaiting"] = json!({"wave": "canary", "gate": "After"});
    rollout
}

fn stalled() -> Object {
    let mut rollout = says("CityFailed", FAILED);
    let city = &mut rollout.data["status"]["cities"][0];
    city["state"] = json!("Failed");
    city["cause"] = json!({"reason": "ImageUnavailable", "message": "no such image"});
    rollout
}

fn judged(world: &World, rollout: &Object) -> Judgement {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    world.with(|seen| judge_with(seen, Some(rollout), now))
}

fn on(world: &World, rollout: &Object) -> ApiServer {
    let server = serving();
    world.put(&server);
    put(&server, rollout);
    server
}

async fn status(server: &ApiServer, watch: bool) -> Result<(), Problem> {
    let session = session(server);
    let timeout = Duration::from_mins(1);
    let status = RolloutCommand::Status(StatusArgs { name: NAME.to_owned(), watch, timeout });
    Box::pin(run(&session, &RolloutArgs { command: Some(status), status: None })).await
}

#[test]
fn r5_a_rollout_over_waves_is_judged_by_what_its_object_says() {
    let world = world();
    assert_eq!(judged(&world, &says("WaveInProgress", "")).verdict, Verdict::Progressing);
    assert_eq!(judged(&world, &awaiting()).verdict, Verdict::AwaitingApproval);
    for reason in ["CityFailed", "InvalidRollout", "RolloutRolledBack", "RolloutAborted"] {
        let judgement = judged(&world, &says(reason, "the words"));
        assert_eq!(
            (judgement.verdict, &*judgement.obstacle.unwrap().message),
            (Verdict::Blocked, "the words"),
            "{reason}"
        );
    }
    let mut paused =
        says("RolloutPaused", "The rollout is paused. Wave \"ord\", 2 of 3: 0 of 1 cities complete");
    paused.data["spec"]["paused"] = json!(true);
    let judgement = judged(&world, &paused);
    assert_eq!(judgement.verdict, Verdict::Paused);
    let words = "The rollout of \"web\" is paused. Wave \"ord\", 2 of 3: 0 of 1 cities complete.";
    assert_eq!(judgement.paused.unwrap().sentence(NAME), words);
    // What has ended where nothing is left to do is done.
    let all = World::done(&CITIES, "web:2");
    let all = World { workload: recorded(all.workload.clone(), 2), ..all };
    assert_eq!(judged(&all, &says("RolloutAborted", "the words")).verdict, Verdict::Done);
}

/// Words are for people, and another version may have others.
#[test]
fn r3_the_awaited_gate_is_read_from_the_status_and_not_from_words() {
    let mut rollout = awaiting();
    rollout.data["status"]["awaiting"] = json!({"wave": "ord", "gate": "Before"});
    let judgement = judged(&world(), &rollout);
    let awaited = Stop::Approval { wave: "ord".to_owned(), gate: RolloutGate::Before };
    assert_eq!((judgement.verdict, judgement.stop()), (Verdict::AwaitingApproval, Some(&awaited)));
    let waves = judgement.waves.unwrap().waves;
    assert_eq!(waves.iter().map(|wave| wave.is_awaited).collect::<Vec<_>>(), [false, true, false]);
}

/// What a city waits for is said of each, as the platform's plan has it.
#[test]
fn r3_r4_a_city_that_waits_says_for_what() {
    let said = |rollout: &Object| {
        let rows = judged(&world(), rollout).rows;
        rows.into_iter().find(|row| row.city == "ORD").unwrap().awaits.unwrap()
    };
    let mut soaking = says("WaveInProgress", "");
    soaking.data["status"]["plan"][0]["soak"] = json!("5m");
    soaking.data["status"]["cities"][0]["state"] = json!("Soaking");
    assert_eq!(said(&soaking), "waits until \"DFW\" has stayed healthy, at 2026-01-01T00:05:00Z");
    soaking.data["status"]["cities"][0]["state"] = json!("Updating");
    assert_eq!(said(&soaking), "waits until \"DFW\" is healthy on the new revision");
    assert_eq!(said(&awaiting()), "waits until the wave \"canary\" is approved after its last city");
    let failed = "keeps its revision, since the rollout has stopped: \"DFW\" failed by ImageUnavailable: no such image";
    assert_eq!(said(&stalled()), failed);
}

#[test]
fn r3_what_is_said_of_an_older_target_or_generation_counts_as_nothing() {
    let mut older = stalled();
    older.data["status"]["targetRevision"] = json!(1);
    let mut unobserved = stalled();
    unobserved.metadata.generation = Some(2);
    for rollout in [older, unobserved] {
        let judgement = judged(&world(), &rollout);
        assert_eq!((judgement.verdict, judgement.waves), (Verdict::Progressing, None));
    }
    // The newest template is not recorded yet: the target is that of the one before.
    let mut world = world();
    world.workload.data["spec"]["template"] = template("web:3");
    assert_eq!(judged(&world, &stalled()).waves, None);
    // An abort has a target of its own.
    let mut aborted = says("RolloutAborted", "the words");
    aborted.data["status"]["targetRevision"] = json!(1);
    aborted.data["status"]["direction"] = json!("Abort");
    assert_eq!(judged(&crate::rollout::waves::world(), &aborted).verdict, Verdict::Blocked);
}

#[test]
fn r5_waves_and_turns_are_shown() {
    let mut approved = awaiting();
    approved.data["status"]["approvals"] =
        json!([{"wave": "ord", "gate": "Before", "by": "eve", "at": "2026-01-01T00:00:00Z"}]);
    let judgement = judged(&world(), &approved);
    for width in [60, 80, 120] {
        let terminal = Terminal { width: Some(width), ..Terminal::default() };
        let shown = table(&judgement, &Look { terminal, ..Look::default() });
        assert!(shown.lines().all(|line| line.width() <= width), "{shown}");
        insta::assert_snapshot!(format!("waves_{width}"), shown);
    }
    let shown = report(NAME, conclude::state(judgement.verdict), &judgement);
    insta::assert_snapshot!("waves_json", format!("{shown:#}"));
    insta::assert_snapshot!("waves_stalled", table(&judged(&world(), &stalled()), &Look::default()));
    let mut out = Vec::new();
    let mut display = Plain::new(&mut out);
    display.show(&judgement);
    display.show(&judgement);
    insta::assert_snapshot!("waves_lines", String::from_utf8(out).unwrap());
}

#[tokio::test(start_paused = true)]
async fn r5_a_wait_for_a_wave_that_requires_approval_ends_with_4_and_says_how_it_goes_on() {
    let server = on(&world(), &awaiting());
    for watch in [true, false] {
        let began = Instant::now();
        let problem = status(&server, watch).await.unwrap_err();
        assert_eq!((problem.exit, began.elapsed().as_secs()), (Exit::Blocked, 0));
        assert_eq!(
            problem.text(false),
            "Error: The rollout of \"web\" waits for the approval of its wave \"canary\" after its last city.\n`datumctl compute \
             rollout approve web --wave canary` lets it go on, `datumctl compute rollout abort web` gives it up."
        );
    }
    // A change that waits for an approval is stored, which is what its user asked for.
    let wait = WaitArgs { no_wait: false, timeout: Duration::from_mins(1) };
    follow(&session(&server), NAME, &wait).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn r6_a_canary_that_fails_ends_the_wait_at_once() {
    let server = on(&world(), &says("WaveInProgress", ""));
    let record = Record::default();
    let began = Instant::now();
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(20)).await;
        server.patch_status("WorkloadRollout", SPACE, NAME, &stalled().data["status"]).unwrap();
    });
    let end = end.await.unwrap();
    assert_eq!((end.outcome, record.seconds_since(began)), (Outcome::Blocked, 20));
    let problem = conclude::conclude(&session(&server), &wait_for(&server, 600), &end).unwrap_err();
    assert_eq!(problem.exit, Exit::Blocked);
    insta::assert_snapshot!("waves_failed", problem.text(false));
}

/// The lists that confirm the end may take longer than the time is left as it is.
#[tokio::test(start_paused = true)]
async fn r5_times_go_on_on_a_terminal_and_a_slow_end_is_awaited() {
    let server = on(&world(), &says("WaveInProgress", ""));
    let record = Record::live();
    let began = Instant::now();
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(20)).await;
        server.fault(Fault::Slow(Duration::from_secs(5)).on("list", "workloads"));
        server.patch_status("WorkloadRollout", SPACE, NAME, &stalled().data["status"]).unwrap();
    });
    assert_eq!(end.await.unwrap().outcome, Outcome::Blocked);
    assert_eq!(record.seconds_since(began), 25);
    let shown = record.verdicts.lock().unwrap().len();
    assert!(shown >= 20, "{shown}");
}

/// What may not be read, or is not served, leaves the rest as it is.
#[tokio::test(start_paused = true)]
async fn without_a_right_to_the_waves_the_cities_are_judged_alone() {
    for code in [403, 404] {
        let server = on(&world(), &stalled());
        server.fault(Fault::Status(code).on("list", "workloadrollouts"));
        server.fault(Fault::Status(code).on("get", "workloadrollouts"));
        for watch in [true, false] {
            let problem = status(&server, watch).await.unwrap_err();
            assert_eq!(problem.exit, Exit::TimedOut, "{problem:?}");
        }
    }
    assert_eq!(world().row("ORD").phase, Phase::Waiting);
}
