//! The controller: what a pass over a WD or a policy is. `crate::keys` says when there is one.

use fedhub_planes::DryRun;
use fedhub_planes::Precondition;
use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use fedhub_api::cells::{CellDown, is_city_lost};
use fedhub_cache::Part;
use fedhub_cache::digest::Digest;
use fedhub_core::errors::Error;
use fedhub_core::names::{
    CITY_CODE, DELETION_PROTECTED, FEDERATOR_MANAGER, MOVING, PlaneName, SOURCE, SOURCE_UID,
};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::PlaneWriter;
use fedhub_planes::{Distrust, Plane, Planes, ProjectNamespace};
use tokio::time::Instant;

use crate::apply::Applier;
use crate::condition::Noticed;
use crate::deleted::SeenDeleted;
use crate::glance::Sight;
use crate::held::{Held, Holds};
use crate::late::{Departed, Gone};
use crate::moves;
use crate::moving::Touches;
use crate::observe::{Known, Live, Observed, city};
use crate::origin::origin;
use crate::orphans::Orphans;
use crate::plan::{Then, plan};
use crate::policy::{Quiet, Verdict, uses};
use crate::progress::Failure;
use crate::setup::{SetupGuard, SetupLocks};
use crate::space::Read;
use crate::stall::Stalls;

/// How often one pass may observe and plan anew; each round follows a write or a live read.
const ROUNDS: usize = 8;

/// Carries `WorkloadDeployments` to the hub and their status back.
pub struct Federator {
    pub(crate) planes: Arc<Planes>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) quiet: Quiet,
    quiet_time: Duration,
    /// UIDs of project namespaces, for as long as a WD stands in them (F2).
    pub(crate) namespaces: DashMap<ProjectNamespace, Read>,
    setups: SetupLocks,
    pub(crate) holds: Holds,
    pub(crate) noticed: Noticed,
    pub(crate) departed: Departed,
    pub(crate) seen_deleted: SeenDeleted,
    pub(crate) orphans: Orphans,
    pub(crate) touches: Touches,
    pub(crate) stalls: Stalls,
}

impl Federator {
    /// A federator over `planes`, fed through `queue`. `quiet_time`: how long a policy is unused before it goes (F7).
    pub fn new(planes: Arc<Planes>, queue: Arc<Queue>, quiet_time: Duration) -> Arc<Self> {
        Arc::new(Self {
            planes,
            queue,
            quiet: Quiet::default(),
            quiet_time,
            namespaces: DashMap::new(),
            setups: SetupLocks::default(),
            holds: Holds::default(),
            noticed: Noticed::default(),
            departed: Departed::default(),
            seen_deleted: SeenDeleted::default(),
            orphans: Orphans::default(),
            touches: Touches::default(),
            stalls: Stalls::default(),
        })
    }

