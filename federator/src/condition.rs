//! Tells what has no status yet how far it has come (U2): what comes back from a cell brings its condition along, and
//! needs nothing of this.
//!
//! WDs that something happens to are noticed. A few seconds later their digests say whether the condition that stands is
//! right; where it is not, a pass of its own writes it, on a queue of its own: this must work while the hub does not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{find, put};
use fedhub_api::transitions;
use fedhub_cache::Part;
use fedhub_cache::digest::deployment::{FEDERATED, reported};
use fedhub_cache::digest::{Deployment, Digest};
use fedhub_cache::normalization::settled;
use fedhub_core::errors::Error;
use fedhub_core::names::FEDERATOR_MANAGER;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::events::{EventType, reference, reference_to};
use fedhub_planes::writer::probe;
use fedhub_planes::{Distrust, Plane, ProjectNamespace};
use fedhub_planes::{PlaneWriter, StatusWrite};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Federator;
use crate::held::Held;
use crate::orphans::is_of;
use crate::progress::{self, Failure, Progress};
use crate::refusal::Refusal;
use crate::status;

/// For how long a status is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long what is no trouble is not told while the federator has more to do on that plane than it can do at once:
/// to tell it takes as many requests as the work.
const PATIENCE_BEHIND: Duration = Duration::from_mins(1);
/// How often it is looked whose time has come.
const TICK: Duration = Duration::from_secs(1);

/// Since when a WD is noticed.
#[derive(Clone, Copy)]
struct Wait {
    since: Instant,
    generation: i64,
    /// Its hub WD was made, and its user is to be told (F10).
    federated: bool,
}

/// The WDs that something happened to, and what their last passes failed with.
#[derive(Default)]
pub struct Noticed {
    waits: Mutex<BTreeMap<Key, Wait>>,
    failures: DashMap<Key, Failure>,
}

impl Noticed {
    /// Something happened to that WD. The time begins anew with each generation.
    pub fn notice(&self, key: &Key, generation: i64, now: Instant) {
        let new = Wait { since: now, generation, federated: false };
        let mut waits = self.waits();
        let wait = waits.entry(key.clone()).or_insert(new);
        if wait.generation != generation {
            *wait = Wait { federated: wait.federated, ..new };
        }
    }

    /// The hub WD of that WD was created: the Event `Federated` is due with its condition.
    pub fn federated(&self, key: &Key, generation: i64, now: Instant) {
        self.notice(key, generation, now);
        self.waits().entry(key.clone()).and_modify(|wait| wait.federated = true);
    }

    /// Those whose time has come; they are not noticed any more.
    fn due(&self, now: Instant) -> Vec<(Key, Wait)> {
        self.waits().extract_if(.., |_, wait| now.saturating_duration_since(wait.since) >= PATIENCE).collect()
    }

    /// Not yet: it stays noticed, as it was.
    fn put_off(&self, key: Key, wait: Wait) {
        let mut waits = self.waits();
        let known = waits.entry(key).or_insert(wait);
        known.federated |= wait.federated;
    }

    fn waits(&self) -> MutexGuard<'_, BTreeMap<Key, Wait>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a pass ended.
    pub fn ended(&self, key: &Key, failure: Option<Failure>) {
        match failure {
            Some(failure) => drop(self.failures.insert(key.clone(), failure)),
            None => drop(self.failures.remove(key)),
        }
    }

    /// Forgets what is not kept.
    pub fn retain(&self, keep: impl Fn(&Key) -> bool) {
        self.waits().retain(|key, _| keep(key));
        self.failures.retain(|key, _| keep(key));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waits().len() + self.failures.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is to be told of a WD that no status came back for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Progress(Progress),
    /// It is being deleted, and the hub cannot be reached.
    CleanupHeld,
}

impl Told {
    /// Whether something stands in the way of the WD.
    fn is_trouble(&self) -> bool {
        let fine = [Progress::Pending, Progress::AwaitingCell, Progress::Applied];
        !matches!(self, Self::Progress(progress) if fine.contains(progress))
    }
}

/// Writes the condition `Federated` where no status does.
pub struct ConditionWriter {
    federator: Arc<Federator>,
    queue: Arc<Queue>,
}

impl ConditionWriter {
    /// One for the WDs of `federator`, with a queue of its own.
    pub fn new(federator: Arc<Federator>, queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { federator, queue })
    }

