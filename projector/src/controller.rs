//! The controller: what a pass over a hub Instance is. [`crate::keys`] says when there is one.
//!
//! Decides P2.

use fedhub_planes::Precondition;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use fedhub_api::transitions::{self, Signal};
use fedhub_cache::Part;
use fedhub_cache::digest::instance::deployment_name;
use fedhub_cache::digest::{Digest, Version};
use fedhub_core::errors::Error;
use fedhub_core::metrics::Hop;
use fedhub_core::names::{PROJECTOR_MANAGER, PlaneName};
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_core::rate_limit::TokenBucket;
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::events::{reference, reference_to};
use fedhub_planes::{Distrust, Plane, Planes};
use fedhub_planes::{PlaneWriter, StatusWrite};
use tokio::time::Instant;

use crate::apply::{self, Written};
use crate::glance::Sight;
use crate::mark::Mark;
use crate::observe::{Live, Observed, ProjectNamespace};
use crate::plan::{Decision, living_owner, plan};
use crate::quarantine::{Reason, Verdict, Wards};
use crate::unreachable::{Unreachable, too_early};

/// How often one pass may observe and plan anew; each round follows a write or a live read.
const ROUNDS: usize = 6;
/// When a deletion that could not be proven right is looked at again.
const WITHHELD: Duration = Duration::from_mins(1);

/// How long the hub's garbage collector has for an Instance whose WD is gone before anybody reads that Instance.
const COLLECTED: Duration = Duration::from_secs(5);

/// Times and limits of the projector.
#[derive(Clone, Copy, Debug)]
pub struct ProjectorConfig {
    /// How long a hub Instance may be without its WD before that is held to be final (P7).
    pub grace: Duration,
    /// Deletions after a gap that one plane may see in a minute (I4).
    pub deletes_per_minute: u32,
}

impl Default for ProjectorConfig {
    fn default() -> Self {
        Self { grace: Duration::from_mins(15), deletes_per_minute: 20 }
    }
}

/// Mirrors hub Instances into the project planes.
pub struct Projector {
    pub(crate) planes: Arc<Planes>,
    pub(crate) queue: Arc<Queue>,
    config: ProjectorConfig,
    pub(crate) wards: Wards,
    /// UIDs of hub Instances that were seen deleted without a gap, until their projections are gone (I4).
    pub(crate) seen_deleted: DashMap<Key, String>,
    pub(crate) buckets: Mutex<std::collections::BTreeMap<PlaneName, TokenBucket>>,
    pub(crate) unreachable: Unreachable,
}

impl Projector {
    /// A projector over `planes`, fed through `queue`.
    pub fn new(planes: Arc<Planes>, queue: Arc<Queue>, config: ProjectorConfig) -> Arc<Self> {
        Arc::new(Self {
            planes,
            queue,
            config,
            wards: Wards::default(),
            seen_deleted: DashMap::new(),
            buckets: Mutex::default(),
            unreachable: Unreachable::default(),
        })
    }

