//! Waiting for a rollout, by watches.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;

use fedhub_core::object::{Kind, Object, ObjectView};
use futures::{Stream, StreamExt};
use kube::Client;
use kube::api::ListParams;
use kube::runtime::watcher;
use tokio::time::{Instant, sleep, sleep_until};

use super::display::Display;
use super::governed;
use super::judge::{Judgement, Verdict};
use super::watch::{News, Seen, news};
use crate::model::{api, selector};
use crate::problem::{Problem, is_final, of_watch};

/// How long a rollout has to be blocked everywhere before the wait for it ends. It is shown at once; but what
/// a reference lacks may be made a moment later, and what the platform says of one Instance may be a moment
/// old.
const SETTLE: Duration = Duration::from_secs(10);
/// How long after an attempt in vain it is asked again whether a rollout is done, or blocked.
const RECHECK: Duration = Duration::from_secs(2);

/// How often a display that is live is drawn anew where nothing happens.
const REDRAW: Duration = Duration::from_secs(1);

/// How long a watch that worked may be refused. A server that has just been started refuses what it has not
/// read the roles and the kinds for yet.
const GRACE: Duration = Duration::from_secs(10);

/// The rollout that is waited for.
#[derive(Clone)]
pub struct Wait {
    /// Client of the project's plane.
    pub client: Client,
    /// Namespace in the project.
    pub namespace: String,
    /// The Workload's name.
    pub workload: String,
    /// How long to wait; `None` for as long as it takes.
    pub timeout: Option<Duration>,
}

/// How a wait ended, with what was known last.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// How.
    pub outcome: Outcome,
    /// The last judgement; `None` if too little was known to judge.
    pub judgement: Option<Judgement>,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// The newest generation runs everywhere.
    Done,
    /// The rollout requires an action of the user or the operator.
    Blocked,
    /// A pause holds back a part of it.
    Paused,
    /// A wave of it requires approval.
    AwaitingApproval,
    /// The time is over.
    TimedOut,
    /// Ctrl-C.
    Interrupted,
    /// The Workload was deleted.
    Deleted,
    /// The Workload does not exist.
    Missing,
}

/// The state of a wait.
struct Waiting<'a> {
    wait: &'a Wait,
    display: &'a mut dyn Display,
    seen: Seen,
    /// The UID of the Workload that is waited for.
    uid: Option<String>,
    generation: Option<i64>,
    judgement: Option<Judgement>,
    blocked_since: Option<Instant>,
    recheck: Option<Instant>,
    /// The kinds whose watch has failed and has not brought anything since.
    lost: BTreeSet<Kind>,
    /// When the server began to refuse a kind.
    refused: BTreeMap<Kind, Instant>,
}

/// Waits until the rollout is done, or cannot go on, or the time is over, or `interrupt` comes. An error is
/// one that waiting does not mend.
pub async fn wait(
    wait: &Wait,
    display: &mut dyn Display,
    interrupt: impl Future<Output = ()>,
) -> Result<End, Problem> {
    let mut news = news(&wait.client, &wait.namespace, &wait.workload);
    let deadline = wait.timeout.map(|timeout| Instant::now() + timeout);
    let mut waiting = Waiting::new(wait, display);
    tokio::pin!(interrupt);
    let ended = loop {
        let outcome = tokio::select! {
            biased;
            () = &mut interrupt => Ok(Some(Outcome::Interrupted)),
            () = at(deadline) => Ok(Some(Outcome::TimedOut)),
            outcome = waiting.step(&mut news) => outcome,
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(outcome)) => break Ok(End { outcome, judgement: waiting.judgement.take() }),
            Err(problem) => break Err(problem),
        }
    };
    let is_told =
        |end: &End| matches!(end.outcome, Outcome::Blocked | Outcome::TimedOut) && end.judgement.is_some();
    waiting.display.finish(ended.as_ref().is_ok_and(is_told));
    ended
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