    /// Looks whose time has come, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(TICK) => self.look(Instant::now()),
            }
        }
    }

    /// On a standby what is to be told stays noticed, for the term that may begin.
    fn look(&self, now: Instant) {
        let leads = self.federator.planes.leads();
        let mut behind = BTreeMap::new();
        for (key, wait) in self.federator.noticed.due(now) {
            let Some((project, wd)) = self.wd(&key) else {
                self.federator.stalls.judge(&key, None, now);
                continue;
            };
            let told = self.told(&key, &project, &wd);
            let waits = told == Some(Told::Progress(Progress::AwaitingCell));
            self.federator.stalls.judge(&key, waits.then_some(wait.generation), now);
            let is_behind = *behind
                .entry(key.plane.clone())
                .or_insert_with_key(|plane| self.federator.queue.is_behind(plane));
            let waited = now.saturating_duration_since(wait.since);
            if is_behind && waited < PATIENCE_BEHIND && !told.as_ref().is_some_and(Told::is_trouble) {
                self.federator.noticed.put_off(key, wait);
                continue;
            }
            let city = wd.deployment().and_then(|facts| facts.city.as_deref()).unwrap_or_default();
            let known = project.store(key.kind).get(&key.namespace, &key.name);
            if let Some(known) = known.filter(|_| wait.federated && leads) {
                let note = format!("federated to city {city}");
                project.events.send(reference(key.kind, &known), EventType::Normal, "Federated", note);
            }
            let news = told.as_ref().is_some_and(|told| is_news(told, &wd));
            if news && leads {
                self.queue.add(key.clone(), &key.plane);
            }
            // What is in doubt is looked at again: nothing else may happen to it.
            if news && !leads || matches!(told, Some(Told::CleanupHeld | Told::Progress(Progress::Pending))) {
                self.federator.notice(&project, &key);
            }
        }
        for key in self.federator.stalls.due(now) {
            if self.wd(&key).is_none() {
                self.federator.stalls.judge(&key, None, now);
            } else if leads {
                self.federator.queue.add(key.clone(), &key.plane);
            }
        }
    }

    fn wd(&self, key: &Key) -> Option<(Arc<Plane>, Digest)> {
        let PlaneId::Project(plane) = &key.plane else { return None };
        // One that is suspended takes no writes; all of it is looked at when it is resumed.
        let project = self.federator.planes.engaged(plane).filter(|plane| !plane.is_suspended())?;
        let wd = project.store(Kind::WorkloadDeployment).digest(&key.namespace, &key.name)?;
        Some((project, wd))
    }

    /// What to publish of a WD, by digests alone; `None` where its status says it.
    fn told(&self, key: &Key, project: &Plane, wd: &Digest) -> Option<Told> {
        let facts = wd.deployment()?;
        let failure = self.failure(key);
        if wd.terminating {
            let unreachable = facts.held && failure == Some(Failure::HubUnreachable);
            return unreachable.then_some(Told::CleanupHeld);
        }
        let city = facts.city.as_deref().unwrap_or_default();
        let cells = self.federator.cells_of(city);
        if failure.is_none() && (Refusal::of_input(&key.name, city).is_some() || cells.len() != 1) {
            return None;
        }
        let on_hub = self.on_hub(key, project, wd);
        let reported = on_hub.as_ref().and_then(|hub| hub.observed_generation);
        let applied = reported == Some(facts.generation);
        let is_there = on_hub.as_ref().is_some_and(|hub| hub.carried == facts.carried);
        let failure = failure.or_else(|| (!is_there && self.hub_fails()).then_some(Failure::HubUnreachable));
        let down = cells.first().and_then(|cell| CellDown::of(cell));
        Some(Told::Progress(match failure {
            // What is in its cell needs nothing of the hub.
            Some(failure) if !applied => Progress::Failed(failure),
            _ => Progress::reached(down, on_hub.is_some(), applied),
        }))
    }

    /// What keeps that WD from the hub, as far as is known.
    fn failure(&self, key: &Key) -> Option<Failure> {
        let hub_out = || {
            let out = !self.federator.planes.hub().synced() || self.federator.queue.hub_is_out();
            out.then_some(Failure::HubUnreachable)
        };
        self.federator.noticed.failures.get(key).map(|failure| failure.clone()).or_else(hub_out)
    }

    /// Whether the hub fails others: what waits for it may not have been tried yet.
    fn hub_fails(&self) -> bool {
        self.federator.noticed.failures.iter().any(|failure| *failure.value() == Failure::HubUnreachable)
    }

    /// The hub WD of a WD, if it stands and is its own.
    fn on_hub(&self, key: &Key, project: &Plane, wd: &Digest) -> Option<Deployment> {
        let PlaneId::Project(plane) = &project.id else { return None };
        let at = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.clone() };
        let space = self.federator.marked_space(&at, wd)?;
        let hub = self.federator.planes.hub().store(Kind::WorkloadDeployment).digest(&space, &key.name)?;
        hub.deployment().filter(|_| is_of(&hub, Some(&wd.uid))).cloned()
    }

    async fn tell(&self, key: &Key) -> Result<Outcome, Error> {
        let Some((project, wd)) = self.wd(key) else { return Ok(Outcome::AwaitChange) };
        let Some(told) = self.told(key, &project, &wd).filter(|told| is_news(told, &wd)) else {
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
        if moves && !matches!(told, Told::CleanupHeld | Told::Progress(Progress::Failed(_))) {
            return Ok(Outcome::Unchanged);
        }
        let mut status = whole.status().clone();
        let progress = match &told {
            Told::Progress(progress) => progress.clone(),
            Told::CleanupHeld => {
                self.federator.hold(&project, key, Some(Held::HubUnreachable)).await;
                let held = status::held(&status, &Refusal::CleanupHeld(Held::HubUnreachable), now);
                put(&mut status, held);
                Progress::Failed(Failure::HubUnreachable)
            }
        };
        if let Progress::CellUnreachable(down) = &progress {
            status::doubt(&mut status, whole.status(), down, now);
        }
        let condition = progress.condition(find(&status, FEDERATED), generation, now);
        put(&mut status, condition);
        status::put_counters(&mut status);
        let echo = project.store(key.kind).normalization(&key.namespace, &key.name, Part::Status);
        if settled(&status, whole.status(), echo) {
            return Ok(Outcome::Unchanged);
        }
        let writer = PlaneWriter {
            plane: &project,
            manager: FEDERATOR_MANAGER,
            metrics: self.federator.planes.metrics(),
        };
        let write =
            StatusWrite { status: status.clone(), probe: probe(true, reported(whole.status()), echo) };
        let Some(_) = writer.write_status(key.kind, &whole, write).await? else {
            return Ok(Outcome::Unchanged);
        };
        self.federator.announce(&project, &whole, &status);
        Ok(Outcome::Updated)
    }
}