    /// How many entries each memory holds, by its name: none may grow without end.
    pub fn remembered(&self) -> [(&'static str, usize); 3] {
        [
            ("wards", self.wards.len()),
            ("seen_deleted", self.seen_deleted.len()),
            ("buckets", self.buckets.lock().unwrap_or_else(PoisonError::into_inner).len()),
        ]
    }

    // === One pass ===

    async fn instance(&self, job: &Job) -> Result<Outcome, Error> {
        let (key, hub) = (&job.key, self.planes.hub());
        if !hub.synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let Some(hub_namespace) = hub.store(Kind::Namespace).object("", &key.namespace) else {
            self.judge(key, None);
            self.seen_deleted.remove(key);
            return Ok(Outcome::AwaitChange);
        };
        let Some(home) = ProjectNamespace::of(&hub_namespace) else {
            self.seen_deleted.remove(key);
            let there = hub.store(Kind::Instance).digest(&key.namespace, &key.name).is_some();
            self.judge(key, there.then_some(Verdict::Quarantined(Reason::Unidentifiable)));
            return Ok(Outcome::AwaitChange);
        };
        let id = PlaneId::Project(home.plane.clone());
        let Some(project) = self.planes.engaged(&home.plane) else {
            self.judge(key, None);
            return Err(Error::NotEngaged(id));
        };
        let (mut changed, mut live, mut memory) = (false, None, None);
        for _ in 0..ROUNDS {
            let sight = self.look(&project, key, &home, &hub_namespace);
            let now = self.planes.clock().now();
            if let Some(wait) = sight.down.as_ref().and_then(|down| too_early(down, now)) {
                return Ok(Outcome::RequeueAfter(wait));
            }
            if live.is_none() && self.in_order(&project, key, &sight) {
                self.judge(key, None);
                return Ok(self.settled(job, &sight, changed));
            }
            if project.is_suspended() {
                // Resumed, everything of it is looked at.
                self.judge(key, None);
                return Ok(Outcome::AwaitChange);
            }
            if live.is_none() {
                if sight.leaving() {
                    self.judge(key, Some(Verdict::Parked));
                    self.rest(&project, key, &sight, 0);
                    return Ok(Outcome::AwaitChange);
                }
                let collected = COLLECTED.checked_sub(job.since.elapsed()).filter(|left| !left.is_zero());
                if let Some(left) = collected.filter(|_| sight.abandoned()) {
                    self.judge(key, Some(Verdict::Parked));
                    self.rest(&project, key, &sight, 0);
                    return Ok(Outcome::RequeueAfter(left));
                }
                if let Some(projection) = self.left_behind(key, &sight) {
                    self.judge(key, None);
                    return self.remove(&project, job, &projection).await;
                }
                if let Some((projection, write)) = self.lacks_status(key, &sight) {
                    self.judge(key, None);
                    changed |= self.write_status(&project, &projection, sight.signal(), write).await?;
                    continue;
                }
            }
            if memory.is_none() {
                memory = Some(self.planes.budget().working(&project.id, sight.object_bytes()).await);
            }
            let Some(seen) = self.observe(&project, key, &sight, live.take()).await? else {
                return Ok(Outcome::AwaitChange);
            };
            let decision = plan(&seen);
            if !is_on_deletion(&decision) {
                self.judge(key, verdict(&decision));
            }
            if project.stop.is_cancelled() {
                // The plane was disengaged during this pass: no later pass clears the verdict.
                self.judge(key, None);
                return Err(Error::NotEngaged(id));
            }
            match decision {
                Decision::InOrder => {
                    self.rest(&project, key, &sight, sight.judged_by(&seen));
                    return Ok(self.settled(job, &sight, changed));
                }
                Decision::Park(_) | Decision::Quarantine(_) => {
                    // Whatever wakes it may be long in coming.
                    self.rest(&project, key, &sight, 0);
                    let wait = if let Decision::Park(wait) = decision { wait } else { None };
                    return Ok(wait.map_or(Outcome::AwaitChange, Outcome::RequeueAfter));
                }
                Decision::Write(write) => {
                    match apply::write(&self.writer(&project), write, seen.projection.as_ref()).await? {
                        Written::Stored => changed = true,
                        Written::Unchanged => {}
                        Written::Replaced => return Ok(Outcome::AwaitChange),
                    }
                }
                Decision::Status(projection, write) => {
                    let before = Signal::of_instance(projection.status());
                    changed |= self.write_status(&project, &projection, before, write).await?;
                }
                Decision::ReadLive => live = Some(self.read_live(&seen, key).await?),
                Decision::Withhold(why) => {
                    self.judge(key, Some(Verdict::Withheld(why.label())));
                    return Ok(Outcome::RequeueAfter(WITHHELD));
                }
                Decision::Delete { projection, inferred } => {
                    if let Some(wait) = inferred.then(|| self.token(&home.plane, key).err()).flatten() {
                        self.judge(key, Some(Verdict::Withheld("rate")));
                        return Ok(Outcome::RequeueAfter(wait));
                    }
                    self.judge(key, None);
                    return self.remove(&project, job, &projection).await;
                }
            }
        }
        Err(Error::Bug(format!("{key} does not come to rest")))
    }

    /// Writes the status of a projection that says `before`, and tells its user of the turn of affairs (U3). Says whether
    /// anything was stored.
    async fn write_status(
        &self,
        project: &Plane,
        projection: &ObjectRef,
        before: Signal,
        write: StatusWrite,
    ) -> Result<bool, Error> {
        let turn = transitions::of_instance(before, &write.status).filter(|turn| !turn.routine);
        let stored = self.writer(project).write_status(Kind::Instance, projection, write).await?.is_some();
        // What a restored hub says was told before.
        if let Some(turn) = turn.filter(|_| stored && self.planes.distrust() != Some(Distrust::Restored)) {
            project.events.turn(reference_to(Kind::Instance, projection), turn);
        }
        Ok(stored)
    }

    /// Deletes a projection.
    async fn remove(&self, project: &Plane, job: &Job, projection: &ObjectRef) -> Result<Outcome, Error> {
        project.delete(Kind::Instance, projection, Precondition::Uid).await?;
        self.seen_deleted.remove(&job.key);
        self.propagated(job);
        Ok(Outcome::Updated)
    }

    fn settled(&self, job: &Job, sight: &Sight, changed: bool) -> Outcome {
        if sight.instance.is_some() || sight.projection.is_none() {
            self.seen_deleted.remove(&job.key);
        }
        if !changed {
            return Outcome::Unchanged;
        }
        self.propagated(job);
        Outcome::Updated
    }

    fn propagated(&self, job: &Job) {
        self.planes.metrics().propagated(Hop::HubToProjectInstance, job.since.elapsed());
    }

    fn writer<'a>(&'a self, plane: &'a Plane) -> PlaneWriter<'a> {
        PlaneWriter { plane, manager: PROJECTOR_MANAGER, metrics: self.planes.metrics() }
    }

    fn token(&self, plane: &PlaneName, key: &Key) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || TokenBucket::new(self.config.deletes_per_minute, now);
        buckets.retain(|of, bucket| of == plane || !bucket.is_full(now));
        buckets.entry(plane.clone()).or_insert_with(fresh).take(key, now)
    }

