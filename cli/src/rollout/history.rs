//! `rollout history`: the revisions of a workload.

use fedhub_api::facts::restarts::{keep_later, restarted_at};
use fedhub_core::message::Quoted;
use fedhub_core::object::Kind;
use fedhub_terminal::output::{Format, structured};
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::HistoryArgs;
use super::refusal::Refusal;
use super::revision::{Revision, current, numbers, read};
use super::undo::TEMPLATE;
use crate::changes::between;
use crate::model;
use crate::problem::Problem;
use crate::session::Session;
use crate::view::sheet::{Column, Cut, sheet};
use crate::view::{Look, UNKNOWN};

/// Images and changes keep their ends, which tell most.
const COLUMNS: [Column; 5] = [
    Column::whole("REV"),
    Column::whole("WHEN"),
    Column::cut("IMAGE", Cut::Start),
    Column::cut("CHANGES", Cut::Start),
    Column::cut("BY", Cut::End),
];

/// Runs `rollout history`.
pub async fn run(session: &Session, args: &HistoryArgs) -> Result<(), Problem> {
    let (workload, revisions) =
        tokio::join!(model::get(session, Kind::Workload, &args.name), read(session, &args.name));
    let workload = workload?;
    let revisions = revisions?;
    if let Some(number) = args.revision {
        return one(session, &args.name, &revisions, number);
    }
    if revisions.is_empty() && !session.global.output.is_structured() {
        session.tell(&format!("No revision of {} is recorded yet.", Quoted(&args.name)));
        return Ok(());
    }
    let current = current(&workload, &revisions);
    let now = Timestamp::now();
    session.print(
        || newest_first(&revisions).map(|(revision, changes)| report(revision, changes, current)).collect(),
        || table(&revisions, current, now, &Look::from_session(session)),
    )
}

/// The table of the history, newest first.
pub fn table(revisions: &[Revision], current: Option<u64>, now: Timestamp, look: &Look) -> String {
    let cells = |(revision, changes): (&Revision, String)| {
        let mark = if current == Some(revision.number) { "*" } else { "" };
        vec![
            format!("{}{mark}", revision.number).into(),
            revision.recorded.map_or_else(|| UNKNOWN.to_owned(), |at| age(at, now)).into(),
            revision.image.clone().into(),
            changes.into(),
            revision.actor.clone().into(),
        ]
    };
    sheet(&COLUMNS, newest_first(revisions).map(cells).collect(), look)
}

/// The revisions, newest first, each with what it changed.
fn newest_first(revisions: &[Revision]) -> impl Iterator<Item = (&Revision, String)> {
    let before = |at: usize| at.checked_sub(1).and_then(|at| revisions.get(at));
    revisions.iter().enumerate().rev().map(move |(at, revision)| (revision, changes(before(at), revision)))
}

/// Describes what a revision changed, by the same paths as `deploy` and `rollout undo`; in the platform's
/// words if a template was not kept. The time of a restart is omitted: it is no field that users write.
fn changes(before: Option<&Revision>, revision: &Revision) -> String {
    let before = before.filter(|before| before.number + 1 == revision.number).and_then(Revision::kept);
    let (Some(before), Some(after)) = (before, revision.kept()) else { return revision.changes.clone() };
    let is_restart = restarted_at(after) > restarted_at(before);
    let mut before = before.clone();
    let mut after = after.clone();
    keep_later(&mut before, &after);
    keep_later(&mut after, &before);
    let paths = between(&before, &after, TEMPLATE).into_iter().map(|change| change.path);
    let all: Vec<String> = is_restart.then(|| "restart".to_owned()).into_iter().chain(paths).collect();
    if all.is_empty() { revision.changes.clone() } else { all.join(", ") }
}

fn report(revision: &Revision, changes: String, current: Option<u64>) -> Value {
    json!({
        "revision": revision.number,
        "recorded": revision.recorded.map(|at| at.to_string()),
        "image": revision.image,
        "changes": changes,
        "by": revision.actor,
        "current": current == Some(revision.number),
        "restorable": revision.kept().is_some(),
    })
}

fn one(session: &Session, name: &str, revisions: &[Revision], number: u64) -> Result<(), Problem> {
    let Some(revision) = revisions.iter().find(|revision| revision.number == number) else {
        return Err(Refusal::NoSuchRevision(number, numbers(revisions)).problem(session, name));
    };
    let Some(template) = revision.kept() else {
        return Err(Refusal::from_revision(revision).problem(session, name));
    };
    session.print(|| template.clone(), || structured(Format::Yaml, template).unwrap_or_default())
}