/// Whether the condition that stands says otherwise. None is needed where all went well without.
fn is_news(told: &Told, wd: &Digest) -> bool {
    let Some(facts) = wd.deployment() else { return false };
    let progress = match told {
        Told::Progress(progress) => progress,
        Told::CleanupHeld => &Progress::Failed(Failure::HubUnreachable),
    };
    let unsaid = facts.federated == 0 && *progress == Progress::Applied;
    !unsaid && facts.federated != progress.digest(facts.generation)
}

impl Federator {
    /// Tells the user of a WD of the turns of affairs, by the status that was stored in place of the one before: on its
    /// way to the cell (F10), and in the cell (U3).
    pub(crate) fn announce(&self, project: &Plane, before: &ObjectRef, status: &Value) {
        if let Some(turn) = progress::turn(before.status(), status) {
            say(project, before, turn.type_, turn.reason, turn.note);
        }
        // What a restored hub says was told before.
        if self.planes.distrust() == Some(Distrust::Restored) {
            return;
        }
        for turn in
            transitions::of_deployment(before.status(), status).into_iter().filter(|turn| !turn.routine)
        {
            project.events.turn(reference_to(Kind::WorkloadDeployment, before), turn);
        }
    }
}

/// An Event on a WD, which nothing waits for.
pub(crate) fn say(project: &Plane, wd: &ObjectRef, type_: EventType, reason: &'static str, note: String) {
    project.events.send(reference_to(Kind::WorkloadDeployment, wd), type_, reason, note);
}

impl Controller for ConditionWriter {
    fn name(&self) -> &'static str {
        "federated_condition"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Project(_), Kind::WorkloadDeployment) => self.tell(&job.key).await,
            _ => Err(Error::Bug(format!("{} is not a key of the condition writer", job.key))),
        }
    }
}
