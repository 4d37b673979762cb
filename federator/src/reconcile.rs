//! One pass over one WD: snapshot, plan, apply, as the engine's loop and its applier ask for them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::ObjectPart;
use fedhub_core::errors::Error;
use fedhub_core::metrics::Hop;
use fedhub_core::names::DELETION_PROTECTED;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_core::trace::TracedGeneration;
use fedhub_engine::{Answer, Bodies, Draft, Effects, Intent, Job, Outcome, Reconciler, Step, apply};
use fedhub_planes::{Pass, Plane, PlaneWriter, Precondition, ServiceState, Write};
use tokio::time::Instant;

use crate::Federator;
use crate::announce::announce_unreached;
use crate::controller::Target;
use crate::loss;
use crate::moving::Move;
use crate::namespaces::SetupGuard;
use crate::plan::{FederationPlan, plan};
use crate::progress::{Outlook, asks_karmada};
use crate::refusal::Refusal;
use crate::render::render;
use crate::snapshot::{KnownPolicy, LiveRead, Snapshot, Wd, awaits_cleanup};
use crate::teardown::{Left, Teardown};

const WD: Kind = Kind::WorkloadDeployment;

/// The hub as a live read shows it, past every cache (I3).
struct LiveHub {
    /// The hub namespace that was read: what it says holds for no other.
    hub_namespace_name: String,
    namespace: Option<ObjectRef>,
    deployment: Option<Wd>,
}

/// A pass over one WD, and the results of its reads.
pub(crate) struct DeploymentReconcile<'a> {
    federator: &'a Federator,
    of: Target<'a>,
    job: &'a Job,
    /// For the next round only.
    live: Option<LiveHub>,
    /// The WDs that were fetched as another version than the caches know, or not found: for the next round
    /// only.
    fetched: BTreeMap<Key, Option<Wd>>,
    /// The copies of its Instances on the hub, where the plan asked for them.
    left: Option<Vec<Left>>,
    /// Whether Karmada is to apply the hub WD again, which is asked for once.
    stalled: bool,
    /// Held while what the WDs of the namespace share has to be made, so that no other pass makes it too.
    setup: Option<SetupGuard>,
    /// The verdict of the last plan.
    pub verdict: Option<Refusal>,
    /// What another pass is to come for.
    pub outlook: Outlook,
}

impl<'a> DeploymentReconcile<'a> {
    pub fn new(federator: &'a Federator, of: Target<'a>, job: &'a Job) -> Self {
        Self {
            federator,
            of,
            job,
            live: None,
            fetched: BTreeMap::new(),
            left: None,
            stalled: false,
            setup: None,
            verdict: None,
            outlook: Outlook::Settled,
        }
    }

    /// The WD, if it is any of our business.
    fn wd(&self) -> Option<Digest> {
        self.of.digest().filter(|wd| !wd.terminating || wd.deployment().is_some_and(|facts| facts.held))
    }

    /// Puts what this pass has read in the place of what the caches say.
    fn put_read(&mut self, seen: &mut Snapshot) {
        if let Some(Some(project)) = self.fetched.get(&seen.project_key()) {
            seen.project.clone_from(project);
        }
        if let Some(hub) = self.fetched.get(&seen.hub_key()) {
            seen.hub.clone_from(hub);
        }
        self.live = self.live.take().filter(|live| live.hub_namespace_name == seen.hub_namespace_name);
        if let Some(live) = self.live.as_ref()
            && seen.is_leaving()
        {
            seen.live = Some(LiveRead { cached: seen.hub.is_some() });
            seen.hub_namespace.clone_from(&live.namespace);
            seen.hub.clone_from(&live.deployment);
        }
    }

