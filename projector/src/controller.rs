//! The controller: which event concerns which hub Instance, and what a pass over it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use fedhub_shared::engine::{Change, Controller, Echoes, Job, Listener, Outcome, Part, Queue, Writer};
use fedhub_shared::errors::Error;
use fedhub_shared::metrics::Hop;
use fedhub_shared::names::{PROJECTOR_MANAGER, PlaneName};
use fedhub_shared::object::{Key, Kind, Object, ObjectView, PlaneId, Shared};
use fedhub_shared::planes::{Plane, Planes};
use tokio::time::Instant;

use crate::apply::{self, Written};
use crate::bucket::Bucket;
use crate::mark::Mark;
use crate::observe::{Home, Live, Observed, deployment_name};
use crate::plan::{Decision, plan};
use crate::quarantine::{Reason, Verdict, Wards};

/// How often one pass may observe and plan anew; each round follows a write or a live read.
const ROUNDS: usize = 6;
/// When a deletion that could not be proven right is looked at again.
const WITHHELD: Duration = Duration::from_mins(1);

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
    planes: Arc<Planes>,
    queue: Arc<Queue>,
    config: ProjectorConfig,
    echoes: Echoes,
    wards: Wards,
    /// UIDs of hub Instances that were seen deleted without a gap, until their projections are gone (I4).
    seen_deleted: DashMap<Key, String>,
    buckets: Mutex<std::collections::BTreeMap<PlaneName, Bucket>>,
}

impl Projector {
    /// A projector over `planes`, fed through `queue`.
    pub fn new(planes: Arc<Planes>, queue: Arc<Queue>, config: ProjectorConfig) -> Arc<Self> {
        Arc::new(Self {
            planes,
            queue,
            config,
            echoes: Echoes::default(),
            wards: Wards::default(),
            seen_deleted: DashMap::new(),
            buckets: Mutex::default(),
        })
    }

    // === Events to keys ===

    /// Keys are those of hub Instances; turns are the project planes'.
    fn enqueue(&self, hub_namespace: &str, name: &str) {
        let lane = self.home(hub_namespace).map_or(PlaneId::Hub, |home| PlaneId::Project(home.plane));
        self.queue.add(self.planes.hub().key(Kind::Instance, hub_namespace, name), &lane);
    }

    fn home(&self, hub_namespace: &str) -> Option<Home> {
        Home::of(&*self.planes.hub().store(Kind::Namespace).get("", hub_namespace)?)
    }

    fn enqueue_instances(&self, hub_namespace: &str, of: impl Fn(&Object) -> bool) {
        for instance in self.planes.hub().store(Kind::Instance).in_namespace(hub_namespace) {
            if of(&instance) {
                self.enqueue(hub_namespace, instance.called());
            }
        }
    }

    /// The hub namespaces whose labels name that project namespace: one, but for a namespace that was made anew.
    fn hub_namespaces(&self, plane: &PlaneName, namespace: &str) -> Vec<Shared> {
        let home = Home { plane: plane.clone(), namespace: namespace.to_owned() };
        let mut all = self.planes.hub().store(Kind::Namespace).all();
        all.retain(|n| Home::of(n).as_ref() == Some(&home));
        all
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let object = change.object();
        match kind {
            Kind::Instance => {
                if let Change::Deleted { last, gap: false } = change {
                    let key = self.planes.hub().key(kind, last.space(), last.called());
                    self.seen_deleted.insert(key, last.uid().to_owned());
                }
                self.enqueue(object.space(), object.called());
            }
            Kind::WorkloadDeployment => {
                let name = object.called();
                self.enqueue_instances(object.space(), |i| deployment_name(i) == Some(name));
            }
            Kind::Namespace => self.enqueue_instances(object.called(), |_| true),
            Kind::PropagationPolicy | Kind::Cluster => {}
        }
    }

    fn project_changed(&self, plane: &PlaneName, kind: Kind, change: &Change) {
        let object = change.object();
        match kind {
            Kind::WorkloadDeployment => {
                for namespace in self.hub_namespaces(plane, object.space()) {
                    self.enqueue_instances(namespace.called(), |i| {
                        deployment_name(i) == Some(object.called())
                    });
                }
            }
            Kind::Instance => {
                // By its place and not by its mark, which a tenant may have edited (P4).
                for namespace in self.hub_namespaces(plane, object.space()) {
                    self.enqueue(namespace.called(), object.called());
                }
                if let Change::Deleted { last, .. } = change {
                    self.echoes.forget(&projection_key(plane, last.space(), last.called()));
                }
            }
            _ => {}
        }
    }

