//! Writes the condition `Federated` of WDs that have no status yet (U2). What comes back from a cell brings its condition
//! along, and needs none of this.
//!
//! A WD that changes is pending. A few seconds later its digests show whether the condition that stands is right; where it
//! is not, a pass of its own writes it, on a queue of its own: this must work while the hub does not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_api::conditions::{find, put};
use fedhub_api::facts::deployment::{FEDERATED, put_counters};
use fedhub_api::facts::{Deployment, Digest, DigestExt};
use fedhub_api::transitions;
use fedhub_cache::Part;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::Error;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::events::{ObjectReference, reference, reference_to};
use fedhub_planes::{Distrust, Plane, ProjectNamespace, ServiceState, WriteState};
use serde_json::Value;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::Federator;
use crate::cleanup::CleanupBlocked;
use crate::orphan::is_of;
use crate::progress::{self, Failure, Progress, Transition};
use crate::refusal::Refusal;
use crate::status;

/// How long what is no trouble is not published while there is more to do on that plane than is done at once, by the federator
/// or before it: to publish it takes as many requests as the work.
const PATIENCE_BEHIND: Duration = Duration::from_mins(1);
/// How often pending WDs are checked. What becomes due in between is published at once, in the way of what users do in that
/// moment: it must not be much.
const CHECK: Duration = Duration::from_millis(100);
/// How often it is looked for WDs whose cell has not reported for long (F8).
const CHECK_STALLED: Duration = Duration::from_secs(1);

/// Writes the condition `Federated` where no status does.
pub struct ConditionWriter {
    federator: Arc<Federator>,
    queue: Arc<Queue>,
    sources: Vec<Arc<Queue>>,
}

impl ConditionWriter {
    /// One for the WDs of `federator`, with a queue of its own. `sources` are the queues of those who make WDs.
    pub fn new(federator: Arc<Federator>, queue: Arc<Queue>, sources: Vec<Arc<Queue>>) -> Arc<Self> {
        Arc::new(Self { federator, queue, sources })
    }