    /// Reads the hub. Whether it lost what it lacks is asked afterwards: it may have come back from a backup
    /// just now. Where it did not, what it lacks leaves the cache too: a WD that is made again at once must
    /// not be compared with it, however late the watch brings the deletion. Where it may have lost it, the
    /// watch has to tell (F9).
    async fn read_hub(&mut self, seen: &Snapshot) -> Result<(), Error> {
        let planes = &self.federator.planes;
        let hub = planes.hub();
        let pass = &self.job.pass;
        let space = &seen.hub_namespace_name;
        let known = hub.store(WD).digest(space, &seen.name).map(|wd| wd.uid.to_string());
        let namespace = hub.get_live(pass, Kind::Namespace, "", space).await?.map(ObjectRef::from);
        let deployment = hub.refresh(pass, WD, space, &seen.name).await?;
        if deployment.is_none() {
            planes.compare_hub().await;
            if let Some(uid) = known
                && planes.distrust().is_none()
                && !loss::is_possible(seen)
            {
                hub.store(WD).own_deleted(space, &seen.name, &uid);
            }
        }
        let deployment = deployment.and_then(|wd| Wd::from_object(&PlaneId::Hub, &wd));
        self.live = Some(LiveHub { hub_namespace_name: space.clone(), namespace, deployment });
        Ok(())
    }

    /// Puts what Karmada's `ResourceBinding` says of a WD that moves: whether a cell of the new city has
    /// reported on it, and what keeps it from there.
    async fn ask_of_move(&self, seen: &mut Snapshot) -> Result<(), Error> {
        let hub = self.federator.planes.hub();
        let space = &seen.hub_namespace_name;
        let Some(body) =
            hub.get_or_fetch(&self.job.pass, Kind::WorkloadDeployment, space, &seen.name).await?
        else {
            return Ok(());
        };
        let bound = self.federator.bound(&self.job.pass, space, &seen.name, seen.city()).await?;
        let lasted = seen.hub.as_ref().and_then(Move::recorded).map(|recorded| recorded.lasted(seen.now));
        seen.arrived = bound.as_ref().is_some_and(|bound| bound.has_arrived(&body));
        seen.held = Hold::from_refusal(bound.and_then(|bound| bound.refusal), lasted.unwrap_or_default());
        Ok(())
    }
}

impl Reconciler for DeploymentReconcile<'_> {
    type Snapshot = Snapshot;
    type Plan = FederationPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        let federator = self.federator;
        self.verdict = None;
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
        self.put_read(&mut seen);
        seen.waited = self.job.unsettled_since.elapsed();
        seen.teardown.left.clone_from(&self.left);
        self.job.answered.say(|| {
            Some(TracedGeneration { uid: seen.project.uid.to_string(), generation: seen.project.generation })
        });
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
        if !plan.intents.iter().any(makes_setup) {
            self.setup = None;
        } else if self.setup.is_none() && !seen.is_leaving() {
            self.setup = Some(self.federator.setups.acquire(self.of.home).await);
            return Ok(Step::Learned);
        }
        self.live = None;
        self.fetched.clear();
        self.verdict = plan.verdict;
        let step = apply(self, seen, plan.intents).await?;
        self.stalled &= step == Step::Learned;
        Ok(step)
    }

    fn mark_synced(&self, seen: &Snapshot) {
        self.federator.mark_synced(self.of.project, seen);
    }
}

/// Whether that makes what the WDs of a project namespace share: their hub namespace, or their city's policy.
fn makes_setup(intent: &Intent) -> bool {
    matches!(intent, Intent::Put { write: Write::Create(_), .. })
}

