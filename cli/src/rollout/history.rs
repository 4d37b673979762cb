//! The revisions of a workload, as the platform records them in a `ConfigMap` beside it (W10).

use fedhub_api::facts::workload::{recorded_template, template_hash};
use fedhub_core::message::{Quoted, shortened};
use fedhub_core::names::{CURRENT_REVISION, RECORDED_TEMPLATE, revision_history};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_terminal::output::{Format, structured};
use fedhub_terminal::table::table;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::args::HistoryArgs;
use crate::model;
use crate::problem::Problem;
use crate::session::Session;

/// The columns of a terminal that the other cells and the spaces between take, beside images and changes.
const OTHERS: usize = 36;

/// The most characters of whoever wrote a revision, in such a terminal.
const ACTOR: usize = 16;

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
    let width = session.terminal.width.filter(|_| session.global.output != Format::Wide);
    session.print(
        || revisions.iter().rev().map(|revision| report(revision, current)).collect(),
        || table(&rows(&revisions, current, now, width, !session.global.no_headers)),
    )
}

/// The rows of the history, newest first, for a terminal of `width` columns. Images and changes keep their ends, which tell
/// most.
pub fn rows(
    revisions: &[Revision],
    current: Option<u64>,
    now: Timestamp,
    width: Option<usize>,
    headers: bool,
) -> Vec<Vec<String>> {
    let header = ["REV", "WHEN", "IMAGE", "CHANGES", "BY"].map(str::to_owned).to_vec();
    let cut = |text: &str| {
        let (count, room) =
            (text.chars().count(), width.map(|width| (width.saturating_sub(OTHERS) / 2).max(2)));
        match room.filter(|room| count > *room) {
            Some(room) => std::iter::once('…').chain(text.chars().skip(count + 1 - room)).collect(),
            None => text.to_owned(),
        }
    };
    let row = |revision: &Revision| {
        let mark = if current == Some(revision.number) { "*" } else { "" };
        let when = revision.recorded.map(|at| age(now.duration_since(at)));
        vec![
            format!("{}{mark}", revision.number),
            when.unwrap_or_else(|| "?".to_owned()),
            cut(&revision.image),
            cut(&revision.changes),
            shortened(&revision.actor, width.map_or(usize::MAX, |_| ACTOR)).into_owned(),
        ]
    };
    headers.then_some(header).into_iter().chain(revisions.iter().rev().map(row)).collect()
}

/// How long ago something was, as kubectl says it: its largest unit.
fn age(age: SignedDuration) -> String {
    match age.as_secs().max(0) {
        seconds if seconds < 120 => format!("{seconds}s"),
        seconds if seconds < 2 * 3_600 => format!("{}m", seconds / 60),
        seconds if seconds < 2 * 86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
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