    // === One pass ===

    async fn instance(&self, job: &Job) -> Result<Outcome, Error> {
        let (key, hub) = (&job.key, self.planes.hub());
        if !hub.synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let Some(hub_namespace) = hub.store(Kind::Namespace).get("", &key.namespace) else {
            return Ok(Outcome::Waits);
        };
        let Some(home) = Home::of(&hub_namespace) else {
            let there = hub.store(Kind::Instance).get(&key.namespace, &key.name).is_some();
            self.judge(key, there.then_some(Verdict::Quarantined(Reason::Unidentifiable)));
            return Ok(Outcome::Waits);
        };
        let id = PlaneId::Project(home.plane.clone());
        let Some(project) = self.planes.engaged(&home.plane) else {
            self.judge(key, None);
            return Err(Error::NotEngaged(id));
        };
        let (mut changed, mut live) = (false, None);
        for _ in 0..ROUNDS {
            let seen = self.observe(&project, key, &home, &hub_namespace, live.take()).await?;
            let decision = plan(&seen);
            self.judge(key, verdict(&decision));
            match decision {
                Decision::InOrder => return Ok(self.settled(job, &seen, changed)),
                Decision::Park(None) | Decision::Quarantine(_) => return Ok(Outcome::Waits),
                Decision::Park(Some(wait)) => return Ok(Outcome::After(wait)),
                Decision::Write(write) => {
                    match apply::write(&self.writer(&project), write, seen.projection.as_ref()).await? {
                        Written::Stored => changed = true,
                        Written::Unchanged => {}
                        Written::Replaced => return Ok(Outcome::Waits),
                    }
                }
                Decision::Status(projection, write) => {
                    changed |= self
                        .writer(&project)
                        .write_status(Kind::Instance, &projection, write)
                        .await?
                        .is_some();
                }
                Decision::ReadLive => live = Some(self.read_live(&seen, key).await?),
                Decision::Withhold(why) => {
                    self.planes.metrics().deletes_withheld.with_label_values(&[why.label()]).inc();
                    tracing::warn!(%key, plane = %home.plane, reason = why.label(), "a projection is kept: that its Instance is gone is not proven");
                    return Ok(Outcome::After(WITHHELD));
                }
                Decision::Delete { projection, gap } => {
                    if let Some(wait) = gap.then(|| self.token(&home.plane, key).err()).flatten() {
                        self.planes.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
                        tracing::warn!(%key, plane = %home.plane, ?wait, "a deletion after a gap waits for its turn");
                        return Ok(Outcome::After(wait));
                    }
                    project.delete(Kind::Instance, &projection, false).await?;
                    self.seen_deleted.remove(key);
                    self.propagated(job);
                    return Ok(Outcome::Wrote);
                }
            }
        }
        Err(Error::Bug(format!("{key} does not come to rest")))
    }

    fn settled(&self, job: &Job, seen: &Observed, changed: bool) -> Outcome {
        if seen.instance.is_some() || seen.projection.is_none() {
            self.seen_deleted.remove(&job.key);
        }
        if !changed {
            return Outcome::InOrder;
        }
        self.propagated(job);
        Outcome::Wrote
    }

    fn propagated(&self, job: &Job) {
        self.planes.metrics().propagated(Hop::HubToProjectInstance, job.since.elapsed());
    }

    fn writer<'a>(&'a self, plane: &'a Plane) -> Writer<'a> {
        Writer { plane, echoes: &self.echoes, manager: PROJECTOR_MANAGER, metrics: self.planes.metrics() }
    }

