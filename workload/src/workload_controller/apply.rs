//! Applies the plan of one Workload: fetches what it writes, renders it and writes where that differs.

use std::borrow::Cow;

use fedhub_api::conditions::{find, said};
use fedhub_api::facts::Digest;
use fedhub_api::facts::carried::WantedTemplate;
use fedhub_api::facts::placed::says;
use fedhub_api::hub_metadata::set_annotation;
use fedhub_api::reason::Reason;
use fedhub_cache::ObjectPart;
use fedhub_cache::digest::Version;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::{self, Category, Error, RequestError};
use fedhub_core::names::{SUSPENDED, SUSPENDED_DEPLOYMENTS, WORKLOAD_FINALIZER, WORKLOAD_UID};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_core::{finalizers, hash};
use fedhub_engine::{Outcome, Step};
use fedhub_planes::{Precondition, StatusWrite, Write, WriteMode, Written};
use serde_json::{Value, json};

use super::desired::{desired, same_metadata};
use super::history::Earlier;
use super::plan::WorkloadPlan;
use super::reconcile::{WorkloadReconciler, mark_synced};
use super::revisions;
use super::snapshot::{RefusedDeployment, Site, Snapshot, own};
use super::summary::{Summary, name_taken};

const WD: Kind = Kind::WorkloadDeployment;
/// How many WDs that a terminating Workload may own are looked at in one attempt.
const MOST_LISTED: usize = 250;