impl Effects for DeploymentReconcile<'_> {
    fn writer(&self, plane: &PlaneId) -> PlaneWriter<'_> {
        let plane = if *plane == PlaneId::Hub { self.federator.planes.hub() } else { self.of.project };
        self.federator.writer(plane, &self.job.pass)
    }

    fn render(&self, seen: &Snapshot, draft: &Draft, bodies: &Bodies) -> Option<Intent> {
        render(seen, self.verdict.as_ref(), draft, bodies)
    }

    /// No deletion of its plans is inferred.
    fn take(&self, _: &Key) -> Result<(), Duration> {
        Ok(())
    }

    fn learn(&mut self, seen: &Snapshot, key: &Key, answer: Answer) -> Result<Step, Error> {
        match &answer {
            Answer::Outdated(fetched) => {
                self.fetched.insert(key.clone(), Wd::from_object(&key.plane, fetched));
            }
            // Its event may be long in coming.
            Answer::Gone if *key == seen.hub_key() => {
                self.fetched.insert(key.clone(), None);
                return Ok(Step::Learned);
            }
            // What is not protected any more is on its way out.
            Answer::Stored(hub) if *key == seen.hub_key() && hub.label(DELETION_PROTECTED.0).is_some() => {
                self.federator.federated(self.of.project, seen, self.job.since);
            }
            Answer::StatusStored { before, stored } => {
                // A status that only time calls for answers no event, so that its delay is not measured.
                if !seen.is_due {
                    let metrics = self.federator.planes.metrics();
                    metrics.propagated(Hop::HubToProjectStatus, self.job.since.elapsed());
                }
                self.federator.status_stored(self.of.project, before, stored);
            }
            Answer::Same => return Ok(Step::Unchanged),
            _ => {}
        }
        match answer {
            // The watch brings it.
            Answer::Exists(_, conflict) => Err(conflict.into()),
            answer => answer.step(),
        }
    }

    async fn perform(&mut self, seen: &Snapshot, intent: Intent, _: &Bodies) -> Result<Step, Error> {
        let federator = self.federator;
        let pass = &self.job.pass;
        match intent {
            Intent::ReadHub => self.read_hub(seen).await?,
            Intent::ReadCopies => self.left = Some(federator.copies_left(pass, seen).await?),
            Intent::Unbind => {
                let was_bound = federator.unbind(pass, &seen.hub_namespace_name, &seen.name).await?;
                return Ok(if was_bound { Step::Updated } else { Step::Unchanged });
            }
            Intent::DeleteHubWd(hub) => {
                announce_unreached(self.of.project, seen);
                if !federator.planes.hub().delete(pass, WD, &hub.stub, Precondition::Uid).await? {
                    return Ok(Step::End(Outcome::AwaitChange));
                }
                // To be seen by a live read; its event need not be waited for.
                self.read_hub(seen).await?;
                return Ok(Step::Updated);
            }
            intent => return Err(Error::Bug(format!("{intent:?} is none of the federator's intents"))),
        }
        Ok(Step::Learned)
    }
}

impl Federator {
    /// Returns the state of the caches for the WD `wd`, which belongs into this hub namespace.
    pub(crate) fn snapshot_of(&self, of: Target<'_>, wd: Digest, hub_namespace: String) -> Option<Snapshot> {
        let Target { project, home, key } = of;
        let hub = self.planes.hub();
        let kind = Kind::WorkloadDeployment;
        let policies = hub.store(Kind::PropagationPolicy);
        let wds = hub.store(kind);
        let leaves = awaits_cleanup(project, &wd);
        let project_wd = Wd::new(wd)?;
        let service = project.service();
        let hub_wd = wds.digest(&hub_namespace, &key.name).and_then(Wd::new);
        let cells = self.cells_of(project_wd.city.as_deref().unwrap_or_default());
        let city = hub_wd.as_ref().and_then(|hub| hub.city.as_deref()).or(project_wd.city.as_deref());
        Some(Snapshot {
            home: home.clone(),
            name: key.name.to_string(),
            hub_namespace: hub.store(Kind::Namespace).object("", &hub_namespace),
            policies: policies
                .objects(Some(&hub_namespace))
                .into_iter()
                .map(|object| {
                    let normalization =
                        policies.normalization(object.namespace(), object.name(), ObjectPart::Spec);
                    KnownPolicy { object, normalization }
                })
                .collect(),
            cells: cells.len(),
            cell_down: cells.first().and_then(|cell| CellDown::from_cluster(cell)),
            cell_lost: (project_wd.terminating || service == ServiceState::Withdrawn)
                && self.is_lost(city.unwrap_or_default()),
            spec_normalization: wds.normalization(&hub_namespace, &key.name, ObjectPart::Spec),
            status_normalization: project.store(kind).normalization(
                &key.namespace,
                &key.name,
                ObjectPart::Status,
            ),
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
        let in_sync = is_synced(project, seen) || plan(seen).intents.is_empty();
        if in_sync {
            self.mark_synced(project, seen);
        }
        in_sync
    }

    fn mark_synced(&self, project: &Plane, seen: &Snapshot) {
        let kind = Kind::WorkloadDeployment;
        let version = &seen.project.version;
        let inputs = seen.fingerprint();
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
