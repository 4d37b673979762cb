//! The controller: what a pass over one Instance is. [`super::keys`] says when there is one.

use fedhub_planes::Precondition;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fedhub_api::cells::{CellId, Source};
use fedhub_cache::Part;
use fedhub_cache::digest::Version;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::metrics::Hop;
use fedhub_core::names::{CELL_MANAGER, INSTANCE_FINALIZER, WORKLOAD_DEPLOYMENT_NAME};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_core::rate_limit::TokenBucket;
use fedhub_engine::verdicts::Verdicts;
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::events::{EventType, reference};
use fedhub_planes::{Plane, Planes};
use fedhub_planes::{PlaneWriter, Write};
use serde_json::json;
use tokio::time::Instant;

use super::decision::Decision;
use super::finalizer::is_released;
use super::glance::Sight;
use super::plan::{Observed, Said, plan};
use super::refusal::{Held, Refusal, Verdict};
use crate::identity::Identity;
use crate::status::gates;

/// How often one pass may observe and plan anew; each round follows a write or a live read.
const ROUNDS: usize = 8;
/// When a name that another cell's copy has is tried again: that copy's end shows in no watch of this cell.
const TAKEN: Duration = Duration::from_secs(10);

/// Copies a cell's Instances to the hub.
pub struct WriteBack {
    /// The registry around the cell.
    pub(super) cell: Arc<Planes>,
    /// The registry around the hub.
    pub(super) hub: Arc<Planes>,
    pub(super) identity: Arc<Identity>,
    pub(super) queue: Arc<Queue>,
    pub(super) verdicts: Verdicts<Verdict>,
    bucket: Mutex<TokenBucket>,
}

/// What the planes themselves have said in this pass, past their watches.
#[derive(Default)]
struct Heard {
    copy: Option<Said>,
    instance: Option<Said>,
    deployment: Option<Said>,
}

impl WriteBack {
    /// Copies the Instances of the plane that `cell` is around to the one that `hub` is around, as the cell `identity`.
    /// It has to be a listener of both, and to be run by workers on `queue`. Of copies whose Instance was not seen to go,
    /// it deletes so many in a minute (I4).
    pub fn new(
        cell: Arc<Planes>,
        hub: Arc<Planes>,
        identity: Arc<Identity>,
        deletes_per_minute: u32,
        queue: Arc<Queue>,
    ) -> Arc<Self> {
        cell.metrics().writeback_enabled.set(1);
        let bucket = Mutex::new(TokenBucket::new(deletes_per_minute, Instant::now()));
        Arc::new(Self { cell, hub, identity, queue, verdicts: Verdicts::default(), bucket })
    }

    /// How many Instances are remembered as not written back.
    pub fn remembered(&self) -> usize {
        self.verdicts.len()
    }

    // === One pass ===