    /// Checks pending WDs, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut checks, mut stalled) = (interval(CHECK), interval(CHECK_STALLED));
        loop {
            // A process at rest is not woken ten times a second: the slower tick notices what becomes pending.
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = checks.tick(), if self.federator.pending.any() => self.check(Instant::now()),
                _ = stalled.tick() => self.check_stalled(Instant::now()),
            }
        }
    }

    /// The queues of the work that goes first.
    fn work(&self) -> impl Iterator<Item = &Arc<Queue>> {
        self.sources.iter().chain([&self.federator.queue])
    }

    /// Enqueues the WDs whose condition is not right. On a standby they stay pending, for the term that may begin.
    fn check(&self, now: Instant) {
        let leads = self.federator.planes.leads();
        let mut behind = BTreeMap::new();
        for (key, wait) in self.federator.pending.due(now) {
            let Some((project, wd)) = self.wd(&key) else {
                self.federator.stalls.judge(&key, None, now);
                continue;
            };
            let progress = self.progress(&key, &project, &wd);
            let waits = progress.as_ref().is_some_and(Progress::awaits_cell);
            self.federator.stalls.judge(&key, waits.then_some(wait.generation), now);
            let is_behind = *behind
                .entry(key.plane.clone())
                .or_insert_with_key(|plane| self.work().any(|queue| queue.is_behind(plane)));
            let waited = now.saturating_duration_since(wait.since);
            if is_behind && waited < PATIENCE_BEHIND && !progress.as_ref().is_some_and(Progress::is_trouble) {
                self.federator.pending.put_off(key, wait, now);
                continue;
            }
            let city = wd.city().unwrap_or_default();
            let known = project.store(key.kind).get(&key.namespace, &key.name);
            if let Some(known) = known.filter(|_| wait.federated && leads) {
                publish(&project, reference(key.kind, &known), Transition::federated(city));
            }
            let news = progress.as_ref().is_some_and(|progress| is_news(progress, &wd));
            if news && leads {
                self.queue.add(key.clone(), &key.plane);
            }
            // What is in doubt is checked again: no other event may come.
            if news && !leads || progress.is_some_and(|it| wd.terminating || it == Progress::Pending) {
                self.federator.notice(&project, &key);
            }
        }
    }

    /// Enqueues the WDs about which Karmada is to be asked.
    fn check_stalled(&self, now: Instant) {
        for key in self.federator.stalls.due(now) {
            if self.wd(&key).is_none() {
                self.federator.stalls.judge(&key, None, now);
            } else if self.federator.planes.leads() {
                self.federator.queue.add(key.clone(), &key.plane);
            }
        }
    }

    fn wd(&self, key: &Key) -> Option<(Arc<Plane>, Digest)> {
        let PlaneId::Project(plane) = &key.plane else { return None };
        // One that is suspended or paused takes no writes; all of it is checked when it is resumed.
        let project =
            self.federator.planes.engaged(plane).filter(|plane| plane.write_state() == WriteState::Active)?;
        let wd = project.store(Kind::WorkloadDeployment).digest(&key.namespace, &key.name)?;
        Some((project, wd))
    }

    /// The progress to publish of a WD, by digests alone; `None` where its status shows it. Of one that is being deleted, only that
    /// the hub cannot be reached.
    fn progress(&self, key: &Key, project: &Plane, wd: &Digest) -> Option<Progress> {
        let facts = wd.deployment()?;
        let failure = self.federator.pending.failure(key);
        if wd.terminating {
            let failure = failure.or_else(|| self.hub_is_out().then_some(Failure::HubUnreachable));
            let unreachable = failure.filter(|failure| facts.held && *failure == Failure::HubUnreachable);
            return unreachable.map(Progress::Failed);
        }
        // What there is to say of one that leaves, its pass says (W9).
        if !matches!(project.service(), ServiceState::Active | ServiceState::Suspended) {
            return None;
        }
        let on_hub = self.on_hub(key, project, wd);
        let reported = on_hub.as_ref().and_then(Deployment::observed_generation);
        let applied = reported == Some(facts.generation);
        let is_there = on_hub.as_ref().is_some_and(|hub| {
            (hub.generation, hub.mirrored_hash) == (facts.generation, facts.mirrored_hash)
        });
        // What waits for a hub that fails its neighbours may not have been tried yet. What is there waits for its cell.
        let is_kept = || self.hub_is_out() || self.federator.pending.hub_fails(&key.plane);
        let failure = failure.or_else(|| (!is_there && is_kept()).then_some(Failure::HubUnreachable));
        let city = wd.city().unwrap_or_default();
        let cells = self.federator.cells_of(city);
        let refusal = || Refusal::of_input(&key.name, city).or_else(|| Refusal::of_cells(city, cells.len()));
        if failure.is_none() && refusal().is_some() {
            return None;
        }
        let down = cells.first().and_then(|cell| CellDown::of(cell));
        Some(match failure {
            // What is in its cell needs nothing of the hub.
            Some(failure) if !applied => Progress::Failed(failure),
            _ => Progress::reached(down, on_hub.is_some(), applied)
                .held_by(self.federator.stalls.held(key, facts.generation)),
        })
    }

    /// Whether the hub does not answer, whoever asks.
    fn hub_is_out(&self) -> bool {
        !self.federator.planes.hub().synced() || self.federator.queue.hub_is_out()
    }

    /// The hub WD of a WD, if it stands and is its own.
    fn on_hub(&self, key: &Key, project: &Plane, wd: &Digest) -> Option<Deployment> {
        let PlaneId::Project(plane) = &project.id else { return None };
        let at = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.to_string() };
        let space = self.federator.marked_hub_namespace(&at, wd)?;
        let hub = self.federator.planes.hub().store(Kind::WorkloadDeployment).digest(&space, &key.name)?;
        hub.deployment().filter(|_| is_of(&hub, Some(&wd.uid))).cloned()
    }

    async fn write(&self, key: &Key) -> Result<Outcome, Error> {
        let Some((project, wd)) = self.wd(key) else { return Ok(Outcome::AwaitChange) };
        let progress = self.progress(key, &project, &wd).filter(|progress| is_news(progress, &wd));
        let Some(progress) = progress else {
            return Ok(Outcome::Unchanged);
        };
        let _memory = self.federator.planes.budget().working(&key.plane, wd.object_bytes()).await;
        let Some(whole) = project.get_or_fetch(key.kind, &key.namespace, &key.name).await? else {
            return Ok(Outcome::AwaitChange);
        };
        let (now, generation) =
            (self.federator.planes.clock().now(), whole.metadata.generation.unwrap_or_default());
        // F6: the status of the new cell ends a move.
        let moves =
            find(whole.status(), "Available").is_some_and(|available| available["reason"] == "Moving");
        if moves && !matches!(progress, Progress::Failed(_)) {
            return Ok(Outcome::Unchanged);
        }
        let mut status = whole.status().clone();
        if wd.terminating {
            let why = CleanupBlocked::HubUnreachable;
            self.federator.block_cleanup(&project, key, Some(why), None).await;
            status = status::blocked(&status, why, None, now);
        }
        if let Progress::CellUnreachable(down) = &progress {
            status::doubt(&mut status, whole.status(), down, now);
        }
        let condition = progress.condition(find(&status, FEDERATED), generation, now);
        put(&mut status, condition);
        put_counters(&mut status);
        let normalization = project.store(key.kind).normalization(&key.namespace, &key.name, Part::Status);
        if settled(&status, whole.status(), normalization) {
            return Ok(Outcome::Unchanged);
        }
        let write = status::status_write(status.clone(), whole.status(), normalization);
        let Some(_) = self.federator.writer(&project).write_status(key.kind, &whole, write).await? else {
            return Ok(Outcome::Unchanged);
        };
        self.federator.announce(&project, &whole, &status);
        Ok(Outcome::Updated)
    }
}

