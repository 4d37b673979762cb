//! Waiting for a rollout on a server in memory, under paused time.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_cli::exit::Exit;
use fedhub_cli::problem::Problem;
use fedhub_cli::rollout::conclude::conclude;
use fedhub_cli::rollout::display::Display;
use fedhub_cli::rollout::judge::{Judgement, Verdict};
use fedhub_cli::rollout::wait::{End, Outcome, Wait, wait};
use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::rollout::fixtures::*;

/// What was shown, and when.
#[derive(Clone, Default)]
pub struct Record {
    pub verdicts: Arc<Mutex<Vec<(Instant, Verdict)>>>,
    pub notes: Arc<Mutex<Vec<String>>>,
    ended: Arc<Mutex<Option<Instant>>>,
    is_live: bool,
}

impl Display for Record {
    fn show(&mut self, judgement: &Judgement) {
        self.verdicts.lock().unwrap().push((Instant::now(), judgement.verdict));
    }

    fn is_live(&self) -> bool {
        self.is_live
    }

    fn note(&mut self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }

    fn finish(&mut self, _told: bool) {
        *self.ended.lock().unwrap() = Some(Instant::now());
    }
}

impl Record {
    /// One that is drawn anew as time passes.
    pub fn live() -> Self {
        Self { is_live: true, ..Self::default() }
    }

    /// How many seconds after `begin` the wait ended.
    pub fn seconds_since(&self, begin: Instant) -> u64 {
        self.ended.lock().unwrap().unwrap().duration_since(begin).as_secs()
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
}

pub fn of(server: &ApiServer, timeout: u64) -> Wait {
    let timeout = Some(Duration::from_secs(timeout));
    Wait { client: server.client(), namespace: SPACE.to_owned(), workload: NAME.to_owned(), timeout }
}

/// Waits ten minutes at most, while `meanwhile` runs.
pub async fn waited(
    server: &ApiServer,
    mut display: Record,
    meanwhile: impl Future<Output = ()>,
) -> Result<End, Problem> {
    let wait_for = of(server, 600);
    let (end, ()) = tokio::join!(wait(&wait_for, &mut display, pending()), meanwhile);
    end
}

pub fn status(server: &ApiServer, kind: &str, name: &str, status: Value) {
    server.patch_status(kind, SPACE, name, &status).unwrap();
}

pub const DFW: &str = "web-us-dfw";

/// A server with a rollout whose one instance of two is not updated yet.
pub fn updating() -> ApiServer {
    let server = server();
    World::done(&["DFW"], "web:1").put(&server);
    status(&server, "WorkloadDeployment", DFW, json!({"updatedReplicas": 1}));
    server
}

pub fn finish(server: &ApiServer) {
    status(server, "WorkloadDeployment", DFW, json!({"updatedReplicas": 2}));
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_the_last_instance_is_up_to_date_and_not_before() {
    let server = updating();
    let record = Record::default();
    let begin = Instant::now();
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(100)).await;
        finish(&server);
    });
    let end = end.await.unwrap();
    assert_eq!(end.outcome, Outcome::Done);
    let seconds = record.seconds_since(begin);
    assert!((100..103).contains(&seconds), "{seconds}");
    assert!(conclude(&session(&server), &of(&server, 600), &end).is_ok());
    // By watch, and not by polling: three lists, three watches, and three lists to be sure.
    let counts = server.counts();
    let requests: u64 = counts.values().sum();
    assert!(requests < 20, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_nothing_reconciles_times_out_with_3() {
    let server = server();
    let begin = Instant::now();
    let mut world = World::done(&["DFW"], "web:1");
    world.workload.data["status"] = json!({});
    (world.deployments, world.instances) = (Vec::new(), Vec::new());
    world.put(&server);
    let end = wait(&of(&server, 90), &mut Record::default(), pending()).await.unwrap();
    assert_eq!((end.outcome, begin.elapsed().as_secs()), (Outcome::TimedOut, 90));
    // A part of the time was spent before the wait began.
    let rest = Wait { timeout: Some(Duration::from_millis(89_998)), ..of(&server, 0) };
    let problem = conclude(&session(&server), &rest, &end).unwrap_err();
    assert_eq!(problem.exit, Exit::TimedOut);
    assert_eq!(
        problem.text(false),
        "Error: The rollout of \"web\" was not done within 90 seconds. It goes on:\n  nothing in the platform has \
         taken the workload up yet\n`datumctl compute rollout status web` watches it again."
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_timeout_it_waits_for_as_long_as_it_takes() {
    let server = updating();
    let begin = Instant::now();
    let mut record = Record::default();
    let forever = Wait { timeout: None, ..of(&server, 0) };
    let (end, ()) =
        tokio::join!(async { wait(&forever, &mut record, pending()).await.unwrap().outcome }, async {
            sleep(Duration::from_secs(100_000)).await;
            finish(&server);
        });
    assert_eq!(end, Outcome::Done);
    assert!(record.seconds_since(begin) >= 100_000);
}

#[tokio::test(start_paused = true)]
async fn ctrl_c_leaves_the_rollout_going_and_says_so_with_130() {
    let server = updating();
    let before = server.mark();
    let end = wait(&of(&server, 600), &mut Record::default(), sleep(Duration::from_secs(5))).await.unwrap();
    assert_eq!(end.outcome, Outcome::Interrupted);
    let problem = conclude(&session(&server), &of(&server, 600), &end).unwrap_err();
    assert_eq!(problem.exit.code(), 130);
    assert_eq!(problem.sentence, "Stopped watching. The rollout of \"web\" goes on.");
    assert!(server.writes_since(before).is_empty());
}

#[tokio::test(start_paused = true)]
async fn blocked_is_shown_at_once_and_ends_the_wait_with_4_once_it_lasts() {
    let server = updating();
    let record = Record::default();
    let begin = Instant::now();
    let blocked = |reason: &str| {
        let conditions = [condition("ReplicasReady", "False", reason, "the words")];
        status(&server, "WorkloadDeployment", DFW, json!({"conditions": conditions}));
    };
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(20)).await;
        blocked("SourceNotFound");
        // It is mended before it has lasted.
        sleep(Duration::from_secs(8)).await;
        blocked("InstancesProvisioning");
        sleep(Duration::from_secs(12)).await;
        blocked("QuotaExceeded");
    });
    let end = end.await.unwrap();
    assert_eq!((end.outcome, record.seconds_since(begin)), (Outcome::Blocked, 50));
    let shown = record.verdicts.lock().unwrap().clone();
    let first = shown.iter().find(|(_, verdict)| *verdict == Verdict::Blocked).unwrap().0;
    assert_eq!(first.duration_since(begin).as_secs(), 20);
    let problem = conclude(&session(&server), &of(&server, 600), &end).unwrap_err();
    assert_eq!(problem.exit.code(), 4);
    let words = "The rollout of \"web\" is blocked: DFW (us): the words. What you can do: ";
    assert!(problem.sentence.starts_with(words), "{problem:?}");
    let remedy =
        "It goes on by itself once that is mended: `datumctl compute rollout status web` watches it.";
    assert_eq!(problem.remedy.as_deref(), Some(remedy), "there is nothing to go back to");
    let mut later = end.clone();
    later.judgement.as_mut().unwrap().has_earlier = true;
    let problem = conclude(&session(&server), &of(&server, 600), &later).unwrap_err();
    assert!(problem.remedy.unwrap().ends_with(", `datumctl compute rollout undo web` goes back."));
}

