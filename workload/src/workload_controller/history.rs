//! The history of a Workload on its plane: reads and writes of the `ConfigMap` that [`super::revisions`]
//! makes (W10).

use std::borrow::Cow;

use fedhub_api::facts::carried::Carried;
use fedhub_api::reason::Reason;
use fedhub_core::errors::{self, Category, Error, RequestError};
use fedhub_core::hash;
use fedhub_core::names::{CURRENT_REVISION, revision_history};
use fedhub_core::object::{Kind, Object, ObjectView, set_field};
use fedhub_planes::events::{EventType, reference_to};
use fedhub_planes::{Write, WriteMode, Written};
use serde_json::Value;

use super::reconcile::WorkloadReconciler;
use super::revisions::{self, Limits, Recorded};
use super::snapshot::Snapshot;
use crate::rollouts::spec::revision_history_limit;
use crate::rollouts::status;

/// The history of a Workload, once it was read for the WDs that are to have an earlier revision.
#[derive(Default)]
pub(super) struct Earlier {
    /// Its revisions; null where there is no history.
    history: Option<Value>,
}

/// What stays in the history of the Workload with this UID.
fn limits(seen: &Snapshot, uid: &str) -> Limits {
    let carried = seen.own(uid).filter_map(|(_, _, placed)| match placed.carried {
        Carried::Intact(revision) | Carried::Edited(revision) => Some(revision),
        Carried::Unmarked => None,
    });
    let rollout = seen.rollout.as_deref();
    let cities = rollout.map(status::read).unwrap_or_default().cities;
    let allowed = cities.iter().flat_map(|city| [city.revision, city.last_good]).flatten();
    Limits {
        most: rollout.map_or(revisions::MOST, revision_history_limit),
        used: carried.chain(allowed.map(|revision| revision.0)).take(revisions::MOST).collect(),
    }
}

impl WorkloadReconciler<'_> {
    /// Tells the user that a template is not recorded because the plane refuses that, once for each template.
    pub(super) fn tell_unrecorded(&self, workload: &Object, error: &RequestError) {
        let Some(name) = revision_history(workload.name()) else { return };
        let is_refused = matches!(error.category(), Category::Invalid | Category::Forbidden);
        let template = hash::json(&workload.spec()["template"]);
        if is_refused && self.controller.unrecorded.lock().is_news(self.key, template) {
            let note = revisions::not_recorded(&name, &errors::chain(error));
            let about = reference_to(Kind::Workload, workload);
            self.project.events.send(about, EventType::Warning, Reason::RevisionNotRecorded, note);
        }
    }

    /// Records the template of a Workload; returns the revision that has it. `None` where its name is too
    /// long for a history, and where the Workload has changed meanwhile.
    pub(super) async fn record(
        &self,
        seen: &Snapshot,
        workload: &Object,
    ) -> Result<Option<u64>, RequestError> {
        let Some(name) = revision_history(workload.name()) else { return Ok(None) };
        // Only the server knows who wrote it: stores keep no managedFields.
        let live = self
            .project
            .get_metadata(self.pass, Kind::Workload, workload.namespace(), workload.name())
            .await?;
        let Some(live) = live.filter(|live| live.version() == workload.version()) else { return Ok(None) };
        let limits = limits(seen, workload.uid());
        let mut workload = workload.clone();
        workload.metadata.managed_fields = live.metadata.managed_fields;
        if workload.annotation(CURRENT_REVISION).is_none() {
            // It has no history, or one that was left by another of its name, which the create then finds.
            match self.write_history(None, &name, &workload, &limits).await? {
                (revision, None | Some(Written::Stored(_))) => return Ok(Some(revision)),
                (_, Some(Written::Exists { .. })) => {}
            }
        }
        let history = self.project.get_live(self.pass, Kind::ConfigMap, workload.namespace(), &name).await?;
        let (revision, written) = self.write_history(history, &name, &workload, &limits).await?;
        written.map(Written::stored).transpose()?;
        Ok(Some(revision))
    }

    /// Writes the history called `name` where its newest revision is not the template of `workload`; returns
    /// the number of the revision that has it.
    async fn write_history(
        &self,
        history: Option<Object>,
        name: &str,
        workload: &Object,
        limits: &Limits,
    ) -> Result<(u64, Option<Written>), RequestError> {
        let now = self.controller.planes.clock().now();
        let Recorded { revision, history: new } =
            revisions::record(history.as_ref(), name, workload, limits, now);
        let Some(new) = new.map(Box::new) else { return Ok((revision, None)) };
        let write = match history {
            Some(_) => Write::Replace { object: new, mode: WriteMode::Direct },
            None => Write::Create(new),
        };
        let written = self.controller.writer(&self.project, self.pass).write(Kind::ConfigMap, write).await?;
        Ok((revision, written))
    }

    /// The Workload with the template of an earlier revision. `None` where the history does not have it any
    /// more, which the next round plans by. What may be destroyed on the way to it is said by the present
    /// template: a way back must not need the consent that was given on the way there (V5, R6).
    pub(super) async fn earlier<'w>(
        &mut self,
        read: &mut Earlier,
        workload: &Object,
        revision: u64,
    ) -> Result<Option<Cow<'w, Object>>, Error> {
        if read.history.is_none() {
            let history = match revision_history(workload.name()) {
                Some(name) => {
                    let namespace = workload.namespace();
                    self.project.get_live(self.pass, Kind::ConfigMap, namespace, &name).await?
                }
                None => None,
            };
            read.history = Some(history.map_or(Value::Null, |history| history.data["data"].clone()));
        }
        let revisions = read.history.as_ref().unwrap_or(&Value::Null);
        let Some(template) = revisions::template(revisions, revision) else {
            self.learnt.forgotten.insert(revision);
            return Ok(None);
        };
        let mut workload = workload.clone();
        let mut spec = workload.spec().clone();
        let disruption = spec["template"]["spec"].get("disruption").cloned();
        spec["template"] = template;
        if let Some(fields) = spec["template"]["spec"].as_object_mut() {
            match disruption {
                Some(disruption) => fields.insert("disruption".to_owned(), disruption),
                None => fields.remove("disruption"),
            };
        }
        set_field(&mut workload, "spec", spec);
        Ok(Some(Cow::Owned(workload)))
    }
}
