//! Going back to an earlier revision of a workload.
//!
//! What is restored is the recorded template and nothing else; it replaces the present one as a whole, so
//! that nothing of that is left in it. The present one has to be in the history, so that it is not lost, and
//! the write carries the version by which all of this was decided. Each write of the status moves that
//! version, too: where it has moved, all of this is decided anew, and a workload whose template another
//! writer has changed is left alone.

use fedhub_api::facts::workload::template_hash;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::api::Patch;
use serde_json::{Value, json};

use super::args::UndoArgs;
use super::refusal::Refusal;
use super::revision::{Revision, current, numbers, read};
use super::{follow, version_test};
use crate::changes::{Change, between};
use crate::model;
use crate::problem::Problem;
use crate::session::Session;

/// How often an undo is written anew where only the version of the workload has moved.
const ATTEMPTS: usize = 5;

/// The path of what is restored.
pub(super) const TEMPLATE: &str = "spec.template";

/// The write of an undo.
#[derive(Clone, Debug, PartialEq)]
pub struct Undo {
    /// The revision that is restored.
    pub revision: u64,
    /// Its template.
    pub template: Value,
    /// The differences from the present template, by the paths of fields; empty if there are none.
    pub changes: Vec<Change>,
}

/// Decides what going back to revision `to` does, or to the one before the present one where it is 0. Pure.
pub fn plan(workload: &Object, revisions: &[Revision], to: u64) -> Result<Undo, Refusal> {
    if revisions.is_empty() {
        return Err(Refusal::NoHistory);
    }
    let present = &workload.spec()["template"];
    let current = current(workload, revisions).ok_or(Refusal::NotRecorded)?;
    let revision = if to == 0 {
        revisions
            .iter()
            .rev()
            .find(|it| it.number < current && it.kept() != Some(present))
            .ok_or(Refusal::NoneBefore)?
    } else {
        let named = revisions.iter().find(|it| it.number == to);
        named.ok_or_else(|| Refusal::NoSuchRevision(to, numbers(revisions)))?
    };
    let Some(template) = revision.kept() else { return Err(Refusal::from_revision(revision)) };
    let changes = between(present, template, TEMPLATE);
    Ok(Undo { revision: revision.number, template: template.clone(), changes })
}

/// The patch of an undo that was decided by that workload: the template as a whole, and the version as a
/// precondition.
pub fn patch(workload: &Object, undo: &Undo) -> Value {
    json!([version_test(workload), {"op": "replace", "path": "/spec/template", "value": undo.template}])
}

/// Runs `rollout undo`.
pub async fn run(session: &Session, args: &UndoArgs) -> Result<(), Problem> {
    let name = &*args.name;
    // The workload first: a history that is read later has what the workload's annotations say.
    let workload = model::get(session, Kind::Workload, name).await?;
    let revisions = read(session, name).await?;
    let undo =
        plan(&workload, &revisions, args.to_revision).map_err(|refusal| refusal.problem(session, name))?;
    if undo.changes.is_empty() {
        session.tell(&format!(
            "{} has the template of revision {} already: nothing changes.",
            Quoted(name),
            undo.revision
        ));
        // An earlier undo may have ended before that ran everywhere.
        return if args.dry_run { Ok(()) } else { follow(session, name, &args.wait).await };
    }
    session.tell(&format!("{} goes back to revision {}:", Quoted(name), undo.revision));
    for change in &undo.changes {
        session.tell(&format!("  {}", change.line()));
    }
    if args.dry_run {
        session.tell("Nothing was changed: --dry-run.");
        return Ok(());
    }
    let stored = apply(session, &workload, &undo).await?;
    let restored = &stored.spec()["template"];
    if template_hash(restored) != template_hash(&undo.template) {
        session.tell("The platform stored the template with differences:");
        for change in between(&undo.template, restored, TEMPLATE) {
            session.tell(&format!("  {}", change.line()));
        }
    }
    follow(session, name, &args.wait).await
}

/// Writes it, where nothing of what it was decided by has changed.
pub async fn apply(session: &Session, workload: &Object, undo: &Undo) -> Result<Object, Problem> {
    let name = workload.name();
    let mut present = workload.clone();
    for _ in 0..ATTEMPTS {
        match write(session, &present, undo).await? {
            Ok(stored) => return Ok(stored),
            Err(Moved) => present = model::get(session, Kind::Workload, name).await?,
        }
        let revisions = read(session, name).await?;
        let is_same = present.uid() == workload.uid()
            && present.spec()["template"] == workload.spec()["template"]
            && plan(&present, &revisions, undo.revision).as_ref() == Ok(undo);
        if !is_same {
            break;
        }
    }
    let sentence = format!("{} was changed by another writer meanwhile: nothing was undone.", Quoted(name));
    Err(Problem::failed(sentence).remedy("Look at what it is now, then run the command again."))
}

/// The workload is not the version that an undo was decided by.
struct Moved;

async fn write(session: &Session, workload: &Object, undo: &Undo) -> Result<Result<Object, Moved>, Problem> {
    let name = workload.name();
    let api = model::api(session.client.clone(), &session.namespace, Kind::Workload);
    let patch: json_patch::Patch = serde_json::from_value(patch(workload, undo))
        .map_err(|error| Problem::failed(format!("Could not restore the template: {error}.")))?;
    match api.patch(name, &model::patch_params(), &Patch::<()>::Json(patch)).await {
        Ok(stored) => Ok(Ok(stored)),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Err(Moved)),
        Err(error) => Err(Problem::from_error(error, &format!("undo {}", Quoted(name)))),
    }
}