impl<'a> Waiting<'a> {
    fn new(wait: &'a Wait, display: &'a mut dyn Display) -> Self {
        Self {
            wait,
            display,
            seen: Seen::default(),
            uid: None,
            generation: None,
            judgement: None,
            blocked_since: None,
            recheck: None,
            lost: BTreeSet::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Awaits something new, and judges by it; says how the wait ends, where it does.
    async fn step(
        &mut self,
        news: &mut (impl Stream<Item = News> + Unpin),
    ) -> Result<Option<Outcome>, Problem> {
        tokio::select! {
            biased;
            () = at(self.due()) => {}
            Some(event) = news.next() => self.take(event)?,
            // Not beside the look: that asks the server, and must not be given up for it.
            () = sleep(REDRAW), if self.display.is_live() => {
                self.redraw();
                return Ok(None);
            }
        }
        Ok(self.look().await)
    }

    /// Shows how long each city has been in its state by now. Without waves, no times are shown.
    fn redraw(&mut self) {
        let judgement = self.seen.judge(&self.wait.workload);
        if let Some(judgement) = judgement.filter(|judgement| judgement.waves.is_some()) {
            self.display.show(&judgement);
        }
    }

    /// When to look again though nothing has happened.
    fn due(&self) -> Option<Instant> {
        self.recheck.or_else(|| self.blocked_since.map(|since| since + SETTLE))
    }

    /// Handles an event of a watch; an error if the watch cannot go on.
    fn take(&mut self, (kind, event): News) -> Result<(), Problem> {
        let error = match event {
            Ok(event) => {
                // A list begins with an event that no server has sent.
                let answers = !matches!(event, watcher::Event::Init);
                if answers {
                    self.refused.remove(&kind);
                }
                if answers && self.lost.remove(&kind) && self.lost.is_empty() {
                    self.display.note("The platform answers again.");
                }
                self.seen.apply(kind, event);
                return Ok(());
            }
            Err(error) => of_watch(error),
        };
        match error {
            Some(error) if is_final(&error) && self.is_refused(kind) => {
                let problem =
                    Problem::from_error(error, &format!("watch the rollout of {:?}", self.wait.workload));
                Err(Problem { sentence: format!("{} The rollout goes on.", problem.sentence), ..problem })
            }
            // The watch has expired, and starts again.
            Some(kube::Error::Api(status)) if status.code == 410 => Ok(()),
            _ => {
                if self.lost.is_empty() {
                    self.display.note("The platform does not answer: trying again. The rollout goes on.");
                }
                self.lost.insert(kind);
                Ok(())
            }
        }
    }

    /// Whether a refusal stands: at once where the kind was never seen, else when it has lasted.
    fn is_refused(&mut self, kind: Kind) -> bool {
        let now = Instant::now();
        let since = *self.refused.entry(kind).or_insert(now);
        !self.seen.is_listed(kind) || now >= since + GRACE
    }

    /// Judges what is known, and shows it; says how the wait ends, where it does.
    async fn look(&mut self) -> Option<Outcome> {
        let name = &self.wait.workload;
        let Some(workload) = self.seen.workload(name) else {
            let gone = if self.uid.is_some() { Outcome::Deleted } else { Outcome::Missing };
            return self.seen.is_whole().then_some(gone);
        };
        let uid = workload.uid().to_owned();
        if self.uid.get_or_insert_with(|| uid.clone()) != &uid {
            return Some(Outcome::Deleted);
        }
        let judgement = self.seen.judge(name)?;
        if self.generation.replace(judgement.generation).is_some_and(|before| before < judgement.generation) {
            self.display.note("The workload was changed again: waiting for the newest change.");
        }
        self.display.show(&judgement);
        let verdict = judgement.verdict;
        self.judgement = Some(judgement);
        self.settle(verdict).await
    }

    /// Decides what a verdict means for the wait. A verdict that ends it is confirmed by lists, one after
    /// another: the watches of several kinds are not ordered among each other, and one that is lost brings
    /// nothing.
    async fn settle(&mut self, verdict: Verdict) -> Option<Outcome> {
        let now = Instant::now();
        self.recheck = None;
        if verdict != Verdict::Blocked {
            self.blocked_since = None;
        }
        match verdict {
            Verdict::Deleted => Some(Outcome::Deleted),
            Verdict::Paused => Some(Outcome::Paused),
            Verdict::AwaitingApproval => self.end(verdict, Outcome::AwaitingApproval).await,
            Verdict::Progressing => None,
            // The platform has waited for as long as the rollout may take, and said so.
            Verdict::Blocked if self.judgement.as_ref().is_some_and(|it| it.stop().is_some()) => {
                self.end(verdict, Outcome::Blocked).await
            }
            Verdict::Blocked => {
                let since = *self.blocked_since.get_or_insert(now);
                if now < since + SETTLE { None } else { self.end(verdict, Outcome::Blocked).await }
            }
            Verdict::Done => self.end(verdict, Outcome::Done).await,
        }
    }

    /// Returns the outcome if fresh lists give the same verdict; otherwise the wait goes on.
    async fn end(&mut self, verdict: Verdict, outcome: Outcome) -> Option<Outcome> {
        if let Some(judgement) = self.listed().await.filter(|judgement| judgement.verdict == verdict) {
            self.judgement = Some(judgement);
            return Some(outcome);
        }
        self.recheck = Some(Instant::now() + RECHECK);
        None
    }

    /// The judgement of fresh lists.
    async fn listed(&self) -> Option<Judgement> {
        let Wait { client, namespace, workload, .. } = self.wait;
        let list = async |kind: Kind, params: ListParams| -> Option<Vec<Object>> {
            // A watch reports what is wrong with the connection.
            Some(api(client.clone(), namespace, kind).list(&params).await.ok()?.items)
        };
        let owned = || ListParams::default().labels(&selector(workload));
        let named = ListParams::default().fields(&format!("metadata.name={workload}"));
        let workloads = list(Kind::Workload, named).await?;
        let deployments = list(Kind::WorkloadDeployment, owned()).await?;
        let instances = list(Kind::Instance, owned()).await?;
        let rollout = governed::find(client, namespace, workload).await.ok()?;
        Seen::listed([workloads, deployments, instances], rollout).judge(workload)
    }
}