impl WorkloadReconciler<'_> {
    /// Performs a plan.
    pub(super) async fn perform(&mut self, seen: &Snapshot, plan: WorkloadPlan) -> Result<Step, Error> {
        match plan {
            WorkloadPlan::Synced => Ok(seen.next_deadline().map_or(Step::Unchanged, |deadline| {
                mark_synced(&self.project, seen);
                Step::End(Outcome::RequeueAfter(deadline))
            })),
            WorkloadPlan::AwaitResume | WorkloadPlan::AwaitDeletions => Ok(Step::End(Outcome::AwaitChange)),
            WorkloadPlan::Mark { record } => self.mark(seen, record).await,
            WorkloadPlan::Confirm => self.confirm().await,
            WorkloadPlan::Write { create, update, delete } => {
                self.write(seen, &create, &update, &delete).await
            }
            WorkloadPlan::WriteRollout(status) => self.write_rollout(seen, status).await,
            WorkloadPlan::WriteStatus(summary) => self.write_status(seen, &summary).await,
            WorkloadPlan::ConfirmNoneLeft => self.confirm_none_left(seen).await,
            WorkloadPlan::Release => self.release(seen).await,
        }
    }

    /// The Workload as the plan knows it; the step where it is another version by now.
    async fn fetch(&self, seen: &Snapshot) -> Result<Result<ObjectRef, Step>, Error> {
        let key = self.key;
        let Some(fetched) =
            self.project.get_or_fetch(self.pass, Kind::Workload, &key.namespace, &key.name).await?
        else {
            return Ok(Err(Step::End(Outcome::AwaitChange)));
        };
        let planned = seen.workload.as_ref().is_some_and(|it| it.version == Version::new(fetched.version()));
        Ok(if planned { Ok(fetched) } else { Err(Step::Learned) })
    }

    /// Stores the finalizer, and with it which revision has the template.
    async fn mark(&mut self, seen: &Snapshot, record: bool) -> Result<Step, Error> {
        let workload = match self.fetch(seen).await? {
            Ok(workload) => workload,
            Err(step) => return Ok(step),
        };
        let mut metadata = json!({});
        if !workload.has_finalizer(WORKLOAD_FINALIZER) {
            metadata = finalizers::with(&workload, WORKLOAD_FINALIZER);
        }
        if record {
            match self.record(seen, &workload).await {
                Ok(Some(revision)) => metadata["annotations"] = revisions::annotations(revision, &workload),
                Ok(None) => {
                    // The next round plans by what it is now.
                    self.project
                        .refresh(self.pass, Kind::Workload, workload.namespace(), workload.name())
                        .await?;
                    return Ok(Step::Learned);
                }
                Err(error) => {
                    // A rollout does not wait for its revision to be recorded.
                    self.learnt.unrecorded = true;
                    self.tell_unrecorded(&workload, &error);
                    self.failure.get_or_insert(error.into());
                }
            }
        }
        if seen.forgets_suspended(workload.uid()) {
            let names = seen.suspended(workload.uid()).join(",");
            let names = if names.is_empty() { Value::Null } else { names.into() };
            metadata["annotations"][SUSPENDED_DEPLOYMENTS] = names;
        }
        if metadata == json!({}) {
            // It could not be recorded, and the finalizer is there.
            return Ok(Step::Learned);
        }
        self.controller
            .writer(&self.project, self.pass)
            .patch_metadata(Kind::Workload, &workload, metadata)
            .await?;
        Ok(Step::Updated)
    }

    /// Reads the Workload live: a watch that lags must not have WDs deleted that a newer spec wants.
    async fn confirm(&mut self) -> Result<Step, Error> {
        let key = self.key;
        let live = self.project.refresh(self.pass, Kind::Workload, &key.namespace, &key.name).await?;
        let Some(live) = live else { return Ok(Step::End(Outcome::AwaitChange)) };
        self.learnt.confirmed = Some(Version::new(live.version()));
        Ok(Step::Learned)
    }

    /// Makes, changes and deletes WDs. One that is refused holds up none of the others.
    async fn write(
        &mut self,
        seen: &Snapshot,
        create: &[String],
        update: &[String],
        delete: &[String],
    ) -> Result<Step, Error> {
        let workload = match self.fetch(seen).await? {
            Ok(workload) => workload,
            Err(step) => return Ok(step),
        };
        let sites = seen.sites(workload.uid());
        let sites = || sites.iter().flat_map(|(_, sites)| sites);
        let suspended = seen.suspended(workload.uid());
        let mut earlier = Earlier::default();
        let mut step = Step::Learned;
        for (name, new) in create.iter().map(|it| (it, true)).chain(update.iter().map(|it| (it, false))) {
            let Some(site) = sites().find(|site| site.name == *name) else { continue };
            let carried = match site.wanted.which {
                WantedTemplate::Earlier(revision) => {
                    match self.earlier(&mut earlier, &workload, revision).await? {
                        Some(carried) => carried,
                        None => continue,
                    }
                }
                WantedTemplate::Newest(_) | WantedTemplate::Kept => Cow::Borrowed(&*workload),
            };
            let written = if new {
                self.create(&carried, site, suspended.contains(name)).await
            } else {
                self.update(seen, &carried, site).await
            };
            self.tried(name, written, &mut step)?;
        }
        for name in delete {
            let Some(deployment) = seen.deployments.get(name) else { continue };
            let stub = deployment.stub(WD, &self.key.namespace, name);
            let deleted = self.project.delete(self.pass, WD, &stub, Precondition::Uid).await;
            if matches!(deleted, Ok(true)) {
                self.project.store(WD).own_deleted(&self.key.namespace, name, stub.uid());
            }
            self.tried(name, deleted.map(|_| true), &mut step)?;
        }
        Ok(step)
    }

    /// The answer to a write of one WD. A refusal is that WD's own: it is kept, and the reconcile goes on.
    #[allow(clippy::result_large_err, reason = "it is what the reconcile returns")]
    fn tried(
        &mut self,
        name: &str,
        written: Result<bool, RequestError>,
        step: &mut Step,
    ) -> Result<(), Error> {
        match written {
            Ok(true) => *step = Step::Updated,
            Ok(false) => {}
            Err(error) if matches!(error.category(), Category::Invalid | Category::Forbidden) => {
                let reason = match error.category() {
                    Category::Invalid => Reason::ConfigurationError,
                    _ => Reason::DeploymentsRefused,
                };
                let message = errors::chain(&error);
                self.learnt.refused.insert(name.to_owned(), RefusedDeployment { reason, message });
                self.failure.get_or_insert(error.into());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn create(
        &mut self,
        workload: &Object,
        site: &Site<'_>,
        was_suspended: bool,
    ) -> Result<bool, RequestError> {
        let mut wd = desired(workload, &site.name, &site.wanted, None);
        if was_suspended {
            set_annotation(&mut wd, SUSPENDED, Some("true"));
        }
        let written =
            self.controller.writer(&self.project, self.pass).write(WD, Write::Create(Box::new(wd))).await?;
        let conflict = match written {
            Some(Written::Exists { conflict, .. }) => conflict,
            Some(Written::Stored(stored)) => {
                self.learn_settled(site, &stored);
                return Ok(true);
            }
            None => return Ok(false),
        };
        if self.project.store(WD).digest(&self.key.namespace, &site.name).is_none() {
            // The watch does not select it, so that the next round would not know of it either.
            let refusal =
                RefusedDeployment { reason: Reason::DeploymentNameTaken, message: name_taken(&site.name) };
            self.learnt.refused.insert(site.name.clone(), refusal);
            self.failure.get_or_insert(conflict.into());
        }
        Ok(false)
    }

    /// A WD. One that the plane has no more is forgotten, so that the next round plans by that.
    async fn fetch_deployment(&self, seen: &Snapshot, name: &str) -> Result<Option<ObjectRef>, RequestError> {
        let namespace = &self.key.namespace;
        let fetched = self.project.get_or_fetch(self.pass, WD, namespace, name).await?;
        if let Some(gone) = seen.deployments.get(name)
            && fetched.is_none()
        {
            self.project.store(WD).own_deleted(namespace, name, &gone.uid.to_string());
        }
        Ok(fetched)
    }

    /// Replaces a WD, where it is not what the plane makes of what is wanted.
    async fn update(
        &mut self,
        seen: &Snapshot,
        workload: &Object,
        site: &Site<'_>,
    ) -> Result<bool, RequestError> {
        let namespace = &self.key.namespace;
        let Some(current) = self.fetch_deployment(seen, &site.name).await? else { return Ok(false) };
        let wd = desired(workload, &site.name, &site.wanted, Some(&current));
        let normalization = self.project.store(WD).normalization(namespace, &site.name, ObjectPart::Spec);
        let same = same_metadata(&wd, &current);
        if same && settled(wd.spec(), current.spec(), normalization) {
            self.learn_settled(site, &current);
            return Ok(false);
        }
        // After a restart it is not known what the plane makes of what was written before.
        let mode = WriteMode::new(same, normalization);
        let write = Write::Replace { object: Box::new(wd), mode };
        match self.controller.writer(&self.project, self.pass).write(WD, write).await? {
            Some(Written::Stored(stored)) => {
                self.learn_settled(site, &stored);
                Ok(true)
            }
            Some(Written::Exists { .. }) => Ok(false),
            None => {
                self.learn_settled(site, &current);
                Ok(false)
            }
        }
    }

    /// Notes that a WD is what the plane makes of what is wanted of it.
    fn learn_settled(&mut self, site: &Site<'_>, stands: &Object) {
        let version = Version::new(stands.version());
        if let Some(revision) = site.wanted.revision() {
            self.learnt.made_of.insert(site.name.clone(), (version.clone(), revision));
        }
        self.learnt.settled.insert(site.name.clone(), (version, site.wanted.content()));
    }

    /// Writes the status of the WorkloadRollout, where it is not what the plane makes of it.
    async fn write_rollout(&mut self, seen: &Snapshot, status: Value) -> Result<Step, Error> {
        let Some(rollout) = &seen.rollout else { return Ok(Step::Learned) };
        let store = self.project.store(Kind::WorkloadRollout);
        let normalization = store.normalization(&self.key.namespace, &self.key.name, ObjectPart::Status);
        let content = hash::json(&status);
        if settled(&status, rollout.status(), normalization) {
            self.learnt.rollout_settled = Some(content);
            return Ok(Step::Learned);
        }
        let write = StatusWrite { status, mode: WriteMode::new(false, normalization) };
        let writer = self.controller.writer(&self.project, self.pass);
        let stored = writer.write_status(Kind::WorkloadRollout, rollout, write).await?;
        self.learnt.rollout_settled = stored.is_none().then_some(content);
        Ok(if stored.is_some() { Step::Updated } else { Step::Learned })
    }

    /// Writes the status, where it is not what the plane makes of it.
    async fn write_status(&mut self, seen: &Snapshot, summary: &Summary) -> Result<Step, Error> {
        let workload = match self.fetch(seen).await? {
            Ok(workload) => workload,
            Err(step) => return Ok(step),
        };
        let namespace = &self.key.namespace;
        let deployment = match summary.quoted() {
            Some((name, _)) => match self.fetch_deployment(seen, name).await? {
                Some(deployment) => Some(deployment),
                None => return Ok(Step::Learned),
            },
            None => None,
        };
        let condition = deployment.as_deref().and_then(|it| find(it.status(), "Available"));
        let (_, reason, message) = condition.map_or(("", "", ""), said);
        if summary.quoted().is_some_and(|(_, quoted)| quoted != says(reason, message)) {
            return Ok(Step::Learned);
        }
        let now = self.controller.planes.clock().now();
        let status = summary.render(&workload, (reason, message), now);
        let store = self.project.store(Kind::Workload);
        let normalization = store.normalization(namespace, &self.key.name, ObjectPart::Status);
        if settled(&status, workload.status(), normalization) {
            self.learnt.status_settled = Some(summary.content());
            return Ok(Step::Learned);
        }
        let reported = workload.status().get("observedGeneration").and_then(Value::as_i64);
        let before = reported.is_some() && reported == workload.metadata.generation;
        let write = StatusWrite { status, mode: WriteMode::new(before, normalization) };
        let writer = self.controller.writer(&self.project, self.pass);
        let stored = writer.write_status(Kind::Workload, &workload, write).await?;
        self.learnt.status_settled = stored.is_none().then(|| summary.content());
        Ok(if stored.is_some() { Step::Updated } else { Step::Learned })
    }

    /// Lists the WDs of a terminating Workload live: the caches show none.
    async fn confirm_none_left(&mut self, seen: &Snapshot) -> Result<Step, Error> {
        let Some(uid) = seen.workload.as_ref().map(|it| it.uid.to_string()) else { return Ok(Step::Learned) };
        let selector = format!("{WORKLOAD_UID}={uid}");
        let namespace = Some(&*self.key.namespace);
        // A tenant may have given the label to a WD that is not of the Workload.
        let stands =
            |wd: &Object| wd.metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid);
        let left = self
            .project
            .list_metadata(self.pass, WD, namespace, Some(&selector), MOST_LISTED, stands)
            .await?;
        for wd in left {
            // One whose spec names another Workload is not deleted for this one.
            let Some(live) = self.project.refresh(self.pass, WD, &self.key.namespace, wd.name()).await?
            else {
                continue;
            };
            let digest = Digest::new(&self.project.id, WD, &live);
            if own(&digest, &uid).is_some() {
                let shown = self.project.store(WD).digest(&self.key.namespace, wd.name()).is_some();
                return Ok(if shown { Step::Learned } else { Step::End(Outcome::AwaitChange) });
            }
            self.learnt.stranger.get_or_insert_with(|| wd.name().to_owned());
        }
        self.learnt.none_left = self.learnt.stranger.is_none();
        Ok(Step::Learned)
    }

    /// Releases the finalizer.
    async fn release(&self, seen: &Snapshot) -> Result<Step, Error> {
        let workload = match self.fetch(seen).await? {
            Ok(workload) => workload,
            Err(step) => return Ok(step),
        };
        let metadata = finalizers::without(&workload, WORKLOAD_FINALIZER);
        self.controller
            .writer(&self.project, self.pass)
            .patch_metadata(Kind::Workload, &workload, metadata)
            .await?;
        Ok(Step::End(Outcome::Updated))
    }
}
