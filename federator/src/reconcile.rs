//! One pass over one WD: snapshot, plan, apply, as the engine's loop asks for them.

use std::ops::ControlFlow;
use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::Part;
use fedhub_core::errors::Error;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_core::trace::Change;
use fedhub_engine::{Job, Outcome, Reconciler, Step};
use fedhub_planes::{Pass, Plane, ServiceState};
use tokio::time::Instant;

use crate::Federator;
use crate::cleanup::CleanupBlocked;
use crate::controller::Target;
use crate::desired::{Bodies, HubBody};
use crate::moving::Move;
use crate::plan::{FederationPlan, NextStep, plan};
use crate::progress::{Outlook, asks_karmada};
use crate::setup::SetupGuard;
use crate::snapshot::{KnownPolicy, LiveRead, Snapshot, Wd, is_leaving};
use crate::teardown::{self, Left, Teardown};

/// The hub as a live read shows it, past every cache (I3).
pub(crate) struct LiveHub {
    /// The hub namespace that was read: what it says holds for no other.
    pub hub_namespace_name: String,
    pub namespace: Option<ObjectRef>,
    pub deployment: Option<ObjectRef>,
}

/// One pass over one WD, and what its reads have shown.
pub(crate) struct DeploymentReconcile<'a> {
    pub federator: &'a Federator,
    pub of: Target<'a>,
    pub job: &'a Job,
    /// A live read of the hub, for the next round only.
    pub live: Option<LiveHub>,
    /// The WD as it was fetched, where the caches differed: for the next round only.
    pub fetched: Option<Bodies>,
    /// The copies of its Instances on the hub, where the plan asked for them.
    pub left: Option<Vec<Left>>,
    /// Whether Karmada is to apply the hub WD again, which is asked for once.
    stalled: bool,
    /// Held while what the WDs of the namespace share has to be made, so that no other pass makes it too.
    setup: Option<SetupGuard>,
    /// Why the finalizer stays.
    pub blocked: Option<CleanupBlocked>,
    /// What another pass is to come for.
    pub outlook: Outlook,
    /// What it waits for, where that is known.
    pub awaited: Option<String>,
}

impl<'a> DeploymentReconcile<'a> {
    pub fn new(federator: &'a Federator, of: Target<'a>, job: &'a Job) -> Self {
        Self {
            federator,
            of,
            job,
            live: None,
            fetched: None,
            left: None,
            stalled: false,
            setup: None,
            blocked: None,
            outlook: Outlook::Settled,
            awaited: None,
        }
    }

    /// The WD, if it is any of our business.
    fn wd(&self) -> Option<Digest> {
        self.of.digest().filter(|wd| !wd.terminating || wd.deployment().is_some_and(|facts| facts.held))
    }

    /// Puts what this pass has read in the place of what the caches say.
    fn put_read(&self, seen: &mut Snapshot) {
        let facts = |hub: &ObjectRef| Wd::of(&PlaneId::Hub, hub);
        if let Some(Bodies { project, hub }) = &self.fetched
            && let Some(project) = Wd::of(&self.of.key.plane, project)
        {
            seen.project = project;
            if !matches!(hub, HubBody::Unread) {
                seen.hub = hub.object().and_then(facts);
            }
        }
        if let Some(live) = self.live.as_ref().filter(|_| seen.is_leaving()) {
            seen.live = Some(LiveRead { cached: seen.hub.is_some() });
            seen.hub_namespace.clone_from(&live.namespace);
            seen.hub = live.deployment.as_ref().and_then(facts);
        }
    }

    /// Puts what Karmada's `ResourceBinding` says of a WD that moves: whether a cell of the new city has
    /// reported on it, and what keeps it from there.
    async fn ask_of_move(&self, seen: &mut Snapshot) -> Result<(), Error> {
        let (hub, space) = (self.federator.planes.hub(), &seen.hub_namespace_name);
        let Some(body) =
            hub.get_or_fetch(&self.job.pass, Kind::WorkloadDeployment, space, &seen.name).await?
        else {
            return Ok(());
        };
        let bound = self.federator.bound(&self.job.pass, space, &seen.name, seen.city()).await?;
        let lasted = seen.hub.as_ref().and_then(Move::recorded).map(|recorded| recorded.lasted(seen.now));
        seen.arrived = bound.as_ref().is_some_and(|bound| bound.has_arrived(&body));
        seen.held = Hold::of(bound.and_then(|bound| bound.refusal), lasted.unwrap_or_default());
        Ok(())
    }
}