/// Whether the condition that stands differs. None is needed where all went well without.
fn is_news(progress: &Progress, wd: &Digest) -> bool {
    let Some(facts) = wd.deployment() else { return false };
    let stands = |progress: &Progress| facts.federated == progress.digest(facts.generation);
    let unsaid = facts.federated == 0 && *progress == Progress::Applied;
    let overdue = *progress == Progress::AwaitingCell && stands(&Progress::Held(Hold::Unknown));
    !unsaid && !overdue && !stands(progress)
}

impl Federator {
    /// Publishes the transitions of a WD as Events, by the status that was stored in place of the one before: on its way
    /// to the cell (F10), and in the cell (U3).
    pub(crate) fn announce(&self, project: &Plane, before: &ObjectRef, status: &Value) {
        if let Some(transition) = progress::transition(before.status(), status) {
            publish(project, reference_to(Kind::WorkloadDeployment, before), transition);
        }
        // What a restored hub reports was published before.
        if self.planes.distrust() == Some(Distrust::Restored) {
            return;
        }
        for transition in transitions::of_deployment(before.status(), status) {
            if transition.routine {
                continue;
            }
            project.events.transition(reference_to(Kind::WorkloadDeployment, before), transition);
        }
    }
}

/// Publishes that a WD has moved to another city (F10).
pub(crate) fn announce_move(project: &Plane, wd: &ObjectRef, from: &str, to: &str) {
    let plane = &project.id;
    tracing::info!(%plane, namespace = wd.namespace(), name = wd.name(), from, to, "moved to another city");
    publish(project, reference_to(Kind::WorkloadDeployment, wd), Transition::moved(from, to));
}

/// An Event on a WD, which nothing waits for.
fn publish(project: &Plane, wd: ObjectReference, transition: Transition) {
    project.events.send(wd, transition.type_, transition.reason, transition.note);
}

/// Ticks so often, later where the process is busy.
fn interval(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

impl Controller for ConditionWriter {
    fn name(&self) -> &'static str {
        "federated_condition"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Project(_), Kind::WorkloadDeployment) => self.write(&job.key).await,
            _ => Err(Error::Bug(format!("{} is not a key of the condition writer", job.key))),
        }
    }
}
