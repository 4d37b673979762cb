//! Performs a plan: reads the sources that it copies, and does every write in its order.

use std::sync::Arc;

use fedhub_api::conditions::{find, put, remove};
use fedhub_api::facts::deployment::put_counters;
use fedhub_api::facts::referenced::{REFERENCED_DATA_READY, copied_from_text, referenced_by, source_hash};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::digest::Version;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::finalizers;
use fedhub_core::names::{
    EXPECTED_REFERENCED_DATA, REFERENCED_BY, REFERENCED_DATA_ERROR, REFERENCED_DATA_FINALIZER,
    REFERENCED_DATA_MANAGER,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId, bare};
use fedhub_engine::{Outcome, Step};
use fedhub_planes::registry::writes::confidential::CopyTarget;
use fedhub_planes::{
    Confidential, ConfidentialRead, Plane, PlaneWriter, Precondition, ProjectNamespace, StatusWrite,
    WriteMode,
};
use serde_json::{Value, json};

use super::Uncopied;
use super::desired::{condition, mark, referenced_by_text};
use super::limits::DataAllowance;
use super::live::is_companion;
use super::plan::{Annotations, ConditionChange, DataPlan, NextStep};
use super::reconcile::DataReconcile;
use super::snapshot::{Snapshot, SourceState, StandingCompanion, Unsupported, others, standing};

const WD: Kind = Kind::WorkloadDeployment;
/// The type of Secrets that a server takes only beside their `ServiceAccount`.
const TOKEN_SECRET: &str = "kubernetes.io/service-account-token";

/// The result of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Nothing,
    /// A read has told what the caches do not.
    Learned,
    Stored,
}