    fn token(&self, plane: &PlaneName, key: &Key) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Bucket::new(self.config.deletes_per_minute, now);
        buckets.entry(plane.clone()).or_insert_with(fresh).take(key, now)
    }

    async fn observe(
        &self,
        project: &Plane,
        key: &Key,
        home: &Home,
        hub_namespace: &Shared,
        live: Option<Live>,
    ) -> Result<Observed, Error> {
        let hub = self.planes.hub();
        let instance = hub.store(Kind::Instance).get(&key.namespace, &key.name);
        let name = instance.as_deref().and_then(deployment_name).map(str::to_owned);
        let (mut hub_deployment, mut owner) = (None, None);
        if let Some(name) = &name {
            hub_deployment = hub.store(Kind::WorkloadDeployment).get(&key.namespace, name);
            owner = project.store(Kind::WorkloadDeployment).get(&home.namespace, name);
            if owner.is_none() && hub_deployment.is_some() {
                owner = project.live(Kind::WorkloadDeployment, &home.namespace, name).await?.map(Arc::new);
            }
        }
        let projection = project.store(Kind::Instance).get(&home.namespace, &key.name);
        let at = project.key(Kind::Instance, &home.namespace, &key.name);
        Ok(Observed {
            home: home.clone(),
            hub_namespace: hub_namespace.clone(),
            instance,
            hub_deployment,
            owner,
            projection,
            seen_deleted: self.seen_deleted.get(key).map(|uid| uid.value().clone()),
            live,
            spec_echo: self.echoes.get(&at, Part::Spec),
            status_echo: self.echoes.get(&at, Part::Status),
            grace: self.config.grace,
            now: self.planes.clock().now(),
        })
    }

    async fn read_live(&self, seen: &Observed, key: &Key) -> Result<Live, Error> {
        let hub = self.planes.hub();
        let namespace = hub.live(Kind::Namespace, "", &key.namespace).await?.map(Arc::new);
        let mark = seen.projection.as_deref().and_then(Mark::of);
        if namespace.as_ref().map(|n| n.uid()) != mark.as_ref().map(|m| m.namespace_uid.as_str()) {
            // Nothing else can prove anything then.
            return Ok(Live { namespace, ..Live::default() });
        }
        let instance = hub.live(Kind::Instance, &key.namespace, &key.name).await?.map(Arc::new);
        let deployment = match seen.projection.as_deref().and_then(deployment_name) {
            Some(name) => hub.live(Kind::WorkloadDeployment, &key.namespace, name).await?.map(Arc::new),
            None => None,
        };
        Ok(Live { namespace, instance, deployment })
    }

    fn judge(&self, key: &Key, verdict: Option<Verdict>) {
        let news = self.wards.set(key, verdict, self.planes.metrics());
        if let (true, Some(Verdict::Quarantined(reason))) = (news, verdict) {
            tracing::warn!(%key, reason = reason.label(), "quarantined: not projected before something about it changes");
        }
    }
}

fn verdict(decision: &Decision) -> Option<Verdict> {
    match decision {
        Decision::Park(_) => Some(Verdict::Parked),
        Decision::Quarantine(reason) => Some(Verdict::Quarantined(*reason)),
        _ => None,
    }
}

fn projection_key(plane: &PlaneName, namespace: &str, name: &str) -> Key {
    Key {
        plane: PlaneId::Project(plane.clone()),
        kind: Kind::Instance,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl Listener for Projector {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        match &plane.id {
            PlaneId::Hub => self.hub_changed(kind, change),
            PlaneId::Project(name) => self.project_changed(name, kind, change),
            PlaneId::Management => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        // Passes that came too early ended without a trace, and projections may have lost their Instance meanwhile.
        let concerned = |home: &Home| match &plane.id {
            PlaneId::Project(name) => home.plane == *name,
            _ => true,
        };
        for namespace in self.planes.hub().store(Kind::Namespace).all() {
            if Home::of(&namespace).is_none_or(|home| concerned(&home)) {
                self.enqueue_instances(namespace.called(), |_| true);
            }
        }
        for project in self.planes.projects() {
            if plane.id == PlaneId::Hub || plane.id == project.id {
                for projection in project.store(Kind::Instance).all() {
                    if let Some(mark) = Mark::of(&projection) {
                        self.enqueue(&mark.namespace, projection.called());
                    }
                }
            }
        }
    }

    fn left(&self, plane: &Plane) {
        // What was judged by the plane's objects is not known any more. Its bucket stays: coming back fills none (I4).
        let PlaneId::Project(name) = &plane.id else { return };
        for namespace in self.planes.hub().store(Kind::Namespace).all() {
            if Home::of(&namespace).is_some_and(|home| home.plane == *name) {
                self.enqueue_instances(namespace.called(), |_| true);
            }
        }
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