    async fn instance(&self, job: &Job) -> Result<Outcome, Error> {
        let (key, hub) = (&job.key, self.hub.hub());
        for plane in [self.cell.anchor(), hub] {
            if !plane.synced() {
                return Err(Error::NotEngaged(plane.id.clone()));
            }
        }
        // Its event brings everything back.
        let Some(cell) = self.identity.get() else { return Err(Error::NotEngaged(PlaneId::Cell)) };
        let (mut changed, mut heard) = (false, Heard::default());
        for _ in 0..ROUNDS {
            let sight = self.look(key, &cell);
            let glance = if heard.is_empty() { self.glance(key, &sight) } else { None };
            let (decision, circumstances) = match glance {
                Some(decision) => (decision, 0),
                None => self.see(key, sight.clone(), &heard).await?,
            };
            match decision {
                Decision::Nothing => {
                    self.judge(key, None);
                    self.rest(key, &sight, circumstances);
                    return Ok(self.settled(job, changed));
                }
                Decision::Hush(wait) => {
                    self.judge(key, None);
                    self.settled(job, changed);
                    return Ok(Outcome::RequeueAfter(wait));
                }
                Decision::Park => {
                    self.judge(key, Some(Verdict::Parked));
                    self.rest(key, &sight, 0);
                    return Ok(Outcome::AwaitChange);
                }
                Decision::Refuse(refusal) => {
                    self.refuse(key, &refusal).await;
                    self.rest(key, &sight, 0);
                    let by_copy = matches!(
                        refusal,
                        Refusal::NameTaken(_) | Refusal::CellNameTaken(_) | Refusal::Unproven(_)
                    );
                    let unseen = by_copy && sight.copy.is_none();
                    return Ok(if unseen { Outcome::RequeueAfter(TAKEN) } else { Outcome::AwaitChange });
                }
                Decision::Leaving => {
                    self.hold(key, Held::CopyLeaving).await;
                    return Ok(Outcome::AwaitChange);
                }
                Decision::Mark(finalizers) | Decision::Release(finalizers) => {
                    let Some(instance) = &sight.instance else { return Ok(Outcome::AwaitChange) };
                    let metadata = json!({ "finalizers": finalizers });
                    let cell = writer(self.cell.anchor(), &self.cell);
                    changed = true;
                    match cell.patch_metadata(Kind::Instance, instance, metadata).await {
                        Ok(_) => {}
                        // Somebody else's word was the last one, and it is gone.
                        Err(error) if error.code() == Some(404) && instance.is_terminating() => {}
                        Err(error) => return Err(error.into()),
                    }
                    if instance.is_terminating() {
                        self.judge(key, None);
                        return Ok(self.settled(job, changed));
                    }
                }
                Decision::Write(write) => {
                    let stored = self.write(key, write, &mut heard).await?;
                    changed |= stored;
                }
                Decision::Status(copy, write) => {
                    let stored = writer(hub, &self.hub).write_status(Kind::Instance, &copy, write).await?;
                    changed |= stored.is_some();
                    if let Some(copy) = stored.filter(|_| heard.copy.is_some()) {
                        heard.copy = Some(Said(Some(copy)));
                    }
                }
                Decision::Delete { copy, inferred } => {
                    if let Some(wait) = inferred.then(|| self.token(key).err()).flatten() {
                        self.hub.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
                        tracing::warn!(%key, ?wait, "the deletion of a copy without an Instance waits for its turn");
                        return Ok(Outcome::RequeueAfter(wait));
                    }
                    changed = true;
                    if !self.delete(&copy, &mut heard).await? {
                        self.hold(key, Held::CopyLeaving).await;
                        return Ok(Outcome::AwaitChange);
                    }
                }
                Decision::ReadCopy => {
                    let copy = hub.get_live(Kind::Instance, &key.namespace, &key.name).await?;
                    heard.copy = Some(Said(copy.map(Arc::new)));
                }
                Decision::ReadInstance => {
                    let cell = self.cell.anchor();
                    let instance = cell.get_live(Kind::Instance, &key.namespace, &key.name).await?;
                    heard.instance = Some(Said(instance.map(Arc::new)));
                }
                Decision::ReadDeployment => {
                    let name = sight.instance.as_ref().and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME));
                    let (kind, name) = (Kind::WorkloadDeployment, name.unwrap_or_default());
                    let deployment = hub.get_live(kind, &key.namespace, name).await?;
                    heard.deployment = Some(Said(deployment.map(Arc::new)));
                }
            }
        }
        Err(Error::Bug(format!("{key} does not come to rest")))
    }

    /// Writes a copy's metadata or spec; says whether anything was stored.
    async fn write(&self, key: &Key, write: Write, heard: &mut Heard) -> Result<bool, RequestError> {
        let hub = self.hub.hub();
        let replaced = match &write {
            Write::Create(_) => None,
            Write::Replace { object, .. } => Some(object.clone()),
        };
        match (writer(hub, &self.hub).write(Kind::Instance, write).await, replaced) {
            (Ok(Some(stored)), _) => {
                heard.copy = Some(Said(Some(stored)));
                Ok(true)
            }
            (Ok(None), _) => Ok(false),
            (Err(error), Some(copy)) if error.immutable() => {
                tracing::info!(%key, "a field of the copy is immutable: it is made anew");
                self.delete(&copy, heard).await?;
                Ok(true)
            }
            // It is there although the watch does not show it, as while a deployment moves from another city.
            (Err(error), None) if error.code() == Some(409) => {
                let found = hub.refresh(Kind::Instance, &key.namespace, &key.name).await?;
                heard.copy = Some(Said(Some(found.ok_or(error)?)));
                Ok(false)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Deletes a copy; says whether it is gone by now.
    async fn delete(&self, copy: &Object, heard: &mut Heard) -> Result<bool, RequestError> {
        let hub = self.hub.hub();
        let gone = hub.delete(Kind::Instance, copy, Precondition::Uid).await?;
        if gone {
            // What follows must not take it for a copy that somebody left behind.
            hub.store(Kind::Instance).own_deleted(copy.namespace(), copy.name(), copy.uid());
            heard.copy = Some(Said(None));
        }
        Ok(gone)
    }

    fn settled(&self, job: &Job, changed: bool) -> Outcome {
        if !changed {
            return Outcome::Unchanged;
        }
        self.hub.metrics().propagated(Hop::CellToHub, job.since.elapsed());
        Outcome::Updated
    }

    fn token(&self, key: &Key) -> Result<(), Duration> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(key, Instant::now())
    }

    // === What is known ===

    /// What the stores tell.
    pub(super) fn look(&self, key: &Key, cell: &CellId) -> Sight {
        let (hub, space) = (self.hub.hub(), key.namespace.as_str());
        let instance = self.cell.anchor().store(Kind::Instance).object(space, &key.name);
        let copies = hub.store(Kind::Instance);
        let deployment = instance.as_ref().and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME));
        Sight {
            cell: cell.clone(),
            declared_lost: self.identity.declared_lost(cell).is_some(),
            hub_namespace: hub.store(Kind::Namespace).object("", space),
            deployment: deployment.and_then(|name| hub.store(Kind::WorkloadDeployment).digest(space, name)),
            copy: copies.digest(space, &key.name),
            spec_normalization: copies.normalization(space, &key.name, Part::Spec),
            status_normalization: copies.normalization(space, &key.name, Part::Status),
            now: self.cell.clock().now(),
            instance,
        }
    }

    /// What is decided without the whole copy: by digests, or because the plan was asked before under the same
    /// circumstances.
    pub(super) fn glance(&self, key: &Key, sight: &Sight) -> Option<Decision> {
        sight.decide().or_else(|| {
            let known = self.hub.hub().store(Kind::Instance).synced_under(&key.namespace, &key.name);
            (known != 0 && known == sight.circumstances()).then_some(Decision::Nothing)
        })
    }

    /// What the plan decides by the whole copy, and the circumstances that this was judged under: zero where they are not
    /// what `sight` tells.
    async fn see(&self, key: &Key, sight: Sight, heard: &Heard) -> Result<(Decision, u64), Error> {
        let copy = match &heard.copy {
            Some(Said(copy)) => copy.clone(),
            None => self.hub.hub().get_or_fetch(Kind::Instance, &key.namespace, &key.name).await?,
        };
        let version = copy.as_ref().map(|c| Version::new(c.version()));
        let same = heard.is_empty() && version.as_ref() == sight.copy.as_ref().map(|c| &c.version);
        let circumstances = if same { sight.circumstances() } else { 0 };
        // One that the store knew of and the hub has no more was asked for just now.
        let copy_proven = heard.copy.is_some() || (copy.is_none() && sight.copy.is_some());
        let source = copy.as_deref().and_then(Source::of);
        self.identity.note(&self.hub.hub().key(Kind::Instance, &key.namespace, &key.name), source.as_ref());
        let of_lost_cell = copy.as_deref().is_some_and(|copy| self.identity.is_of_lost_cell(copy));
        let (live_instance, live_deployment) = (heard.instance.clone(), heard.deployment.clone());
        let seen = Observed { sight, copy, copy_proven, live_instance, live_deployment, of_lost_cell };
        Ok((plan(&seen), circumstances))
    }

    /// The copy is in order, or nothing can be done about it: it is not kept any more. One that waits at a gate is, for
    /// its spec will change.
    pub(super) fn rest(&self, key: &Key, sight: &Sight, circumstances: u64) {
        let gated = sight.instance.as_ref().is_some_and(|i| !gates::of(i).is_empty());
        if let Some(copy) = sight.copy.as_ref().filter(|_| !gated) {
            let copies = self.hub.hub().store(Kind::Instance);
            copies.mark_synced(&key.namespace, &key.name, &copy.version, circumstances);
        }
    }

    // === What is said ===

    pub(super) fn judge(&self, key: &Key, verdict: Option<Verdict>) -> bool {
        self.verdicts.set(key, verdict, self.hub.metrics())
    }

    async fn refuse(&self, key: &Key, refusal: &Refusal) {
        if !self.judge(key, Some(Verdict::Refused(refusal.label()))) {
            return;
        }
        match refusal {
            // Part of every move.
            Refusal::NameTaken(_) => {
                tracing::info!(%key, reason = refusal.label(), "{refusal}");
                return;
            }
            // Said of the cell as a whole.
            Refusal::DeclaredLost => return,
            Refusal::CellNameTaken(_) => tracing::debug!(%key, reason = refusal.label(), "{refusal}"),
            Refusal::Unlinked(_) | Refusal::Unidentifiable | Refusal::Unproven(_) => {
                tracing::warn!(%key, reason = refusal.label(), "{refusal}");
            }
        }
        self.say(key, "NotWrittenBack", refusal.to_string()).await;
    }

    /// Shows that the finalizer is held, if one is (I3).
    async fn hold(&self, key: &Key, why: Held) {
        if self.is_leaving(key) && self.judge(key, Some(Verdict::Held(why))) {
            tracing::warn!(%key, reason = why.label(), "the finalizer is held: its work is not proven done");
            self.say(key, "CleanupHeld", why.to_string()).await;
        }
    }

    async fn say(&self, key: &Key, reason: &'static str, words: String) {
        let cell = self.cell.anchor();
        if let Some(instance) = cell.store(Kind::Instance).get(&key.namespace, &key.name) {
            let about = reference(Kind::Instance, &instance);
            cell.events.say(&about, EventType::Warning, reason, words).await;
        }
    }

    /// Whether the Instance is being deleted and our finalizer alone holds it.
    pub(super) fn is_leaving(&self, key: &Key) -> bool {
        let instance = self.cell.anchor().store(Kind::Instance).object(&key.namespace, &key.name);
        instance.is_some_and(|i| is_released(&i) && i.has_finalizer(INSTANCE_FINALIZER))
    }
}

impl Heard {
    fn is_empty(&self) -> bool {
        self.copy.is_none() && self.instance.is_none() && self.deployment.is_none()
    }
}

fn writer<'a>(plane: &'a Plane, of: &'a Planes) -> PlaneWriter<'a> {
    PlaneWriter { plane, manager: CELL_MANAGER, metrics: of.metrics() }
}

impl Controller for WriteBack {
    fn name(&self) -> &'static str {
        "write_back"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if (&job.key.plane, job.key.kind) != (&PlaneId::Cell, Kind::Instance) {
            return Err(Error::Bug(format!("{} is none of the write-back's keys", job.key)));
        }
        let ended = self.instance(job).await;
        if ended.as_ref().is_err_and(|error| error.is_of(&PlaneId::Hub)) {
            self.hold(&job.key, Held::HubUnreachable).await;
        }
        ended
    }
}