    /// What the stores tell, without any object of the many.
    pub(crate) fn look(
        &self,
        project: &Plane,
        key: &Key,
        home: &ProjectNamespace,
        hub_namespace: &ObjectRef,
    ) -> Sight {
        let (hub, wd) = (self.planes.hub(), Kind::WorkloadDeployment);
        let instance = hub.store(Kind::Instance).digest(&key.namespace, &key.name);
        let facts = instance.as_ref().and_then(Digest::instance);
        let deployment = facts.and_then(|facts| facts.deployment(&key.name)).map(str::to_owned);
        let down = facts.and_then(|facts| self.unreachable.get(facts.city));
        let named = |plane: &Plane, space: &str| plane.store(wd).digest(space, deployment.as_deref()?);
        let projections = project.store(Kind::Instance);
        Sight {
            hub_deployment: named(hub, &key.namespace),
            owner: named(project, &home.namespace),
            projection: projections.digest(&home.namespace, &key.name),
            spec_normalization: projections.normalization(&home.namespace, &key.name, Part::Spec),
            status_normalization: projections.normalization(&home.namespace, &key.name, Part::Status),
            home: home.clone(),
            hub_namespace: hub_namespace.clone(),
            instance,
            deployment,
            down,
        }
    }

    /// Whether digests tell that nothing is to do; then nothing about this Instance is kept any longer.
    pub(crate) fn in_order(&self, project: &Plane, key: &Key, sight: &Sight) -> bool {
        let known = project.store(Kind::Instance).synced_under(&sight.home.namespace, &key.name);
        let judged = known != 0 && known == sight.circumstances();
        let in_order = judged || sight.in_order();
        if in_order {
            self.rest(project, key, sight, if judged { known } else { 0 });
        }
        in_order
    }

    fn rest(&self, project: &Plane, key: &Key, sight: &Sight, circumstances: u64) {
        let stores = [
            (self.planes.hub().store(Kind::Instance), &key.namespace, &sight.instance),
            (project.store(Kind::Instance), &sight.home.namespace, &sight.projection),
        ];
        for (store, space, digest) in stores {
            if let Some(digest) = digest {
                store.mark_synced(space, &key.name, &digest.version, circumstances);
            }
        }
    }

    /// The projection of what was seen deleted, where digests tell that it is that.
    fn left_behind(&self, key: &Key, sight: &Sight) -> Option<ObjectRef> {
        sight.left_behind(&key.name, self.seen_deleted.get(key)?.value())
    }

    /// The projection and its status, where digests tell that it lacks nothing else. The Instance is kept for as long as
    /// it is not in order.
    fn lacks_status(&self, key: &Key, sight: &Sight) -> Option<(ObjectRef, StatusWrite)> {
        let projection = sight.lacks_status(&key.name)?;
        let instance = self.planes.hub().store(Kind::Instance).object(&key.namespace, &key.name)?;
        let same = sight.instance.as_ref().is_some_and(|i| i.version == Version::new(instance.version()));
        same.then(|| (projection, StatusWrite { status: instance.status().clone(), probe: false }))
    }