impl DataReconcile<'_> {
    fn writer<'a>(&'a self, plane: &'a Plane) -> PlaneWriter<'a> {
        let metrics = self.controller.planes.metrics();
        PlaneWriter { plane, pass: self.pass, manager: REFERENCED_DATA_MANAGER, metrics }
    }

    fn hub(&self) -> &Arc<Plane> {
        self.controller.planes.hub()
    }

    fn count(&self, verb: &str) {
        self.controller.planes.metrics().companion_writes.with_label_values(&[verb]).inc();
    }

    /// Does what is planned; the first write that fails ends it.
    pub(super) async fn perform(&mut self, seen: &Snapshot, plan: DataPlan) -> Result<Step, Error> {
        let DataPlan { hold, copies, counts, annotations, condition, releases, release, then } = plan;
        let mut wrote = false;
        let mut learned = false;
        let mut allowance = DataAllowance::used(seen, &counts);
        for (kind, name) in &copies {
            match self.copy(seen, *kind, name, &mut allowance).await? {
                Wrote::Stored => wrote = true,
                Wrote::Learned => learned = true,
                Wrote::Nothing => {}
            }
        }
        for (kind, name) in &counts {
            let Some(companion) = seen.companion(*kind, name) else { continue };
            let token = seen.token();
            let list = companion.facts.referenced_by.iter().flatten().map(AsRef::as_ref);
            self.recount(companion, referenced_by_text(list.chain([token.as_str()]))).await?;
            wrote = true;
        }
        if hold || release || annotations.is_some() || condition.is_some() {
            let Some(wd) = self.wd(seen).await? else { return Ok(Step::Learned) };
            wrote |= self.say(seen, wd, (hold, release), annotations, condition).await?;
        }
        for companion in releases {
            self.release(seen, &companion).await?;
            wrote = true;
        }
        Ok(match then {
            _ if learned && !wrote => Step::Learned,
            NextStep::Done if !wrote => Step::Unchanged,
            NextStep::Done | NextStep::Requeue if wrote => Step::Updated,
            NextStep::ReadLive => {
                self.learned.live = Some(self.read_live(seen).await?);
                if wrote { Step::Updated } else { Step::Learned }
            }
            // Where nothing was written, the watch is behind, and its event comes.
            NextStep::Done | NextStep::Requeue | NextStep::AwaitChange => Step::End(Outcome::AwaitChange),
            NextStep::RequeueAfter(wait) => Step::End(Outcome::RequeueAfter(wait)),
        })
    }

    /// The WD that the snapshot is of; `None` where it is another by now.
    async fn wd(&self, seen: &Snapshot) -> Result<Option<ObjectRef>, Error> {
        let namespace = &self.home.namespace;
        let name = &seen.name;
        let wd = self.project.get_or_fetch(self.pass, WD, namespace, name).await?;
        let known = self.project.store(WD).digest(namespace, name);
        let is_it = |wd: &ObjectRef| {
            known.is_some_and(|known| {
                known.version == Version::new(wd.version())
                    && known
                        .deployment()
                        .is_some_and(|it| it.references().cloned().unwrap_or_default() == seen.references)
            })
        };
        Ok(wd.filter(is_it))
    }

    /// Writes on the WD: finalizer and annotations in one patch, then the condition.
    async fn say(
        &self,
        seen: &Snapshot,
        wd: ObjectRef,
        (hold, release): (bool, bool),
        annotations: Option<Annotations>,
        change: Option<ConditionChange>,
    ) -> Result<bool, Error> {
        let writer = self.writer(self.project);
        let mut wd = wd;
        let mut wrote = false;
        let mut metadata = match (hold, release) {
            (true, _) => finalizers::with(&wd, REFERENCED_DATA_FINALIZER),
            (_, true) => finalizers::without(&wd, REFERENCED_DATA_FINALIZER),
            (false, false) => json!({}),
        };
        if let Some(Annotations { expected, error, clear }) = annotations {
            metadata["annotations"] = json!({ REFERENCED_DATA_ERROR: error });
            if clear || expected.is_some() {
                metadata["annotations"][EXPECTED_REFERENCED_DATA] = json!(expected);
            }
        }
        // The condition first where the WD is released: nothing comes back to it afterwards.
        if release && let Some(change) = &change {
            wd = self.write_condition(seen, wd, change).await?;
            wrote = true;
        }
        if metadata != json!({}) {
            wd = writer.patch_metadata(WD, &wd, metadata).await?;
            wrote = true;
        }
        if !release && let Some(change) = &change {
            self.write_condition(seen, wd, change).await?;
            wrote = true;
        }
        Ok(wrote)
    }

    async fn write_condition(
        &self,
        seen: &Snapshot,
        wd: ObjectRef,
        change: &ConditionChange,
    ) -> Result<ObjectRef, RequestError> {
        let mut status = wd.status().clone();
        let now = self.controller.planes.clock().now();
        match change {
            ConditionChange::Put(verdict) => {
                let standing = find(wd.status(), REFERENCED_DATA_READY);
                put(&mut status, condition(verdict, standing, seen.generation, now));
            }
            ConditionChange::Remove => remove(&mut status, REFERENCED_DATA_READY),
        }
        put_counters(&mut status);
        let write = StatusWrite { status, mode: WriteMode::Direct };
        Ok(self.writer(self.project).write_status(WD, &wd, write).await?.unwrap_or(wd))
    }

    /// Copies a source. That the hub refuses it is learned: no retry helps, and the other sources do not wait
    /// for it.
    async fn copy(
        &mut self,
        seen: &Snapshot,
        kind: Kind,
        name: &str,
        allowance: &mut DataAllowance,
    ) -> Result<Wrote, Error> {
        match self.read_and_copy(seen, kind, name, allowance).await {
            Err(Error::Request(error)) if is_refusal(&error) => {
                let ProjectNamespace { plane, namespace } = self.home;
                tracing::warn!(%plane, ?kind, namespace, name, %error, "hub rejected referenced-data copy");
                Ok(self.learn(kind, name, SourceState::Refused(error.code().unwrap_or_default())))
            }
            copied => copied,
        }
    }

    /// Reads a source and copies it, where the allowance has room for it.
    async fn read_and_copy(
        &mut self,
        seen: &Snapshot,
        kind: Kind,
        name: &str,
        allowance: &mut DataAllowance,
    ) -> Result<Wrote, Error> {
        let namespace = &self.home.namespace;
        let source = match self.project.read_confidential(self.pass, kind, namespace, name).await? {
            ConfidentialRead::Found(source) => source,
            ConfidentialRead::Absent => return Ok(self.learn(kind, name, SourceState::Absent)),
            ConfidentialRead::Forbidden => return Ok(self.learn(kind, name, SourceState::Unauthorized)),
        };
        let size = source.bytes(kind);
        let version = source_hash(source.uid(), source.version());
        let key = self.project.key(kind, namespace, name);
        if source.secret_type() == Some(TOKEN_SECRET) {
            self.controller.uncopied.lock().insert(key, (version, Uncopied::TokenSecret));
            return Ok(self.learn(kind, name, SourceState::Unsupported(Unsupported::TokenSecret)));
        }
        let copied_from = copied_from_text(source.uid(), source.version(), size);
        let companion = seen.companion(kind, name);
        let is_settled =
            |c: &&StandingCompanion| c.facts.copied_from == version && c.facts.is_of(&seen.token());
        if let Some(companion) = companion.filter(is_settled) {
            if companion.edited {
                return self.restore(seen, companion, &source, copied_from).await;
            }
            // The watch is behind what was read.
            return Ok(self.learn(kind, name, SourceState::Stands { version, bytes: size }));
        }
        if allowance.take(size).is_err() {
            self.controller.uncopied.lock().insert(key, (version, Uncopied::TooLarge(size)));
            return Ok(self.learn(kind, name, SourceState::Stands { version, bytes: size }));
        }
        self.controller.uncopied.lock().remove(&key);
        match companion {
            Some(companion) => self.replace(seen, companion, &source, copied_from).await,
            None => self.create(seen, kind, name, &source, copied_from).await,
        }
    }

    /// Restores a companion that somebody else edited, if its content differs from the source's (I7).
    async fn restore(
        &mut self,
        seen: &Snapshot,
        companion: &StandingCompanion,
        source: &Confidential,
        copied_from: String,
    ) -> Result<Wrote, Error> {
        let StandingCompanion { space, kind, name, version, .. } = companion;
        let wrote = match self.hub().read_confidential(self.pass, *kind, space, name).await? {
            ConfidentialRead::Found(copy) if copy.has_content_of(source) => Wrote::Learned,
            ConfidentialRead::Found(_) | ConfidentialRead::Forbidden => {
                self.replace(seen, companion, source, copied_from).await?
            }
            ConfidentialRead::Absent => return Ok(Wrote::Nothing),
        };
        let key = self.hub().key(*kind, space, name);
        let mut edited = self.controller.edited.lock();
        if edited.get(&key) == Some(version) {
            edited.remove(&key);
        }
        Ok(wrote)
    }

    fn learn(&mut self, kind: Kind, name: &str, state: SourceState) -> Wrote {
        self.learned.sources.insert((kind, name.to_owned()), state);
        Wrote::Learned
    }

    async fn create(
        &mut self,
        seen: &Snapshot,
        kind: Kind,
        name: &str,
        source: &Confidential,
        copied_from: String,
    ) -> Result<Wrote, Error> {
        let Some(space) = &seen.space else { return Ok(Wrote::Nothing) };
        let mut companion = bare(kind, space, name);
        mark(&mut companion, referenced_by_text([seen.token().as_str()]), copied_from.clone());
        match self.writer(self.hub()).copy(kind, &companion, source, CopyTarget::New).await {
            Ok(_) => {
                self.count("create");
                Ok(Wrote::Stored)
            }
            Err(error) if error.code() == Some(409) => {
                let Some(stands) = self.hub().read_metadata(self.pass, kind, space, name).await? else {
                    return Err(error.into());
                };
                let digest = Digest::new(&PlaneId::Hub, kind, &stands);
                match standing(space, kind, name, &digest).filter(|_| is_companion(&stands)) {
                    // The watch is behind, or the companion has lost its label, and gets it back (I6).
                    Some(mut companion) => {
                        companion.others = others(self.project, self.home, &seen.name, kind, name);
                        self.replace(seen, &companion, source, copied_from).await
                    }
                    None => Ok(self.learn(kind, name, SourceState::NameTaken)),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a companion anew: what it counts is as one read shows it, and what was read is the
    /// precondition, so that no count is lost.
    async fn replace(
        &mut self,
        seen: &Snapshot,
        companion: &StandingCompanion,
        source: &Confidential,
        copied_from: String,
    ) -> Result<Wrote, Error> {
        let StandingCompanion { space, kind, name, others, .. } = companion;
        let Some(mut object) = self.hub().read_metadata(self.pass, *kind, space, name).await? else {
            return Ok(Wrote::Nothing);
        };
        if !is_companion(&object) {
            return Ok(self.learn(*kind, name, SourceState::NameTaken));
        }
        let counted = referenced_by(object.annotation(REFERENCED_BY).unwrap_or("[]"));
        let token = seen.token();
        // A count that cannot be read is computed again, from everything that refers to the object.
        let counted = counted.as_deref().unwrap_or(others).iter().map(AsRef::as_ref);
        let counted = counted.filter(|by| !self.is_gone(space, by));
        let list = referenced_by_text(counted.chain([token.as_str()]));
        mark(&mut object, list, copied_from);
        match self.writer(self.hub()).copy(*kind, &object, source, CopyTarget::Standing).await {
            Ok(_) => self.count("update"),
            // A Secret keeps its type: another one takes its place.
            Err(error) if error.immutable() => {
                self.delete(*kind, &object).await?;
                (object.metadata.uid, object.metadata.resource_version) = (None, None);
                object.metadata.creation_timestamp = None;
                self.writer(self.hub()).copy(*kind, &object, source, CopyTarget::New).await?;
                self.count("create");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Wrote::Stored)
    }

    async fn recount(&self, companion: &StandingCompanion, list: String) -> Result<(), Error> {
        let metadata = json!({"annotations": { REFERENCED_BY: list }});
        self.writer(self.hub()).recount(companion.kind, &stub(companion), metadata).await?;
        self.count("update");
        Ok(())
    }

    /// Deletes a companion. The hub's watch may lag: it is not to be deleted once more for that.
    async fn delete(&self, kind: Kind, companion: &Object) -> Result<(), Error> {
        let hub = self.hub();
        if hub.delete(self.pass, kind, companion, Precondition::UidAndVersion).await? {
            hub.store(kind).own_deleted(companion.namespace(), companion.name(), companion.uid());
        }
        self.count("delete");
        Ok(())
    }

    /// Whether a WD that a companion counts is neither in the project nor on the hub: its finalizer was taken
    /// off by hand.
    fn is_gone(&self, space: &str, by: &str) -> bool {
        let project = self.project.store(WD);
        let hub = self.hub().store(WD);
        by.split_once('/').is_some_and(|(namespace, name)| {
            namespace == self.home.namespace
                && (project.synced() && project.digest(namespace, name).is_none())
                && (hub.synced() && hub.digest(space, name).is_none())
        })
    }

    /// Counts the WD for a companion no longer. The last one takes it away, unless a WD refers to it that is
    /// not counted yet.
    async fn release(&self, seen: &Snapshot, companion: &StandingCompanion) -> Result<(), Error> {
        let token = seen.token();
        let left = companion.count_without(&token, |by| self.is_gone(&companion.space, by));
        if !left.is_empty() {
            return self.recount(companion, referenced_by_text(left)).await;
        }
        self.delete(companion.kind, &stub(companion)).await?;
        let StandingCompanion { space, kind, name, .. } = companion;
        tracing::info!(plane = %self.home.plane, hub_namespace = space, ?kind, name, "companion deleted: no WorkloadDeployment refers to it");
        Ok(())
    }
}

/// Whether the hub refuses this one write, and not only for now.
fn is_refusal(error: &RequestError) -> bool {
    matches!(error.verb, "create" | "update" | "delete")
        && matches!(error.code(), Some(400 | 403 | 413 | 422))
}

/// As much of a companion as a request needs, with its preconditions.
fn stub(companion: &StandingCompanion) -> Object {
    let mut stub = bare(companion.kind, &companion.space, &companion.name);
    stub.metadata.uid = Some(companion.uid.to_string());
    stub.metadata.resource_version = Some(companion.version.to_string());
    stub.data = Value::Null;
    stub
}