    /// How many entries each memory holds, by its name: none may grow without end.
    pub fn remembered(&self) -> [(&'static str, usize); 9] {
        [
            ("namespaces", self.namespaces.len()),
            ("setups", self.setups.len()),
            ("holds", self.holds.len()),
            ("quiet", self.quiet.len()),
            ("orphans", self.orphans.len()),
            ("touches", self.touches.len()),
            ("noticed", self.noticed.len()),
            ("seen_deleted", self.seen_deleted.len()),
            ("stalls", self.stalls.len()),
        ]
    }

    // === One pass over a WD ===

    async fn deployment(&self, plane: &PlaneName, job: &Job) -> Result<Outcome, Error> {
        let key = &job.key;
        let project = self.planes.engaged(plane).ok_or_else(|| Error::NotEngaged(key.plane.clone()))?;
        let leaves = || {
            let wd = project.store(key.kind).digest(&key.namespace, &key.name);
            wd.is_some_and(|wd| is_leaving(&wd))
        };
        // Before anything else is waited for: who has its turn to set a namespace up waits for no memory.
        let _memory = self.planes.budget().working(&key.plane, self.object_bytes(plane, &project, key)).await;
        let (outcome, held) = match self.rounds(plane, &project, job).await {
            // Looked at again in time, should the hub come back from a backup.
            Ok(Then::Hold(why)) => (Ok(Outcome::Failed), Some(why)),
            Ok(Then::Wait) => (Ok(Outcome::AwaitChange), None),
            Ok(Then::LookAgain(wait)) => (Ok(Outcome::RequeueAfter(wait)), None),
            Ok(Then::Again) => (Ok(Outcome::Updated), None),
            Ok(Then::Done | Then::ReadLive) => (Ok(Outcome::Unchanged), None),
            Err(error) if leaves() && error.lacks_namespace(&key.plane) => {
                (Ok(Outcome::Failed), Some(Held::NamespaceGone))
            }
            Err(error) if leaves() && error.is_of(&PlaneId::Hub) => {
                let why = Held::HubUnreachable;
                self.explain(plane, &project, job, why).await;
                (Err(error), Some(why))
            }
            Err(error) => (Err(error), None),
        };
        self.hold(&project, key, held).await;
        let failure = outcome.as_ref().err().and_then(Failure::of);
        self.noticed.ended(key, failure);
        if project.stop.is_cancelled() {
            // The plane was disengaged during this pass: no later pass clears the failure.
            self.noticed.ended(key, None);
        }
        self.notice(&project, key);
        outcome
    }

    /// Bytes that the larger of a WD and what the hub has of it takes in memory, about.
    fn object_bytes(&self, plane: &PlaneName, project: &Plane, key: &Key) -> usize {
        let at = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.clone() };
        let hub = self.planes.hub().store(key.kind);
        let on_hub = self.planes.tenants().of(&at).into_iter().filter_map(|n| hub.digest(&n, &key.name));
        let known = project.store(key.kind).digest(&key.namespace, &key.name);
        on_hub.chain(known).map(|known| known.object_bytes()).max().unwrap_or_default()
    }

    /// Looks, observes, plans and applies until nothing is left to do now. [`Then::Again`]: something was written, and
    /// all is as it should be.
    async fn rounds(&self, plane: &PlaneName, project: &Plane, job: &Job) -> Result<Then, Error> {
        let key = &job.key;
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        if self.undo_late(plane, project, key).await? {
            return Ok(Then::Wait);
        }
        self.find_orphans(plane, project, key).await?;
        let (mut wrote, mut live, mut setup) = (false, None, None);
        for _ in 0..ROUNDS {
            let end = if wrote { Then::Again } else { Then::Done };
            let Some(sight) = self.look(plane, project, key, &mut setup).await? else { return Ok(end) };
            let stalled = self.is_stalled(key, &sight).await?;
            if live.is_none() && !stalled && self.in_order(plane, project, key, &sight) {
                return Ok(end);
            }
            let Some(mut seen) = self.observe(plane, project, key, &sight, live.take()).await? else {
                return Ok(Then::Wait);
            };
            seen.stalled = stalled;
            let plan = plan(&seen);
            if plan.release.is_some() {
                // Whatever becomes of the answer: nothing of it is on the hub by now.
                let (uid, hub_namespace) = (seen.project.uid().to_owned(), seen.hub_namespace_name.clone());
                self.departed.note(key, Gone { uid, hub_namespace }, Instant::now());
            }
            let moved = plan.moved.clone();
            let applied = self.applier(project, job).apply(plan, &seen.project).await?;
            if let Some(from) = moved {
                moves::say_moved(project, &seen.project, &from, seen.city());
            }
            wrote |= applied.wrote;
            if let Some(status) = &applied.status {
                self.announce(project, &seen.project, status);
            }
            if applied.made && applied.federated {
                let generation = seen.project.metadata.generation.unwrap_or_default();
                self.noticed.federated(key, generation, Instant::now());
            }
            if applied.federated && stalled {
                self.say_resynced(key, seen.city());
            } else if applied.federated {
                tracing::info!(plane = %plane, namespace = key.namespace, name = key.name, city = seen.city(), "federated");
            }
            match applied.then {
                Then::Done if !applied.wrote => {
                    self.rest(project, key, &sight, sight.judged_by(&seen));
                    return Ok(end);
                }
                Then::Done | Then::Again => {}
                Then::ReadLive => live = Some(self.read_live(&seen).await?),
                then => return Ok(then),
            }
        }
        Err(Error::Bug(format!("{key} does not come to rest")))
    }