impl Reconciler for DeploymentReconcile<'_> {
    type Snapshot = Snapshot;
    type Plan = FederationPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        let federator = self.federator;
        let unknown = |wd: Digest| federator.known_namespace_uid(self.of, &wd).is_none();
        if self.setup.is_none() && self.wd().is_some_and(unknown) {
            self.setup = Some(federator.setups.acquire(self.of.home).await);
        }
        // It may have changed while another pass held the lock.
        let Some(wd) = self.wd() else { return Ok(ControlFlow::Break(Outcome::Unchanged)) };
        let space = federator.resolve_hub_namespace(&self.job.pass, self.of, &wd).await?;
        let Some(mut seen) = federator.snapshot_of(self.of, wd, space) else {
            return Ok(ControlFlow::Break(Outcome::Unchanged));
        };
        let is_there = |hub: &ObjectRef| hub.namespace() == seen.hub_namespace_name;
        self.fetched = self.fetched.take().filter(|it| it.hub.object().is_none_or(is_there));
        self.live = self.live.take().filter(|live| live.hub_namespace_name == seen.hub_namespace_name);
        self.put_read(&mut seen);
        seen.waited = self.job.unsettled_since.elapsed();
        seen.teardown.left.clone_from(&self.left);
        self.job
            .answered
            .say(|| Some(Change { uid: seen.project.uid.to_string(), generation: seen.project.generation }));
        seen.held = federator.waits.held(self.of.key, seen.project.generation);
        let moves = seen.hub.as_ref().is_some_and(|hub| hub.moving().is_some());
        if moves && !self.is_synced(&seen) {
            self.ask_of_move(&mut seen).await?;
        }
        self.outlook = federator.outlook(&seen, self.of.key);
        if !moves && asks_karmada(&seen, self.outlook) {
            self.stalled |= federator.is_stalled(&self.job.pass, &seen, self.of.key).await?;
            seen.held = federator.waits.held(self.of.key, seen.project.generation);
            self.outlook = federator.outlook(&seen, self.of.key);
        }
        seen.is_due = self.outlook == Outlook::Due(Duration::ZERO);
        seen.stalled = self.stalled;
        Ok(ControlFlow::Continue(seen))
    }

    fn is_synced(&self, seen: &Snapshot) -> bool {
        is_synced(self.of.project, seen)
    }

    fn plan(&self, seen: &Snapshot) -> FederationPlan {
        plan(seen)
    }

    async fn apply(&mut self, seen: &Snapshot, plan: FederationPlan) -> Result<Step, Error> {
        if !plan.makes_setup() {
            self.setup = None;
        } else if self.setup.is_none() && !seen.is_leaving() {
            self.setup = Some(self.federator.setups.acquire(self.of.home).await);
            return Ok(Step::Learned);
        }
        let (fetched, live) = (self.fetched.take(), self.live.take());
        let (wrote, then) = if plan.writes_nothing() {
            (false, plan.then)
        } else {
            match self.bodies(seen, &plan, fetched, live).await? {
                ControlFlow::Break(step) => return Ok(step),
                // In a box: a pass that writes nothing would hold room for it too.
                ControlFlow::Continue(bodies) => Box::pin(self.perform(seen, plan, &bodies)).await?,
            }
        };
        self.stalled = false;
        Ok(match then {
            NextStep::Done if !wrote => Step::Unchanged,
            NextStep::Done | NextStep::Requeue if wrote => Step::Updated,
            NextStep::Done | NextStep::Requeue => Step::Learned,
            NextStep::ReadLive => {
                self.read_live(seen).await?;
                if wrote { Step::Updated } else { Step::Learned }
            }
            NextStep::ReadCopies => {
                self.left = Some(self.federator.copies_left(&self.job.pass, seen).await?);
                Step::Learned
            }
            NextStep::AwaitChange => Step::End(Outcome::AwaitChange),
            NextStep::RequeueAfter(wait) => Step::End(Outcome::RequeueAfter(wait)),
            NextStep::BlockCleanup(why) => {
                self.blocked = Some(why);
                // Retried after a back-off, should the hub come back from a backup.
                Step::End(Outcome::Failed)
            }
            NextStep::HoldCleanup(why, wait) => {
                self.blocked = Some(why);
                self.awaited = seen.teardown.left.as_deref().map(teardown::named);
                Step::End(Outcome::RequeueAfter(wait))
            }
        })
    }

    fn mark_synced(&self, seen: &Snapshot) {
        self.federator.mark_synced(self.of.project, seen);
    }
}

