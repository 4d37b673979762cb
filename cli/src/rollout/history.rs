//! `rollout history`: the revisions of a workload.

use fedhub_core::message::Quoted;
use fedhub_core::object::Kind;
use fedhub_terminal::output::{Format, structured};
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::HistoryArgs;
use super::refusal::Refusal;
use super::revision::{Revision, current, numbers, read};
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
    let (workload, revisions) = (workload?, revisions?);
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
        || revisions.iter().rev().map(|revision| report(revision, current)).collect(),
        || table(&revisions, current, now, &Look::of(session)),
    )
}

/// The table of the history, newest first.
pub fn table(revisions: &[Revision], current: Option<u64>, now: Timestamp, look: &Look) -> String {
    let cells = |revision: &Revision| {
        let mark = if current == Some(revision.number) { "*" } else { "" };
        vec![
            format!("{}{mark}", revision.number).into(),
            revision.recorded.map_or_else(|| UNKNOWN.to_owned(), |at| age(at, now)).into(),
            revision.image.clone().into(),
            revision.changes.clone().into(),
            revision.actor.clone().into(),
        ]
    };
    sheet(&COLUMNS, revisions.iter().rev().map(cells).collect(), look)
}

fn report(revision: &Revision, current: Option<u64>) -> Value {
    json!({
        "revision": revision.number,
        "recorded": revision.recorded.map(|at| at.to_string()),
        "image": revision.image,
        "changes": revision.changes,
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
        return Err(Refusal::of(revision).problem(session, name));
    };
    session.print(|| template.clone(), || structured(Format::Yaml, template).unwrap_or_default())
}
