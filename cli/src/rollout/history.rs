//! The revisions of a workload, as the platform records them in a `ConfigMap` beside it (W10).

use fedhub_api::facts::workload::{recorded_template, template_hash};
use fedhub_core::message::Quoted;
use fedhub_core::names::{CURRENT_REVISION, RECORDED_TEMPLATE, revision_history};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_terminal::output::{Format, structured};
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::HistoryArgs;
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

/// A revision of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Its number.
    pub number: u64,
    /// When it was recorded, where that can be read.
    pub recorded: Option<Timestamp>,
    /// Its images.
    pub image: String,
    /// The paths of the fields that differ from the revision before.
    pub changes: String,
    /// Who wrote it.
    pub actor: String,
    /// Its template.
    pub template: Template,
}

/// The template of a revision, as far as it was kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// It is whole.
    Kept(Value),
    /// It was too large to be kept.
    NotKept,
    /// It is not what was recorded: somebody edited it.
    Damaged,
}

impl Revision {
    fn of(number: u64, entry: &Value) -> Self {
        let entry: Value =
            entry.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        Self {
            number,
            recorded: text("timestamp").parse().ok(),
            image: text("image"),
            changes: text("changes"),
            actor: text("actor"),
            template: template(&entry),
        }
    }

    /// Its template, where that can be restored.
    pub fn kept(&self) -> Option<&Value> {
        match &self.template {
            Template::Kept(template) => Some(template),
            Template::NotKept | Template::Damaged => None,
        }
    }
}

fn template(entry: &Value) -> Template {
    let spec = match entry["spec"].as_str() {
        Some("") => return Template::NotKept,
        Some(spec) => serde_json::from_str::<Value>(spec).unwrap_or_default(),
        None => return Template::Damaged,
    };
    let hash = entry["templateHash"].as_str().unwrap_or_default();
    match spec.get("template").filter(|template| template.is_object()) {
        // Other writers of this format left the hash empty.
        Some(template) if hash.is_empty() || hash == template_hash(template) => {
            Template::Kept(template.clone())
        }
        _ => Template::Damaged,
    }
}

/// The revisions in a history, oldest first. Keys that are no numbers are somebody else's.
pub fn revisions(history: &Object) -> Vec<Revision> {
    let data = history.data["data"].as_object().into_iter().flatten();
    let numbered = data.filter_map(|(key, entry)| Some(Revision::of(key.parse().ok()?, entry)));
    let mut revisions: Vec<Revision> = numbered.collect();
    revisions.sort_by_key(|revision| revision.number);
    revisions
}

/// The number of the revision that a workload has now; `None` while its newest template is not recorded.
pub fn current(workload: &Object, revisions: &[Revision]) -> Option<u64> {
    let template = &workload.spec()["template"];
    let number: u64 = workload.annotation(CURRENT_REVISION)?.parse().ok()?;
    let recorded = workload.annotation(RECORDED_TEMPLATE);
    let told = recorded == Some(&*recorded_template(number, template));
    let same = revisions.iter().any(|it| it.number == number && it.kept() == Some(template));
    (told || same).then_some(number)
}

/// Reads the revisions of a workload; none where nothing was recorded yet.
pub async fn read(session: &Session, workload: &str) -> Result<Vec<Revision>, Problem> {
    let doing = format!("read the revisions of {}", Quoted(workload));
    let Some(name) = revision_history(workload) else {
        return Err(Problem::failed(format!("Could not {doing}: its name is too long for a history.")));
    };
    let api = model::api(session.client.clone(), &session.namespace, Kind::ConfigMap);
    let history = api.get_opt(&name).await.map_err(|error| Problem::of(error, &doing))?;
    Ok(history.as_ref().map(revisions).unwrap_or_default())
}

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
        return Err(super::undo::Refusal::NoSuchRevision(number, numbers(revisions)).problem(session, name));
    };
    let Some(template) = revision.kept() else {
        return Err(super::undo::Refusal::of(revision).problem(session, name));
    };
    session.print(|| template.clone(), || structured(Format::Yaml, template).unwrap_or_default())
}

/// The numbers of the revisions that there are.
pub fn numbers(revisions: &[Revision]) -> Vec<u64> {
    revisions.iter().map(|revision| revision.number).collect()
}