impl Federator {
    /// What the caches say of the WD `wd` that belongs into this hub namespace.
    pub(crate) fn snapshot_of(&self, of: Target<'_>, wd: Digest, hub_namespace: String) -> Option<Snapshot> {
        let Target { project, home, key } = of;
        let (hub, kind) = (self.planes.hub(), Kind::WorkloadDeployment);
        let (policies, wds) = (hub.store(Kind::PropagationPolicy), hub.store(kind));
        let known = |object: ObjectRef| {
            let normalization = policies.normalization(object.namespace(), object.name(), Part::Spec);
            KnownPolicy { object, normalization }
        };
        let leaves = is_leaving(project, &wd);
        let (project_wd, service) = (Wd::new(wd)?, project.service());
        let hub_wd = wds.digest(&hub_namespace, &key.name).and_then(Wd::new);
        let cells = self.cells_of(project_wd.city.as_deref().unwrap_or_default());
        let city = hub_wd.as_ref().and_then(|hub| hub.city.as_deref()).or(project_wd.city.as_deref());
        Some(Snapshot {
            home: home.clone(),
            name: key.name.to_string(),
            hub_namespace: hub.store(Kind::Namespace).object("", &hub_namespace),
            policies: policies.objects(Some(&hub_namespace)).into_iter().map(known).collect(),
            cells: cells.len(),
            cell_down: cells.first().and_then(|cell| CellDown::of(cell)),
            cell_lost: (project_wd.terminating || service == ServiceState::Withdrawn)
                && self.is_lost(city.unwrap_or_default()),
            spec_normalization: wds.normalization(&hub_namespace, &key.name, Part::Spec),
            status_normalization: project.store(kind).normalization(&key.namespace, &key.name, Part::Status),
            writes: project.write_state(),
            service,
            arrived: false,
            stalled: false,
            held: None,
            is_due: false,
            distrust: self.planes.distrust(),
            last_restore: self.planes.last_restore(),
            teardown: Teardown {
                cached: leaves
                    && hub_wd
                        .as_ref()
                        .is_some_and(|hub| self.has_copies(&hub_namespace, &key.name, &hub.uid)),
                left: None,
                limits: self.config.teardown,
            },
            seen_deleted: self.was_seen_deleted(key, &project_wd.uid, &hub_namespace),
            waited: Duration::ZERO,
            live: None,
            now: self.planes.clock().now(),
            project: project_wd,
            hub_namespace_name: hub_namespace,
            hub: hub_wd,
        })
    }

    /// Whether Karmada is to apply the hub WD again (F8): asked only where it is that WD's turn.
    async fn is_stalled(&self, pass: &Pass, seen: &Snapshot, key: &Key) -> Result<bool, Error> {
        if !self.waits.take_turn(key, Instant::now()) {
            return Ok(false);
        }
        let bound = self.bound(pass, &seen.hub_namespace_name, &seen.name, seen.city()).await?;
        let is_behind = bound.as_ref().is_some_and(|bound| bound.is_behind(seen.project.generation));
        self.waits.answered(key, bound.and_then(|bound| bound.refusal), Instant::now());
        Ok(is_behind)
    }

    /// Whether the WD is in sync, without any request. Then its objects are not kept any longer.
    pub(crate) fn settles(&self, project: &Plane, seen: &Snapshot) -> bool {
        let in_sync = is_synced(project, seen) || plan(seen).is_empty();
        if in_sync {
            self.mark_synced(project, seen);
        }
        in_sync
    }

    fn mark_synced(&self, project: &Plane, seen: &Snapshot) {
        let kind = Kind::WorkloadDeployment;
        let (version, inputs) = (&seen.project.version, seen.fingerprint());
        project.store(kind).mark_synced(&seen.home.namespace, &seen.name, version, inputs);
        if let Some(hub) = &seen.hub {
            let hub_wds = self.planes.hub().store(kind);
            hub_wds.mark_synced(&seen.hub_namespace_name, &seen.name, &hub.version, 0);
        }
    }
}

/// Whether the WD was found in sync with the same inputs.
fn is_synced(project: &Plane, seen: &Snapshot) -> bool {
    let known = project.store(Kind::WorkloadDeployment).synced_under(&seen.home.namespace, &seen.name);
    known != 0 && known == seen.fingerprint()
}
