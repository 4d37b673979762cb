//! The revisions of a workload, as the platform records them in a `ConfigMap` beside it (W10).

use fedhub_api::facts::workload::{recorded_template, template_hash};
use fedhub_core::message::Quoted;
use fedhub_core::names::{CURRENT_REVISION, RECORDED_TEMPLATE, revision_history};
use fedhub_core::object::{Kind, Object, ObjectView};
use jiff::Timestamp;
use serde_json::Value;

use crate::model;
use crate::problem::Problem;
use crate::session::Session;

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
    /// The user who wrote it.
    pub actor: String,
    /// Its template.
    pub template: Template,
}

/// The template of a revision, as far as it was kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// The template is complete.
    Kept(Value),
    /// The template was too large to be kept.
    NotKept,
    /// The template is not what was recorded: it was edited by hand.
    Damaged,
}

impl Revision {
    fn new(number: u64, entry: &Value) -> Self {
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
    let spec = match &entry["spec"] {
        Value::String(spec) if spec.is_empty() => return Template::NotKept,
        Value::String(spec) => serde_json::from_str::<Value>(spec).unwrap_or_default(),
        spec => spec.clone(),
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

/// The revisions in a history, oldest first. Keys that are no numbers are another writer's.
pub fn revisions(history: &Object) -> Vec<Revision> {
    let data = history.data["data"].as_object().into_iter().flatten();
    let numbered = data.filter_map(|(key, entry)| Some(Revision::new(key.parse().ok()?, entry)));
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

/// Whether the platform has recorded a revision with another template than the present one, by what the
/// Workload itself says.
pub fn has_earlier(workload: &Object) -> bool {
    let number = workload.annotation(CURRENT_REVISION).and_then(|number| number.parse::<u64>().ok());
    let Some(number) = number else { return false };
    let present = recorded_template(number, &workload.spec()["template"]);
    // The newest template is recorded a moment after it is stored: until then, the one before is the newest
    // in the history.
    let is_pending = workload.annotation(RECORDED_TEMPLATE).is_some_and(|recorded| recorded != present);
    number > 1 || (is_pending && number == 1)
}

/// Reads the revisions of a workload; none where nothing was recorded yet.
pub async fn read(session: &Session, workload: &str) -> Result<Vec<Revision>, Problem> {
    let doing = format!("read the revisions of {}", Quoted(workload));
    let Some(name) = revision_history(workload) else {
        return Err(Problem::failed(format!("Could not {doing}: its name is too long for a history.")));
    };
    let api = model::api(session.client.clone(), &session.namespace, Kind::ConfigMap);
    let history = api.get_opt(&name).await.map_err(|error| Problem::from_error(error, &doing))?;
    Ok(history.as_ref().map(revisions).unwrap_or_default())
}

/// The numbers of the revisions that there are.
pub fn numbers(revisions: &[Revision]) -> Vec<u64> {
    revisions.iter().map(|revision| revision.number).collect()
}