    /// What was seen, with the objects whole; `None` where the hub Instance has gone meanwhile.
    async fn observe(
        &self,
        project: &Plane,
        key: &Key,
        sight: &Sight,
        live: Option<Live>,
    ) -> Result<Option<Observed>, Error> {
        let (hub, home) = (self.planes.hub(), &sight.home);
        let instance = hub.get_or_fetch(Kind::Instance, &key.namespace, &key.name).await?;
        if instance.is_none() && sight.instance.is_some() {
            return Ok(None);
        }
        let mut owner = sight.owner.clone();
        if let (Some(name), Some(_), None) = (&sight.deployment, &sight.hub_deployment, &owner) {
            let wd = Kind::WorkloadDeployment;
            let read = project.get_live(wd, &home.namespace, name).await?;
            owner = read.map(|object| Digest::of(&project.id, wd, &object));
        }
        let mut seen = Observed {
            home: home.clone(),
            hub_namespace: sight.hub_namespace.clone(),
            instance,
            hub_deployment: sight.hub_deployment.clone(),
            owner,
            projection: None,
            seen_deleted: self.seen_deleted.get(key).map(|uid| uid.value().clone()),
            distrust: self.planes.distrust(),
            down: sight.down.clone(),
            live,
            spec_normalization: sight.spec_normalization,
            status_normalization: sight.status_normalization,
            grace: self.config.grace,
            now: self.planes.clock().now(),
        };
        // Whatever it is like, it is not asked for on behalf of an Instance that is not to be projected.
        if seen.instance.as_ref().is_none_or(|instance| living_owner(&seen, instance).is_ok()) {
            seen.projection = project.get_or_fetch(Kind::Instance, &home.namespace, &key.name).await?;
        }
        Ok(Some(seen))
    }

    async fn read_live(&self, seen: &Observed, key: &Key) -> Result<Live, Error> {
        let hub = self.planes.hub();
        let namespace = hub.get_live(Kind::Namespace, "", &key.namespace).await?.map(Arc::new);
        let mark = seen.projection.as_deref().and_then(Mark::of);
        if namespace.as_ref().map(|n| n.uid()) != mark.as_ref().map(|m| m.namespace_uid.as_str()) {
            // Nothing else can prove anything then.
            return Ok(Live { namespace, ..Live::default() });
        }
        let instance = hub.get_live(Kind::Instance, &key.namespace, &key.name).await?.map(Arc::new);
        let deployment = match seen.projection.as_deref().and_then(deployment_name) {
            Some(name) => hub.get_live(Kind::WorkloadDeployment, &key.namespace, name).await?.map(Arc::new),
            None => None,
        };
        Ok(Live { namespace, instance, deployment })
    }

    fn judge(&self, key: &Key, verdict: Option<Verdict>) {
        let news = self.wards.set(key, verdict, self.planes.metrics());
        match verdict.filter(|_| news) {
            Some(Verdict::Withheld(reason)) => {
                self.planes.metrics().deletes_withheld.with_label_values(&[reason]).inc();
                tracing::warn!(%key, reason, "projection kept: its hub Instance is missing, and its deletion is not confirmed or not due");
            }
            Some(Verdict::Quarantined(reason)) => {
                tracing::warn!(%key, reason = reason.label(), "quarantined: not projected before something about it changes");
                if let Some(operators) = self.planes.operators() {
                    let instance = self.planes.hub().store(Kind::Instance).get(&key.namespace, &key.name);
                    let note = format!(
                        "Instance {}/{} on the hub is not projected: {reason}",
                        key.namespace, key.name
                    );
                    operators.warn("Quarantined", instance.map(|of| reference(key.kind, &of)), note);
                }
            }
            Some(Verdict::Parked) | None => {}
        }
    }
}

/// Whether a decision is about a deletion, which may yet be withheld: what was judged stands until that is known.
fn is_on_deletion(decision: &Decision) -> bool {
    matches!(decision, Decision::ReadLive | Decision::Withhold(_) | Decision::Delete { .. })
}

fn verdict(decision: &Decision) -> Option<Verdict> {
    match decision {
        Decision::Park(_) => Some(Verdict::Parked),
        Decision::Quarantine(reason) => Some(Verdict::Quarantined(*reason)),
        _ => None,
    }
}

impl Controller for Projector {
    fn name(&self) -> &'static str {
        "projector"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Hub, Kind::Instance) => self.instance(job).await,
            _ => Err(Error::Bug(format!("{} is none of the projector's keys", job.key))),
        }
    }
}