#[tokio::test(start_paused = true)]
async fn done_is_believed_only_when_lists_say_it_too() {
    let server = updating();
    let record = Record::default();
    let begin = Instant::now();
    // The watches bring that all is done; a list shows that an instance is not there.
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(10)).await;
        let fault = server.fault(Fault::EmptyList.on("list", "instances"));
        finish(&server);
        sleep(Duration::from_secs(30)).await;
        server.clear_fault(fault);
    });
    assert_eq!(end.await.unwrap().outcome, Outcome::Done);
    let seconds = record.seconds_since(begin);
    assert!((40..45).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_goes_or_was_never_there_is_told_apart() {
    let server = updating();
    let end = waited(&server, Record::default(), async {
        sleep(Duration::from_secs(10)).await;
        server.delete("Workload", SPACE, NAME).unwrap();
    });
    let end = end.await.unwrap();
    assert_eq!(end.outcome, Outcome::Deleted);
    let deleted = conclude(&session(&server), &of(&server, 600), &end).unwrap_err();
    let end = wait(&of(&server, 600), &mut Record::default(), pending()).await.unwrap();
    assert_eq!(end.outcome, Outcome::Missing);
    let missing = conclude(&session(&server), &of(&server, 600), &end).unwrap_err();
    assert_eq!((deleted.exit, missing.exit), (Exit::Failed, Exit::Failed));
    assert_eq!(deleted.sentence, "The workload \"web\" was deleted.");
    assert_eq!(missing.sentence, "There is no workload \"web\" in namespace \"default\" of this project.");
}

#[tokio::test(start_paused = true)]
async fn a_newer_change_is_waited_for_and_said() {
    let server = updating();
    let record = Record::default();
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(10)).await;
        server.patch("Workload", SPACE, NAME, &json!({"spec": {"template": template("web:2")}})).unwrap();
        finish(&server);
        sleep(Duration::from_secs(10)).await;
    });
    let end = end.await.unwrap();
    assert_eq!(end.outcome, Outcome::TimedOut, "the newest is never observed");
    assert_eq!(record.notes(), ["The workload was changed again: waiting for the newest change."]);
    assert_eq!(end.judgement.unwrap().generation, 2);
}