    /// Deletes a hub WD that a create made too late, see [`crate::late`]. Says whether there is one, deleted by now or
    /// on its way out.
    async fn undo_late(&self, plane: &PlaneName, project: &Plane, key: &Key) -> Result<bool, Error> {
        let (wd, hub) = (Kind::WorkloadDeployment, self.planes.hub());
        let Some(gone) = self.departed.get(key, Instant::now()) else { return Ok(false) };
        let Some(late) = hub.get_or_fetch(wd, &gone.hub_namespace, &key.name).await? else {
            return Ok(false);
        };
        let source = origin(plane, &key.namespace, &key.name);
        let is_its =
            late.annotation(SOURCE) == Some(&source) && late.annotation(SOURCE_UID) == Some(&gone.uid);
        let at = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.clone() };
        if !is_its || self.labelled(&gone.hub_namespace) != Some(at) {
            return Ok(false);
        }
        let known = project.store(wd).digest(&key.namespace, &key.name);
        if known.is_some_and(|known| known.uid.to_string() == gone.uid)
            || project
                .get_live(wd, &key.namespace, &key.name)
                .await?
                .is_some_and(|live| live.uid() == gone.uid)
        {
            return Ok(false);
        }
        if late.is_terminating() {
            return Ok(true);
        }
        tracing::warn!(%key, uid = gone.uid, "a create landed after its WorkloadDeployment had gone: it is undone");
        let mut doomed = late.clone();
        if late.label(DELETION_PROTECTED.0).is_some() {
            let mut free = Object::clone(&late);
            free.metadata.labels.get_or_insert_default().remove(DELETION_PROTECTED.0);
            doomed = hub.replace(wd, &free, FEDERATOR_MANAGER, DryRun::No).await?;
        }
        hub.delete(wd, &doomed, Precondition::Uid).await?;
        Ok(true)
    }

    pub(crate) fn applier<'a>(&'a self, project: &'a Plane, job: &Job) -> Applier<'a> {
        let metrics = self.planes.metrics();
        let writer = |plane| PlaneWriter { plane, manager: FEDERATOR_MANAGER, metrics };
        Applier { project: writer(project), hub: writer(self.planes.hub()), metrics, since: job.since }
    }

    /// What the stores tell, without any object; `None` for a WD that is none of our business any more. Holds `setup`
    /// while its hub namespace or its policy has to be made, so that no other pass makes them too.
    async fn look(
        &self,
        plane: &PlaneName,
        project: &Plane,
        key: &Key,
        setup: &mut Option<SetupGuard>,
    ) -> Result<Option<Sight>, Error> {
        let ours = |wd: &Digest| !wd.terminating || wd.deployment().is_some_and(|d| d.held);
        let wd = || project.store(Kind::WorkloadDeployment).digest(&key.namespace, &key.name).filter(ours);
        let at = ProjectNamespace { plane: plane.clone(), namespace: key.namespace.clone() };
        let Some(seen) = wd() else { return Ok(None) };
        if self.known_namespace_uid(&at, project, &seen).is_some() {
            let namespace = self.hub_space(plane, project, key, &seen).await?;
            let sight = self.sight(project, key, seen, namespace);
            if !sight.lacks_setup(&key.name) {
                *setup = None;
                return Ok(Some(sight));
            }
        }
        if setup.is_none() {
            *setup = Some(self.setups.acquire(&at).await);
        }
        // It may have changed while another pass held the lock.
        let Some(wd) = wd() else { return Ok(None) };
        let namespace = self.hub_space(plane, project, key, &wd).await?;
        Ok(Some(self.sight(project, key, wd, namespace)))
    }

    /// The cell of a WD's city, where Karmada does not reach it.
    fn cell_down(&self, wd: &Digest) -> Option<CellDown> {
        let code = wd.deployment().and_then(|d| d.city.as_deref())?;
        self.cells_of(code).first().and_then(|cell| CellDown::of(cell))
    }

    /// Whether every cell of that city is declared lost (C11), and the hub known not to have brought that back itself.
    fn is_lost(&self, city: &str) -> bool {
        self.planes.distrust() != Some(Distrust::Unverified) && is_city_lost(&self.planes.clusters(), city)
    }

    /// The Clusters that carry a city's code.
    pub(crate) fn cells_of(&self, city: &str) -> Vec<ObjectRef> {
        let mut cells = self.planes.clusters();
        cells.retain(|cell| cell.label(CITY_CODE) == Some(city));
        cells
    }

    /// The same, for the WD `wd` that belongs into this hub namespace.
    pub(crate) fn sight(&self, project: &Plane, key: &Key, wd: Digest, namespace: String) -> Sight {
        let hub = self.planes.hub();
        let (policies, wds) = (hub.store(Kind::PropagationPolicy), hub.store(Kind::WorkloadDeployment));
        let echo = |policy: &ObjectRef| policies.normalization(policy.namespace(), policy.name(), Part::Spec);
        let code = wd.deployment().and_then(|d| d.city.as_deref()).unwrap_or_default();
        let known = |p| Known { echo: echo(&p), object: p };
        Sight {
            hub_namespace: hub.store(Kind::Namespace).object("", &namespace),
            hub: wds.digest(&namespace, &key.name),
            policies: policies.objects(Some(&namespace)).into_iter().map(known).collect(),
            cells: self.cells_of(code).len(),
            down: self.cell_down(&wd),
            spec_normalization: wds.normalization(&namespace, &key.name, Part::Spec),
            suspended: project.is_suspended(),
            hub_namespace_name: namespace,
            project: wd,
        }
    }

    /// Whether digests tell that nothing is to do; then nothing about this WD is kept any longer.
    pub(crate) fn in_order(&self, plane: &PlaneName, project: &Plane, key: &Key, sight: &Sight) -> bool {
        let known = project.store(Kind::WorkloadDeployment).synced_under(&key.namespace, &key.name);
        if known != 0 && known == sight.circumstances() {
            self.rest(project, key, sight, known);
            return true;
        }
        let in_order = sight.in_order(plane, key);
        if in_order {
            self.rest(project, key, sight, 0);
        }
        in_order
    }

    fn rest(&self, project: &Plane, key: &Key, sight: &Sight, circumstances: u64) {
        let wd = Kind::WorkloadDeployment;
        project.store(wd).mark_synced(&key.namespace, &key.name, &sight.project.version, circumstances);
        if let Some(hub) = &sight.hub {
            self.planes.hub().store(wd).mark_synced(&sight.hub_namespace_name, &key.name, &hub.version, 0);
        }
    }

    /// What was seen, with the objects whole; `None` where the WD has gone meanwhile.
    async fn observe(
        &self,
        plane: &PlaneName,
        project: &Plane,
        key: &Key,
        sight: &Sight,
        live: Option<Live>,
    ) -> Result<Option<Observed>, Error> {
        let (wd, hub) = (Kind::WorkloadDeployment, self.planes.hub());
        let Some(whole) = project.get_or_fetch(wd, &key.namespace, &key.name).await? else { return Ok(None) };
        let deployment = hub.get_or_fetch(wd, &sight.hub_namespace_name, &key.name).await?;
        let bound = match &deployment {
            Some(wd) if wd.annotation(MOVING).is_some() => {
                self.bound(wd.namespace(), wd.name(), city(&whole)).await?
            }
            _ => None,
        };
        let there = deployment.as_ref().and_then(|wd| wd.label(CITY_CODE)).unwrap_or(city(&whole));
        let cell_lost = self.is_lost(there);
        Ok(Some(Observed {
            plane: plane.clone(),
            project: whole,
            hub: deployment,
            hub_namespace_name: sight.hub_namespace_name.clone(),
            hub_namespace: sight.hub_namespace.clone(),
            policies: sight.policies.clone(),
            cells: sight.cells,
            cell_down: self.cell_down(&sight.project),
            cell_lost,
            spec_normalization: sight.spec_normalization,
            bound,
            stalled: false,
            status_normalization: project.store(wd).normalization(&key.namespace, &key.name, Part::Status),
            suspended: sight.suspended,
            distrust: self.planes.distrust(),
            last_restore: self.planes.last_restore(),
            seen_deleted: self.was_seen_deleted(key, &sight.project, &sight.hub_namespace_name),
            live,
            now: self.planes.clock().now(),
        }))
    }

    /// Reads the hub. Whether it lost what it lacks is asked afterwards: it may have come back from a backup just now.
    async fn read_live(&self, seen: &Observed) -> Result<Live, Error> {
        let hub = self.planes.hub();
        let namespace = hub.get_live(Kind::Namespace, "", &seen.hub_namespace_name).await?;
        let deployment =
            hub.get_live(Kind::WorkloadDeployment, &seen.hub_namespace_name, seen.project.name()).await?;
        if deployment.is_none() {
            self.planes.compare_hub().await;
        }
        Ok(Live { namespace: namespace.map(Arc::new), deployment: deployment.map(Arc::new) })
    }

    // === One pass over a policy ===

    async fn policy(&self, key: &Key) -> Result<Outcome, Error> {
        let hub = self.planes.hub();
        if !hub.synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let Some(policy) = hub.store(Kind::PropagationPolicy).object(&key.namespace, &key.name) else {
            return Ok(Outcome::Unchanged);
        };
        let Some(ProjectNamespace { plane, namespace }) = self.owner(&key.namespace) else {
            return Ok(Outcome::AwaitChange);
        };
        // Who is on the way cannot be known while the plane is not in sync.
        let project = self.planes.engaged(&plane).ok_or(Error::NotEngaged(PlaneId::Project(plane)))?;
        let used = |code: &str| {
            let any = |of: &Plane, space: &str, on_hub| {
                of.store(Kind::WorkloadDeployment).any(Some(space), |wd| uses(wd.digest, code, on_hub))
            };
            any(hub, &key.namespace, true) || any(&project, &namespace, false)
        };
        // A policy without a city is not ours to judge.
        let used = policy.label(CITY_CODE).is_none_or(used);
        match self.quiet.judge(&policy, used, self.quiet_time, Instant::now()) {
            // Deleted, it lets go of all that it claims.
            Verdict::Delete => {
                hub.delete(Kind::PropagationPolicy, &policy, Precondition::UidAndVersion).await?;
                tracing::info!(
                    namespace = key.namespace,
                    name = key.name,
                    "policy deleted: no WorkloadDeployment uses its city"
                );
                Ok(Outcome::Updated)
            }
            Verdict::Keep => self.touch(&policy, None).await,
            Verdict::LookAgain(wait) => self.touch(&policy, Some(wait)).await,
        }
    }
}

/// Whether the WD is being deleted and our finalizer holds it.
pub(crate) fn is_leaving(wd: &Digest) -> bool {
    wd.terminating && wd.deployment().is_some_and(|d| d.held)
}

impl Controller for Federator {
    fn name(&self) -> &'static str {
        "federator"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Project(plane), Kind::WorkloadDeployment) => self.deployment(plane, job).await,
            (PlaneId::Hub, Kind::PropagationPolicy) => self.policy(&job.key).await,
            _ => Err(Error::Bug(format!("{} is none of the federator's keys", job.key))),
        }
    }
}
